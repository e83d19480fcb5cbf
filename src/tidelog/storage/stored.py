"""A stored relation: distinct rows of words in order of birth, a count per row, and indexes.

Rows are appended and never move while an epoch runs. A deleted row keeps its place with a negative count; `compacted`
makes a new relation of the live ones. Births are kept as runs, since rows of one round are neighbours: `born` lists
(first row, birth).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.kernels import layout
from tidelog.storage.catalog import Catalog, Stopwatch
from tidelog.storage.index import Index
from tidelog.storage.memory import Block

Words = NDArray[numpy.signedinteger[Any]]
"""Rows of words, int32 or int64, shape (n, arity); or row numbers."""
SPARE = 512
"""Rows that always fit before a kernel has to ask for more: the largest batch."""
_UNCOUNTED = 1 << 62
_MOST_ROWS = 1 << 31


class StoredRelation:
    """A relation of `arity` columns in the word size of `catalog`."""

    def __init__(self, catalog: Catalog, arity: int) -> None:
        self.arity = arity
        self.catalog = catalog
        self.number = catalog.allocate()
        self.indexes: dict[tuple[int, ...], Index] = {}
        self.born: list[tuple[int, int]] = []
        self._capacity = 2 * SPARE
        self._slot_count = 4 * SPARE
        self._rows = Block(self._capacity * arity * catalog.dtype.itemsize)
        self._counts = Block(4 * self._capacity)
        self._slots = Block(8 * self._slot_count)
        self._set(layout.R_ARITY, arity)
        self._set(layout.R_REPLAN, 1 << 62)
        self._publish()

    def _set(self, field: int, value: int) -> None:
        self.catalog.table[self.number, field] = value

    def _get(self, field: int) -> int:
        return int(self.catalog.table[self.number, field])

    def _publish(self) -> None:
        self._set(layout.R_SLOTS, self._slots.address)
        self._set(layout.R_MASK, self._slot_count - 1)
        self._set(layout.R_ROWS, self._rows.address)
        self._set(layout.R_COUNT, self._counts.address)
        self._set(layout.R_CAPACITY, self._capacity)

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

    def live(self) -> Words:
        """The numbers of the live rows, ascending."""
        from tidelog.kernels.sets import live_rows

        if not self.dead:
            return numpy.arange(self.rows)
        block = Block(8 * self.rows)
        n = live_rows(self.catalog.table, self.number, block.address)
        return block.view(numpy.int64, n).copy()

    def words(self, count: int | None = None) -> Words:
        """A copy of the live rows, or of the first `count` of them, shape (n, arity), dtype int32 or int64."""
        return self._view()[self.live()[:count]] if self.dead else self._view()[:count].copy()

    def _view(self) -> Words:
        """All rows in place; not to be kept, because they move when the relation grows."""
        return self._rows.view(self.catalog.dtype, self.rows * self.arity).reshape(self.rows, self.arity)

    def take(self, numbers: Words) -> Words:
        """A copy of the rows with these numbers."""
        return self._view()[numbers]

    def counts(self) -> NDArray[numpy.int32]:
        """A copy of the counts of all rows; not positive where a row is dead."""
        return self._counts.view(numpy.int32, self.rows).copy()

    def births(self) -> Words:
        """The birth of every row; 0 for relations that no rule derives."""
        if not self.born:
            return numpy.zeros(self.rows, numpy.int64)
        starts, births = numpy.array(self.born, numpy.int64).T
        return numpy.repeat(births, numpy.diff(numpy.append(starts, self.rows)))

    def find(self, words: Words) -> Words:
        """The row number of each row of `words`, shape (n, arity), or -1."""
        from tidelog.kernels.sets import find_rows

        buffer, fitting = self._stage(words)
        found = Block(8 * len(words))
        find_rows(self.catalog.table, self.number, buffer.address, len(words), found.address, self.catalog.tag)
        numbers = found.view(numpy.int64, len(words)).copy()
        numbers[~fitting] = -1
        return numbers

    def has(self, words: Sequence[int]) -> bool:
        """Whether the row is there."""
        return bool(self.find(numpy.array([words], numpy.int64).reshape(1, self.arity))[0] >= 0)

    def bytes(self) -> int:
        """Memory held, indexes included."""
        return self._rows.size + self._counts.size + self._slots.size + sum(i.bytes() for i in self.indexes.values())

    @property
    def emitted(self) -> int:
        """Rows that were inserted or met again, since the relation was made."""
        return self._get(layout.R_EMITTED)

    # --- writing -------------------------------------------------------------------------------------------------

    def _stage(self, words: Words) -> tuple[Block, NDArray[numpy.bool_]]:
        """The rows as memory of this word size, and which of them fit into it."""
        narrow = words.astype(self.catalog.dtype)
        fitting = (narrow == words).all(axis=1) if self.catalog.bits == 32 else numpy.ones(len(words), bool)
        block = Block(narrow.nbytes)
        block.view(self.catalog.dtype, narrow.size)[:] = narrow.ravel()
        return block, fitting

    def insert(self, words: Words) -> None:
        """Insert rows, shape (n, arity), that fit into the word size; those already there change nothing."""
        from tidelog.kernels.sets import insert_rows

        buffer, _ = self._stage(words)
        done, table, tag = 0, self.catalog.table, self.catalog.tag
        self.ensure(SPARE)
        while done < len(words):
            done = insert_rows(
                table, self.number, buffer.address, done, len(words), _UNCOUNTED, self.catalog.hashes, tag
            )
            if done < len(words):
                self.ensure(min(len(words) - done, max(self.rows, SPARE)))

    def remove(self, numbers: Words) -> None:
        """Delete the live rows with these numbers."""
        from tidelog.kernels.sets import remove_rows

        for index in self.indexes.values():
            index.bury(numbers)
        block = Block(8 * len(numbers))
        block.view(numpy.int64, len(numbers))[:] = numbers
        remove_rows(self.catalog.table, self.number, block.address, len(numbers), self.catalog.tag)

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
            if capacity > self._capacity:
                self._rows.grow(capacity * self.arity * self.catalog.dtype.itemsize)
                self._counts.grow(4 * capacity)
                self._capacity = capacity
            while used * 10 > (self._slot_count - 1) * 7:
                self._slots.grow(16 * self._slot_count)
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

    def copy_to(self, catalog: Catalog) -> StoredRelation:
        """The live rows as a relation of another catalog, counts and births included, indexes left to be made anew."""
        other = StoredRelation(catalog, self.arity)
        live = self.live()
        other.insert(self.take(live))
        other._counts.view(numpy.int32, len(live))[:] = self.counts()[live]
        births = self.births()[live]
        if self.born and len(births):
            firsts = numpy.concatenate([[0], 1 + numpy.flatnonzero(numpy.diff(births))])
            other.born = [(int(r), int(births[r])) for r in firsts]
        return other

    def __del__(self) -> None:
        self.catalog.release(self.number)
