"""Small commits are records of a log: one sync each, and what a crash leaves of the last one is no damage."""

from __future__ import annotations

import errno
import random
import re
from contextlib import suppress

import pytest

from tests.depth import stride
from tests.store.disks import Killed, damages
from tests.store.test_damage import files_of
from tests.suite import FIRST_SEED, views
from tidelog.durable.files import checksum
from tidelog.durable.simulated import SimulatedDisk
from tidelog.errors import DataError, UsageError
from tidelog.language import read
from tidelog.store.database import StoredDatabase
from tidelog.store.log import MOST_ROWS
from tidelog.store.manifest import VERSION, Manifest

PROGRAM = ".decl e(x: symbol, y: number)  .decl t(x: symbol)  r: t(x) :- e(x, _).  .decl f(x: symbol)"
LOG = "logs/00000002"


def opened(disk: SimulatedDisk, *, read_only: bool = False) -> StoredDatabase:
    db = StoredDatabase("/store", read_only=read_only, files=disk.files())
    db.keeper.price = 1e9  # no other checkpoint
    return db


def killed(commits: int) -> SimulatedDisk:
    """The disk of a process that was killed after the commit of the program and so many small ones."""
    disk = SimulatedDisk()
    with opened(disk) as db:
        db.load(PROGRAM)
        db.commit()
    db = opened(disk)
    for i in range(commits):
        db.insert("e", [(f"s{i}", i)])
        db.delete("e", [(f"s{i - 2}", i - 2)])
        db.commit()
    return disk.copy_after_kill()


def test_a_small_commit_waits_for_one_sync() -> None:
    disk = killed(1)
    seen: list[tuple[str, str]] = []
    with opened(disk) as db:
        for i in range(3):
            disk.before = lambda operation, name: seen.append((operation, name))
            db.insert("e", [(f"more{i}", i)])
            db.insert("f", [(f"more{i}",)])
            db.commit()
            disk.before = None
            if i:
                assert [each for each in seen if each[0] != "kind"] == [
                    ("write", LOG), ("sync file", LOG), ("write", f"{LOG}.done"),
                ]  # fmt: skip
            seen.clear()


def test_logged_commits_come_back() -> None:
    for commits in range(4):
        disk = killed(commits)
        rows = {(f"s{i}", i) for i in range(max(0, commits - 2), commits)}
        for _ in range(2):
            with opened(disk, read_only=True) as db:
                assert set(db["e"]) == rows
        with opened(disk) as db:
            assert (set(db["e"]), db.stats()["store"]["epoch"]) == (rows, 1 + commits)
            assert db.stats()["store"]["segments"] == commits
            db.check()
            kept = views(db)
        assert f"{LOG}.done" not in files_of(disk)  # Now the manifest names the log.
        with opened(disk) as db:
            assert views(db) == kept
            db.insert("e", [("last", 9)])
            db.commit()
        with opened(disk) as db:
            assert set(db["e"]) == rows | {("last", 9)}


def test_notes_of_logged_commits_come_back() -> None:
    disk = killed(3)
    with opened(disk) as db:
        db.keeper.attached = {"requests": {"one": ["digest", 5]}}
        db.insert("e", [("later", 5)])
        db.commit()
    with opened(disk) as db:
        assert db.keeper.state.manifest.notes["requests"] == {"one": ["digest", 5]}


def test_an_incomplete_record_counts_as_not_written() -> None:
    whole, before = files_of(killed(3)), files_of(killed(2))
    start = len(before[LOG])
    assert whole[LOG][:start] == before[LOG]
    for length in range(start, len(whole[LOG]), stride(3)):
        for rest in (b"", bytes(len(whole[LOG]) - length)):
            if whole[LOG][:length] + rest == whole[LOG]:
                continue
            disk = killed(3)
            disk.change(LOG, whole[LOG][:length] + rest)
            disk.change(f"{LOG}.done", b"..")
            with opened(disk) as db:
                assert (set(db["e"]), db.stats()["store"]["epoch"]) == ({("s0", 0), ("s1", 1)}, 3)
                db.insert("e", [("s9", 9)])
                db.commit()
            with opened(disk) as db:
                assert set(db["e"]) == {("s0", 0), ("s1", 1), ("s9", 9)}


def test_what_a_killed_process_wrote_is_on_the_disk_before_others_build_on_it() -> None:
    """It may have been killed before its own sync: a manifest must not name what the disk can still lose."""
    disk = killed(1)
    db = opened(disk)
    disk.skip = lambda operation, name: operation == "sync file" and name == LOG
    db.insert("e", [("late", 7)])
    db.commit()
    disk = disk.copy_after_kill()
    with opened(disk) as db:
        rows = set(db["e"])
        assert ("late", 7) in rows
        db.load("more: t(x) :- f(x).")
        db.commit()  # The manifest names the log.
        for seed in range(20):
            with opened(disk.copy_after_crash(random.Random(seed))) as found:
                assert set(found["e"]) == rows


def test_a_log_that_a_killed_process_has_just_created_does_not_go() -> None:
    """It may have been killed before the folder was on the disk: the next one writes an epoch into this log."""
    is_over = False

    def kill(operation: str, name: str) -> None:
        nonlocal is_over
        is_over |= (operation, name) == ("sync folder", "logs")
        if is_over:
            raise Killed

    disk = killed(0)
    db = opened(disk)
    db.insert("e", [("early", 6)])
    disk.before = kill
    with pytest.raises(Killed):
        db.commit()
    disk = disk.copy_after_kill()
    assert LOG in disk.contents()
    with opened(disk) as db:
        db.insert("e", [("late", 7)])
        db.commit()
        rows = set(db["e"])
        assert ("late", 7) in rows
        for seed in range(20):
            with opened(disk.copy_after_crash(random.Random(seed))) as found:
                assert set(found["e"]) == rows


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "it failed")])
def test_an_opening_that_fails_anywhere_leaves_what_there_is(error: BaseException) -> None:
    """It must not write a manifest before it knows what the folder has."""
    number = 0
    while True:
        disk, left = killed(2), number

        def fail(operation: str, name: str) -> None:
            nonlocal left
            left -= 1
            if left == -1:
                raise error

        disk.before = fail
        with suppress(KeyboardInterrupt, UsageError, DataError):
            opened(disk)
        is_over, disk.before = left >= 0, None
        for found in (disk.copy_after_kill(), disk.copy_after_crash(random.Random(number))):
            with opened(found) as db:
                assert (set(db["e"]), db.stats()["store"]["epoch"]) == ({("s0", 0), ("s1", 1)}, 3), number
        if is_over:
            break
        number += 1
    assert number > 20


def test_a_damaged_program_does_not_cost_the_store() -> None:
    disk = killed(2)
    (program,) = (name for name in disk.contents() if name.startswith("programs/"))
    data = files_of(disk)[program]
    disk.change(program, data + b"\n")
    with pytest.raises(DataError, match="E0682"):
        opened(disk)
    disk.change(program, data)
    with opened(disk) as db:
        assert set(db["e"]) == {("s0", 0), ("s1", 1)}


@pytest.mark.parametrize("name", [LOG, f"{LOG}.done"])
def test_damage_after_a_crash_never_changes_what_there_is(name: str) -> None:
    """Every acknowledged record is there, or the log is damaged."""
    disk, rng, found = killed(3), random.Random(FIRST_SEED), []
    data = files_of(disk)[name]
    for what, changed in damages(data, rng, 60):
        disk.change(name, changed)
        try:
            with opened(disk.copy_after_kill()) as db:
                assert (set(db["e"]), db.stats()["store"]["epoch"]) == ({("s1", 1), ("s2", 2)}, 4), what
        except DataError as error:
            found.append((error.code, error.problems[0].place))
    assert set(found) <= {("E0682", f"/store/{LOG}")}
    assert (len(found) > 40) is (name == LOG)


def test_commits_in_another_order_are_damage() -> None:
    disk = killed(2)
    data = files_of(disk)[LOG]
    first = len(files_of(killed(1))[LOG])
    disk.change(LOG, data[first:] + data[:first])
    with pytest.raises(DataError, match="its commits are not in order"):
        opened(disk)


def test_facts_of_relations_that_went_stay_away() -> None:
    """Also where no checkpoint can take the place of the log."""
    disk = killed(0)
    with opened(disk) as db:
        db.insert("f", [("a",)])
        db.insert("e", [("a", 1)])
        db.commit()

        def fail(operation: str, name: str) -> None:
            if operation == "create" and name.startswith("checkpoints/"):
                raise OSError("full")

        disk.before = fail
        db.load(PROGRAM.replace(".decl f(x: symbol)", ""), replace=read(PROGRAM))
        db.commit()
        db.load(".decl f(x: symbol)")
        db.insert("f", [("b",)])
        db.commit()
        assert set(db["f"]) == {("b",)}
        disk.before = None
        left = disk.copy_after_kill()
    for each in (left, disk):
        with opened(each) as db:
            assert (set(db["f"]), set(db["e"])) == ({("b",)}, {("a", 1)})


def test_a_large_commit_writes_files() -> None:
    disk = killed(1)
    with opened(disk) as db:
        db.insert("e", [(f"n{i}", i) for i in range(MOST_ROWS + 1)])
        db.commit()
        db.insert("e", [("small", 1)])
        db.commit()
        names = [name for name in files_of(disk) if re.match("segments|logs", name)]
    assert names == [LOG, "logs/00000004", "logs/00000004.done", "segments/00000003/e.insert.parquet"]
    with opened(disk) as db:
        assert len(db["e"]) == MOST_ROWS + 3
        db.check()


def test_a_store_of_version_3_goes_on_as_one_of_version_4() -> None:
    """It has no logs, and a tidelog that knows none must not open a folder that has some."""
    disk = killed(0)
    text = files_of(disk)["manifest.json"]
    old = text[: text.index(b',\n "sha256"')].replace(b' "logs": {},\n', b"").replace(b'"version": 4', b'"version": 3')
    assert (old.count(b'"version": 3'), old.count(b"logs")) == (1, 0)
    disk.change("manifest.json", old + f',\n "sha256": "{checksum(old)}"\n}}\n'.encode())
    disk.files().remove_tree("logs")
    with opened(disk) as db:
        for i in range(2):
            db.insert("e", [("a", i)])
            db.commit()
            assert Manifest.from_bytes(files_of(disk)["manifest.json"]).version == VERSION
        assert "logs/00000003" in files_of(disk)
    with opened(disk) as db:
        assert set(db["e"]) == {("a", 0), ("a", 1)}


def test_a_commit_that_the_disk_does_not_take_leaves_nothing() -> None:
    disk = killed(2)
    with opened(disk) as db:
        for operation in ("write", "sync file"):

            def fail(found: str, name: str, operation: str = operation) -> None:
                if (found, name) == (operation, LOG):
                    raise OSError(28, "No space left on device")

            disk.before = fail
            db.insert("e", [(operation, 1)])
            with pytest.raises(UsageError, match="No space left"):
                db.commit()
            disk.before = None
            with opened(disk.copy_after_kill()) as other:
                assert set(other["e"]) == {("s0", 0), ("s1", 1)}
            db.rollback()
        db.insert("e", [("s9", 9)])
        db.commit()
    with opened(disk) as db:
        assert set(db["e"]) == {("s0", 0), ("s1", 1), ("s9", 9)}
