"""Relations as of an epoch, for readers in other threads, while later epochs change them.

`FrozenRows` shares the memory of a relation: it knows how many rows there were, and which have died since
(`extents`). Without a lock it says whether it has a tuple, and copies rows. `FrozenRelation` shows the same rows to
join plans, with slots and indexes of its own, which are made when a plan first needs them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.common.looking import Look, unlimited
from tidelog.errors import Problem, UsageError
from tidelog.kernels import layout
from tidelog.kernels.calling import expect, in_python
from tidelog.storage.catalog import Catalog, Descriptor
from tidelog.storage.index import Index
from tidelog.storage.looking import in_parts
from tidelog.storage.marks import KeptBirths, RowMarks
from tidelog.storage.memory import Block, Lease, Pinned
from tidelog.storage.positions import positions
from tidelog.storage.stored import StoredRelation

_FEWEST_SLOTS = 64


def freeze(stored: StoredRelation) -> FrozenRows:
    """Return the rows of a relation as of the last epoch, one object for all readers. The caller keeps the relation
    from beginning or ending a change."""
    extent = stored.bound()
    found = None if extent.reader is None else extent.reader()
    if not isinstance(found, FrozenRows):
        found = FrozenRows(stored)
        extent.reader = weakref.ref(found)
    return found


class FrozenRows:
    """The rows of `stored` as of the last epoch, shape (n, arity). Any thread may call any method at any time."""

    def __init__(self, stored: StoredRelation) -> None:
        self.arity = stored.arity
        self.catalog = stored.catalog
        self.extent = stored.bound()
        self._stored = stored
        self._memory: Lease | None = None
        self._slots: tuple[Lease, int] | None = None
        self._deaths = self._gathered = stored.deaths
        """The deaths since then, and those of them that are not in `_gone` yet."""
        self._gone: StoredRelation | None = None
        """Rows that have died since, with their numbers in `_places`."""
        self._places = numpy.empty(0, numpy.int64)
        self._lock = threading.RLock()
        """Held by a thread that takes memory, or looks among the rows that have died since."""
        self.relation: weakref.ref[FrozenRelation] | None = None
        """The same rows for join plans."""

    @property
    def rows(self) -> int:
        """The number of rows, dead ones included."""
        return self.extent.rows

    def __len__(self) -> int:
        return self.extent.rows - self.extent.dead

    @property
    def memory(self) -> Lease:
        """The memory of the words, which stays where it is as long as this object."""
        if self._memory is None:
            with self._lock:
                self._memory = self._memory or self._stored.rows_for_reader()
        return self._memory

    def in_place(self) -> AnyWords:
        """Return all rows in place, dead ones included, valid as long as this object."""
        return self.memory.view(self.catalog.dtype, self.rows * self.arity).reshape(self.rows, self.arity)

    def alive(self) -> NDArray[numpy.bool_]:
        """Return a mask of the rows that are not dead."""
        counts = self._stored.marks.counts_for_reader() if self.extent.dead else None
        if counts is None:
            return numpy.ones(self.rows, bool)
        alive: NDArray[numpy.bool_] = counts.view(numpy.int32, self.rows) != layout.DEAD
        for numbers in self._deaths:  # They are listed before they are dead in the counts.
            alive[numbers[numbers < self.rows]] = True
        return alive

    def live(self) -> Words:
        """Return the numbers of the live rows, ascending."""
        return numpy.flatnonzero(self.alive()) if self.extent.dead else numpy.arange(self.rows)

    def words(self, count: int | None = None) -> AnyWords:
        """Return a copy of the live rows, or of the first `count` of them, dtype int32 or int64."""
        return self.in_place()[self.live()[:count]] if self.extent.dead else self.in_place()[:count].copy()

    def batches(self) -> Iterator[AnyWords]:
        """Yield copies of the live rows, some at a time."""
        yield self.words()

    def snapshot(self) -> None:
        """Return None: nothing costs less than a copy of all rows."""

    def has(self, words: Sequence[int]) -> bool:
        """Return True if there is this row."""
        return bool(self.find(numpy.array([words], numpy.int64).reshape(1, self.arity))[0] >= 0)

    def find(self, words: AnyWords) -> Words:
        """Return the number of each row of `words`, shape (n, arity), or -1."""
        numbers = numpy.full(len(words), -1, numpy.int64)
        if not self.rows or not len(words):
            return numbers
        staged = words.astype(self.catalog.dtype, order="C")
        if self._slots is None:
            self._slots = self._stored.slots_for_reader()
        if self._slots is None:
            self._scan(staged, numbers)
        else:
            self._look_up(staged, numbers, *self._slots)
        if words.dtype != staged.dtype:
            numbers[(staged != words).any(axis=1)] = -1
        return numbers

    def _scan(self, staged: AnyWords, numbers: Words) -> None:
        """Write the numbers of rows that are found by a look at all of them, while slots move."""
        live = self.live()
        known = self.in_place()[live].astype(numpy.int64)
        places = positions(known, staged.astype(numpy.int64))
        numbers[places >= 0] = live[places[places >= 0]]

    def _look_up(self, staged: AnyWords, numbers: Words, slots: Lease, mask: int) -> None:
        """Write the numbers of rows that are found by the slots of the relation, or among those that died since."""
        from tidelog.kernels.frozen import find_below

        # One row is found in Python, which then keeps its lock: to get it back may take longer than to find the row.
        look_up = find_below if len(staged) > 1 else in_python(find_below)
        expect(len(staged))
        buffer, found = Pinned(staged), Pinned(numbers)
        look_up(
            self.memory.address, slots.address, mask, self.arity, self.rows, buffer.address, len(staged), found.address,
            self.catalog.tag,
        )  # fmt: skip
        missing = numpy.flatnonzero(numbers < 0)
        if len(missing) and self._deaths.numbers is not None:  # They are listed before they lose their slots.
            with self._lock:
                places = self._gathered_rows().find(staged[missing])
                numbers[missing[places >= 0]] = self._places[places[places >= 0]]

    def _gathered_rows(self) -> StoredRelation:
        """Return the rows that have died since, of those that there were, with those of the last epochs."""
        if self._gone is None:
            self._gone = StoredRelation(Catalog(self.catalog.bits), self.arity, counted=False)
        gone = self._gone
        for numbers in self._gathered:
            known = numbers[numbers < self.rows]
            gone.insert(self.in_place()[known])
            self._places = numpy.concatenate([self._places, known])
            self._gathered = self._gathered.later or self._gathered
        return gone

    def births(self) -> KeptBirths:
        """Return the births of all rows. Raise UsageError (E0618) if an epoch has changed them before anybody asked.
        The caller keeps the relation from beginning a change."""
        extent, marks = self.extent, self._stored.marks
        if extent.births is None:
            if extent.changing and marks.keeps_births:
                message = "the births of this snapshot are gone, because it was made while a commit was running"
                raise UsageError(Problem("E0618", message, hint="make a snapshot between two commits"))
            extent.births = marks.births_below(self.rows)
        return extent.births


class FrozenRelation(StoredRelation):
    """Rows as of an epoch for join plans, in a `catalog` of readers. It never changes. Threads take turns with the
    catalog; only `live`, `words`, `batches`, `find`, `has` and births need none.

    `lock` keeps the relation from beginning a change.
    """

    def __init__(self, catalog: Catalog, frozen: FrozenRows, lock: threading.RLock) -> None:
        super().__init__(catalog, frozen.arity, counted=False)
        self._frozen = frozen
        self.marks: FrozenMarks = FrozenMarks(self.fields, frozen, lock)
        self.epochs = frozen.extent.epochs
        self.fields[layout.R_ROWS] = frozen.memory.address
        self.fields[layout.R_DEAD] = frozen.extent.dead
        for field in (layout.R_N, layout.R_OLD, layout.R_NEW, layout.R_START, layout.R_CAPACITY):
            self.fields[field] = frozen.rows

    def live(self) -> Words:
        return self._frozen.live()

    def words(self, count: int | None = None) -> AnyWords:
        return self._frozen.words(count)

    def find(self, words: AnyWords) -> Words:
        return self._frozen.find(words)

    def _view(self) -> AnyWords:
        return self._frozen.in_place()

    def index(self, keys: tuple[int, ...]) -> Index:
        self.marks.show_deaths()
        return super().index(keys)

    def settle(self) -> None:
        """Let plans find the rows by slots and indexes."""
        self.marks.show_deaths()
        self._enter()
        super().settle()

    def _enter(self) -> None:
        """Make slots, unless there are."""
        from tidelog.kernels.frozen import enter_rows

        if self._slot_count > 1 or not self.rows:
            return
        expect(self.rows)
        count = _FEWEST_SLOTS
        while len(self) * 10 > (count - 1) * 7:
            count *= 2
        self._slots, self._slot_count = Block(8 * count), count
        self.fields[layout.R_SLOTS], self.fields[layout.R_MASK] = self._slots.address, count - 1
        enter_rows(self.catalog.table, self.number, self.catalog.tag)

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = unlimited) -> StoredRelation:
        """Return the live rows as a relation of another catalog, without births and indexes. An exception of `look`
        ends the work."""
        other = StoredRelation(catalog, self.arity, counted)
        for live in in_parts(self.live(), look):
            other.insert(self.take(live))
        return other


class FrozenMarks(RowMarks):
    """The births of a `FrozenRelation`, and counts that say no more than which rows are dead."""

    def __init__(self, fields: Descriptor, frozen: FrozenRows, lock: threading.RLock) -> None:
        super().__init__(fields, counted=False)
        self._frozen = frozen
        self._lock = lock

    def show_deaths(self) -> None:
        """Let plans see which rows are dead."""
        if self._counts is None and self._frozen.extent.dead:
            counts = Block(4 * self._frozen.rows)
            counts.view(numpy.int32, self._frozen.rows)[:] = numpy.where(self._frozen.alive(), 1, layout.DEAD)
            self._counts = counts
            self.publish()

    def births(self) -> AnyWords:
        self._take()
        return super().births()

    def births_of(self, numbers: Words) -> Words:
        self._take()
        return super().births_of(numbers)

    def _take(self) -> None:
        with self._lock:
            self.take_births(self._frozen.births())
