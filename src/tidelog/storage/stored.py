"""A stored relation: distinct rows of words in order of birth, a count per row, and indexes.

Rows are appended and never move while an epoch runs. A deleted row keeps its place with a negative count; `copy_to`
makes a new relation of the live ones. Births are kept as runs, since rows of one round are neighbours: `born` lists
(first row, birth).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy
from numpy.typing import NDArray

from tidelog.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.kernels.layout import MOST_COUNTED
from tidelog.looking import Look, unlimited
from tidelog.storage.catalog import Catalog, Stopwatch
from tidelog.storage.index import Index
from tidelog.storage.looking import in_parts
from tidelog.storage.marks import Marks
from tidelog.storage.memory import Block

SPARE = 512
"""Rows that always fit before a kernel has to ask for more: the largest batch."""
_UNCOUNTED = 1 << 62
_LISTS = 4 * SPARE
_MOST_ROOM = 1 << 18
"""Lists with more room than this are not kept from one epoch to the next."""
_NONE = numpy.empty(0, numpy.int64)
_MOST_ROWS = 1 << 31


class StoredRelation:
    """A relation of `arity` columns in the word size of `catalog`; one that is not `counted` can only grow.

    Where memory runs out, methods raise MemoryError. The rows are then whole, though some may have been added; what
    ends a change, `close` and `take_back`, asks for no memory.
    """

    number = -1

    def __init__(self, catalog: Catalog, arity: int, counted: bool = True) -> None:
        self.arity = arity
        self.catalog = catalog
        self.number = catalog.allocate()
        self.indexes: dict[tuple[int, ...], Index] = {}
        self.born: list[tuple[int, int]] = []
        self.changing = False
        self.saturated = False
        self._saved: tuple[NDArray[numpy.int32], NDArray[numpy.int32] | None, NDArray[numpy.int32] | None] | None = None
        self._births: Block | None = None
        self._supports: Block | None = None
        self._lists: tuple[Block, Block, Block] | None = None
        self._set(layout.R_ARITY, arity)
        self._set(layout.R_REPLAN, 1 << 62)
        self._rows = Block(2 * SPARE * arity * catalog.dtype.itemsize)
        self._counts = Block(4 * 2 * SPARE) if counted else None
        self._slots = Block(8 * 4 * SPARE)
        self._begin()

    def _begin(self) -> None:
        """Have no rows, and room for a few."""
        self._capacity, self._slot_count = 2 * SPARE, 4 * SPARE
        for field in (layout.R_N, layout.R_USED, layout.R_DEAD, layout.R_OLD, layout.R_NEW, layout.R_START):
            self._set(field, 0)
        self._publish()

    def _set(self, field: int, value: int) -> None:
        self.catalog.table[self.number, field] = value

    def _get(self, field: int) -> int:
        return int(self.catalog.table[self.number, field])

    def _publish(self) -> None:
        """Let kernels find the memory as it is now, and use no more of it than all blocks have room for."""
        self._set(layout.R_SLOTS, self._slots.address)
        self._set(layout.R_MASK, self._slot_count - 1)
        self._set(layout.R_ROWS, self._rows.address)
        self._set(layout.R_COUNT, self._counts.address if self._counts else 0)
        self._set(layout.R_CAPACITY, self._capacity)
        self._set(layout.R_BIRTH, self._births.address if self._births else 0)
        self._set(layout.R_SUPPORT, self._supports.address if self._supports else 0)

    # --- reading -------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """The number of rows, dead ones included."""
        return self._get(layout.R_N)

    @property
    def dead(self) -> int:
        """The number of dead rows."""
        return self._get(layout.R_DEAD)

    def __len__(self) -> int:
        return self.rows - self.dead

    @property
    def form(self) -> str:
        """How the rows are kept: written one by one, or compressed."""
        return "written"

    @property
    def identity(self) -> int:
        """The same for relations that share what their rows are kept in."""
        return id(self)

    def live(self) -> AnyWords:
        """The numbers of the live rows, ascending."""
        from tidelog.kernels.sets import live_rows

        if not self.dead and not self.changing:
            return numpy.arange(self.rows)
        block = Block(8 * self.rows)
        n = live_rows(self.catalog.table, self.number, block.address)
        return block.view(numpy.int64, n).copy()

    def words(self, count: int | None = None) -> AnyWords:
        """A copy of the live rows, or of the first `count` of them, shape (n, arity), dtype int32 or int64."""
        return self._view()[self.live()[:count]] if self.dead or self.changing else self._view()[:count].copy()

    def batches(self) -> Iterator[AnyWords]:
        """Copies of the live rows, some at a time."""
        yield self.words()

    def near(self, constants: Mapping[int, int]) -> AnyWords:
        """Rows among which are all that have these words in these columns."""
        return self.words()

    def snapshot(self) -> StoredRelation | None:
        """The rows as they are now, where that costs less than a copy of them all."""
        return None

    def _view(self) -> AnyWords:
        """All rows in place; not to be kept, because they move when the relation grows."""
        return self._rows.view(self.catalog.dtype, self.rows * self.arity).reshape(self.rows, self.arity)

    def take(self, numbers: AnyWords) -> AnyWords:
        """A copy of the rows with these numbers."""
        return self._view()[numbers]

    def counts(self) -> NDArray[numpy.int32]:
        """A copy of the counts of all rows; not positive where a row is dead."""
        return self._count_view().copy()

    def _count_view(self) -> NDArray[numpy.int32]:
        """The counts in place; ones where nothing is counted."""
        if self._counts is None:
            return numpy.ones(self.rows, numpy.int32)
        return self._counts.view(numpy.int32, self.rows)

    def births(self) -> AnyWords:
        """The birth of every row; 0 for relations that no rule derives."""
        if self._births is not None:
            return self._births.view(numpy.int32, self.rows).astype(numpy.int64)
        if not self.born:
            return numpy.zeros(self.rows, numpy.int64)
        starts, births = numpy.array(self.born, numpy.int64).T
        return numpy.repeat(births, numpy.diff(numpy.append(starts, self.rows)))

    def find(self, words: AnyWords) -> AnyWords:
        """The row number of each row of `words`, shape (n, arity), or -1."""
        from tidelog.kernels.sets import find_rows

        buffer, fitting = self._stage(words), self._fitting(words)
        found = Block(8 * len(words))
        find_rows(self.catalog.table, self.number, buffer.address, len(words), found.address, self.catalog.tag)
        numbers = found.view(numpy.int64, len(words)).copy()
        numbers[~fitting] = -1
        return numbers

    def select(self, keys: tuple[int, ...], groups: AnyWords) -> AnyWords:
        """The numbers of the live rows whose columns `keys` are one of the distinct rows of `groups`."""
        from tidelog.kernels.indexes import collect

        if not keys:
            return self.live() if len(groups) else _NONE
        index = self.index(keys)
        index.extend(self.rows)
        rows = numpy.zeros((len(groups), self.arity), numpy.int64)
        rows[:, list(keys)] = groups
        fitting = self._fitting(rows)
        buffer = self._stage(rows if fitting.all() else rows[fitting])
        table, tag, m = self.catalog.table, self.catalog.tag, int(fitting.sum())
        n = collect(table, index.number, buffer.address, m, 0, tag)
        found = Block(8 * n)
        collect(table, index.number, buffer.address, m, found.address, tag)
        return found.view(numpy.int64, n).copy()

    def changed_rows(self) -> tuple[AnyWords, AnyWords]:
        """The rows that died and those that were born since `open`, once that is settled."""
        assert self._lists is not None
        sizes = self._get(layout.R_OUT_N), self._get(layout.R_IN_N)
        died, born = (self.take(block.view(numpy.int64, n)) for block, n in zip(self._lists, sizes, strict=False))
        return died, born

    def alive(self, numbers: AnyWords) -> NDArray[numpy.bool_]:
        """Whether the rows with these numbers are live, also while the relation changes."""
        return self._count_view()[numbers] > 0

    def has(self, words: Sequence[int]) -> bool:
        """Whether the row is there."""
        return bool(self.find(numpy.array([words], numpy.int64).reshape(1, self.arity))[0] >= 0)

    def bytes(self) -> int:
        """Memory held, indexes included."""
        blocks = (self._rows, self._counts, self._slots, self._births, self._supports)
        return sum(block.size for block in blocks if block) + sum(index.bytes() for index in self.indexes.values())

    @property
    def emitted(self) -> int:
        """Rows that were inserted or met again, since the relation was made."""
        return self._get(layout.R_EMITTED)

    # --- writing -------------------------------------------------------------------------------------------------

    def _stage(self, words: AnyWords) -> Block:
        """The rows as memory of this word size, cut off where they do not fit."""
        block = Block(words.size * self.catalog.dtype.itemsize)
        block.view(self.catalog.dtype, words.size).reshape(words.shape)[:] = words
        return block

    def _fitting(self, words: AnyWords) -> NDArray[numpy.bool_]:
        """Which of the rows fit into this word size."""
        fitting = numpy.ones(len(words), bool)
        for column in words.T if self.catalog.bits == 32 else ():
            fitting &= column == column.astype(self.catalog.dtype)
        return fitting

    def insert(self, words: AnyWords) -> None:
        """Insert rows, shape (n, arity), that fit into the word size; those already there change nothing."""
        from tidelog.kernels.sets import insert_rows

        buffer = self._stage(words)
        done, table, tag = 0, self.catalog.table, self.catalog.tag
        self.ensure(SPARE)
        while done < len(words):
            done = insert_rows(
                table, self.number, buffer.address, done, len(words), _UNCOUNTED, self.catalog.hashes, tag
            )
            if done < len(words):
                self.ensure(min(len(words) - done, max(self.rows, SPARE)))

    def ensure(self, more: int = SPARE) -> None:
        """Make room for `more` rows, and at least for a batch beside them."""
        from tidelog.kernels.sets import split

        need = self.rows + more + SPARE
        used = self._get(layout.R_USED) + more + SPARE
        if need <= self._capacity and used * 10 <= (self._slot_count - 1) * 7:
            return
        with Stopwatch(self.catalog):
            capacity = self._capacity
            while capacity < need:
                capacity = capacity * 3 // 2
            if capacity >= _MOST_ROWS:
                raise MemoryError("a relation has outgrown the 31 bits of its row numbers")
            # Each block that has moved is published before anything else can fail; the capacity when all have grown.
            if capacity > self._capacity:
                sizes = capacity * self.arity * self.catalog.dtype.itemsize, *(4 * capacity,) * 3
                blocks = self._rows, self._counts, self._births, self._supports
                for block, size in zip(blocks, sizes, strict=True):
                    if block is not None:
                        block.grow(size)
                        self._publish()
                self._capacity = capacity
                self._publish()
            while used * 10 > (self._slot_count - 1) * 7:
                self._slots.grow(16 * self._slot_count)
                self._publish()
                split(self._slots.address, self._slot_count - 1, 2 * self._slot_count - 1)
                self._slot_count *= 2
                self._publish()

    def index(self, keys: tuple[int, ...]) -> Index:
        """The index by these columns, made when it is first asked for; `extend` it before use."""
        if keys not in self.indexes:
            self.indexes[keys] = Index(self.catalog, self.number, self.arity, keys)
        return self.indexes[keys]

    def settle(self) -> None:
        """Make all rows visible to plans as old ones, and bring the indexes up to date."""
        self._set(layout.R_OLD, self.rows)
        self._set(layout.R_NEW, self.rows)
        for index in self.indexes.values():
            index.extend(self.rows)

    def start(self) -> None:
        """Call all rows such as were there when the epoch began."""
        self._set(layout.R_START, self.rows)

    # --- changes in place, within an epoch ---------------------------------------------------------------------------

    def keep_births(self) -> None:
        """Keep a birth per row from now on, which updates of recursive hyper-nodes compare."""
        if self._births is None:
            block = Block(4 * self._capacity, huge=False)
            births = block.view(numpy.int32, self.rows)
            ends = [first for first, _ in self.born[1:]] + [self.rows]
            for (first, birth), end in zip(self.born, ends, strict=True) if self.born else ():
                births[first:end] = birth
            self._births = block
            self._publish()

    def keep_supports(self) -> None:
        """Keep the number of all derivations of each row from now on; so far, all of them have counted."""
        if self._supports is None:
            block = Block(4 * self._capacity)
            block.view(numpy.int32, self.rows)[:] = self.supports()
            self._supports = block
            self._publish()

    def supports(self) -> NDArray[numpy.int32]:
        """A copy of the numbers of all derivations of each row, 0 where it is dead; it is in the midst of an epoch."""
        if self._supports is not None:
            return self._supports.view(numpy.int32, self.rows) & MOST_COUNTED
        return numpy.clip(self.counts(), 0, MOST_COUNTED)

    @property
    def keeps_supports(self) -> bool:
        """Whether the number of all derivations is kept, as in relations of recursive hyper-nodes."""
        return self._supports is not None

    @property
    def keeps_births(self) -> bool:
        """Whether there is a birth per row, as in relations that have been updated in a recursive hyper-node."""
        return self._births is not None

    def open(self) -> None:
        """Begin to note what dies and what is born; until `close` or `take_back`, rows that die keep their places."""
        if self._lists is None:
            self._lists = Block(8 * _LISTS), Block(8 * _LISTS), Block(32 * _LISTS)
            self._set(layout.R_ROOM, _LISTS)
            self._publish_lists()
        self._empty_lists()
        self._set(layout.R_START, self.rows)
        self.changing = True

    def _publish_lists(self) -> None:
        for field, block in zip((layout.R_OUT, layout.R_IN, layout.R_JOURNAL), self._lists or (), strict=True):
            self._set(field, block.address)

    def _empty_lists(self) -> None:
        for field in layout.R_LIST_COUNTERS:
            self._set(field, 0)

    def ensure_lists(self, changes: int) -> None:
        """Make room for so many changes."""
        while self._get(layout.R_ROOM) < changes + SPARE:
            self.grow_lists()

    def grow_lists(self) -> None:
        """Make room for twice as many changes."""
        room = 2 * self._get(layout.R_ROOM)
        for block, size in zip(self._lists or (), (8, 8, 32), strict=True):
            block.grow(size * room)
            self._publish_lists()
        self._set(layout.R_ROOM, room)

    def change_facts(self, gone: AnyWords, came: AnyWords) -> None:
        """Between `open` and `close`: delete the live rows numbered `gone`, insert the rows `came`, all absent."""
        assert self._lists is not None
        start = self.rows
        self.ensure(len(came))
        self.insert(came)
        self.ensure_lists(max(len(gone), len(came)))
        counts = self._count_view()
        journal = self._lists[2].view(numpy.int64, 4 * len(gone)).reshape(len(gone), 4)
        journal[:, 0], journal[:, 1], journal[:, 2:] = gone, counts[gone], 0
        self._set(layout.R_JOURNAL_N, len(gone))
        counts[gone] = -1
        if self._births is not None:
            self._births.view(numpy.int32, self.rows)[start:] = 0
        self._show(gone, numpy.arange(start, self.rows))

    @property
    def dying(self) -> bool:
        """Whether rows have died since `open`, which still have their entries in indexes."""
        return self.changing and self._get(layout.R_OUT_N) > 0

    def call_all_new(self) -> None:
        """Right after `open`: let every row count as born in this epoch."""
        self._set(layout.R_START, 0)
        self.ensure_lists(self.rows)
        self._show(_NONE, numpy.arange(self.rows))

    @property
    def counted(self) -> bool:
        """Whether derivations are counted, without which nothing can be taken away."""
        return self._counts is not None

    def derivations(self) -> int:
        """The number of derivations that count for live rows."""
        counts = self._count_view()
        return int((counts & MOST_COUNTED).sum(where=counts > 0))

    def look_for_saturation(self) -> None:
        """Note whether a count has reached the most that can be counted, so that it cannot be taken from."""
        self.saturated = any(
            block is not None and self.rows and block.view(numpy.int32, self.rows).max() == MOST_COUNTED
            for block in (self._counts, self._supports)
        )

    def settle_change(self) -> tuple[AnyWords, AnyWords]:
        """The numbers of the rows that died and were born on balance: what other hyper-nodes see from now on."""
        assert self._lists is not None
        counts = self._count_view()
        died = self._lists[0].view(numpy.int64, self._get(layout.R_OUT_N))
        born = self._lists[1].view(numpy.int64, self._get(layout.R_IN_N))
        died, born = died[counts[died] <= 0], born[born >= self._get(layout.R_START)]
        self._show(died, born)
        return died, born

    def _show(self, died: AnyWords, born: AnyWords) -> None:
        assert self._lists is not None
        for block, numbers, field in zip(self._lists, (died, born), (layout.R_OUT_N, layout.R_IN_N), strict=False):
            block.view(numpy.int64, len(numbers))[:] = numbers.copy()
            self._set(field, len(numbers))
        self.show_all()

    def show_all(self) -> None:
        """Make all that died and was born the source of the next round."""
        self._set(layout.R_OUT_LOW, 0)
        self._set(layout.R_OUT_HIGH, self._get(layout.R_OUT_N))
        self._set(layout.R_IN_LOW, 0)
        self._set(layout.R_IN_HIGH, self._get(layout.R_IN_N))

    def show_nothing(self) -> None:
        """Make nothing of what has died the source of the next round, and all that was born that of the one after."""
        died = self._get(layout.R_OUT_N)
        self.catalog.table[self.number, [layout.R_OUT_LOW, layout.R_OUT_HIGH]] = died
        self.catalog.table[self.number, [layout.R_IN_LOW, layout.R_IN_HIGH]] = 0

    def listed(self, version: int) -> int:
        """The number of rows in a list, OUT or IN."""
        return self._get(layout.R_OUT_N if version == layout.OUT else layout.R_IN_N)

    @property
    def born_so_far(self) -> int:
        """Rows born since `open`, those born again included."""
        return self._get(layout.R_IN_N)

    def retract(self, words: AnyWords) -> None:
        """Take a derivation from each of these live rows, facts no longer asserted; the first death round is 1."""
        from tidelog.kernels.changes import retract_rows

        numbers = self.find(words)
        block = Block(8 * len(numbers))
        block.view(numpy.int64, len(numbers))[:] = numbers
        done, table = 0, self.catalog.table
        while (done := retract_rows(table, self.number, block.address, done, len(numbers), 0)) < len(numbers):
            self.grow_lists()

    def bear_supported(self, current: int) -> None:
        """Let the rows that died and have derivations left be born again in round `current`."""
        from tidelog.kernels.changes import bear_supported

        if self._supports is not None:
            self.ensure_lists(self._get(layout.R_OUT_N) + self.born_so_far)
            bear_supported(self.catalog.table, self.number, current)

    def assert_facts(self, words: AnyWords, current: int) -> None:
        """Give a derivation to each of these rows, newly asserted facts; new rows are born in round `current`."""
        from tidelog.kernels.changes import assert_rows

        buffer = self._stage(words)
        done, table, tag = 0, self.catalog.table, self.catalog.tag
        while (done := assert_rows(table, self.number, buffer.address, done, len(words), current, tag)) < len(words):
            self.ensure(SPARE)
            self.grow_lists()

    def absorb(self, new: StoredRelation) -> None:
        """Between `open` and `close`: become what `new` is, keeping rows in their places. Counts and births are taken
        over; rows that `new` has not die, rows that only `new` has are born."""
        assert self._lists is not None
        if new.born:
            self.keep_births()
        if new.keeps_supports:
            self.keep_supports()
        start, found = self.rows, self.places(new)
        counts = self.counts()
        births, supports = (
            block.view(numpy.int32, start).copy() if block is not None else None
            for block in (self._births, self._supports)
        )
        self._saved = counts, births, supports
        self.saturated = new.saturated
        alive = counts > 0
        alive[found[found >= 0]] = False
        died, came = numpy.flatnonzero(alive), numpy.flatnonzero(found == -1)
        self.insert(new.take(came))
        self.ensure_lists(max(len(died), len(came)))
        found[came] = numpy.arange(start, self.rows, dtype=numpy.int32)
        there = found >= 0
        rows = found[there]
        counts = self._count_view()
        counts[died] = -1
        counts[rows] = new._count_view()[there]
        if self._births is not None:
            self._births.view(numpy.int32, self.rows)[rows] = new.births()[there]
        if self._supports is not None:
            supports = self._supports.view(numpy.int32, self.rows)
            supports[died] = 0
            supports[rows] = new.supports()[there]
        self._show(died, numpy.arange(start, self.rows))

    def places(self, other: StoredRelation) -> NDArray[numpy.int32]:
        """For each row of `other` its row number here, -1 where it is absent and -2 where it is dead there."""
        from tidelog.kernels.sets import place_rows

        found = Block(4 * other.rows)
        place_rows(self.catalog.table, self.number, other.number, found.address, self.catalog.tag)
        return found.view(numpy.int32, other.rows).copy()

    def difference(self, new: StoredRelation) -> tuple[AnyWords, AnyWords]:
        """The live rows that `new` has not, and the rows that only `new` has."""
        found = new.places(self)
        only = numpy.ones(new.rows, bool)
        only[found[found >= 0]] = False
        return self.take(numpy.flatnonzero(found == -1)), new.take(numpy.flatnonzero(only))

    def close(self) -> None:
        """Make the changes last: rows that died lose their entries and slots."""
        from tidelog.kernels.sets import remove_rows

        self.changing = False
        self._saved = None
        died, count = self._get(layout.R_OUT), self._get(layout.R_OUT_N)
        for index in self.indexes.values():
            index.bury(died, 0, count)
        remove_rows(self.catalog.table, self.number, died, count, self.catalog.hashes, self.catalog.tag)
        self._end_lists()

    def _end_lists(self) -> None:
        """Empty the lists, and give them back where they have become large."""
        from tidelog.kernels.changes import forget_journal

        forget_journal(self.catalog.table, self.number)
        self._empty_lists()
        if self._get(layout.R_ROOM) > _MOST_ROOM:
            self._lists = None
            self._set(layout.R_ROOM, 0)

    def shift_births(self, offset: int) -> None:
        """Add to every birth; with a negative offset, take a shift back."""
        self.keep_births()
        assert self._births is not None
        births = self._births.view(numpy.int32, self.rows)
        births += offset

    @property
    def youngest(self) -> int:
        """The largest birth."""
        return int(self.births().max(initial=0))

    def take_back(self) -> None:
        """Undo everything since `open`, and ask for no memory: there may be none, which may be the reason."""
        from tidelog.kernels.changes import take_back

        self.changing = False
        start = self._get(layout.R_START)
        for index in self.indexes.values():
            index.bury(0, start, self.rows - start)
        take_back(self.catalog.table, self.number, self.catalog.tag)
        if self._saved is not None:
            for block, saved in zip((self._counts, self._births, self._supports), self._saved, strict=True):
                if block is not None and saved is not None:
                    block.view(numpy.int32, start)[:] = saved
            self._saved = None
        self._end_lists()

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = unlimited) -> StoredRelation:
        """The live rows as a relation of another catalog, counts and births included, indexes left to be made anew. It
        is `counted` where this one is, or with counts of 1 where that is asked for. What `look` raises ends it."""
        other = StoredRelation(catalog, self.arity, self.counted or counted)
        for live in in_parts(self.live(), look):
            other.insert(self.take(live))
        other.mark(Marks.of(self))
        return other

    def mark(self, marks: Marks) -> None:
        """Take over the marks of rows that have been inserted in the same order, and are all that there are."""
        if marks.counts is not None:
            self._count_view()[:] = marks.counts
        self.born = [] if marks.by_row else marks.runs()
        if marks.by_row:
            self.keep_births()
            self._births.view(numpy.int32, self.rows)[:] = marks.births  # type: ignore[union-attr]  # it is there now
        if marks.supports is not None:
            self.keep_supports()
            self._supports.view(numpy.int32, self.rows)[:] = marks.supports  # type: ignore[union-attr]  # now there

    def __del__(self) -> None:
        if self.number >= 0:
            self.catalog.release(self.number)
