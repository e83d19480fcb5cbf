"""The pairs of a closure as a relation, whose rows are written only when a caller reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.common.looking import Look, unlimited
from tidelog.kernels import layout
from tidelog.storage.catalog import Catalog
from tidelog.storage.closure import Closure
from tidelog.storage.stored import StoredRelation


class ClosedRelation(StoredRelation):
    """The pairs of a closure as a relation that kernels probe (kernels/closed.py) without their ever being written.

    It has rows of its own only between `show` and `close` or `take_back`: the pairs that an epoch has changed.
    """

    def __init__(self, catalog: Catalog, closure: Closure) -> None:
        super().__init__(catalog, 2)
        self.graph = closure
        """The closure, as it is."""

    @property
    def closure(self) -> Closure:
        """The closure, whole. Raises MemoryError if a change of it was given up and it cannot be restored."""
        self.graph.restore()
        return self.graph

    def __len__(self) -> int:
        return len(self.closure)

    @property
    def form(self) -> str:
        return "compressed"

    @property
    def identity(self) -> int:
        return id(self.graph)

    def words(self, count: int | None = None) -> AnyWords:
        if count is None:
            return self.closure.words(self.catalog.dtype)
        batches = list(self.closure.batches(self.catalog.dtype, count))
        return numpy.concatenate([numpy.empty((0, 2), self.catalog.dtype), *batches])[:count]

    def batches(self) -> Iterator[AnyWords]:
        return self.closure.batches(self.catalog.dtype)

    def near(self, constants: Mapping[int, int]) -> AnyWords:
        """Yield pairs that include all those with these words in these columns."""
        if 0 in constants:
            return self.closure.beginning(constants[0], self.catalog.dtype)
        return self.closure.ending(constants[1], self.catalog.dtype) if 1 in constants else self.words()

    def rows_with(self, keys: tuple[int, ...], groups: AnyWords) -> AnyWords:
        """Return the pairs whose columns `keys` are one of the distinct rows of `groups`."""
        if len(keys) == 2:
            return groups[[self.has(group) for group in groups.tolist()]]
        parts = [numpy.empty((0, 2), self.catalog.dtype)]
        for group in groups.tolist():
            rows = self.near(dict(zip(keys, group, strict=True)))
            parts.append(rows[rows[:, keys[0]] == group[0]] if keys else rows)
        return numpy.concatenate(parts)

    def snapshot(self) -> ClosedRelation:
        """Return the pairs as they are now, independent of later changes."""
        return ClosedRelation(self.catalog, self.closure.copy())

    @property
    def dying(self) -> bool:
        return False

    def settle(self) -> None:
        """Let kernels find the closure as it is now."""
        super().settle()
        self.fields[layout.R_CLOSURE] = self.closure.publish()

    def show(self, died: AnyWords, born: AnyWords) -> None:
        """Show kernels the pairs that this epoch has removed from the closure, and those that it has added."""
        self.changing = True  # From the first row on, there is something to take back.
        self.insert(died)
        self.open()
        self.marks.counts_in_place()[:] = -1
        self.insert(born)
        self.journal.ensure(self.rows)
        numbers = numpy.arange(self.rows)
        self.journal.show(numbers[: len(died)], numbers[len(died) :])

    def removals(self) -> list[Callable[[int], None]]:
        """Return nothing: `finish` forgets all rows."""
        return []

    def finish(self) -> None:
        """Forget the changes."""
        self.changing = False
        self.forget()

    def take_back(self) -> None:
        """Forget the changes; another relation restores the closure."""
        self.finish()

    def has(self, words: Sequence[int]) -> bool:
        return self.closure.has(words)

    def bytes(self) -> int:
        return super().bytes() + self.closure.bytes()

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = unlimited) -> StoredRelation:
        return ClosedRelation(catalog, self.closure)

    def write(self, look: Look = unlimited) -> StoredRelation:
        """Return the same pairs as rows, for a relation that rules derive from now on. An exception of `look` ends the
        work."""
        written = StoredRelation(self.catalog, 2)
        for batch in self.batches():
            look()
            written.insert(batch)
        written.settle()
        return written
