"""The descriptor table, in which kernels find every relation and index of a database; and the indexes.

One `Catalog` has one word size. Relations and indexes take a row of the table each, their `Descriptor`, and keep it up
to date when their memory moves.
"""

from __future__ import annotations

import time

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.kernels.layout import DONE, FIELDS, GROW_ARENA
from tidelog.storage.memory import Block, Pinned
from tidelog.storage.room import Room

_DIRECTORY = 64  # slots at first; more than the batch that one extension enters before it looks for room
_ARENA = 512
_LARGE_ARENA = 1 << 25
"""Bytes from which on an arena grows in small steps, so that it is packed in time:"""
_UNUSED = 1 / 8
"""where free segments take such a part of it, in place of growing."""
_MANY = 1_000
"""So many first rows are worth a count of their values beforehand,"""
_SPREAD = 4
"""if the values are spread over so many times as many at most."""
_OUTGROWN = "an index has outgrown the 32 bits of its offsets"
_MOST_WORDS = 1 << 31
"""An arena of fewer words grows to less than 2**32, which is what a slot can address."""


class Catalog:
    """The descriptors of all objects, and their shared state.

    `bits` is the word size, 32 or 64; `tag` the kernels' last argument; `growing` the seconds spent on making room, in
    the `room` that the catalogs of a database share.
    """

    def __init__(self, bits: int = 32, room: Room | None = None) -> None:
        self.bits = bits
        self.dtype = numpy.dtype(numpy.int32 if bits == 32 else numpy.int64)
        self.tag = self.dtype.type(0)
        self.table: NDArray[numpy.int64] = numpy.zeros((64, FIELDS), numpy.int64)
        self.cells = self.table.data
        """The table once more: a single word is read or written there in half the time that NumPy takes."""
        self.growing = 0.0
        self.room = room or Room()
        self._free: list[int] = []
        self._next = 0
        self._scratch = Block(8 * 1024)

    @property
    def hashes(self) -> int:
        """The address of scratch memory for 1,024 hashes."""
        return self._scratch.address

    def allocate(self) -> int:
        """Return a row of the table, all zero."""
        if self._free:
            self.table[self._free[-1]] = 0
            return self._free.pop()
        if self._next == len(self.table):
            self.table = numpy.concatenate([self.table, numpy.zeros_like(self.table)])
            self.cells = self.table.data
        self._next += 1
        return self._next - 1

    def release(self, number: int) -> None:
        """Take a row back."""
        self._free.append(number)

    def stage(self, words: AnyWords) -> Pinned:
        """Return a copy of words in the word size of the catalog, cut off where they do not fit."""
        return Pinned(words.astype(self.dtype, order="C"))


class Descriptor:
    """The row of the table that describes one object; it goes back when nothing refers to it any more."""

    number = -1

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.number = catalog.allocate()

    def __getitem__(self, field: int) -> int:
        word: int = self.catalog.cells[self.number, field]
        return word

    def __setitem__(self, field: int, value: int) -> None:
        self.catalog.cells[self.number, field] = value

    def __del__(self) -> None:
        if self.number >= 0:
            self.catalog.release(self.number)


class Growing:
    """A block that makes room for so many `more` bytes; its time counts as `catalog.growing`. Raises MemoryError where
    the `room` of the catalog does not suffice."""

    def __init__(self, catalog: Catalog, more: int) -> None:
        self._catalog, self._more = catalog, more

    def __enter__(self) -> None:
        self._start = time.perf_counter()
        self._catalog.room.check(self._more)

    def __exit__(self, *_: object) -> None:
        self._catalog.growing += time.perf_counter() - self._start


class Index:
    """The rows of relation number `relation` by the columns `keys`; the other columns are stored with the entries where
    they are few, and never change."""

    def __init__(
        self, catalog: Catalog, relation: int, arity: int, keys: tuple[int, ...], changing: bool = False
    ) -> None:
        self.keys = keys
        self._catalog = catalog
        self._fields = fields = Descriptor(catalog)
        self.number = fields.number
        self.payloads = tuple(c for c in range(arity) if c not in keys)
        if changing or len(self.payloads) > layout.MAX_PAYLOADS:
            self.payloads = ()
        fields[layout.I_RELATION] = relation
        fields[layout.I_KEYS] = len(keys)
        fields[layout.I_PAYLOADS] = len(self.payloads)
        for first, columns in ((layout.I_KEY, keys), (layout.I_PAYLOAD, self.payloads)):
            for place, column in enumerate(columns):
                fields[first + place] = column
        self._slots = Block(8 * _DIRECTORY, room=catalog.room)
        self._arena = Block(_ARENA * catalog.dtype.itemsize, room=catalog.room)
        self._free = Block(8 * 64)
        self._begin()

    def clear(self) -> None:
        """Forget all entries, for a relation that has forgotten all rows. It asks for no memory."""
        self._slots.clear(8 * _DIRECTORY)
        self._arena.clear(_ARENA * self._catalog.dtype.itemsize)
        self._free.clear(8 * 64)
        self._begin()

    def _begin(self) -> None:
        """Start without entries."""
        self._directory = _DIRECTORY
        for field in (layout.I_USED, layout.I_TOP, layout.I_DONE, layout.I_UNUSED):
            self._fields[field] = 0
        self._fields[layout.I_FREE] = self._free.address
        self._publish()

    def _publish(self) -> None:
        """Let kernels find the memory as it is now."""
        fields = self._fields
        fields[layout.I_SLOTS] = self._slots.address
        fields[layout.I_MASK] = self._directory - 1
        fields[layout.I_ARENA] = self._arena.address
        fields[layout.I_CAPACITY] = self._arena.size // self._catalog.dtype.itemsize

    def __len__(self) -> int:
        """Return the number of different keys that were ever entered."""
        return self._fields[layout.I_USED]

    @property
    def rows_entered(self) -> int:
        """Rows below this number are entered."""
        return self._fields[layout.I_DONE]

    def extend(self, high: int, hashes: int | None = None) -> None:
        """Enter the rows below `high` that are not yet entered. A thread that has the database with others passes
        the address of `hashes` of its own, int64[BATCH] of `kernels.indexes`."""
        from tidelog.kernels.indexes import extend

        if self.rows_entered == 0 and high >= _MANY and len(self.keys) == 1:
            self._fill(high)
        hashes = hashes or self._catalog.hashes
        while (status := extend(self._catalog.table, self.number, high, hashes, self._catalog.tag)) != DONE:
            self.grow(status)

    def _fill(self, high: int) -> None:
        """Enter the rows below `high`, the first ones, at once, if that is possible: if the index is by one column
        whose values lie close together."""
        from tidelog.kernels.filling import count_values, fill, needed, span

        table, tag, word = self._catalog.table, self._catalog.tag, self._catalog.dtype.itemsize
        least, greatest = span(table, self.number, high, tag)
        values = greatest - least + 1
        if values > _SPREAD * high:
            return
        with Growing(self._catalog, 4 * values):
            numbers = Block(4 * values, room=self._catalog.room)
        count_values(table, self.number, high, least, numbers.address, tag)
        keys, words = needed(table, self.number, numbers.address, values)
        if words >= 2 * _MOST_WORDS:
            raise MemoryError(_OUTGROWN)
        directory = self._directory
        while keys * 3 > (directory - 1) * 2:
            directory *= 2
        with Growing(self._catalog, word * words + 8 * directory):
            self._arena.grow(word * words)
            self._slots.grow(8 * directory)
            self._directory = directory
            self._publish()
        fill(table, self.number, high, least, numbers.address, values, tag)

    def grow(self, status: int) -> None:
        """Make the room that a kernel requested by `status`: in the arena or in the directory."""
        from tidelog.kernels.slots import split

        size = self._arena.size
        more = size // (2 if size < _LARGE_ARENA else 8) + 4096 if status == GROW_ARENA else 8 * self._directory
        if status == GROW_ARENA and self._fields[layout.I_UNUSED] >= _UNUSED * self._fields[layout.I_TOP]:
            self.pack()
            return
        with Growing(self._catalog, more):
            if status == GROW_ARENA:
                if size // self._catalog.dtype.itemsize >= _MOST_WORDS:
                    raise MemoryError(_OUTGROWN)
                self._arena.grow(size + more)
            else:
                self._slots.grow(16 * self._directory)
                self._publish()  # It may have moved, and splitting needs memory as well.
                split(self._slots.address, self._directory - 1, 2 * self._directory - 1)
                self._directory *= 2
            self._publish()

    def pack(self) -> None:
        """Move all entries to the front, so that nothing between them is free. It asks for no memory."""
        from tidelog.kernels.indexes import pack

        pack(self._catalog.table, self.number, self._catalog.tag)

    def bury(self, address: int, first: int, count: int, hashes: int | None = None) -> None:
        """Take `count` rows out, whose int64 numbers are at an address, or without one are those from `first` on; rows
        not yet entered never will be. It asks for no memory. `hashes` are as for `extend`."""
        from tidelog.kernels.indexes import bury

        hashes = hashes or self._catalog.hashes
        bury(self._catalog.table, self.number, address, first, count, hashes, self._catalog.tag)

    def blocks(self) -> list[Block]:
        """Return the memory of directory and entries."""
        return [self._slots, self._arena]

    def bytes(self) -> int:
        """Return the bytes of memory held."""
        return self._slots.size + self._arena.size
