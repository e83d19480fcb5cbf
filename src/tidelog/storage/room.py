"""The memory that there is, looked at before more is requested: Linux gives out memory that it does not have, and ends
the process that then uses it.

`Room` is what the arrays of a database may take. Beyond it, they go into files where the user has named a folder for
them (`SpillFile`). A file has its place on the disk before anybody writes to it. So a full disk is an error, and never
ends the process. Nobody else finds the file, and it goes with the process, however that ends.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from tidelog.errors import Problem, UsageError

LARGE = 1 << 24
"""Bytes. Smaller requests are not checked."""
_LEAST = 1 << 20
"""Bytes. Where there is a folder for files, smaller requests are not checked."""
_SHARE = 7 / 8
"""The part of the limit that arrays may fill before they go into files. The rest is for everything else."""
_ROOT = Path("/")
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs"})
_AT_ONCE = 1 << 26
"""Bytes written at a time."""
_MOUNTS = Path("/proc/self/mountinfo")


def check_room(more: int, limit: int | None = None) -> None:
    """Raise MemoryError if the process would have more than `limit` bytes with `more` of them, or if the system has
    fewer left."""
    if more < LARGE:
        return
    if limit is not None and resident() + more > limit:
        raise MemoryError(f"{size_text(more)} more would pass the limit of {size_text(limit)}")
    left = available_memory()
    if left is not None and more > left:
        raise MemoryError(f"{size_text(more)} more are needed, and the system has {size_text(left)} left")


class Spillable(Protocol):
    """Memory that can move into a file."""

    def spill(self) -> None:
        """Move into a file, at the same address. MemoryError changes nothing."""


class Room:
    """The memory that the arrays of a database may take: the process may have `limit` bytes, or if that is None, what
    the system has left. Arrays that do not fit go into files in `folder`, unless that is None."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.folder: Path | None = None
        self._cold: Callable[[], Iterable[Spillable]] | None = None
        self._thread = 0
        self._files: WeakSet[SpillFile] = WeakSet()
        self._process = os.getpid()

    def check(self, more: int) -> None:
        """Raise MemoryError if there are not so many bytes, and no folder for files."""
        if self.folder is None:
            check_room(more, self.limit)

    def has(self, more: int) -> bool:
        """Return True if there are so many bytes, or can be: cold arrays move into files before others. The room has a
        `folder`."""
        if more < _LEAST or self.fits(more):
            return True
        if self._cold is not None and self._thread == threading.get_ident():
            for each in self._cold():
                each.spill()
                if self.fits(more):
                    return True
        return False

    def fits(self, more: int) -> bool:
        """Return True if the process may have so many bytes more, and some beside them."""
        most = self._most()
        return most is None or resident() + more <= most * _SHARE

    def _most(self) -> int | None:
        """Return the bytes that the process may have."""
        left = available_memory()
        return self.limit if left is None else min(self.limit or sys.maxsize, resident() + left)

    @property
    def budget(self) -> int | None:
        """The bytes that the process may have if arrays that do not fit go into files, else None."""
        return None if self.folder is None else self._most()

    @contextmanager
    def allow_spilling(self, cold: Callable[[], Iterable[Spillable]]) -> Iterator[None]:
        """Let this thread move arrays that are `cold`, the coldest first, into files inside the block. No other thread
        writes them meanwhile."""
        self._cold, self._thread = cold, threading.get_ident()
        try:
            yield
        finally:
            self._cold = None

    def file(self, size: int) -> SpillFile:
        """Return a file of `size` bytes. SpillError where the disk has no room for it."""
        assert self.folder is not None
        file = SpillFile(self.folder)
        file.reserve(size)
        self._files.add(file)
        self._process = os.getpid()
        return file

    @property
    def in_files(self) -> int:
        """The bytes that lie in files."""
        return sum(file.size for file in list(self._files))

    @property
    def is_apart(self) -> bool:
        """Return True if another process wrote the files. A fork shares them, so that neither could change them."""
        return self._process != os.getpid() and self.in_files > 0


def resident() -> int:
    """Return the bytes of memory that the process has at the moment, without pages of files, which the system can drop;
    0 where the system does not say so."""
    try:
        pages, shared = map(int, (_ROOT / "proc/self/statm").read_text().split()[1:3])
    except OSError:
        return 0
    return (pages - shared) * os.sysconf("SC_PAGE_SIZE")


def available_memory() -> int | None:
    """Return the bytes that the system, or the control group of the process, has left; None where nobody says so."""
    if not sys.platform.startswith("linux"):
        return None
    return min([*_of_system("MemAvailable", "SwapFree"), *_of_groups()], default=None)


def installed_memory() -> int | None:
    """Return the bytes that the system, or the control group of the process, has in all, whoever uses them; None where
    nobody says so."""
    if not sys.platform.startswith("linux"):
        return None
    limits = []
    for limit, _ in _groups():
        with suppress(OSError, ValueError):
            limits.append(int(limit.read_text()))
    return min([*_of_system("MemTotal"), *limits], default=None)


def _of_system(*parts: str) -> Iterator[int]:
    """Yield the bytes of parts of the system's memory, together."""
    with suppress(OSError, KeyError, ValueError):
        lines = (_ROOT / "proc/meminfo").read_text().splitlines()
        fields = {name: value for name, _, value in (line.partition(":") for line in lines)}
        yield 1024 * sum(int(fields[name].split()[0]) for name in parts)


def _of_groups() -> Iterator[int]:
    """Yield what each control group of the process has left; pages of files that it can drop are left."""
    for limit, used in _groups():
        with suppress(OSError, ValueError):
            lines = (limit.parent / "memory.stat").read_text().splitlines()
            statistics = dict(line.split() for line in lines)
            droppable = sum(int(statistics.get(f"{kind}_file", 0)) for kind in ("active", "inactive"))
            yield int(limit.read_text()) - int(used.read_text()) + droppable


def _groups() -> Iterator[tuple[Path, Path]]:
    """Yield for each control group of the process the files with its limit and with what it uses."""
    with suppress(OSError, ValueError):
        for line in (_ROOT / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                base, most, used = _ROOT / "sys/fs/cgroup", "memory.max", "memory.current"
            elif "memory" in controllers.split(","):
                base, most, used = _ROOT / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            else:
                continue
            group = base / path.lstrip("/")
            for folder in (group, *(each for each in group.parents if each == base or base in each.parents)):
                yield folder / most, folder / used


def size_text(size: int) -> str:
    """Return bytes for a reader."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


class SpillError(MemoryError):
    """The disk of a `folder` has no room for an array."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(f"{error.strerror or error} when arrays were to be put into files")
        self.folder = folder


class SpillFile:
    """A file in a folder, without a name, of `size` bytes; it goes with this object and all mappings of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.size = 0
        self.number = -1
        """The number by which the system knows the open file."""
        try:
            with tempfile.TemporaryFile(dir=folder, prefix="tidelog-", buffering=0) as file:
                self.number = os.dup(file.fileno())
        except OSError as error:
            raise SpillError(folder, error) from None

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)

    def reserve(self, size: int) -> None:
        """Let the file have `size` bytes, those behind its end zero. SpillError where the disk is full."""
        try:
            os.posix_fallocate(self.number, self.size, size - self.size)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self.number, self.size)
            raise SpillError(self._folder, error) from None
        self.size = size

    def write(self, address: int, size: int) -> None:
        """Write `size` bytes of memory at an address to the beginning of the file. SpillError where that fails."""
        memory = memoryview((ctypes.c_uint8 * size).from_address(address))
        done = 0
        while done < size:
            try:
                done += os.pwrite(self.number, memory[done : done + _AT_ONCE], done)
            except OSError as error:
                raise SpillError(self._folder, error) from None


def spill_folder(value: str | os.PathLike[str]) -> Path:
    """Return a folder for files with its full path. UsageError (E0656) if it cannot be used: it has to be a folder of a
    local disk, where this process may write."""
    folder = Path(value)
    if not sys.platform.startswith("linux"):
        raise _unusable(folder, "arrays can lie in files on Linux only", "leave `spill` out")
    if not folder.exists():
        raise _unusable(folder, "the folder does not exist", "make it, or pass another one")
    if not folder.is_dir():
        raise _unusable(folder, "it is a file", "pass a folder")
    folder = folder.resolve()
    system = _file_system(folder)
    if system in _IN_MEMORY:
        raise _unusable(folder, f"its files lie in memory ({system})", "pass a folder on a disk")
    if system in _NETWORK:
        hint = "pass a folder on a disk of this machine; a process ends when the network fails it"
        raise _unusable(folder, f"its files lie on another machine ({system})", hint)
    try:
        SpillFile(folder).reserve(1)
    except SpillError as error:
        raise _unusable(folder, str(error), "pass a folder in which this process may write") from None
    return folder


def _unusable(folder: Path, reason: str, hint: str) -> UsageError:
    message = f"cannot use the folder for files of arrays: {reason}"
    return UsageError(Problem("E0656", message, hint=hint, place=str(folder)))


def _file_system(folder: Path) -> str | None:
    """Return the type of the file system of a folder, None where the system does not say so."""
    device = folder.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError):
        for line in _MOUNTS.read_text().splitlines():
            mount, _, kind = line.partition(" - ")
            if mount.split()[2] == wanted:
                return kind.split()[0]
    return None
