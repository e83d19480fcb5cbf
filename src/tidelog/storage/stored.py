"""A stored relation: distinct rows of words in order of birth, their marks, indexes, and the journal of a change.

Rows are appended and never move while an epoch runs. A deleted row keeps its place with a negative count; `copy_to`
makes a new relation of the live ones. The functions of `changes` change a relation in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.common.looking import Look, ignore_limits
from tidelog.kernels import layout
from tidelog.kernels.calling import expect
from tidelog.storage.catalog import Catalog, Descriptor, Growing, Index
from tidelog.storage.extents import RowEpochs, SharedRows
from tidelog.storage.journal import ChangeJournal
from tidelog.storage.marks import RowMarks
from tidelog.storage.memory import Block, Pinned
from tidelog.storage.rows import in_parts, narrow, positions

_SCANS = 8
"""So many times a query looks at all rows before it makes an index, which takes as long as about 100 looks."""
_WORTH_AN_INDEX = 2_000
"""Relations with fewer rows need no index for queries."""
_UNCOUNTED = 1 << 62
_STAGED = 1 << 14
"""Rows that are staged at a time: they stay in the cache until they are inserted."""
PORTION = 512
"""So many rows are given room at a time while there are few."""
_FIRST_ROOM = 64
"""Rows for which a relation gets room with its first one: thousands of relations may have few."""
_ROOM = 2 * PORTION
"""Rows for which a relation keeps its room when it starts anew."""
_NO_SLOTS = Block(8)
"""The slots of a relation without rows: a single one, which is empty. Nobody writes it."""
_NONE = numpy.empty(0, numpy.int64)
_MOST_SLOTS = 1 << 31
_PART_OF_FILE = 1 << 24
"""Slots in a file that are written at a time, since rows are entered in no order."""


class StoredRelation(SharedRows):
    """A relation of `arity` columns in the word size of `catalog`; one that is not `counted` can only grow.

    Where memory runs out, methods raise MemoryError. The rows are then whole, though some may have been added; the ends
    of a change, `close` and `take_back`, allocate no memory.
    """

    def __init__(self, catalog: Catalog, arity: int, counted: bool = True) -> None:
        super().__init__()
        self.arity = arity
        self.catalog = catalog
        self.fields = Descriptor(catalog)
        self.number = self.fields.number
        self.indexes: dict[tuple[int, ...], Index] = {}
        self._scans: dict[tuple[int, ...], int] = {}
        self.changing = False
        self.repeats = False
        """True if rows may die and be born several times in the change that is under way."""
        self.overwritten = False
        """True if columns that are no key of an index may change."""
        self.fields[layout.R_ARITY] = arity
        self.fields[layout.R_REPLAN] = 1 << 62
        self._rows = Block(0, room=catalog.room)
        self._slots = Block(0, room=catalog.room)
        self._capacity, self._slot_count = 0, 1
        self.marks = RowMarks(self.fields, counted)
        self.journal = ChangeJournal(self.fields)
        self.epochs: RowEpochs | None = None
        """Of asserted facts: since which epoch rows are there."""
        self._publish()

    def _begin(self) -> None:
        """Start without rows, with room for a few if there was room."""
        self._capacity, self._slot_count = min(self._capacity, _ROOM), min(self._slot_count, 2 * _ROOM)
        for field in (layout.R_N, layout.R_USED, layout.R_DEAD, layout.R_OLD, layout.R_NEW, layout.R_START):
            self.fields[field] = 0
        self.epochs = None
        self._publish()

    def _publish(self) -> None:
        """Let kernels find the memory as it is now, and use no more of it than all blocks have room for."""
        self.fields[layout.R_SLOTS] = self._slots.address or _NO_SLOTS.address
        self.fields[layout.R_MASK] = self._slot_count - 1
        self.fields[layout.R_ROWS] = self._rows.address
        self.fields[layout.R_CAPACITY] = self._capacity
        self.marks.publish()

    # --- reading -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.rows - self.dead

    @property
    def form(self) -> str:
        """The form of the rows: written one by one, or compressed."""
        return "written"

    @property
    def identity(self) -> int:
        """An id that relations share if they share the storage of their rows."""
        return id(self)

    def live(self) -> AnyWords:
        """Return the numbers of the live rows, ascending."""
        from tidelog.kernels.sets import live_rows

        if not self.dead and not self.changing:
            return numpy.arange(self.rows)
        block = Block(8 * self.rows, room=self.catalog.room)
        n = live_rows(self.catalog.table, self.number, block.address)
        return block.view(numpy.int64, n).copy()

    def words(self, count: int | None = None) -> AnyWords:
        """Return a copy of the live rows, or of the first `count` of them, shape (n, arity), dtype int32 or int64."""
        return self._view()[self.live()[:count]] if self.dead or self.changing else self._view()[:count].copy()

    def extremes(self) -> tuple[AnyWords, AnyWords]:
        """Return the least and the greatest words of the columns, each of shape (arity,). There are rows."""
        rows = self._view()
        return rows.min(axis=0), rows.max(axis=0)

    def batches(self) -> Iterator[AnyWords]:
        """Yield copies of the live rows, some at a time."""
        yield self.words()

    def near(self, constants: Mapping[int, int]) -> AnyWords:
        """Return rows that include all those with these words in these columns: by an index where there is one. An
        index is made for columns that are asked for again and again."""
        keys = tuple(sorted(constants))
        return self.rows_with(keys, numpy.array([[constants[column] for column in keys]], numpy.int64))

    def rows_with(self, keys: tuple[int, ...], groups: AnyWords) -> AnyWords:
        """Return a copy of the live rows whose columns `keys`, ascending, are one of the distinct rows of `groups`; see
        `near` for indexes."""
        if not keys:
            return self.words(None if len(groups) else 0)
        if len(keys) == self.arity:
            found = self.find(groups)
            return self.take(found[found >= 0])
        if keys not in self.indexes:
            scans = self._scans[keys] = self._scans.get(keys, 0) + 1
            if scans <= _SCANS or self.rows < _WORTH_AN_INDEX:
                return self._scan(keys, groups)
        return self.take(self.select(keys, groups))

    def _scan(self, keys: tuple[int, ...], groups: AnyWords) -> AnyWords:
        """Return the live rows whose columns `keys` are one of the rows of `groups`, by a look at all rows."""
        rows = self._view()
        numbers = numpy.flatnonzero(_is_in(rows[:, keys[0]], groups[:, 0]))
        for i, column in enumerate(keys[1:], 1):
            numbers = numbers[_is_in(rows[numbers, column], groups[:, i])]
        if len(keys) > 1 and len(groups) > 1:
            near = rows[numbers][:, list(keys)].astype(numpy.int64)
            numbers = numbers[positions(groups.astype(numpy.int64), near) >= 0]
        if self.dead or self.changing:
            numbers = numpy.intersect1d(numbers, self.live(), assume_unique=True)
        return rows[numbers]

    def snapshot(self) -> StoredRelation | None:
        """Return the rows as they are now, if that costs less than a copy of them all."""
        return None

    def _view(self) -> AnyWords:
        """Return all rows in place. Do not keep them, because they move when the relation grows."""
        return self._rows.view(self.catalog.dtype, self.rows * self.arity).reshape(self.rows, self.arity)

    def take(self, numbers: AnyWords) -> AnyWords:
        """Return a copy of the rows with these numbers."""
        return self._view()[numbers] if len(numbers) else numpy.empty((0, self.arity), self.catalog.dtype)

    def find(self, words: AnyWords) -> AnyWords:
        """Return the row number of each row of `words`, shape (n, arity), or -1."""
        from tidelog.kernels.sets import find_rows

        expect(len(words))
        staged, numbers = words.astype(self.catalog.dtype, order="C"), numpy.empty(len(words), numpy.int64)
        buffer, found = Pinned(staged), Pinned(numbers)
        find_rows(self.catalog.table, self.number, buffer.address, len(words), found.address, self.catalog.tag)
        if words.dtype != staged.dtype and not narrow(words):
            numbers[(staged != words).any(axis=1)] = -1
        return numbers

    def select(self, keys: tuple[int, ...], groups: AnyWords) -> AnyWords:
        """Return the numbers of the live rows whose columns `keys` are one of the distinct rows of `groups`."""
        from tidelog.kernels.indexes import collect

        if not keys:
            return self.live() if len(groups) else _NONE
        if len(keys) > layout.MAX_KEYS:  # An index has no room for more: look at the rows that it finds.
            first = keys[: layout.MAX_KEYS]
            near = self.select(first, numpy.unique(groups[:, : layout.MAX_KEYS], axis=0))
            rows = self.take(near)[:, list(keys)].astype(numpy.int64)
            return near[positions(groups.astype(numpy.int64), rows) >= 0]
        expect(len(groups))
        index = self.index(keys)
        index.extend(self.rows)
        rows = numpy.zeros((len(groups), self.arity), numpy.int64)
        rows[:, list(keys)] = groups
        fitting = self._mask_of_fitting(rows)
        buffer = self.catalog.stage(rows if fitting.all() else rows[fitting])
        table, tag, m = self.catalog.table, self.catalog.tag, int(fitting.sum())
        n = collect(table, index.number, buffer.address, m, 0, tag)
        found = Block(8 * n, room=self.catalog.room)
        collect(table, index.number, buffer.address, m, found.address, tag)
        return found.view(numpy.int64, n).copy()

    def has(self, words: Sequence[int]) -> bool:
        """Return True if the relation contains the row."""
        return bool(self.find(numpy.array([words], numpy.int64).reshape(1, self.arity))[0] >= 0)

    def bytes(self) -> int:
        """Return the bytes of memory held, indexes included."""
        indexes = sum(index.bytes() for index in self.indexes.values())
        return sum(block.size for block in self.blocks()) + indexes

    @property
    def rows_emitted(self) -> int:
        """Rows that were inserted or met again, since the relation was made."""
        return self.fields[layout.R_EMITTED]

    def epochs_of(self, numbers: AnyWords) -> NDArray[numpy.int64]:
        """Return since which epoch the rows with these numbers are there, see `RowEpochs`."""
        return numpy.zeros(len(numbers), numpy.int64) if self.epochs is None else self.epochs.of(numbers)

    # --- writing -------------------------------------------------------------------------------------------------

    def _mask_of_fitting(self, words: AnyWords) -> NDArray[numpy.bool_]:
        """Return a mask of the rows that fit into this word size."""
        fitting = numpy.ones(len(words), bool)
        for column in words.T if self.catalog.bits == 32 else ():
            fitting &= column == column.astype(self.catalog.dtype)
        return fitting

    def insert(self, words: AnyWords) -> None:
        """Insert rows, shape (n, arity), that fit into the word size; those already there change nothing."""
        from tidelog.kernels.sets import insert_rows

        table, tag = self.catalog.table, self.catalog.tag
        self.ensure(min(len(words), PORTION))
        for base in range(0, len(words), _STAGED):
            part = words[base : base + _STAGED]
            buffer, done = self.catalog.stage(part), 0
            while done < len(part):
                done = insert_rows(
                    table, self.number, buffer.address, done, len(part), _UNCOUNTED, self.catalog.hashes, tag
                )
                if done < len(part):
                    self.ensure(min(len(words) - base - done, max(self.rows, PORTION)))

    def ensure(self, more: int = PORTION, expected: int | None = None) -> None:
        """Make room for `more` rows and some beside them. So many are `expected` in all, or nearly all of these."""
        spare = min(self.rows, PORTION)
        need, used = self.rows + more + spare, self.fields[layout.R_USED] + more + spare
        slots = self._slots_for(need, used)
        if need <= self._capacity and slots == self._slot_count:
            return
        expect(self.rows + more - PORTION if expected is None else expected)
        capacity = max(self._capacity, _FIRST_ROOM)
        while capacity < need:
            capacity = capacity * 3 // 2
        capacity = min(capacity, slots - 1)
        if slots > _MOST_SLOTS:
            raise MemoryError("a relation has outgrown the 31 bits of its row numbers")
        marks = sum(4 for field in (layout.R_COUNT, layout.R_BIRTH, layout.R_SUPPORT) if self.fields[field])
        row = self.arity * self.catalog.dtype.itemsize + marks
        with Growing(self.catalog, (capacity - self._capacity) * row + 4 * (slots - self._slot_count)):
            # Each block that has moved is published before anything else can fail; the capacity when all have grown.
            if capacity > self._capacity:
                self._rows.grow(capacity * self.arity * self.catalog.dtype.itemsize)
                self._publish()
                self.marks.grow(capacity)
                self._capacity = capacity
                self._publish()
            if slots > self._slot_count:
                self._splitting = True
                try:
                    self._spread(slots)
                finally:
                    self._splitting = False

    def _slots_for(self, rows: int, used: int) -> int:
        """Return the number of slots that so many rows need, and so many slots that are not empty."""
        count = self._slot_count if self._slot_count > 1 else 2 * _FIRST_ROOM
        while used * 10 > (count - 1) * 7 or rows >= count:
            count *= 2
        return count

    def _spread(self, slots: int) -> None:
        """Have so many slots, and enter all rows anew. Only the growth of the block may fail."""
        from tidelog.kernels.sets import enter_rows

        self._slots.grow(4 * slots)
        self._slots.view(numpy.int32, self._slot_count)[:] = 0
        self._slot_count = slots
        self.fields[layout.R_USED] = 0
        self._publish()
        part = _PART_OF_FILE if self._slots.in_file else slots
        for first in range(0, slots, part):
            enter_rows(self.catalog.table, self.number, first, first + part, self.catalog.hashes, self.catalog.tag)

    def index(self, keys: tuple[int, ...]) -> Index:
        """Return the index by these columns, made on its first use; `extend` it before use."""
        if keys not in self.indexes:
            self.indexes[keys] = Index(self.catalog, self.number, self.arity, keys, self.overwritten)
        return self.indexes[keys]

    def settle(self) -> None:
        """Make all rows visible to plans as old ones, and bring the indexes up to date."""
        self.fields[layout.R_OLD] = self.rows
        self.fields[layout.R_NEW] = self.rows
        for index in self.indexes.values():
            if index.rows_entered < self.rows:
                index.extend(self.rows)

    # --- a change within an epoch ------------------------------------------------------------------------------------

    def open(self) -> None:
        """Begin to note deaths and births; until `close` or `take_back`, rows that die keep their places."""
        self.journal.open()
        self.changing, self.repeats = True, False

    def remove(self, rows: AnyWords) -> None:
        """Take out dead rows that the change under way has brought, so that nobody meets them."""
        block = Block(8 * len(rows), room=self.catalog.room)
        block.view(numpy.int64, len(rows))[:] = rows
        for work in self._removals(block.address, len(rows)):
            work(self.catalog.hashes)

    def _removals(self, died: int, count: int) -> list[Callable[[int], None]]:
        from tidelog.kernels.sets import remove_rows

        def remove_slots(hashes: int) -> None:
            remove_rows(self.catalog.table, self.number, died, count, hashes, self.catalog.tag)

        return [*(partial(index.bury, died, 0, count) for index in self.indexes.values()), remove_slots]

    @property
    def has_dying_rows(self) -> bool:
        """True if rows have died since `open` that still have their entries in indexes."""
        return self.changing and self.journal.list_length(layout.OUT) > 0

    def close(self) -> None:
        """Make the changes last: rows that died lose their entries and slots."""
        for work in self.removals():
            work(self.catalog.hashes)
        self.finish()

    def removals(self) -> list[Callable[[int], None]]:
        """Return what has to be done for the rows that died before `finish`: one function for each index, and one for
        the slots. Threads may call them at the same time, with addresses of 1,024 hashes of their own."""
        return self._removals(self.fields[layout.R_OUT], self.fields[layout.R_OUT_N])

    def finish(self) -> None:
        """End a change that lasts; all of `removals` have been called."""
        self.changing = False
        self.marks.forget_saved()
        self.journal.end()

    def take_back(self) -> None:
        """Undo everything since `open`, and ask for no memory: there may be none, which may be the reason."""
        from tidelog.kernels.changes import take_back

        self.changing = False
        start = self.fields[layout.R_START]
        for index in self.indexes.values():
            index.bury(0, start, self.rows - start)
        take_back(self.catalog.table, self.number, self.catalog.tag)
        self.marks.restore()
        self.marks.forget_saved()
        self.journal.end()

    def forget(self) -> None:
        """Remove all rows and entries, without allocating memory."""
        self.journal.end()
        self._rows.clear(_ROOM * self.arity * self.catalog.dtype.itemsize)
        self._slots.clear(4 * 2 * _ROOM)
        self.marks.clear(_ROOM)
        for index in self.indexes.values():
            index.clear()
        self._begin()

    def restart(self) -> None:
        """Remove all rows of a relation that no epoch has changed, for other ones: `forget`, in a fraction of the time
        where there were few."""
        if self._capacity > _ROOM or self._slot_count > 2 * _ROOM or self.indexes:
            self.forget()
            return
        self._slots.clear(4 * 2 * _ROOM)
        for field in (layout.R_N, layout.R_USED, layout.R_OLD, layout.R_NEW):
            self.fields[field] = 0

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = ignore_limits) -> StoredRelation:
        """Return the live rows as a relation of another catalog, with counts and births, and without indexes. It is
        `counted` where this one is, or has counts of 1 on request. An exception of `look` ends the work."""
        other = StoredRelation(catalog, self.arity, self.marks.has_counts or counted)
        for live in in_parts(self.live(), look):
            other.insert(self.take(live))
        other.marks.become(self.marks.keep().of(self.live()))
        if self.epochs is not None:
            other.epochs = self.epochs.among(self.live())
        return other


def _is_in(column: AnyWords, words: AnyWords) -> NDArray[numpy.bool_]:
    """Return a mask of the words of a column that are among others."""
    found: NDArray[numpy.bool_] = column == words[0] if len(words) == 1 else numpy.isin(column, words)
    return found
