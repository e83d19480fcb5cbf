"""The store of a node: a folder with the state at some moment, and the steps that were taken since.

A node is a state machine, so that the same steps lead to the same state: the journal holds what came in, and each entry
is on the disk before anything that follows from it is sent. An entry that was cut off by the end of the machine was
never acted upon, and is dropped. Now and then the state is written anew and the journal begins again.
"""

from __future__ import annotations

import errno
import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tidelog.errors import DataError, Problem, UsageError
from tidelog.network.machine import Letter, NodeState
from tidelog.network.snapshot import dump, load
from tidelog.network.wire import message_from_json, message_to_json
from tidelog.store.local import LocalFiles
from tidelog.store.owner import Owner

_HEADER = struct.Struct(">II")
LONGEST = 4 * 2**20
"""Bytes of journal after which the state is written anew, unless the state itself is longer."""


class Journal:
    """The store in a folder, which is made if need be. One process at a time can have it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._file: IO[bytes] | None = None
        self._owner: Owner | None = None
        self._generation = 0
        self._length = 0
        self._limit = LONGEST

    def open(self, name: str, text: str) -> NodeState | None:
        """The node as it was when it last acted; None in a new store. Raises UsageError (E0623) where the store is in
        use, cannot be used, or is of another node or program, DataError (E0416) where it cannot be read."""
        with self._using():
            return self._open(name, text)

    def _open(self, name: str, text: str) -> NodeState | None:
        files = LocalFiles(self._folder.absolute())
        files.establish()
        with self._no_link(self._folder / "lock"):
            found = files.lock("lock")
        if isinstance(found, str):
            raise self._wrong(f"is in use by process {found}")
        self._owner = Owner(found, str(self._folder))
        path = self._folder / "state"
        if not path.exists():
            return None
        try:
            with self._opened(path, os.O_RDONLY) as file:
                first, state = file.read().split(b"\n", 1)
            self._generation = int(first)
            machine = load(state)
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            message = f"the state cannot be read: {error or type(error).__name__}"
            raise DataError(Problem("E0416", message, place=str(path), hint="take the store from a copy")) from None
        if (machine.name, machine.book.text) != (name, text):
            what = "node" if machine.name != name else "program"
            raise self._wrong(f"is that of another {what}")
        for kind, letters, refused in self._replayed():
            if refused:
                machine.rejected["no packet"] += refused
            _do(machine, kind, letters)
        return machine

    def check(self) -> None:
        """Raise UsageError unless this process may write: E0602, E0623, E0627 or E0628."""
        if self._owner is None:
            raise UsageError(Problem("E0602", "the node is closed", hint="open it again from its store"))
        with self._using():
            self._owner.check()

    def begin(self, machine: NodeState) -> None:
        """Write the state anew and go on with an empty journal. Raises as `append`."""
        self.check()
        with self._using():
            self._begin(machine)

    def _begin(self, machine: NodeState) -> None:
        state = dump(machine)
        new = self._folder / "state.new"
        with self._opened(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(f"{self._generation + 1}\n".encode() + state)
            file.flush()
            os.fsync(file.fileno())
        before = self._path
        self._generation += 1
        if self._file is not None:
            self._file.close()
        self._file = self._opened(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self._length, self._limit = 0, max(LONGEST, len(state))
        new.replace(self._folder / "state")
        self._sync_folder()
        before.unlink(missing_ok=True)

    def append(self, machine: NodeState, kind: str, letters: Sequence[Letter] = ()) -> None:
        """Keep what a node has just done: a "step", a "resend" or an "ask". Raises as `check`; what is behind an entry
        that could not be written is never read."""
        self.check()
        entry = [kind, [[sender, message_to_json(message)] for sender, message in letters]]
        data = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
        assert self._file is not None
        with self._using():
            if self._length + len(data) > self._limit:
                self._begin(machine)  # The state has it already.
                return
            self._file.write(_HEADER.pack(len(data), zlib.crc32(data)) + data)
            self._file.flush()
            os.fsync(self._file.fileno())
            self._length += len(data)

    def close(self) -> None:
        """Let another process have the store."""
        if self._file is not None:
            with suppress(OSError):  # of an entry that could not be written
                self._file.close()
        if self._owner is not None:
            self._owner.release()
        self._file = self._owner = None

    @property
    def _path(self) -> Path:
        return self._folder / f"journal.{self._generation}"

    def _replayed(self) -> Iterator[tuple[str, list[Letter], int]]:
        """The entries of the journal; the file is left open behind the last whole one."""
        self._file = self._opened(self._path, os.O_RDWR | os.O_CREAT)
        data = self._file.read()
        end = 0
        while end + _HEADER.size <= len(data):
            length, check = _HEADER.unpack_from(data, end)
            entry = data[end + _HEADER.size : end + _HEADER.size + length]
            if len(entry) < length or zlib.crc32(entry) != check:
                break
            end += _HEADER.size + length
            yield _read(entry)
        self._file.seek(end)
        self._file.truncate()
        self._length = end

    def _opened(self, path: Path, flags: int) -> IO[bytes]:
        """Open a file of the store. Raise UsageError (E0623) for a link, which could lead out of the folder."""
        with self._no_link(path):
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        modes = {os.O_RDONLY: "rb", os.O_WRONLY: "wb", os.O_RDWR: "r+b"}
        return os.fdopen(descriptor, modes[flags & (os.O_WRONLY | os.O_RDWR)])

    @contextmanager
    def _no_link(self, path: Path) -> Iterator[None]:
        """Inside, a file is opened that must not be a link: UsageError (E0623)."""
        try:
            yield
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            message = f"the file {path.name} of the store is a symbolic link"
            hint = "remove the link; a store holds its files itself"
            raise UsageError(Problem("E0623", message, place=str(path), hint=hint)) from None

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Inside, the disk may refuse: UsageError (E0623)."""
        try:
            yield
        except OSError as error:
            message = f"the store cannot be used: {error.strerror or error}"
            hint = "make room, or allow reading and writing there"
            raise UsageError(Problem("E0623", message, place=str(self._folder), hint=hint)) from error

    def _sync_folder(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _wrong(self, what: str) -> UsageError:
        return UsageError(Problem("E0623", f"the store {what}", place=str(self._folder), hint="use another folder"))


def _read(entry: bytes) -> tuple[str, list[Letter], int]:
    """A whole entry: what was done, with which messages, and how many others are beyond a bound. A node that did not
    have this bound yet may have kept such a message, and could not go on with it."""
    try:
        kind, parts = json.loads(entry.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return "step", [], 1
    letters: list[Letter] = []
    for sender, message in parts:
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            letters.append((sender, message_from_json(message)))
    return kind, letters, len(parts) - len(letters)


def _do(machine: NodeState, kind: str, letters: list[Letter]) -> Any:
    match kind:
        case "resend":
            return machine.resend()
        case "ask":
            return machine.ask()
        case _:
            return machine.step(letters)
