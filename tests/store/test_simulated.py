"""The simulated disk answers as a real one does; tests of crashes are worth as much as it is."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tidelog.durable.files import Files
from tidelog.durable.local import LocalFiles
from tidelog.durable.simulated import SimulatedDisk


def extended(files: Files, name: str, length: int, data: bytes) -> int:
    """Write bytes behind the first ones of a file; how long it is then."""
    with closing(files.extend(name, length)) as file:
        file.write(data)
        return file.tell()


STEPS: tuple[tuple[str, Callable[[Files], object], object], ...] = (
    ("a folder begins empty", lambda f: dict(f.entries()), {}),
    ("what is not there", lambda f: f.kind("a"), None),
    ("what is not there, further down", lambda f: f.kind("d/a"), None),
    ("no file to read", lambda f: f.read_bytes("a"), "ENOENT"),
    ("no folder to list", lambda f: f.entries("d"), "ENOENT"),
    ("no folder to write in", lambda f: f.create("d/a"), "ENOENT"),
    ("no folder to make one in", lambda f: f.make("d/e"), "ENOENT"),
    ("no file to rename", lambda f: f.rename("a", "b"), "ENOENT"),
    ("no file to remove", lambda f: f.remove("a"), "ENOENT"),
    ("no folder to remove", lambda f: f.remove_folder("d"), "ENOENT"),
    ("a file", lambda f: f.write("a", lambda file: file.write(b"one")) and f.read_bytes("a"), b"one"),
    ("its kind", lambda f: f.kind("a"), "file"),
    ("a file is created once", lambda f: f.create("a"), "EEXIST"),
    ("a file is no folder", lambda f: f.make("a"), "EEXIST"),
    ("a file has nothing in it", lambda f: f.read_bytes("a/b"), "ENOTDIR"),
    ("a file cannot be listed", lambda f: f.entries("a"), "ENOTDIR"),
    ("a file is not removed as a folder", lambda f: f.remove_folder("a"), "ENOTDIR"),
    ("a file is replaced", lambda f: f.write("a", lambda file: file.write(b"two")) and f.read_bytes("a"), b"two"),
    ("a file goes on", lambda f: extended(f, "a", 2, b"ice") and f.read_bytes("a"), b"twice"),
    ("from there on", lambda f: extended(f, "a", 3, b"n"), 4),
    ("nothing to go on with", lambda f: f.extend("b", 0), "ENOENT"),
    ("a folder", lambda f: f.make("d") or f.kind("d"), "folder"),
    ("a folder is made once", lambda f: f.make("d"), "EEXIST"),
    ("a file in it", lambda f: f.write("d/a", lambda file: file.write(b"three")) and f.read_bytes("d/a"), b"three"),
    ("a folder is not removed as a file", lambda f: f.remove("d"), "EISDIR"),
    ("a folder that is not empty", lambda f: f.remove_folder("d"), "ENOTEMPTY"),
    ("everything", lambda f: list(f.below("")), [("a", "file"), ("d", "folder"), ("d/a", "file")]),
    ("a name for another", lambda f: f.rename("a", "d/a") or f.read_bytes("d/a"), b"twin"),
    ("the name before", lambda f: f.kind("a"), None),
    ("a file goes", lambda f: f.remove("d/a") or dict(f.entries("d")), {}),
    ("a folder goes", lambda f: f.remove_folder("d") or dict(f.entries()), {}),
)  # fmt: skip
"""What is done, one after the other, and what comes of it: a value, or the error of the system."""


@pytest.fixture(params=["local", "simulated"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Files]:
    found = LocalFiles(tmp_path / "store") if request.param == "local" else SimulatedDisk().files()
    found.establish()
    yield found
    found.close()


def test_each_operation_does_what_a_file_system_does(files: Files) -> None:
    for what, call, expected in STEPS:
        try:
            found = call(files)
        except OSError as error:
            found = errno.errorcode[error.errno or 0]
        assert (what, found) == (what, expected)


def test_a_lock_is_for_one_or_for_all_who_read(files: Files) -> None:
    me = str(os.getpid())
    early = files.shared_lock("lock")
    assert not isinstance(early, str)
    assert files.kind("lock") is None  # nothing is written
    alone = files.lock("lock")
    assert not isinstance(alone, str)
    assert alone.is_in_place()
    assert files.lock("lock") == files.shared_lock("lock") == me
    alone.release()
    alone.release()
    readers = [files.shared_lock("lock"), files.shared_lock("lock")]
    for reader in readers:
        assert files.lock("lock") == me
        assert not isinstance(reader, str)
        reader.release()
    early.release()
    last = files.lock("lock")
    assert not isinstance(last, str)
    last.release()
