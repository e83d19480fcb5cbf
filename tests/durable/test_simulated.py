"""The simulated disk's reports and losses: tests of stores fail each operation and stop the machine behind each.

tests/store/test_simulated.py compares its operations with those of a real file system.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from contextlib import closing

import pytest

from tidelog.durable.files import Files, Lock
from tidelog.durable.simulated import SimulatedDisk


class RefusedError(Exception):
    """The error of a refused operation."""


class Seen:
    """The operations that a disk is about to do; the one at a place, from 1 on, is refused."""

    def __init__(self, place: int) -> None:
        self.operations: list[tuple[str, str]] = []
        self._place = place

    def __call__(self, operation: str, name: str) -> None:
        self.operations.append((operation, name))
        if len(self.operations) == self._place:
            raise RefusedError


def filled() -> SimulatedDisk:
    """A disk with a file, and one in a folder; nothing is synced."""
    disk = SimulatedDisk()
    files = disk.files()
    files.establish()
    files.make("folder")
    for name in ("a", "folder/b"):
        with closing(files.create(name)) as file:
            file.write(b"12345")
    return disk


def appended(files: Files) -> None:
    with closing(files.extend("a", 5)) as file:
        file.write(b"6")


def synced(files: Files) -> None:
    with closing(files.extend("a", 5)) as file:
        files.sync(file)


OPERATIONS: tuple[tuple[Callable[[Files], object], list[tuple[str, str]]], ...] = (
    (lambda f: f.entries("folder"), [("entries", "folder")]),
    (lambda f: f.kind("a"), [("kind", "a")]),
    (lambda f: f.read_bytes("a"), [("open", "a")]),
    (lambda f: f.create("c").close(), [("create", "c")]),
    (lambda f: f.extend("a", 2).close(), [("truncate", "a")]),
    (appended, [("truncate", "a"), ("write", "a")]),
    (synced, [("truncate", "a"), ("sync file", "a")]),
    (lambda f: f.sync_file("a"), [("sync file", "a")]),
    (lambda f: f.sync_folder("folder"), [("sync folder", "folder")]),
    (lambda f: f.make("d"), [("make", "d")]),
    (lambda f: f.rename("a", "folder/b"), [("rename", "a")]),
    (lambda f: f.remove("folder/b"), [("remove", "folder/b")]),
    (lambda f: f.remove_tree("folder"), [
        ("kind", "folder"), ("entries", "folder"), ("kind", "folder/b"), ("remove", "folder/b"),
        ("remove folder", "folder"),
    ]),
    (lambda f: f.lock("lock"), [("lock", "lock")]),
    (lambda f: f.shared_lock("lock"), [("lock", "lock")]),
)  # fmt: skip
"""What is done, and the operations that it takes."""


@pytest.mark.parametrize(("call", "expected"), OPERATIONS)
def test_operations_are_counted_and_fail_before_they_do_anything(
    call: Callable[[Files], object], expected: list[tuple[str, str]]
) -> None:
    for place in range(len(expected) + 1):
        disk, seen = filled(), Seen(place)
        count, contents = disk.operations, disk.contents()
        disk.before = seen
        if place:
            with pytest.raises(RefusedError):
                call(disk.files())
        else:
            call(disk.files())
        assert seen.operations == expected[: place or None]
        assert disk.operations - count == len(seen.operations)
        assert place != 1 or disk.contents() == contents


def test_a_folder_is_made_once_and_lasts() -> None:
    seen: list[tuple[str, str]] = []
    disk = SimulatedDisk(lambda operation, name: seen.append((operation, name)))
    for _ in range(2):
        disk.files().establish()
    assert seen == [("make", ""), ("sync name", ""), ("sync name", "")]
    disk.files().create("a").close()
    disk.files().establish()
    assert seen[3:] == [("create", "a")]
    assert all(disk.copy_after_crash(random.Random(seed)).contents().keys() <= {"a"} for seed in range(20))
    disk = SimulatedDisk()
    disk.skip = lambda operation, name: operation == "sync name"
    disk.files().establish()
    gone = [disk.copy_after_crash(random.Random(seed)).above.names == {} for seed in range(20)]
    assert any(gone)
    assert not all(gone)


def survivors(disk: SimulatedDisk) -> list[dict[str, bytes | None]]:
    """The disks that a crash may leave, each once."""
    found: list[dict[str, bytes | None]] = []
    for seed in range(400):
        contents = disk.copy_after_crash(random.Random(seed)).contents()
        found += [contents] if contents not in found else []
    return found


def test_bytes_that_were_not_synced_are_there_zero_or_missing() -> None:
    disk = SimulatedDisk()
    files = disk.files()
    files.establish()
    with closing(files.create("a")) as file:
        file.write(b"12")
        files.sync(file)
        files.sync_folder()
        file.write(b"34")
        found = {contents["a"] for contents in survivors(disk)}
        assert found == {b"12", b"123", b"1234", b"12\0", b"12\0\0"}
        files.sync_file("a")
        assert survivors(disk) == [{"a": b"1234"}]
    files.extend("a", 1).close()
    assert survivors(disk) == [{"a": b"1"}]
    disk.change("a", b"other")
    assert survivors(disk) == [{"a": b"other"}]
    assert disk.copy_after_kill().contents() == {"a": b"other"}


def test_a_name_that_was_not_synced_is_what_it_was_at_some_moment() -> None:
    disk = SimulatedDisk()
    files = disk.files()
    files.establish()
    files.write_bytes("a", b"1")
    files.sync_folder()
    files.write_bytes("b", b"2")
    files.rename("b", "a")
    assert sorted(map(repr, survivors(disk))) == sorted(
        map(repr, [{"a": b"1"}, {"a": b"2"}, {"a": b"1", "b": b"2"}, {"a": b"2", "b": b"2"}])
    )
    disk.skip = lambda operation, name: True
    files.sync_folder()
    assert len(survivors(disk)) == 4
    disk.skip = lambda operation, name: False
    files.sync_folder()
    assert survivors(disk) == [{"a": b"2"}]
    files.make("d")
    files.write_bytes("d/e", b"3")
    files.sync_folder()
    assert sorted(map(len, survivors(disk))) == [2, 3]  # the name in it may be lost
    files.sync_folder("d")
    assert survivors(disk) == [{"a": b"2", "d": None, "d/e": b"3"}]


def test_what_is_there_when_a_process_is_killed_has_no_lock() -> None:
    disk = filled()
    lock = disk.files().lock("lock")
    assert isinstance(lock, Lock)
    assert isinstance(disk.files().lock("lock"), str)
    left = disk.copy_after_kill()
    assert left.contents() == disk.contents()
    assert isinstance(left.files().lock("lock"), Lock)
    left.files().remove("a")
    assert disk.files().kind("a") == "file"


def test_three_readers_share_a_lock() -> None:
    files = filled().files()
    files.write_bytes("lock", b"")
    readers = [files.shared_lock("lock") for _ in range(3)]
    for reader in readers:
        assert isinstance(files.lock("lock"), str)
        assert isinstance(reader, Lock)
        reader.release()
        reader.release()
        assert not reader.is_in_place()
    assert isinstance(files.lock("lock"), Lock)


@pytest.mark.parametrize(
    ("call", "number"),
    [
        (lambda f: f.make("a/b"), errno.ENOTDIR),
        (lambda f: f.rename("a", "none/b"), errno.ENOENT),
        (lambda f: f.rename("folder", "b"), errno.EISDIR),
        (lambda f: f.remove_folder("folder"), errno.ENOTEMPTY),
        (lambda f: f.sync_file("none"), errno.ENOENT),
        (lambda f: f.sync_folder("none"), errno.ENOENT),
        (lambda f: f.lock("folder"), errno.EISDIR),
    ],
)
def test_what_fails_changes_nothing(call: Callable[[Files], object], number: int) -> None:
    disk = filled()
    before = disk.contents()
    with pytest.raises(OSError, match=r"\w") as caught:
        call(disk.files())
    assert caught.value.errno == number
    assert disk.contents() == before
