"""Files for arrays that do not fit into memory: nameless ones, in a folder of the user.

A file has its place on the disk before anybody writes to it. So a full disk is an error, and never ends the process.
Nobody else finds the file, and it goes with the process, however that ends.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tidelog.errors import Problem, UsageError

_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs"})
_AT_ONCE = 1 << 26
"""Bytes written at a time."""
_MOUNTS = Path("/proc/self/mountinfo")


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
