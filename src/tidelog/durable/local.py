"""The file system of the machine, as `Files`."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, ClassVar

from tidelog.durable.files import FileKind, Files, Lock, Output
from tidelog.errors import Problem, UsageError


class Owner:
    """The right of this process to change a folder: a store of facts, of a node, or of the cluster engine. `lock` is
    None where the file system has no locks."""

    def __init__(self, lock: Lock | None, folder: str) -> None:
        self._lock = lock
        self._folder = folder
        self._process = os.getpid()

    def check(self) -> None:
        """Raise UsageError if another process may have the folder: after a fork (E0627), or without the lock (E0628);
        OSError where the lock cannot be looked at."""
        if os.getpid() != self._process:
            hint = "send the changes to the process that opened the store; only that one can write"
            message = f"process {os.getpid()} cannot change this store, which process {self._process} opened"
            raise UsageError(Problem("E0627", message, place=self._folder, hint=hint))
        if self._lock is not None and not self._lock.is_in_place():
            hint = "close the database, and open it again when no other process uses it; nothing has changed"
            message = "the lock file of the store was removed or replaced; another process may have opened the store"
            raise UsageError(Problem("E0628", message, place=self._folder, hint=hint))

    @property
    def stands(self) -> bool:
        """Return True if `check` raises nothing."""
        try:
            self.check()
        except (UsageError, OSError):
            return False
        return True

    def release(self) -> None:
        """Let others have the folder."""
        if self._lock is not None:
            self._lock.release()


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK
"""Not blocking, so that a pipe in the place of a file holds nobody up."""
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""The errors of file systems that do not sync folders, or have no need to."""


class LocalFiles(Files):
    """The files of a folder on this machine. Each part of a name is opened from the folder that it is in."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._root: int | None = None
        self._close: weakref.finalize[[int], LocalFiles] | None = None

    def establish(self) -> None:
        """See Files."""
        missing = [self.folder]
        while not os.path.lexists(missing[-1]):
            missing.append(missing[-1].parent)
        for above, folder in pairwise(reversed(missing)):
            folder.mkdir(exist_ok=True)
            _sync_names_in(above)
        if len(missing) == 1 and not self.entries():
            with suppress(PermissionError):  # of a folder above that may not be read
                _sync_names_in(self.folder.parent)

    def entries(self, name: str = "") -> Mapping[str, FileKind]:
        """See Files."""
        with self._folder(name) as descriptor, os.scandir(descriptor) as found:
            return {entry.name: _kind(entry) for entry in found}

    def kind(self, name: str) -> FileKind | None:
        """See Files."""
        try:
            with self._parent(name) as (descriptor, last):
                mode = os.stat(last, dir_fd=descriptor, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None
        kinds: dict[int, FileKind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
        return kinds.get(stat.S_IFMT(mode), "other")

    def open(self, name: str) -> IO[bytes]:
        """See Files."""
        return os.fdopen(self._open_descriptor(name, os.O_RDONLY), "rb")

    def create(self, name: str) -> Output:
        """See Files."""
        return _LocalOutput(self._open_descriptor(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))

    def extend(self, name: str, length: int) -> Output:
        """See Files."""
        descriptor = self._open_descriptor(name, os.O_WRONLY)
        try:
            os.truncate(descriptor, length)
            os.lseek(descriptor, length, os.SEEK_SET)
        except BaseException:
            os.close(descriptor)
            raise
        return _LocalOutput(descriptor, length)

    def sync(self, file: Output) -> None:
        """See Files."""
        assert isinstance(file, _LocalOutput)
        os.fsync(file.descriptor)

    def sync_file(self, name: str) -> None:
        """See Files."""
        descriptor = self._open_descriptor(name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync_folder(self, name: str = "") -> None:
        """See Files."""
        with self._folder(name) as descriptor:
            _sync_names(descriptor)

    def make(self, name: str) -> None:
        """See Files."""
        with self._parent(name) as (descriptor, last):
            os.mkdir(last, dir_fd=descriptor)

    def rename(self, old: str, new: str) -> None:
        """See Files."""
        with self._parent(old) as (before, first), self._parent(new) as (after, second):
            os.rename(first, second, src_dir_fd=before, dst_dir_fd=after)

    def remove(self, name: str) -> None:
        """See Files."""
        with self._parent(name) as (descriptor, last):
            os.unlink(last, dir_fd=descriptor)

    def remove_folder(self, name: str) -> None:
        """See Files."""
        with self._parent(name) as (descriptor, last):
            os.rmdir(last, dir_fd=descriptor)

    def lock(self, name: str) -> Lock | str:
        """See Files."""
        descriptor = self._open_descriptor(name, os.O_RDWR | os.O_CREAT)
        try:
            if os.fstat(descriptor).st_nlink > 1:
                raise OSError(errno.EMLINK, f"{name} is a hard link, and writing there would change another file")
            holder = _take(descriptor, fcntl.LOCK_EX)
            if holder is None:
                os.truncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
        except BaseException:
            os.close(descriptor)
            raise
        if holder is not None:
            os.close(descriptor)
            return holder
        lock = _LocalLock(descriptor, lambda: self._is_file(name, descriptor))
        if lock.is_in_place():
            return lock
        lock.release()  # somebody has replaced it meanwhile
        return self.lock(name)

    def _is_file(self, name: str, descriptor: int) -> bool:
        """Return True if the open file is the one of this name."""
        try:
            with self._parent(name) as (folder, last):
                found = os.stat(last, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(descriptor))

    def shared_lock(self, name: str) -> Lock | str:
        """See Files."""
        try:
            descriptor = self._open_descriptor(name, os.O_RDONLY)
        except FileNotFoundError:
            return _LocalLock(None, lambda: True)
        try:
            holder = _take(descriptor, fcntl.LOCK_SH)
        except BaseException:
            os.close(descriptor)
            raise
        if holder is not None:
            os.close(descriptor)
            return holder
        return _LocalLock(descriptor, lambda: self._is_file(name, descriptor))

    def close(self) -> None:
        """See Files."""
        if self._close is not None:
            self._close()
            self._close = self._root = None

    def _top(self) -> int:
        """Return a descriptor of the folder, which is open until `close`."""
        if self._root is None:
            self._root = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            self._close = weakref.finalize(self, os.close, self._root)
        return self._root

    @contextmanager
    def _folder(self, name: str) -> Iterator[int]:
        """Open a descriptor of a folder for the block."""
        descriptor = os.open(".", _FOLDER, dir_fd=self._top())
        try:
            for part in filter(None, name.split("/")):
                below = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _parent(self, name: str) -> Iterator[tuple[int, str]]:
        """Open a descriptor of the parent folder of a name for the block, and return it with the last part of the
        name."""
        above, _, last = name.rpartition("/")
        with self._folder(above) as descriptor:
            yield descriptor, last

    def _open_descriptor(self, name: str, flags: int) -> int:
        """Return a descriptor of a file. Raise OSError unless it is a regular file."""
        with self._parent(name) as (folder, last):
            descriptor = os.open(last, flags | _FILE, 0o666, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, f"{name} is not a regular file")
        return descriptor


class _LocalOutput(Output):
    def __init__(self, descriptor: int, length: int = 0) -> None:
        super().__init__(length)
        self.descriptor = descriptor

    def _append(self, data: memoryview) -> int:
        return os.write(self.descriptor, data)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            super().close()
            os.close(self.descriptor)


class _LocalLock(Lock):
    """The system lets others have the lock when the descriptor is closed, or this object forgotten. A process that is
    forked closes its copy of the descriptor, so that the lock ends with the process that has taken it."""

    held: ClassVar[weakref.WeakSet[_LocalLock]] = weakref.WeakSet()

    def __init__(self, descriptor: int | None, is_in_place: Callable[[], bool]) -> None:
        self._release = None if descriptor is None else weakref.finalize(self, os.close, descriptor)
        self._is_in_place = is_in_place
        self.held.add(self)

    def is_in_place(self) -> bool:
        """See Lock."""
        return self._is_in_place()

    def release(self) -> None:
        """See Lock."""
        if self._release is not None:
            self._release()


def _let_go() -> None:
    for lock in list(_LocalLock.held):
        lock.release()


os.register_at_fork(after_in_child=_let_go)


def _take(descriptor: int, how: int) -> str | None:
    """Lock a file, or return its owner if that is another process."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return os.read(descriptor, 20).decode(errors="replace").strip() or "unknown"
    return None


def _kind(entry: os.DirEntry[str]) -> FileKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _sync_names_in(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _sync_names(descriptor)
    finally:
        os.close(descriptor)


def _sync_names(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
