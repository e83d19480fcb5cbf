"""The store of a node: a folder with the state at some moment, and the steps since.

A node is a state machine, so the same steps lead to the same state. The journal holds the messages that came in. Each
entry is on the disk before the node sends anything that follows from it. A crash may cut the last entry off; the node
never acted on it, and drops it. Now and then the node writes its state anew and begins the journal again.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tidelog.durable.files import Files, Output
from tidelog.durable.local import LocalFiles
from tidelog.durable.owner import Owner
from tidelog.errors import DataError, Problem, UsageError, path_problem
from tidelog.functions.callables import GivenFunctions
from tidelog.network.functors import FunctorCall, Results, results_from_json, results_to_json
from tidelog.network.machine import Letter, NodeState
from tidelog.network.snapshot import dump, is_current, load
from tidelog.network.wire import message_from_json, message_to_json

_NEW = "state.new"
_HEADER = struct.Struct(">II")
LONGEST = 4 * 2**20
"""Bytes of journal after which the state is written anew, unless the state itself is longer."""


class Journal:
    """The store in a folder, which is made if missing. Only one process at a time can have it."""

    def __init__(self, folder: str | os.PathLike[str], files: Files | None = None) -> None:
        """Prepare the store; `files` are those of a simulated disk. Raise UsageError (E0623) for a path that no folder
        can have."""
        self._folder = Path(folder)
        if (wrong := path_problem(folder)) is not None:
            raise UsageError(Problem("E0623", wrong, place=repr(str(folder)), hint="use another folder"))
        self._files = files or LocalFiles(self._folder.absolute())
        self._file: Output | None = None
        self._owner: Owner | None = None
        self._generation = 0
        self._limit = LONGEST

    def open(self, name: str, text: str, given: GivenFunctions | None = None) -> NodeState | None:
        """Return the node as of its last step, with these functions for functors; None in a new store. Raise UsageError
        (E0623) if the store is in use, cannot be used, or belongs to another node or program, DataError (E0416) if it
        cannot be read."""
        with self._using():
            return self._open(name, text, given)

    def _open(self, name: str, text: str, given: GivenFunctions | None) -> NodeState | None:
        self._files.establish()
        self._look()
        found = self._files.lock("lock")
        if isinstance(found, str):
            raise self._wrong(f"is in use by process {found}")
        self._owner = Owner(found, str(self._folder))
        try:
            first, state = self._files.read("state").split(b"\n", 1)
            self._generation = int(first)
            machine = load(state, given=given)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            message, place = f"the state cannot be read: {error or type(error).__name__}", str(self._folder / "state")
            raise DataError(Problem("E0416", message, place=place, hint="restore the store from a copy")) from None
        if (machine.name, machine.book.text) != (name, text):
            what = "node" if machine.name != name else "program"
            raise self._wrong(f"belongs to another {what}")
        for kind, letters, results, refused in self._replayed():
            if refused:
                machine.rejected["no packet"] += refused
            _do(machine, kind, letters, results)
        if not is_current(state):  # An earlier tidelog would read a journal that goes on, and leave out its facts.
            self._begin(machine)
        return machine

    def _look(self) -> None:
        """Raise UsageError (E0623) for a link among the files of the store, which could lead out of the folder."""
        for name, kind in self._files.entries().items():
            if kind == "link" and (name in ("lock", "state", _NEW) or name.startswith("journal.")):
                message, place = f"the store's file {name} is a symbolic link", str(self._folder / name)
                hint = "replace the link by the file"
                raise UsageError(Problem("E0623", message, place=place, hint=hint))

    def check(self) -> None:
        """Raise UsageError unless this process may write: E0602, E0623, E0627 or E0628."""
        if self._owner is None:
            raise UsageError(Problem("E0602", "the node is closed", hint="open it again from its store"))
        with self._using():
            self._owner.check()

    def begin(self, machine: NodeState) -> None:
        """Write the state anew and empty the journal. Raise as `append`."""
        self.check()
        with self._using():
            self._begin(machine)

    def _begin(self, machine: NodeState) -> None:
        state, before = dump(machine), self._name
        self._files.put(_NEW, f"{self._generation + 1}\n".encode() + state)
        if self._file is not None:
            self._file.close()
        self._generation += 1
        self._files.remove_tree(self._name)
        self._file = self._files.create(self._name)
        self._limit = max(LONGEST, len(state))
        self._files.replace(_NEW, "state")
        self._files.remove_tree(before)

    def append(self, machine: NodeState, kind: str, letters: Sequence[Letter] = ()) -> None:
        """Write a step of the node: a "step", a "resend" or an "ask". Raise as `check`; nothing behind an entry that
        failed to be written is ever read."""
        self.check()
        entry: list[Any] = [kind, [[sender, message_to_json(message)] for sender, message in letters]]
        if kind == "step" and machine.functors.made:
            entry.append(results_to_json(machine.functors.made))
        data = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
        assert self._file is not None
        with self._using():
            if self._file.tell() + len(data) > self._limit:
                self._begin(machine)  # The state has it already.
                return
            self._file.write(_HEADER.pack(len(data), zlib.crc32(data)) + data)
            self._files.sync(self._file)

    def close(self) -> None:
        """Release the store for other processes."""
        if self._file is not None:
            with suppress(OSError):  # of an entry that could not be written
                self._file.close()
        if self._owner is not None:
            self._owner.release()
        self._file = self._owner = None
        self._files.close()

    @property
    def _name(self) -> str:
        return f"journal.{self._generation}"

    def _replayed(self) -> Iterator[tuple[str, list[Letter], dict[FunctorCall, Results], int]]:
        """Yield the entries of the journal; leave the file open behind the last whole one."""
        files = self._files
        if files.kind(self._name) is None:  # the machine has stopped before the name was on the disk, and any entry
            files.create(self._name).close()
        data = files.read(self._name)
        end = 0
        while end + _HEADER.size <= len(data):
            length, check = _HEADER.unpack_from(data, end)
            entry = data[end + _HEADER.size : end + _HEADER.size + length]
            if not entry or len(entry) < length or zlib.crc32(entry) != check:  # zeros are no entry
                break
            end += _HEADER.size + length
            yield _read(entry)
        self._file = files.extend(self._name, end)
        files.sync(self._file)
        files.sync_folder()  # a process that was killed may have begun this journal, but not for good

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Turn errors of the disk into UsageError (E0623)."""
        try:
            yield
        except OSError as error:
            message = f"the store cannot be used: {error.strerror or error}"
            message += f" ({error.filename})" if isinstance(error.filename, str) else ""
            hint = "free disk space, or grant read and write access"
            raise UsageError(Problem("E0623", message, place=str(self._folder), hint=hint)) from error

    def _wrong(self, what: str) -> UsageError:
        return UsageError(Problem("E0623", f"the store {what}", place=str(self._folder), hint="use another folder"))


def _read(entry: bytes) -> tuple[str, list[Letter], dict[FunctorCall, Results], int]:
    """Return a whole entry: the kind of step, its messages, the results of functors, and the number of messages beyond
    a bound. An older node may have stored such a message when it had no bound yet, and could not continue from it."""
    try:
        kind, parts, *results = json.loads(entry.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return "step", [], {}, 1
    letters: list[Letter] = []
    for sender, message in parts:
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            letters.append((sender, message_from_json(message)))
    return kind, letters, results_from_json(results[0] if results else ()), len(parts) - len(letters)


def _do(machine: NodeState, kind: str, letters: list[Letter], results: dict[FunctorCall, Results]) -> Any:
    match kind:
        case "resend":
            return machine.resend()
        case "ask":
            return machine.ask()
        case _:
            return machine.step(letters, results)
