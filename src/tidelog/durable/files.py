"""The files of one folder: stores and nodes reach the disk only through `Files`.

`Files` has one method for each operation of a file system, and on top of these the operations of stores: files that
last, and checksums. `local` is the file system of the machine; `simulated` is one that forgets, fails and counts, for
tests.

Names are relative to the folder, with "/" between their parts. No link below the folder is ever followed.

What an operation does can be lost with the machine until it is synced. The contents of a file last after `sync`. Its
name lasts after `sync_folder` of the folder that it is in, and so does the absence of a name.
"""

from __future__ import annotations

import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from tidelog.errors import DataError, Problem

_AT_ONCE = 1 << 22
"""Bytes between two syncs of a file that is written gently."""

FileKind: TypeAlias = Literal["file", "folder", "link", "other"]


class Output(io.RawIOBase):
    """A file that is being written, to its end. Nothing is kept back in memory."""

    def __init__(self, length: int = 0) -> None:
        self._length = length

    @abstractmethod
    def _append(self, data: memoryview) -> int:
        """Write some bytes behind those that there are; how many it were."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes so far."""
        return self._length

    def write(self, data: Any, /) -> int:
        """Write all of the bytes; how many they are. OSError."""
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):
            count = self._append(view[done:])
            done += count
            self._length += count
        return done


class Summed(io.RawIOBase):
    """An output with the checksum of the bytes written so far. A `sync` is called every few megabytes."""

    def __init__(self, output: Output | IO[bytes], sync: Callable[[], object] | None = None) -> None:
        self._output = output
        self._digest = hashlib.sha256()
        self._sync = sync

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._output.tell()

    def write(self, data: Any, /) -> int:
        self._digest.update(data)
        if self._sync is None:
            return self._output.write(data)
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _AT_ONCE):
            before = self._output.tell() // _AT_ONCE
            self._output.write(view[start : start + _AT_ONCE])
            if self._output.tell() // _AT_ONCE > before:
                self._sync()
        return len(view)

    @property
    def checksum(self) -> str:
        return self._digest.hexdigest()


class Files(ABC):
    """The operations on the files of a folder. All of them raise OSError where the file system does not do them."""

    mark = ""
    """The end of the names of files that another process may write at the same time, where there are no locks."""
    appends = True
    """True where files can grow after they have been closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # --- what a file system has to do ----------------------------------------------------------------------------

    @abstractmethod
    def establish(self) -> None:
        """Make the folder durable, with its parents if need be. A folder that is empty or new lasts from then on."""

    @abstractmethod
    def entries(self, name: str = "") -> Mapping[str, FileKind]:
        """Return the names in a folder, and their kinds."""

    @abstractmethod
    def kind(self, name: str) -> FileKind | None:
        """Return the kind of this name, None if it does not exist."""

    @abstractmethod
    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading."""

    @abstractmethod
    def create(self, name: str) -> Output:
        """Begin a file, which must not be there."""

    @abstractmethod
    def extend(self, name: str, length: int) -> Output:
        """Continue a file behind its first `length` bytes; all bytes behind these are lost."""

    @abstractmethod
    def sync(self, file: Output) -> None:
        """Force the written content of a file to the disk."""

    @abstractmethod
    def sync_file(self, name: str) -> None:
        """Force to the disk what another process wrote to a file."""

    @abstractmethod
    def sync_folder(self, name: str = "") -> None:
        """Force the names in a folder to the disk, if the file system can do that."""

    @abstractmethod
    def make(self, name: str) -> None:
        """Make a folder."""

    @abstractmethod
    def rename(self, old: str, new: str) -> None:
        """Give a file another name, of which there may be a file, in one step."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file."""

    @abstractmethod
    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""

    @abstractmethod
    def lock(self, name: str) -> Lock | str:
        """Take the lock of a file, which is made if need be, for this process alone. If others have it, return their
        name from the file."""

    @abstractmethod
    def shared_lock(self, name: str) -> Lock | str:
        """Take the lock of a file, if there is one, together with others that read; nothing is written."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the folder."""

    # --- what stores make of it ----------------------------------------------------------------------------------

    def write(self, name: str, write: Callable[[IO[bytes]], object], *, gently: bool = False) -> str:
        """Write a new file in place of one that may be there, have its contents on the disk, and return its checksum.
        With `gently`, sync it every few megabytes: others that sync files would wait for all that is not synced."""
        with self._new(name) as file:
            summed = Summed(file, partial(self.sync, file) if gently else None)
            write(summed)  # type: ignore[arg-type]  # IO is no protocol; this is one for writing, from start to end
            self.sync(file)
            return summed.checksum

    def write_bytes(self, name: str, data: bytes) -> None:
        """Do the same with bytes that need no checksum."""
        with self._new(name) as file:
            file.write(data)
            self.sync(file)

    @contextmanager
    def _new(self, name: str) -> Iterator[Output]:
        if self.kind(name) is not None:
            self.remove(name)
        with closing(self.create(name)) as file:
            yield file

    def replace(self, new: str, name: str) -> None:
        """Give a file that was written the place of another one, in one step and for good."""
        self.rename(new, name)
        self.sync_folder(name.rpartition("/")[0])

    def read_bytes(self, name: str) -> bytes:
        """Return the contents of a file."""
        with self.open(name) as file:
            return file.read()

    def checksum(self, name: str) -> str:
        """Return the checksum of a file."""
        with self.open(name) as file:
            return checksum_of(file)

    def below(self, name: str) -> Iterator[tuple[str, FileKind]]:
        """Return names and kinds of everything below a folder, a folder before its contents."""
        for entry, kind in sorted(self.entries(name).items()):
            place = f"{name}/{entry}" if name else entry
            yield place, kind
            if kind == "folder":
                yield from self.below(place)

    def remove_tree(self, name: str) -> None:
        """Remove a file, or a folder with everything in it; nothing where there is none. What a link leads to stays."""
        match self.kind(name):
            case None:
                return
            case "folder":
                for entry in sorted(self.entries(name)):
                    self.remove_tree(f"{name}/{entry}")
                self.remove_folder(name)
            case _:
                self.remove(name)

    def path(self, name: str) -> Path:
        """Return the path of a file on this machine."""
        return self.folder / name

    def place(self, name: str) -> str:
        """Return the path or the address of a file, for messages and for other writers."""
        return str(self.path(name))


class Lock(ABC):
    """A lock that this process has."""

    @abstractmethod
    def is_in_place(self) -> bool:
        """Return True if others who look for the lock still find it, False if its file was removed or replaced."""

    @abstractmethod
    def release(self) -> None:
        """Let others have it. Calling this twice does no harm."""


def checksum_of(file: IO[bytes]) -> str:
    """Return the checksum of an open file, from here to its end."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # IO is no protocol


def checksum(data: bytes) -> str:
    """Return the checksum of bytes."""
    return hashlib.sha256(data).hexdigest()


def damage_error(place: Path | str, what: str) -> DataError:
    """Return the error (E0682) for a damaged state folder."""
    hint = "restore the folder from a copy, or begin with an empty folder"
    return DataError(Problem("E0682", f"the state folder is damaged: {what}", place=str(place), hint=hint))


@contextmanager
def report_damage(files: Files, place: str) -> Iterator[None]:
    """Raise DataError (E0682) if a file is missing inside the block, or is not a file."""
    try:
        yield
    except OSError as error:
        # The number of the error says less: a folder that is read gives one or another, by the file system.
        if _is_file(files, place):
            raise
        raise damage_error(files.place(place), error.strerror or str(error)) from None


def _is_file(files: Files, place: str) -> bool:
    """Return True if there is a file of this name; also where the file system does not say."""
    try:
        return files.kind(place) == "file"
    except OSError as error:
        return not isinstance(error, (FileNotFoundError, NotADirectoryError))


def compare(files: Files, place: str, found: str, expected: str) -> None:
    """Raise DataError (E0682) unless the checksum of a file is the one that it had."""
    if found != expected:
        raise damage_error(files.place(place), "the checksum is wrong")


def intact(files: Files, place: str, expected: str) -> bytes:
    """Return the contents of a file with the checksum `expected`. Raise DataError (E0682), OSError."""
    with report_damage(files, place):
        data = files.read_bytes(place)
    compare(files, place, checksum(data), expected)
    return data
