"""Readers in other threads: relations as of an epoch, while later epochs change them, and what epochs report.

`FrozenRows` shares the memory of a relation: it knows how many rows there were, and which have died since
(`extents`). Without a lock it says whether it has a tuple, and copies rows. `FrozenRelation` shows the same rows to
join plans, with slots and indexes of its own, which are made when a plan first needs them.

An epoch reports each relation and closure that it is about to change to the `Readers` of the engine, so that they keep
what they need of it. Without readers, that costs a lock for each changed relation.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.common.looking import Look, ignore_limits
from tidelog.errors import Problem, UsageError
from tidelog.kernels import layout
from tidelog.kernels.calling import expect, in_python
from tidelog.storage.catalog import Catalog, Descriptor, Index
from tidelog.storage.closure import Closure
from tidelog.storage.marks import KeptBirths, RowMarks
from tidelog.storage.memory import Block, Lease, Pinned
from tidelog.storage.rows import in_parts, positions
from tidelog.storage.stored import StoredRelation

_REST = 2
"""Seconds that a thread rests for each second of CPU of a read and each thread that reads."""
_LONGEST = 0.005


def freeze(stored: StoredRelation) -> FrozenRows:
    """Return the rows of a relation as of the last epoch, one object for all readers. The caller keeps the relation
    from beginning or ending a change."""
    extent = stored.committed_extent()
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
        self.extent = stored.committed_extent()
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
        removed = self._gone
        for numbers in self._gathered:
            known = numbers[numbers < self.rows]
            removed.insert(self.in_place()[known])
            self._places = numpy.concatenate([self._places, known])
            self._gathered = self._gathered.later or self._gathered
        return removed

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
        from tidelog.kernels.sets import enter_rows

        if self._slot_count > 1 or not self.rows:
            return
        expect(self.rows)
        count = self._slots_for(self.rows, len(self))
        self._slots, self._slot_count = Block(4 * count), count
        self.fields[layout.R_SLOTS], self.fields[layout.R_MASK] = self._slots.address, count - 1
        enter_rows(self.catalog.table, self.number, 0, count, self.catalog.hashes, self.catalog.tag)

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = ignore_limits) -> StoredRelation:
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


class Passage:
    """A block in which a thread reads, of which many threads may be inside.

    Threads that read on and on would starve an epoch: Python gives its lock away each 5 ms, and to one thread after the
    other. So while an epoch is `busy` and several threads read, each of them rests between two reads, in proportion to
    the CPU that the first one has taken. A thread that does something else meanwhile has rested.
    """

    def __init__(self) -> None:
        self.busy = False
        """True if an epoch runs."""
        self._threads: set[int] = set()
        self._last = _LastRead()

    @property
    def is_empty(self) -> bool:
        """Return True if no other thread is inside."""
        return self._threads <= {threading.get_ident()}

    def __enter__(self) -> None:
        last = self._last
        self._threads.add(threading.get_ident())
        if self.busy and len(self._threads) > 1:
            rest = min(_LONGEST, len(self._threads) * _REST * last.seconds) - (time.perf_counter() - last.ended)
            if rest > 0:
                time.sleep(rest)
        last.started = time.thread_time()

    def __exit__(self, *_: object) -> None:
        last = self._last
        last.seconds, last.ended = time.thread_time() - last.started, time.perf_counter()
        self._threads.discard(threading.get_ident())


class _LastRead(threading.local):
    """The last read of a thread: the CPU that the thread had taken when it began, the CPU that it took, and its end."""

    started = 0.0
    seconds = 0.0
    ended = 0.0


class Reader(Protocol):
    """A reader of one epoch."""

    def preserve(self, stored: StoredRelation) -> None:
        """Keep the rows of a relation, which later epochs may change."""

    def preserve_closure(self, graph: Closure, *, changed: bool) -> None:
        """Keep a closure that the next epoch changes, or know that it is too late: an epoch has `changed` it."""


class Readers:
    """The readers of an engine.

    `lock` keeps relations and closures from beginning or ending a change. Nobody holds it for longer than a copy of
    births or of a closure takes. A thread that runs plans over the catalogs of readers holds `turns`.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.turns = threading.RLock()
        self.passing = Passage()
        self._catalogs: dict[int, Catalog] = {}
        self._known: list[weakref.ref[Reader]] = []
        self._closures: dict[int, Closure] = {}
        """Closures that an epoch is changing."""
        self._unlisted: Callable[[], None] | None = None
        """Lists the deaths of an epoch that is about to last, unless that is done."""

    def add(self, reader: Reader) -> None:
        """Report changes to a reader from now on. MemoryError changes nothing."""
        with self.lock:
            if self._unlisted is not None:
                self._unlisted()
                self._unlisted = None
            self._known = [*(each for each in self._known if each() is not None), weakref.ref(reader)]

    def _live_readers(self) -> Iterator[Reader]:
        for known in self._known:
            reader = known()
            if reader is not None:
                yield reader

    # --- what an epoch reports -----------------------------------------------------------------------------------

    def begin(self, stored: StoredRelation) -> None:
        """Note that an epoch is about to change a relation. MemoryError changes nothing."""
        with self.lock:
            for reader in self._live_readers() if self._known else ():
                reader.preserve(stored)
            stored.begin()

    def begin_closure(self, graph: Closure) -> None:
        """Note that an epoch is about to change a closure, unless it has begun to. MemoryError changes nothing."""
        with self.lock:
            if id(graph) not in self._closures:
                for reader in self._live_readers():
                    reader.preserve_closure(graph, changed=False)
                self._closures[id(graph)] = graph

    def close(self, list_deaths: Callable[[], None]) -> None:
        """Note that an epoch has made its changes, and let it list the rows that die: now if there are readers, or else
        when there are some."""
        with self.lock:
            if self._known and any(True for _ in self._live_readers()):
                list_deaths()
            else:
                self._unlisted = list_deaths

    def commit(self, changed: Iterable[tuple[StoredRelation, NDArray[numpy.int32] | None]]) -> None:
        """Note that the changes of relations are about to last, and which rows die, if any do; and those of closures.
        It asks for little memory."""
        with self.lock:
            self._unlisted = None
            readers = list(self._live_readers()) if self._known else []
            for stored, died in changed:
                for reader in readers:
                    reader.preserve(stored)
                if died is not None:
                    stored.note_deaths(died)
            for reader in readers:
                for graph in self._closures.values():
                    reader.preserve_closure(graph, changed=True)

    def end(self, changed: Iterable[StoredRelation]) -> None:
        """Note that the epoch is over, or undone, which has changed these relations."""
        with self.lock:
            self._unlisted = None
            self._closures.clear()
            for stored in changed:
                stored.end()

    # --- what readers share --------------------------------------------------------------------------------------

    def is_changing(self, graph: Closure) -> bool:
        """Return True if an epoch is changing a closure. The caller holds the `lock`."""
        return id(graph) in self._closures

    def catalog(self, bits: int) -> Catalog:
        """Return the catalog of a word size. The caller has the `turns`."""
        return self._catalogs.setdefault(bits, Catalog(bits))

    def relation(self, frozen: FrozenRows) -> FrozenRelation:
        """Return rows as join plans read them, one object for all plans. The caller has the `turns`."""
        found = None if frozen.relation is None else frozen.relation()
        if found is None:
            found = FrozenRelation(self.catalog(frozen.catalog.bits), frozen, self.lock)
            frozen.relation = weakref.ref(found)
        return found
