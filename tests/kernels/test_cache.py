"""Where compiled kernels are kept, and when they go."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from platform import machine

import pytest

import tidelog
from tidelog.kernels.places import folder_of_kernels, remove_unused, use_folder

DAY = 24 * 3600
MIX_OF_5 = -1362782137763164912


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder of tidelog's caches, which is not there yet."""
    for name in ("NUMBA_CACHE_DIR", "TIDELOG_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tidelog"


def used() -> Path:
    """The folder that a process uses that begins now."""
    use_folder(folder_of_kernels())
    return folder_of_kernels()


def kernels(base: Path, name: str, *, days: float) -> Path:
    """A folder with compiled kernels, last used so many days ago."""
    folder = base / name
    (folder / "words").mkdir(parents=True)
    (folder / "words" / "mix-5.kernel").write_bytes(b"compiled")
    age(folder, days)
    return folder


def age(path: Path, days: float) -> None:
    stamp = time.time() - days * DAY
    os.utime(path, (stamp, stamp), follow_symlinks=False)


def names(folders: Sequence[Path]) -> set[str]:
    return {folder.name for folder in folders if folder.exists()}


def test_a_new_folder_takes_the_place_of_those_that_nobody_has_used_for_a_month(base: Path) -> None:
    folders = [kernels(base, f"kernels-{days}", days=days) for days in (0, 29, 31, 400)]
    grammar = base / "grammar.lark.cache"
    grammar.write_bytes(b"")
    age(grammar, days=400)
    folder = used()
    assert folder.parent == base
    assert names([*folders, folder, grammar]) == {"kernels-0", "kernels-29", "grammar.lark.cache", folder.name}


def test_use_keeps_a_folder(base: Path) -> None:
    folder = used()
    age(folder, days=31)
    other = kernels(base, "kernels-other", days=31)
    assert used() == folder
    assert time.time() - folder.stat().st_mtime < DAY
    remove_unused(base)
    assert names([folder, other]) == {folder.name}


def test_what_cannot_be_removed_stays_and_is_no_failure(base: Path) -> None:
    old = kernels(base, "kernels-old", days=31)
    elsewhere = kernels(base.parent, "elsewhere", days=31)
    (base / "kernels-file").write_bytes(b"")
    (base / "kernels-link").symlink_to(elsewhere)
    (base / "kernels-nowhere").symlink_to(base / "nothing")
    others = [base / name for name in ("kernels-file", "kernels-link", "kernels-nowhere")]
    for other in others:
        age(other, days=31)
    used()
    assert names([old, elsewhere, *others]) == {"elsewhere", "kernels-file", "kernels-link"}
    assert (elsewhere / "words" / "mix-5.kernel").exists()
    remove_unused(base / "nothing")


def test_many_may_remove_at_once(base: Path) -> None:
    folders = [kernels(base, f"kernels-{i}", days=31 * (i % 2)) for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(remove_unused, base) for _ in range(4)]:
            done.result()
    assert names(folders) == {f"kernels-{i}" for i in range(0, 40, 2)}


def test_variables_name_the_folder(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder_of_kernels().parent == base
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path / "own"))
    assert folder_of_kernels().parent == tmp_path / "own"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert folder_of_kernels().parent == tmp_path / "numba"


# --- caches that cannot be used: a process with one tiny kernel ------------------------------------------------------

ONE_KERNEL = """
import resource, sys, warnings
if "old" in sys.argv:
    from llvmlite.binding.targets import FeatureMap
    from tidelog.kernels import cache
    cache.get_host_cpu_features = lambda: FeatureMap(avx2=False)
if "full" in sys.argv:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    from tidelog.kernels.words import hash_row, mix
    print(mix(5))
    assert mix(6) != mix(5)
if "kept" in sys.argv and "numba" in sys.modules:
    print("loaded the compiler")
for each in found:
    print(each.category.__name__, each.message)
"""


def one_kernel(cache: Path, *arguments: str, **variables: str) -> list[str]:
    """Return the output of a process that compiles a kernel, or loads it, with this folder for caches."""
    other = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "TIDELOG_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in other}
    done = subprocess.run(
        [sys.executable, "-c", ONE_KERNEL, *arguments],
        capture_output=True, text=True, check=True, env={**environment, "XDG_CACHE_HOME": str(cache), **variables},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    number, *rest = done.stdout.splitlines()
    assert int(number) == MIX_OF_5
    return rest


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of caches in which the kernel is."""
    folder = tmp_path_factory.mktemp("built")
    assert one_kernel(folder) == []
    return folder


def test_a_kernel_from_the_cache_needs_no_compiler(built: Path) -> None:
    assert one_kernel(built, "kept") == []


def warned(lines: list[str], folder: Path, reason: str) -> None:
    (line,) = lines
    assert line.startswith(f"KernelCacheWarning tidelog cannot keep its compiled kernels in {folder}")
    assert reason in line
    assert "set TIDELOG_CACHE_DIR to another folder" in line


def test_a_full_disk_costs_a_warning(built: Path, tmp_path: Path) -> None:
    assert list(built.rglob("*.kernel"))
    warned(one_kernel(tmp_path / "full", "full"), tmp_path / "full" / "tidelog", "File too large")


@pytest.mark.deep
def test_a_file_in_the_place_of_the_folder_costs_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "cache"
    file.write_text("")
    warned(one_kernel(file), file / "tidelog", "Not a directory")


@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[:100], lambda content: content[:999] + b"?" + content[1000:]],
    ids=["empty", "cut", "another byte"],
)
def test_a_damaged_cache_costs_a_warning(damage: Callable[[bytes], bytes], built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    for file in tmp_path.rglob("*.kernel"):
        file.write_bytes(damage(file.read_bytes()))
    warned(one_kernel(tmp_path), tmp_path / "tidelog", "is damaged")


def test_a_cache_that_was_copied_serves_from_a_folder_that_cannot_be_written(built: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(built, copied, copy_function=shutil.copyfile)
    files = {file: file.read_bytes() for file in copied.rglob("*.kernel")}
    assert one_kernel(copied, "full") == []  # Nothing was compiled: that would have cost a warning.
    assert files == {file: file.read_bytes() for file in copied.rglob("*.kernel")}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package that brings the kernel for all processors of a level, as a wheel does."""
    place = tmp_path_factory.mktemp("package")
    source = Path(tidelog.__file__).parent
    shutil.copytree(source, place / "tidelog", ignore=shutil.ignore_patterns("__pycache__", "machine_code"))
    code = place / "tidelog" / "kernels" / "machine_code"
    assert (
        one_kernel(place / "unused", NUMBA_CACHE_DIR=str(code), NUMBA_CPU_NAME="x86-64-v3", NUMBA_CPU_FEATURES="") == []
    )
    assert list(code.rglob("words.mix-*.kernel"))
    return place


@pytest.mark.skipif(machine() != "x86_64", reason="wheels bring code for x86-64")
def test_the_code_that_a_wheel_brings_needs_no_compiler(package: Path, tmp_path: Path) -> None:
    assert one_kernel(tmp_path, "kept", "full", PYTHONPATH=str(package)) == []
    assert list(tmp_path.rglob("*.kernel")) == []


@pytest.mark.skipif(machine() != "x86_64", reason="wheels bring code for x86-64")
def test_an_older_processor_compiles_in_spite_of_what_a_wheel_brings(package: Path, tmp_path: Path) -> None:
    assert one_kernel(tmp_path, "old", PYTHONPATH=str(package)) == []
    assert list(tmp_path.rglob("words.mix-*.kernel"))


def test_a_killed_process_leaves_what_it_has_compiled(tmp_path: Path) -> None:
    environment = os.environ | {"TIDELOG_CACHE_DIR": str(tmp_path), "TIDELOG_KERNELS": "compiled"}
    environment.pop("NUMBA_CACHE_DIR", None)
    code = "import os; from tidelog.kernels.words import mix; mix(5); os.kill(os.getpid(), 9)"
    killed = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list(tmp_path.rglob("words.mix-*.kernel"))
