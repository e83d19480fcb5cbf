"""The descriptor table, in which kernels find every relation and index of a database.

One `Catalog` has one word size. Relations and indexes take a row of the table each, their `Descriptor`, and keep it up
to date when their memory moves.
"""

from __future__ import annotations

import time

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.kernels.layout import FIELDS
from tidelog.storage.memory import Block, Pinned
from tidelog.storage.room import Room


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
        return int(self.catalog.table[self.number, field])

    def __setitem__(self, field: int, value: int) -> None:
        self.catalog.table[self.number, field] = value

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
