"""The rows of a relation as of the last epoch, for the `Relation` that a user holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from tidelog.io.relation import WordRows
from tidelog.language.syntax import Column
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace.turns import Turns


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

    def _stored(self) -> CurrentRows | None:
        self._turns.check_open()
        return self._current()

    def __len__(self) -> int:
        with self._taking():
            stored = self._stored()
            return len(stored) if stored is not None else 0

    def words(self, count: int | None = None) -> NDArray[Any]:
        """Return the rows, or the first `count` of them, see `RowSource`."""
        with self._taking():
            stored = self._stored()
            return stored.words(count) if stored is not None else numpy.empty((0, len(self.columns)), numpy.int64)

    def batches(self) -> Iterator[NDArray[Any]]:
        """Return the rows as they are at this call, some at a time."""
        with self._taking():
            stored = self._stored()
            shown = None if stored is None else stored.snapshot()
            if shown is None:
                return _kept(WordRows(self.columns, self.dictionary, self.words()))
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
            stored = self._stored()
            return stored is not None and stored.has(words)


class _Shown:
    """A snapshot that an iterator goes through: the dictionary keeps its words meanwhile."""

    def __init__(self, columns: tuple[Column, ...], dictionary: Dictionary, rows: CurrentRows) -> None:
        self.rows = rows
        self._columns = columns
        dictionary.hold(self)

    def held(self) -> Iterator[tuple[tuple[Column, ...], NDArray[Any]]]:
        """Return the words of all rows."""
        for batch in self.rows.batches():
            yield self._columns, batch


def _kept(rows: WordRows) -> Iterator[NDArray[Any]]:
    """Return all rows at once, kept until the last of them has been used."""
    yield rows.words()
