"""Memory is refused before the process has it: beyond a limit of the user, and where the system has too little left."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import tidelog
from tidelog.cli.entry import main
from tidelog.storage import room
from tidelog.storage.memory import Block

PRODUCT = """
.decl e(x: number)
.decl t(x: number, y: number, z: number)
t(x, y, z) :- e(x), e(y), e(z).
"""

linux = pytest.mark.skipif(
    room.available_memory() is None, reason="the system does not say how much memory it has left"
)


def system(root: Path, **files: str) -> None:
    """Write files of a system, whose names have "__" for "/"."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("memory_", "memory.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MEMINFO = "MemTotal: 900 kB\nMemAvailable:     500 kB\nSwapFree: 100 kB\n"


@linux
@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({}, None),
        ({"proc__meminfo": MEMINFO}, 600 * 1024),
        ({"proc__meminfo": "MemFree: 1 kB\n"}, None),
        (
            {
                "proc__meminfo": MEMINFO,
                "proc__self__cgroup": "0::/a/b\n",
                "sys__fs__cgroup__a__b__memory_max": "max\n",
                "sys__fs__cgroup__a__b__memory_current": "7\n",
                "sys__fs__cgroup__a__b__memory_stat": "anon 6\n",
                "sys__fs__cgroup__a__memory_max": "1000\n",
                "sys__fs__cgroup__a__memory_current": "700\n",
                "sys__fs__cgroup__a__memory_stat": "anon 600\ninactive_file 50\n",
            },
            350,
        ),
        (
            {
                "proc__self__cgroup": "2:cpu:/x\n1:memory:/docker/1\n",
                "sys__fs__cgroup__memory__memory_limit_in_bytes": "100\n",
                "sys__fs__cgroup__memory__memory_usage_in_bytes": "90\n",
                "sys__fs__cgroup__memory__memory_stat": "inactive_file 5\n",
            },
            15,
        ),
    ],
)
def test_what_is_left_is_that_of_the_system_or_of_a_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], left: int | None
) -> None:
    system(tmp_path, **files)
    monkeypatch.setattr(room, "_ROOT", tmp_path)
    assert room.available_memory() == left


@linux
def test_what_there_is_in_all_is_that_of_the_system_or_of_a_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_ROOT", tmp_path)
    assert room.installed_memory() is None
    system(tmp_path, proc__meminfo=MEMINFO, proc__self__cgroup="0::/a/b\n", sys__fs__cgroup__a__b__memory_max="max\n")
    assert room.installed_memory() == 900 * 1024
    system(tmp_path, sys__fs__cgroup__a__memory_max="1000\n")
    assert room.installed_memory() == 1000


@linux
def test_a_process_has_the_pages_that_it_does_not_share_with_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = Block(40_000_000)
    block.view("int8", 40_000_000)[:] = 1
    assert room.resident() > 40_000_000
    monkeypatch.setattr(room, "_ROOT", tmp_path)
    assert room.resident() == 0
    system(tmp_path, proc__self__statm="900 70 20 1 0 10 0\n")
    assert room.resident() == 50 * os.sysconf("SC_PAGE_SIZE")


def test_small_requests_are_not_looked_at() -> None:
    room.check_room(room.LARGE - 1, 1)


@linux
def test_more_than_the_system_has_left_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "available_memory", lambda: 50_000_000)
    block = Block(20_000_000)
    address, size = block.address, block.size
    with pytest.raises(MemoryError, match=r"79.7 MB more are needed, and the system has 50\.0 MB left"):
        block.grow(100_000_000)
    assert (block.address, block.size) == (address, size)


def filled(limit: Callable[[tidelog.Database], None]) -> tidelog.Database:
    """A database whose commit is refused memory for 4 million tuples."""
    db = tidelog.connect()
    db.load(PRODUCT)
    db.insert("e", [(1,), (2,)])
    db.commit()
    db.insert("e", [(i,) for i in range(3, 161)])
    limit(db)
    with pytest.raises(tidelog.LimitError, match=r"E0503.*out of memory: .*, while it derived `t`") as caught:
        db.commit()
    assert "hint: " in str(caught.value)
    assert (len(db["t"]), len(db["e"])) == (8, 2)
    return db


@linux
def test_a_commit_ends_at_the_limit_and_succeeds_without_it() -> None:
    db = filled(lambda db: db.options(memory=room.resident() + 60_000_000))
    db.options(memory="100GB")
    db.commit()
    assert len(db["t"]) == 4_096_000
    db.check()


@linux
def test_a_commit_ends_where_the_system_has_too_little_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(room, "available_memory", lambda: 10_000_000)
        db = filled(lambda db: None)
    db.commit()
    assert len(db["t"]) == 4_096_000


@linux
def test_the_command_line_has_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "product.dl"
    program.write_text(PRODUCT + ".printsize t\ne(x) :- x = range(0, 300).\n")
    assert main(["run", str(program), "--memory", f"{room.resident() // 10**6 + 100}MB"]) == 3
    assert "E0503" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", str(program), "--memory", "lots"])
    assert "invalid size value: 'lots'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "size"), [("8GB", 8 * 10**9), ("1.5 KiB", 1536), ("7", 7), ("2b", 2), (" 3 m ", 3 * 10**6), (9, 9)]
)
def test_sizes(text: str | int, size: int) -> None:
    db = tidelog.connect()
    db.options(memory=text)
    assert db._options.memory == size


@pytest.mark.parametrize("wrong", ["", "GB", "-1GB", "0GB", "8 gallons", "8GBB", 0, -1, 1.5, True, [8]])
def test_wrong_sizes_set_nothing(wrong: object) -> None:
    db = tidelog.connect()
    db.options(memory="8GB")
    with pytest.raises(tidelog.UsageError, match=r"E0603(.|\n)*hint: pass a number of bytes"):
        db.options(memory=wrong)
    assert db._options.memory == 8 * 10**9
