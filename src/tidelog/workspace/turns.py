"""The locks of a database: threads take turns.

    changing   held by the thread that changes something: for a call, or from the beginning of a transaction to its end
    using      held by every call while it reads or changes what calls share; whoever wants both takes `changing` first
    settling   held while an epoch that cannot fail any more becomes the last one, and while a snapshot of the last one
               is made; whoever wants all takes it last

So writers take turns, a transaction belongs to the thread that opened it, and readers wait for a commit under way, but
for no transaction. Snapshots wait for neither. Subscribers are called with `changing` alone, so that other threads can
read meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol
from weakref import WeakSet

import numpy
from numpy.typing import NDArray

from tidelog.errors import Problem, UsageError
from tidelog.io.relation import WordRows
from tidelog.language.syntax import Column
from tidelog.storage.dictionary import Dictionary

_ALL: WeakSet[Turns] = WeakSet()
_CLOSED = Problem("E0602", "the database is closed", hint="connect again")


class Turns:
    """The locks of a database, the transaction that is open, if one is, and whether the database is closed."""

    def __init__(
        self,
        closed: Problem = _CLOSED,
        is_unused: Callable[[], bool] = lambda: True,
        is_apart: Callable[[], bool] = lambda: False,
    ) -> None:
        """`closed` is the problem of calls once this is closed. `is_unused` returns False after a fork if another
        thread had something of the database without one of these locks; `is_apart` returns True in a process that
        would change files of another one."""
        self._closed = closed
        self.is_unused = is_unused
        self.is_apart = is_apart
        self.changing = threading.RLock()
        self.using = threading.RLock()
        self.settling = threading.RLock()
        self.transaction: object | None = None
        self.closed = False
        self.forked = False
        """True if this is a copy that a fork has made while another thread had the database."""
        _ALL.add(self)

    def check_open(self) -> None:
        """Raise UsageError if the database is closed (E0602), or if a fork has copied it in the middle of a change or
        shares its files (E0627)."""
        if self.closed:
            raise UsageError(self._closed)
        if self.forked:
            message = "this process was forked while another thread used the database"
            hint = "fork while no thread uses the database, or connect in the new process"
            raise UsageError(Problem("E0627", message, hint=hint))
        if self.is_apart():
            message = "this process was forked, and the database has arrays in files that belong to its parent"
            raise UsageError(Problem("E0627", message, hint="connect in the new process"))

    def check_outside(self, call: str) -> None:
        """Raise UsageError (E0625) if this thread is in a transaction; wait for those of others."""
        with self.changing:
            if self.transaction is not None:
                message = f"cannot call `{call}` inside a transaction"
                hint = "end the block to commit, or raise in it to drop its changes"
                raise UsageError(Problem("E0625", message, hint=hint))


def are_free(locks: Iterable[threading.RLock]) -> bool:
    """Return True if no other thread has one of these locks."""
    for lock in locks:
        if not lock.acquire(blocking=False):
            return False
        lock.release()
    return True


def _look_after_fork() -> None:
    """Let no call wait for a thread that this process does not have."""
    for turns in list(_ALL):
        if not (are_free((turns.changing, turns.using, turns.settling)) and turns.is_unused()):
            turns.changing, turns.using, turns.settling = threading.RLock(), threading.RLock(), threading.RLock()
            turns.transaction, turns.forked = None, True


os.register_at_fork(after_in_child=_look_after_fork)


class CurrentRows(Protocol):
    """The rows of a relation as an engine keeps them."""

    def __len__(self) -> int: ...

    def words(self, count: int | None = None) -> NDArray[Any]:
        """Return a copy of the rows, or of the first `count` of them."""

    def batches(self) -> Iterator[NDArray[Any]]:
        """Yield copies of the rows, some at a time."""

    def snapshot(self) -> CurrentRows | None:
        """Return the rows as they are now, if that costs less than a copy of them all."""

    def has(self, words: Sequence[int]) -> bool:
        """Return True if there is this row."""


class View:
    """The rows of a relation as of the last committed epoch, whichever that is when they are asked for. `current`
    returns them as the engine keeps them, None where no epoch has seen the relation yet."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        dictionary: Dictionary,
        turns: Turns,
        current: Callable[[], CurrentRows | None],
        taking: Callable[[], AbstractContextManager[object]],
    ) -> None:
        """`taking` returns the block in which a thread reads the rows."""
        self.columns = columns
        self.dictionary = dictionary
        self._turns = turns
        self._current = current
        self._taking = taking

    def _current_rows(self) -> CurrentRows | None:
        self._turns.check_open()
        return self._current()

    def __len__(self) -> int:
        with self._taking():
            stored = self._current_rows()
            return len(stored) if stored is not None else 0

    def words(self, count: int | None = None) -> NDArray[Any]:
        """Return the rows, or the first `count` of them, see `RowSource`."""
        with self._taking():
            stored = self._current_rows()
            return stored.words(count) if stored is not None else numpy.empty((0, len(self.columns)), numpy.int64)

    def batches(self) -> Iterator[NDArray[Any]]:
        """Return the rows as they are at this call, some at a time."""
        with self._taking():
            stored = self._current_rows()
            shown = None if stored is None else stored.snapshot()
            if shown is None:
                return _one_batch(WordRows(self.columns, self.dictionary, self.words()))
            return self._in_turn(_Shown(self.columns, self.dictionary, shown))

    def _in_turn(self, shown: _Shown) -> Iterator[NDArray[Any]]:
        """Return the rows of a snapshot, which shares some memory with its relation."""
        batches = shown.rows.batches()
        while True:
            with self._taking():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def has(self, words: tuple[int, ...]) -> bool:
        """Return True if there is this row."""
        with self._taking():
            stored = self._current_rows()
            return stored is not None and stored.has(words)


class _Shown:
    """A snapshot that an iterator goes through: the dictionary keeps its words meanwhile."""

    def __init__(self, columns: tuple[Column, ...], dictionary: Dictionary, rows: CurrentRows) -> None:
        self.rows = rows
        self._columns = columns
        dictionary.hold(self)

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], NDArray[Any]]]:
        """Return the words of all rows."""
        for batch in self.rows.batches():
            yield self._columns, batch


def _one_batch(rows: WordRows) -> Iterator[NDArray[Any]]:
    """Return all rows at once, kept until the last of them has been used."""
    yield rows.words()
