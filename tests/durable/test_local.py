"""Files on this machine: what is synced, and that each descriptor is closed again, whatever fails."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tidelog.durable.files import Files, Lock
from tidelog.durable.local import LocalFiles


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files and folders that are synced from now on."""
    paths: list[Path] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        sync(descriptor)
        paths.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", note)
    return paths


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    found = LocalFiles(tmp_path / "store")
    found.establish()
    yield found
    found.close()


def test_every_folder_that_is_made_lasts(tmp_path: Path, synced: list[Path]) -> None:
    """A name lasts once the folder above it is synced."""
    LocalFiles(tmp_path / "a/b/c").establish()
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a/b"]


def test_a_folder_that_somebody_has_just_made_lasts(tmp_path: Path, synced: list[Path]) -> None:
    (tmp_path / "empty").mkdir()
    LocalFiles(tmp_path / "empty").establish()
    assert synced == [tmp_path]
    (tmp_path / "empty/file").touch()
    LocalFiles(tmp_path / "empty").establish()
    assert synced == [tmp_path]


def test_a_folder_above_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise PermissionError(errno.EACCES, "not yours")

    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(os, "fsync", refuse)
    LocalFiles(tmp_path / "empty").establish()


@pytest.mark.parametrize(("number", "harmless"), [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)])
def test_file_systems_that_do_not_sync_folders(
    files: Files, number: int, harmless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, "not here")

    monkeypatch.setattr(os, "fsync", refuse)
    if harmless:
        files.sync_folder()
    else:
        with pytest.raises(OSError, match="not here"):
            files.sync_folder()
    with closing(files.create("file")) as file, pytest.raises(OSError, match="not here"):
        files.sync(file)
    with pytest.raises(OSError, match="not here"):
        files.sync_file("file")


def test_each_sync_is_for_what_it_names(files: Files, synced: list[Path]) -> None:
    top = files.folder
    files.make("below")
    files.sync_folder()
    files.sync_folder("below")
    with closing(files.create("below/one")) as file:
        file.write(b"one")
        files.sync(file)
    files.sync_file("below/one")
    assert synced == [top, top / "below", top / "below/one", top / "below/one"]
    del synced[:]
    files.write_bytes("two", b"two")
    files.write("new", lambda file: file.write(b"three"))
    files.replace("new", "below/one")
    assert synced == [top / "two", top / "new", top / "below"]
    assert files.read_bytes("below/one") == b"three"


def test_a_file_is_closed_once(files: Files) -> None:
    """The number of its descriptor is soon that of another file."""
    file = files.create("file")
    file.close()
    other = files.create("other")
    file.close()
    assert file.closed
    assert other.write(b"still open") == 10
    other.close()
    assert files.read_bytes("other") == b"still open"


def refused(call: Callable[..., object], *arguments: object) -> None:
    with pytest.raises(OSError, match=r"\w"):
        call(*arguments)


def test_no_descriptor_is_left_open(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an operation fails, where somebody else has a lock, and where a lock is given back."""
    top = files.folder
    files.write_bytes("file", b"data")
    files.make("folder")
    os.mkfifo(top / "pipe")
    os.link(top / "file", top / "second")
    (top / "link").symlink_to(top / "file")
    lock = files.lock("lock")
    assert isinstance(lock, Lock)
    gc.collect()
    before = sorted(os.listdir("/proc/self/fd"))

    def fails(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    assert files.lock("lock") == files.shared_lock("lock") == str(os.getpid())
    for name in ("pipe", "folder", "link", "none/file"):
        refused(files.open, name)
        refused(files.extend, name, 1)
        refused(files.sync_file, name)
        refused(files.lock, name)
    refused(files.lock, "second")
    refused(files.create, "file")
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", fails)
        refused(files.lock, "lock")
        refused(files.shared_lock, "lock")
    with monkeypatch.context() as patch:
        patch.setattr(os, "truncate", fails)
        refused(files.extend, "file", 1)
    assert files.read_bytes("file") == b"data"
    assert len(list(files.below(""))) == 6
    files.extend("file", 1).close()
    for each in (files.shared_lock("none"), files.shared_lock("file"), files.lock("other")):
        assert isinstance(each, Lock)
        each.release()
        each.release()
    assert sorted(os.listdir("/proc/self/fd")) == before
    LocalFiles(top / "folder/new/newer").establish()
    assert sorted(os.listdir("/proc/self/fd")) == before
    lock.release()
    assert len(os.listdir("/proc/self/fd")) == len(before) - 1


def test_kinds_are_those_of_the_names_themselves(files: Files) -> None:
    files.make("folder")
    files.write_bytes("file", b"")
    os.mkfifo(files.folder / "pipe")
    (files.folder / "link").symlink_to(files.folder / "file")
    (files.folder / "lost").symlink_to(files.folder / "none")
    kinds = {"folder": "folder", "file": "file", "pipe": "other", "link": "link", "lost": "link"}
    assert files.entries() == {name: files.kind(name) for name in kinds} == kinds


def test_a_lock_whose_file_was_replaced_is_not_in_place(files: Files) -> None:
    for take in (files.lock, files.shared_lock):
        files.write_bytes("lock", b"")
        lock = take("lock")
        assert isinstance(lock, Lock)
        assert lock.is_in_place()
        files.remove("lock")
        assert not lock.is_in_place()
        files.write_bytes("lock", b"")
        assert not lock.is_in_place()
        lock.release()
        files.remove("lock")


def test_a_lock_that_was_replaced_while_it_was_taken_is_taken_anew(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, times = fcntl.flock, []

    def replace_once(descriptor: int, how: int) -> None:
        flock(descriptor, how)
        times.append(how)
        if len(times) == 1:
            files.remove("lock")

    monkeypatch.setattr(fcntl, "flock", replace_once)
    lock = files.lock("lock")
    assert isinstance(lock, Lock)
    assert lock.is_in_place()
    assert len(times) == 2
    assert files.read_bytes("lock") == f"{os.getpid()}\n".encode()
    lock.release()


def test_a_child_that_was_forked_does_not_keep_a_lock(files: Files) -> None:
    lock = files.lock("lock")
    assert isinstance(lock, Lock)
    (told, tell), (ended, end) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.write(tell, b"here")
        os.close(end)
        os.read(ended, 1)  # until the parent closes its end
        os._exit(0)
    try:
        assert os.read(told, 4) == b"here"
        assert files.lock("lock") == str(os.getpid())
        lock.release()
        again = files.lock("lock")
        assert isinstance(again, Lock)
        again.release()
    finally:
        for descriptor in (told, tell, ended, end):
            os.close(descriptor)
        os.waitpid(child, 0)


def test_the_folder_is_opened_again_after_it_was_closed(files: Files) -> None:
    files.write_bytes("file", b"data")
    before = len(os.listdir("/proc/self/fd"))
    files.close()
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1
    assert files.read_bytes("file") == b"data"
