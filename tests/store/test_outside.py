"""Nothing outside of the folder of a store is written or removed, and what only reads writes nothing at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.store.disks import WRITES, without_logs
from tests.store.test_failing import filled
from tests.store.test_folders import filled as filled_folder
from tidelog.cli.entry import main
from tidelog.errors import TidelogError, UsageError
from tidelog.store import is_marked
from tidelog.store.database import StoredDatabase
from tidelog.store.manifest import Manifest
from tidelog.store.state import StateFolder

Snapshot = dict[str, tuple[int, int, int, bytes]]


def snapshot(folder: Path) -> Snapshot:
    """All names below a folder with what they are, when they were changed, and what they hold."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        status = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, data)
    return found


def moved_out(name: str) -> Callable[[Path, Path], None]:
    """Move a part of a store out, and have a link in its place."""

    def change(store: Path, outside: Path) -> None:
        shutil.move(store / name, outside / "moved")
        (store / name).symlink_to(outside / "moved")

    return change


def link(name: str, to: str) -> Callable[[Path, Path], None]:
    """Have a link in a store to something outside."""

    def change(store: Path, outside: Path) -> None:
        if (store / name).is_dir():
            shutil.rmtree(store / name)
        (store / name).unlink(missing_ok=True)
        (store / name).symlink_to(outside / to)

    return change


def hard_link(store: Path, outside: Path) -> None:
    (store / "lock").unlink()
    os.link(outside / "file", store / "lock")


LINKS: dict[str, Callable[[Path, Path], None]] = {
    "checkpoints moved out": moved_out("checkpoints"),
    "segments moved out": moved_out("segments"),
    "manifest moved out": moved_out("manifest.json"),
    "a segment moved out": moved_out("segments/00000002"),
    "a table moved out": moved_out("segments/00000002/e.insert.parquet"),
    "logs moved out": moved_out("logs"),
    "a log moved out": moved_out("logs/00000002"),
    "a log that was left behind is elsewhere": link("logs/00000003", "file"),
    "the checkpoint moved out": moved_out("checkpoints/00000001"),
    "checkpoints are others": link("checkpoints", "folder"),
    "segments are others": link("segments", "folder"),
    "the lock is another file": link("lock", "file"),
    "the lock is to be made elsewhere": link("lock", "new"),
    "the lock is another file by a hard link": hard_link,
    "the next manifest is another file": link("manifest.json.new", "file"),
    "the next manifest is to be made elsewhere": link("manifest.json.new", "new"),
    "a segment that was left behind is elsewhere": link("segments/00000003", "folder"),
    "a table that was left behind is elsewhere": link("segments/00000002/t.insert.parquet", "file"),
    "a checkpoint that was left behind is elsewhere": link("checkpoints/00000002", "file"),
    "Spark's folder is elsewhere": link("cluster", "folder"),
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "folder/00000009").mkdir(parents=True)
    (folder / "folder/00000009/e.insert.parquet").write_text("a table")
    (folder / "folder/00000007").write_text("a checkpoint")
    (folder / "file").write_text("a file")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    filled_folder(tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("what", LINKS)
def test_a_store_with_a_link_is_refused(tmp_path: Path, outside: Path, what: str) -> None:
    store = tmp_path / "store"
    with nullcontext() if "log" in what else without_logs():
        filled_folder(store)
    LINKS[what](store, outside)
    before = snapshot(outside)
    with pytest.raises(UsageError, match="link") as caught:
        tidelog.connect(store)
    assert caught.value.code == "E0681"
    assert snapshot(outside) == before
    main(["check", str(store)])
    main(["show", str(store)])
    assert snapshot(outside) == before


@pytest.mark.parametrize("part", ["lock", "segments", "checkpoints", "manifest.json.new"])
def test_a_new_folder_with_a_link_is_refused(tmp_path: Path, outside: Path, part: str) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / part).symlink_to(outside / "folder")
    before = snapshot(tmp_path)
    with pytest.raises(UsageError, match=f"{part} is a symbolic link"):
        tidelog.connect(tmp_path / "new")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("part", ["segments", "logs"])
def test_a_link_that_comes_later_is_not_followed(store: Path, outside: Path, part: str) -> None:
    """Between opening and committing."""
    before = snapshot(outside)
    with nullcontext() if part == "logs" else without_logs(), tidelog.connect(store) as db:
        db.keeper.price = 1e9
        link("manifest.json.new", "file")(store, outside)
        db.insert("e", [("d",)])
        db.commit()
        db.load(".decl more(x: symbol)")
        db.commit()  # The next one begins a log.
        shutil.move(store / part, store / "aside")
        (store / part).symlink_to(outside / "folder")
        db.insert("e", [("f",)])
        with pytest.raises(UsageError) as caught:
            db.commit()
        assert caught.value.code == "E0681"
        assert set(db["t"]) == {("a",), ("c",), ("d",)}
        assert snapshot(outside) == before
        db.rollback()
        (store / part).unlink()
        shutil.move(store / "aside", store / part)
        db.insert("e", [("f",)])
        db.commit()
    with tidelog.connect(store) as db:
        assert set(db["t"]) == {("a",), ("c",), ("d",), ("f",)}


def test_the_folder_itself_can_be_a_link(store: Path, tmp_path: Path) -> None:
    (tmp_path / "named").symlink_to(store)
    with tidelog.connect(tmp_path / "named") as db:
        assert set(db["t"]) == {("a",), ("c",)}


def test_names_in_a_forged_manifest_lead_nowhere(store: Path, outside: Path) -> None:
    with without_logs(), tidelog.connect(store) as db:
        db.keeper.price = 1e9
        db.insert("e", [("d",)])
        db.commit()
    manifest = Manifest.from_bytes((store / "manifest.json").read_bytes())
    (files,) = manifest.segments.values()
    shutil.copytree(store / "segments/00000003", outside / "00000003")
    forged = Manifest(**{**vars(manifest), "segments": {str(outside / "00000003"): files}})
    (store / "manifest.json").write_bytes(forged.to_bytes())
    before = snapshot(store.parent)
    with pytest.raises(TidelogError) as caught:
        tidelog.connect(store)
    assert caught.value.code == "E0682"
    assert snapshot(store.parent) == before


def test_files_of_others_stay(store: Path) -> None:
    names = ["notes.txt", "segments/.hidden", "segments/mine", "checkpoints/mine.txt", "logs/mine"]
    for name in names:
        (store / name).write_text("mine")
    with tidelog.connect(store) as db:
        db.insert("e", [("d",)])
        db.commit()
        db.keeper.write_checkpoint(db.engine)
    assert all((store / name).read_text() == "mine" for name in names)


@pytest.fixture
def left_over(store: Path) -> Path:
    """A store in which a killed process has left something."""
    (store / "manifest.json.new").write_text("{")
    (store / "segments/00000003").mkdir()
    (store / "segments/00000003/e.insert.parquet").write_text("")
    (store / "checkpoints/00000003").write_text("")
    return store


@pytest.mark.parametrize("lock", [True, False])
@pytest.mark.parametrize("command", [("check",), ("check", "--json"), ("show",), ("show", "--json"), ("show", "t")])
def test_reading_writes_nothing(
    left_over: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], lock: bool
) -> None:
    if not lock:
        (left_over / "lock").unlink()
    before = snapshot(left_over)
    assert main([command[0], str(left_over), *command[1:]]) == 0
    assert capsys.readouterr().err == ""
    assert snapshot(left_over) == before


def test_reading_asks_for_no_operation_that_writes() -> None:
    disk = filled()
    operations: list[str] = []
    disk.before = lambda operation, _: operations.append(operation)
    with StoredDatabase("/store", read_only=True, files=disk.files()) as db:
        db.check()
        assert set(db["t"]) == {("a",), ("c",)}
        db.insert("e", [("d",)])
        with pytest.raises(UsageError) as caught:
            db.commit()
        assert caught.value.code == "E0655"
        assert set(db["t"]) == {("a",), ("c",)}
    assert not {*operations} & {*WRITES}
    assert operations


def test_who_reads_and_who_writes(store: Path) -> None:
    """Several read at once, also beside one that writes; that one is the only one."""
    with StoredDatabase(store, read_only=True), StoredDatabase(store, read_only=True):
        with pytest.raises(UsageError) as caught:
            tidelog.connect(store)
        assert caught.value.code == "E0680"
    with tidelog.connect(store) as db:
        before = set(db["t"])
        with StoredDatabase(store, read_only=True) as other:
            db.insert("e", [("later",)])
            db.commit()
            assert set(other["t"]) == before
            with pytest.raises(UsageError) as caught:
                tidelog.connect(store)
            assert caught.value.code == "E0680"
        with StoredDatabase(store, read_only=True) as other:
            assert set(other["t"]) == set(db["t"])


WRITER = """
import sys, tidelog
with tidelog.connect(sys.argv[1]) as db:
    db.keeper.price = 0.0  # Each epoch replaces the checkpoint.
    print("ready", flush=True)
    for i in range(1, 10_000):
        db.insert("n", [(i, i)])
        db.delete("n", [(i - 1, i - 1)])
        db.commit()
"""


def test_readers_see_whole_epochs_while_another_process_commits(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with tidelog.connect(store) as db:
        db.load(".decl n(x: number, y: number)\n.decl m(x: number)\nm(x) :- n(x, x).")
        db.insert("n", [(0, 0)])
        db.commit()
    with subprocess.Popen([sys.executable, "-c", WRITER, str(store)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            seen: list[Any] = []
            end = time.monotonic() + 60
            while len(set(seen)) < 8:
                assert time.monotonic() < end
                with StoredDatabase(store, read_only=True) as db:
                    rows: Any = list(db["n"])
                    ((x, y),) = rows
                    assert x == y
                    assert set(db["m"]) == {(x,)}
                    seen.append(x)
            assert seen == sorted(seen)
        finally:
            process.kill()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate in whose folder there is also what a store has."""
    folder = tmp_path / "certificate"
    with tidelog.connect() as db:
        db.load(".decl e(x: number)  e(1).")
        db.commit()
        db.save_certificate(folder)
    (folder / "segments/00000001").mkdir(parents=True)
    (folder / "segments/00000001/e.insert.parquet").write_text("")
    (folder / "checkpoints").mkdir()
    return folder


def test_a_certificate_is_no_store(certificate: Path) -> None:
    before = snapshot(certificate)
    assert not is_marked(certificate)
    with pytest.raises(TidelogError):
        tidelog.connect(certificate)
    main(["check", str(certificate)])
    assert main(["show", str(certificate)]) != 0
    assert snapshot(certificate) == before


def test_a_manifest_of_something_else_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "an extension", "manifest_version": 3}')
    before = snapshot(tmp_path)
    assert not is_marked(tmp_path)
    with pytest.raises(TidelogError, match="does not say that this is a store"):
        tidelog.connect(tmp_path)
    assert snapshot(tmp_path) == before


def test_folders_that_look_like_those_of_a_store_stay(tmp_path: Path) -> None:
    """Without a lock or a manifest nothing says that tidelog has made them."""
    (tmp_path / "segments/00000001").mkdir(parents=True)
    (tmp_path / "segments/00000001/e.insert.parquet").write_text("mine")
    before = snapshot(tmp_path)
    for kind in ("embedded", "spark"):
        with pytest.raises(TidelogError):
            StateFolder(tmp_path, kind)
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("kind", ["embedded", "spark"])
def test_the_store_of_a_database_of_the_other_kind(tmp_path: Path, kind: str) -> None:
    state = StateFolder(tmp_path, kind)
    state.publish(state.prepare({}), "", {})
    state.close()
    before = snapshot(tmp_path)
    with pytest.raises(UsageError, match="the folder is a store of") as caught:
        StateFolder(tmp_path, "spark" if kind == "embedded" else "embedded")
    assert caught.value.code == "E0681"
    assert snapshot(tmp_path) == before
