"""The marks of a relation's rows beside their words: counts, births, supports.

`RowMarks` are those of a relation in memory, dead rows among them, where kernels find them. `Marks` are a copy of those
of the live rows. Births are kept as runs until an update gives them out one by one, since rows of one round are
neighbours: `runs` lists (first row, birth).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.kernels import layout
from tidelog.kernels.layout import MOST_COUNTED
from tidelog.storage.catalog import Descriptor
from tidelog.storage.memory import Block, Lease

_NONE: Words = numpy.empty(0, numpy.int64)

KeptBirths: TypeAlias = tuple[list[tuple[int, int]], Block | None]
"""Births as runs, or as a block of int32 with one per row."""


@dataclass(frozen=True)
class Marks:
    """The marks of the live rows of a relation, in their order. `counts` is None where nothing is counted, `supports`
    where they are not kept; `births` are kept `by_row` where an update has given them out, else as runs."""

    counts: NDArray[numpy.int32] | None
    births: NDArray[numpy.signedinteger[Any]]
    supports: NDArray[numpy.int32] | None
    by_row: bool

    def runs(self) -> list[tuple[int, int]]:
        """Return the births as runs: (first row, birth) of neighbours born in the same round."""
        if not self.births.any():
            return []
        firsts = numpy.concatenate([[0], 1 + numpy.flatnonzero(numpy.diff(self.births))])
        return list(zip(firsts.tolist(), self.births[firsts].tolist(), strict=True))


@dataclass(frozen=True)
class KeptMarks:
    """Copies of the marks of the first `rows` rows of a relation, dead ones among them."""

    rows: int
    counts: NDArray[numpy.int32] | None
    kept_births: KeptBirths
    supports: NDArray[numpy.int32] | None

    def births(self) -> AnyWords:
        """Return the birth of every row."""
        runs, block = self.kept_births
        return _of_runs(runs, self.rows) if block is None else block.view(numpy.int32, self.rows)

    def of(self, live: NDArray[numpy.int64]) -> Marks:
        """Return the marks of the live rows, whose numbers are given."""
        counts, supports = (None if each is None else each[live] for each in (self.counts, self.supports))
        if supports is not None:
            supports &= MOST_COUNTED
        return Marks(counts, self.births()[live], supports, self.kept_births[1] is not None)


def _of_runs(runs: list[tuple[int, int]], rows: int) -> NDArray[numpy.int64]:
    """Return the birth of every row from runs of them."""
    if not runs:
        return numpy.zeros(rows, numpy.int64)
    starts, births = numpy.array(runs, numpy.int64).T
    return numpy.repeat(births, numpy.diff(numpy.append(starts, rows)))


class RowMarks:
    """The marks of the rows of a relation, whose descriptor is `fields` and which has no room for rows yet.

    Counts are kept if the relation is `counted`, else it can only grow. `saturated` is True once a count has reached
    its maximum.
    """

    def __init__(self, fields: Descriptor, counted: bool) -> None:
        self.runs: list[tuple[int, int]] = []
        """First row and birth of neighbours that were born in the same round; a new list whenever they change."""
        self._of_runs: tuple[object, Words, Words] = None, _NONE, _NONE
        """The runs that were last asked for, as columns."""
        self.saturated = False
        self._fields = fields
        self._counts = self._block(0) if counted else None
        self._births: Block | None = None
        self._supports: Block | None = None
        self._saved: tuple[bool, list[tuple[Block, NDArray[numpy.int32]]]] | None = None

    def publish(self) -> None:
        """Let kernels find the marks where they are now."""
        fields = self._fields
        fields[layout.R_COUNT] = self._counts.address if self._counts else 0
        fields[layout.R_BIRTH] = self._births.address if self._births else 0
        fields[layout.R_SUPPORT] = self._supports.address if self._supports else 0

    def grow(self, capacity: int) -> None:
        """Make room for the marks of so many rows. Marks that have moved are published even if a later step fails."""
        for block in self.blocks():
            block.grow(4 * capacity)
            self.publish()

    def clear(self, capacity: int) -> None:
        """Forget all marks, and keep room for those of `capacity` rows. It asks for no memory."""
        for block in self.blocks():
            block.clear(4 * capacity)

    def _block(self, rows: int, *, huge: bool = True) -> Block:
        """Return memory for a mark of so many rows."""
        return Block(4 * rows, huge, self._fields.catalog.room)

    def blocks(self) -> list[Block]:
        """Return the memory held."""
        return [block for block in (self._counts, self._births, self._supports) if block is not None]

    @property
    def _rows(self) -> int:
        return self._fields[layout.R_N]

    # --- counts ------------------------------------------------------------------------------------------------------

    @property
    def has_counts(self) -> bool:
        """Return True if derivations are counted, without which nothing can be taken away."""
        return self._counts is not None

    def counts(self) -> NDArray[numpy.int32]:
        """Return a copy of the counts of all rows; not positive where a row is dead."""
        return self.counts_in_place().copy()

    def counts_in_place(self) -> NDArray[numpy.int32]:
        """Return the counts, not to be kept, because they move when the relation grows; ones where nothing is
        counted."""
        if self._counts is None:
            return numpy.ones(self._rows, numpy.int32)
        return self._counts.view(numpy.int32, self._rows)

    def counts_for_reader(self) -> Lease | None:
        """Return the memory of the counts, for a reader in another thread, or None where nothing is counted."""
        return None if self._counts is None else self._counts.lease()

    def alive(self, numbers: AnyWords) -> NDArray[numpy.bool_]:
        """Return for the rows with these numbers whether they are live, also while the relation changes."""
        return self.counts_in_place()[numbers] > 0

    def derivations(self) -> int:
        """Return the number of derivations that count for live rows."""
        counts = self.counts_in_place()
        return int((counts & MOST_COUNTED).sum(where=counts > 0))

    def look_for_saturation(self) -> None:
        """Note whether a count has reached the most that can be counted, so that it cannot be taken from."""
        self.saturated = any(
            block is not None and self._rows and block.view(numpy.int32, self._rows).max() == MOST_COUNTED
            for block in (self._counts, self._supports)
        )

    # --- births ------------------------------------------------------------------------------------------------------

    def births(self) -> AnyWords:
        """Return the birth of every row; 0 for relations that no rule derives."""
        if self._births is not None:
            return self._births.view(numpy.int32, self._rows).astype(numpy.int64)
        return _of_runs(self.runs, self._rows)

    def births_of(self, numbers: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """Return the births of the rows with these numbers."""
        if self._births is not None:
            return self._births.view(numpy.int32, self._rows)[numbers].astype(numpy.int64)
        if not self.runs:
            return numpy.zeros(len(numbers), numpy.int64)
        if self._of_runs[0] is not self.runs:
            self._of_runs = self.runs, *numpy.array(self.runs, numpy.int64).T.copy()
        _, starts, births = self._of_runs
        found: NDArray[numpy.int64] = births[starts.searchsorted(numbers, side="right") - 1]
        return found

    @property
    def keeps_births(self) -> bool:
        """Return True if there is a birth per row: the relation has been updated in a recursive hyper-node."""
        return self._births is not None

    def keep_births(self) -> None:
        """Keep a birth per row from now on, which updates of recursive hyper-nodes compare."""
        if self._births is None:
            block = self._block(self._fields[layout.R_CAPACITY], huge=False)
            births = block.view(numpy.int32, self._rows)
            ends = [first for first, _ in self.runs[1:]] + [self._rows]
            for (first, birth), end in zip(self.runs, ends, strict=True) if self.runs else ():
                births[first:end] = birth
            self._births = block
            self.publish()

    def births_below(self, end: int) -> KeptBirths:
        """Return the births of the rows below `end`, independent of later changes."""
        if self._births is None:
            return self.runs, None
        block = self._block(end, huge=False)
        block.view(numpy.int32, end)[:] = self._births.view(numpy.int32, end)
        return self.runs, block

    def take_births(self, kept: KeptBirths) -> None:
        """Have the births of all rows that another relation has kept."""
        self.runs, self._births = kept
        self.publish()

    def shift_births(self, offset: int) -> None:
        """Add to every birth; with a negative offset, take a shift back."""
        self.keep_births()
        assert self._births is not None
        births = self._births.view(numpy.int32, self._rows)
        births += offset

    @property
    def youngest(self) -> int:
        """Return the largest birth."""
        return int(self.births().max(initial=0))

    # --- supports ----------------------------------------------------------------------------------------------------

    def supports(self) -> NDArray[numpy.int32]:
        """Return a copy of the numbers of all derivations of each row, 0 where it is dead; within an epoch."""
        if self._supports is not None:
            return self._supports.view(numpy.int32, self._rows) & MOST_COUNTED
        return numpy.clip(self.counts(), 0, MOST_COUNTED)

    @property
    def keeps_supports(self) -> bool:
        """Return True if the number of all derivations is kept, as in relations of recursive hyper-nodes."""
        return self._supports is not None

    def keep_supports(self) -> None:
        """Keep the number of all derivations of each row from now on; so far, all of them have counted."""
        if self._supports is None:
            block = self._block(self._fields[layout.R_CAPACITY])
            block.view(numpy.int32, self._rows)[:] = self.supports()
            self._supports = block
            self.publish()

    # --- all of them -------------------------------------------------------------------------------------------------

    def keep(self) -> KeptMarks:
        """Return copies of the marks, between two epochs."""
        rows = self._rows
        counts, supports = (
            None if block is None else block.view(numpy.int32, rows).copy() for block in (self._counts, self._supports)
        )
        return KeptMarks(rows, counts, self.births_below(rows), supports)

    def become(self, marks: Marks) -> None:
        """Take over the marks of rows that have been inserted in the same order, and are all that there are."""
        if marks.counts is not None:
            self.counts_in_place()[:] = marks.counts
        self.runs = [] if marks.by_row else marks.runs()
        if marks.by_row:
            self.keep_births()
            self._births.view(numpy.int32, self._rows)[:] = marks.births  # type: ignore[union-attr]  # it is there now
        if marks.supports is not None:
            self.keep_supports()
            self._supports.view(numpy.int32, self._rows)[:] = marks.supports  # type: ignore[union-attr]  # now there

    def keep_as(self, new: RowMarks) -> None:
        """Keep the marks that `new` keeps; and births one by one where there are any, since rows keep their places."""
        if self.runs or new.runs or new.keeps_births:
            self.keep_births()
        if new.keeps_supports:
            self.keep_supports()

    def save(self) -> None:
        """Keep a copy of the marks for `restore`, until `forget_saved`."""
        copies = [(block, block.view(numpy.int32, self._rows).copy()) for block in self.blocks()]
        self._saved = self.saturated, copies

    def restore(self) -> None:
        """Put the marks back that were saved, if any were. It asks for no memory."""
        if self._saved is not None:
            self.saturated, copies = self._saved
            for block, copy in copies:
                block.view(numpy.int32, len(copy))[:] = copy

    def forget_saved(self) -> None:
        """Forget the marks that were saved."""
        self._saved = None

    def replace(self, new: RowMarks, died: AnyWords, rows: AnyWords, there: NDArray[numpy.bool_]) -> None:
        """Let the rows `died` have no derivation left, and `rows` have the marks of the rows of `new` that are
        `there`."""
        counts = self.counts_in_place()
        counts[died] = -1
        counts[rows] = new.counts_in_place()[there]
        if self._births is not None:
            self._births.view(numpy.int32, self._rows)[rows] = new.births()[there]
        if self._supports is not None:
            supports = self._supports.view(numpy.int32, self._rows)
            supports[died] = 0
            supports[rows] = new.supports()[there]
        self.saturated = new.saturated
