"""The rows of a relation as of its last epoch, while another epoch changes them, and since which epoch each is there.

Rows are appended. A row keeps its words and its place until its relation goes, and one that has died in an earlier
epoch never lives again. So two numbers and the deaths of later epochs describe the rows of any epoch (`Extent`,
`Deaths`).

Facts that come in an epoch are neighbours, and share it: runs of rows say it (`RowEpochs`), 16 bytes for each epoch
that brought rows. An epoch is negative where the rows came in that one or before, and 0 where nobody knows.
"""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.storage.catalog import Descriptor
from tidelog.storage.marks import KeptBirths, RowMarks
from tidelog.storage.memory import Block, Lease


class RowEpochs:
    """The runs of the rows of a relation: the first row of each, and its epoch."""

    def __init__(self, runs: AnyWords | None = None) -> None:
        """`runs` have the first row and the epoch of each, shape (n, 2)."""
        self._firsts, self._epochs = array("q"), array("q")
        if runs is not None:
            self._firsts.frombytes(runs[:, 0].astype(numpy.int64).tobytes())
            self._epochs.frombytes(runs[:, 1].astype(numpy.int64).tobytes())

    @classmethod
    def of_rows(cls, epochs: NDArray[numpy.int64]) -> RowEpochs:
        """Return the epochs of rows, one by one."""
        firsts = numpy.flatnonzero(numpy.diff(epochs, prepend=epochs[:1] - 1))
        return cls(numpy.column_stack([firsts, epochs[firsts]]))

    def note(self, first: int, epoch: int) -> None:
        """Note that the rows from `first` on have come in an epoch."""
        self._firsts.append(first)
        self._epochs.append(epoch)

    def take_back(self) -> None:
        """Forget the last run."""
        self._firsts.pop()
        self._epochs.pop()

    def of(self, numbers: AnyWords) -> NDArray[numpy.int64]:
        """Return the epochs of rows by their numbers."""
        starts, epochs = self.runs().T
        known: NDArray[numpy.int64] = numpy.append(epochs, 0)
        return known[numpy.searchsorted(starts, numbers, side="right") - 1]

    def among(self, live: AnyWords) -> RowEpochs:
        """Return the epochs of the live rows, which are all that there are, in their order."""
        starts, epochs = self.runs().T
        firsts = numpy.searchsorted(live, starts)
        kept = firsts < numpy.append(firsts[1:], len(live))
        return RowEpochs(numpy.column_stack([firsts[kept], epochs[kept]]))

    def runs(self) -> NDArray[numpy.int64]:
        """Return the runs, shape (n, 2). Another thread may note one meanwhile, or take it back."""
        epochs = numpy.frombuffer(self._epochs.tobytes(), numpy.int64)
        firsts = numpy.frombuffer(self._firsts.tobytes(), numpy.int64)
        count = min(len(firsts), len(epochs))
        return numpy.column_stack([firsts[:count], epochs[:count]])


@dataclass(eq=False, slots=True)
class Extent:
    """The first `rows` rows of a relation, `dead` ones of earlier epochs among them, and since when facts are there."""

    rows: int
    dead: int
    epochs: RowEpochs | None
    changing: bool = False
    """True if an epoch has begun to change rows and marks."""
    births: KeptBirths | None = None
    """The births of the rows, once a reader needs them or an epoch changes them."""
    reader: weakref.ref[object] | None = None
    """The reader of this extent, if there is one."""

    @property
    def is_read(self) -> bool:
        """Return True if there is a reader."""
        return self.reader is not None and self.reader() is not None


@dataclass(eq=False, slots=True)
class Deaths:
    """The numbers of the rows that died in one epoch, None until it ends, and the deaths of the epochs after it."""

    numbers: NDArray[numpy.int32] | None = None
    later: Deaths | None = field(default=None, repr=False)

    def end(self, numbers: NDArray[numpy.int32]) -> Deaths:
        """Note the deaths of an epoch that ends, and return those of the next one."""
        later = self.later = Deaths()
        self.numbers = numbers  # Readers look at it first.
        return later

    def __iter__(self) -> Iterator[NDArray[numpy.int32]]:
        """Yield the numbers, epoch by epoch."""
        deaths = self
        while deaths.numbers is not None and deaths.later is not None:
            yield deaths.numbers
            deaths = deaths.later


class SharedRows:
    """The part of a relation that knows of readers in other threads."""

    fields: Descriptor
    marks: RowMarks
    epochs: RowEpochs | None
    _rows: Block
    _slots: Block
    _slot_count: int

    def __init__(self) -> None:
        self.extent: Extent | None = None
        """The rows as of the last epoch, once somebody reads them in parallel or an epoch changes them."""
        self.deaths = Deaths()
        """The deaths of the epoch that will change the relation next, or does now."""
        self._splitting = False
        """True if slots may be on their way to other places."""

    @property
    def rows(self) -> int:
        """The number of rows, dead ones included."""
        rows: int = self.fields.catalog.cells[self.fields.number, layout.R_N]
        return rows

    @property
    def dead(self) -> int:
        """The number of dead rows."""
        dead: int = self.fields.catalog.cells[self.fields.number, layout.R_DEAD]
        return dead

    def blocks(self) -> list[Block]:
        """Return the memory of rows and marks, without indexes."""
        return [self._rows, self._slots, *self.marks.blocks()]

    def committed_extent(self) -> Extent:
        """Return the rows as of the last epoch, also while another one changes them."""
        if self.extent is None:
            self.extent = Extent(self.rows, self.dead, self.epochs)
        return self.extent

    def begin(self) -> None:
        """Fix the rows as of the last epoch, before another one changes rows or marks: until `end`."""
        extent = self.extent or self.committed_extent()
        if not extent.changing:
            if extent.reader is not None and extent.is_read and extent.births is None:
                extent.births = self.marks.births_below(extent.rows)
            extent.changing = True

    def note_deaths(self, numbers: NDArray[numpy.int32]) -> None:
        """Tell readers which rows are about to die in an epoch that cannot fail any more. It asks for little memory."""
        self.deaths = self.deaths.end(numbers)

    def end(self) -> None:
        """Have the present rows be those of the last epoch."""
        self.extent = None

    def rows_for_reader(self) -> Lease:
        """Return the memory of the words, for a reader that knows which rows it may look at."""
        return self._rows.lease()

    def slots_for_reader(self) -> tuple[Lease, int] | None:
        """Return the memory of the slots and the mask, for a reader that ignores rows that it does not know; None while
        slots move, which they may begin to do at any time."""
        if self._splitting:
            return None
        count, slots = self._slot_count, self._slots.lease()
        return None if self._splitting or count != self._slot_count else (slots, count - 1)
