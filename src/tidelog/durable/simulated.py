"""A file system in memory that loses unsynced data, for tests.

`SimulatedDisk` gives the guarantees of POSIX and no others. What has been synced survives a crash
(`copy_after_crash`). Of everything since then, any part may: each name in a folder has its state of some moment since
the folder was last synced. Behind the synced bytes of a file, more bytes may follow, be zeros or be missing. So a
rename can be lost, a file can exist empty, and a later change can survive an earlier one.

`before` is called before each operation with its name and that of the file. An exception of it becomes that of the
operation.
"""

from __future__ import annotations

import copy
import errno
import io
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeAlias

from tidelog.durable.files import FileKind, Files, Lock, Output

Entry: TypeAlias = "_File | _Folder"


@dataclass(eq=False)
class _File:
    data: bytearray = field(default_factory=bytearray)
    synced: int = 0
    """So many bytes are on the disk."""

    def survivor(self, rng: random.Random) -> _File:
        extra = self.data[self.synced :]
        kept = extra[: rng.choice((0, rng.randint(0, len(extra)), len(extra)))]
        if rng.random() < 0.3:
            kept = bytearray(len(kept))
        data = self.data[: self.synced] + kept
        return _File(data, len(data))


@dataclass(eq=False)
class _Folder:
    names: dict[str, Entry] = field(default_factory=dict)
    past: dict[str, list[Entry | None]] = field(default_factory=dict)
    """For names that have changed since the folder was synced: what they were, the first as of then."""

    def set_entry(self, name: str, node: Entry | None) -> None:
        """Let a name be something else, or nothing."""
        self.past.setdefault(name, []).append(self.names.get(name))
        if node is None:
            del self.names[name]
        else:
            self.names[name] = node

    def survivor(self, rng: random.Random) -> _Folder:
        names = {}
        for name in sorted({*self.names, *self.past}):
            node = rng.choice([*self.past.get(name, ()), self.names.get(name)])
            if node is not None:
                names[name] = node.survivor(rng)
        return _Folder(names)


class SimulatedDisk:
    """A disk with one folder, which `files` gives to a store.

    `operations` counts those so far, and `skip` names the syncs that do nothing: a function of the operation and the
    name.
    """

    def __init__(self, before: Callable[[str, str], object] | None = None) -> None:
        self.before = before
        self.skip: Callable[[str, str], bool] = lambda operation, name: False
        self.operations = 0
        self.above = _Folder()
        self.holders: dict[_File, int] = {}

    def files(self, folder: Path = Path("/store")) -> Files:
        """Return the folder for a store; that it is at `folder` is for messages."""
        return _SimulatedFiles(self, folder)

    def copy_after_crash(self, rng: random.Random) -> SimulatedDisk:
        """Return a disk as the machine may find it after a crash at this moment."""
        other = SimulatedDisk()
        other.above = self.above.survivor(rng)
        return other

    def copy_after_kill(self) -> SimulatedDisk:
        """Return a disk as the next process finds it when this one is killed: with everything, but no lock."""
        other = SimulatedDisk()
        other.above = copy.deepcopy(self.above)
        return other

    def contents(self) -> dict[str, bytes | None]:
        """Return the names of everything in the folder, with the bytes of files, and None for folders."""
        found: dict[str, bytes | None] = {}

        def add(folder: _Folder, prefix: str) -> None:
            for name, node in sorted(folder.names.items()):
                found[prefix + name] = bytes(node.data) if isinstance(node, _File) else None
                if isinstance(node, _Folder):
                    add(node, f"{prefix}{name}/")

        folder = self.above.names.get("folder")
        if isinstance(folder, _Folder):
            add(folder, "")
        return found

    def change(self, name: str, data: bytes) -> None:
        """Let a file have other contents, as damage does."""
        node: Entry = self.above.names["folder"]
        for part in name.split("/"):
            assert isinstance(node, _Folder)
            node = node.names[part]
        assert isinstance(node, _File)
        node.data, node.synced = bytearray(data), len(data)


class _SimulatedFiles(Files):
    def __init__(self, disk: SimulatedDisk, folder: Path) -> None:
        super().__init__(folder)
        self._disk = disk

    def _begin(self, operation: str, name: str) -> None:
        self._disk.operations += 1
        if self._disk.before is not None:
            self._disk.before(operation, name)

    def _syncs(self, operation: str, name: str) -> bool:
        self._begin(operation, name)
        return not self._disk.skip(operation, name)

    def _folder(self, name: str) -> _Folder:
        folder = self._disk.above
        for part in ("folder", *filter(None, name.split("/"))):
            below = folder.names.get(part)
            if not isinstance(below, _Folder):
                raise _error(errno.ENOENT if below is None else errno.ENOTDIR, name)
            folder = below
        return folder

    def _parent(self, name: str) -> tuple[_Folder, str]:
        above, _, last = name.rpartition("/")
        return self._folder(above), last

    def _file(self, name: str) -> _File:
        folder, last = self._parent(name)
        found = folder.names.get(last)
        if not isinstance(found, _File):
            raise _error(errno.ENOENT if found is None else errno.EISDIR, name)
        return found

    def establish(self) -> None:
        above = self._disk.above
        if "folder" not in above.names:
            self._begin("make", "")
            above.set_entry("folder", _Folder())
        if not self._folder("").names and self._syncs("sync name", ""):
            above.past.clear()

    def entries(self, name: str = "") -> Mapping[str, FileKind]:
        self._begin("entries", name)
        return {entry: _kind(node) for entry, node in self._folder(name).names.items()}

    def kind(self, name: str) -> FileKind | None:
        self._begin("kind", name)
        try:
            folder, last = self._parent(name)
        except FileNotFoundError:
            return None
        return _kind(folder.names[last]) if last in folder.names else None

    def open(self, name: str) -> IO[bytes]:
        self._begin("open", name)
        return io.BytesIO(bytes(self._file(name).data))

    def create(self, name: str) -> Output:
        self._begin("create", name)
        folder, last = self._parent(name)
        if last in folder.names:
            raise _error(errno.EEXIST, name)
        file = _File()
        folder.set_entry(last, file)
        return _SimulatedOutput(self._disk, file, name)

    def extend(self, name: str, length: int) -> Output:
        self._begin("truncate", name)
        file = self._file(name)
        del file.data[length:]
        file.synced = min(file.synced, length)
        return _SimulatedOutput(self._disk, file, name)

    def sync(self, file: Output) -> None:
        assert isinstance(file, _SimulatedOutput)
        if self._syncs("sync file", file.place):
            file.file.synced = len(file.file.data)

    def sync_file(self, name: str) -> None:
        if self._syncs("sync file", name):
            found = self._file(name)
            found.synced = len(found.data)

    def sync_folder(self, name: str = "") -> None:
        if self._syncs("sync folder", name):
            self._folder(name).past.clear()

    def make(self, name: str) -> None:
        self._begin("make", name)
        folder, last = self._parent(name)
        if last in folder.names:
            raise _error(errno.EEXIST, name)
        folder.set_entry(last, _Folder())

    def rename(self, old: str, new: str) -> None:
        self._begin("rename", old)
        file = self._file(old)
        folder, last = self._parent(new)
        folder.set_entry(last, file)
        folder, last = self._parent(old)
        folder.set_entry(last, None)

    def remove(self, name: str) -> None:
        self._begin("remove", name)
        self._file(name)
        folder, last = self._parent(name)
        folder.set_entry(last, None)

    def remove_folder(self, name: str) -> None:
        self._begin("remove folder", name)
        if self._folder(name).names:
            raise _error(errno.ENOTEMPTY, name)
        folder, last = self._parent(name)
        folder.set_entry(last, None)

    def lock(self, name: str) -> Lock | str:
        self._begin("lock", name)
        folder, last = self._parent(name)
        if last not in folder.names:
            folder.set_entry(last, _File())
        file = self._file(name)
        if file in self._disk.holders:
            return file.data.decode().strip()
        file.data[:] = f"{os.getpid()}\n".encode()
        return _SimulatedLock(self._disk, file, alone=True)

    def shared_lock(self, name: str) -> Lock | str:
        self._begin("lock", name)
        folder, last = self._parent(name)
        if last not in folder.names:
            return _SimulatedLock(self._disk, _File(), alone=False)
        file = self._file(name)
        if self._disk.holders.get(file, 0) < 0:
            return file.data.decode().strip()
        return _SimulatedLock(self._disk, file, alone=False)

    def close(self) -> None:
        pass


class _SimulatedOutput(Output):
    def __init__(self, disk: SimulatedDisk, file: _File, place: str) -> None:
        super().__init__(len(file.data))
        self._disk = disk
        self.file = file
        self.place = place

    def _append(self, data: memoryview) -> int:
        self._disk.operations += 1
        if self._disk.before is not None:
            self._disk.before("write", self.place)
        self.file.data += data
        return len(data)


class _SimulatedLock(Lock):
    """Holders are counted; one that is alone counts as -1."""

    def __init__(self, disk: SimulatedDisk, file: _File, *, alone: bool) -> None:
        self._disk = disk
        self._file = file
        self._held = True
        disk.holders[file] = -1 if alone else disk.holders.get(file, 0) + 1

    def is_in_place(self) -> bool:
        return self._held

    def release(self) -> None:
        if self._held:
            self._held = False
            left = self._disk.holders.get(self._file, 1) - 1
            if left > 0:
                self._disk.holders[self._file] = left
            else:
                self._disk.holders.pop(self._file, None)


def _kind(node: Entry) -> FileKind:
    return "file" if isinstance(node, _File) else "folder"


def _error(number: int, name: str) -> OSError:
    return OSError(number, os.strerror(number), name)
