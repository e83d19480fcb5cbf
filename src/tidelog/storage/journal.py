"""The journal of a change: which rows of a relation died and were born in this epoch, and how they were before.

Kernels write it (`kernels/changes.py`): a list of the rows that died, one of those that were born, and for each row
that was there when the epoch began, once it changes, its count, birth and support. A part of each list is the source
of the round that comes next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.kernels.changes import forget_journal
from tidelog.storage.catalog import Descriptor
from tidelog.storage.memory import Block

_ROOM = 16
"""Entries for which the lists of a relation have room at first: thousands of relations may change a little."""
_MOST_ROOM = 1 << 18
"""Lists with more room than this are not kept from one epoch to the next."""
_AT_ONCE = 1 << 15
"""So many numbers of new rows are made at a time: an array of them all would be as much fresh memory as the list."""


_LISTS = (
    (layout.R_OUT_N, layout.R_OUT, 1),
    (layout.R_IN_N, layout.R_IN, 1),
    (layout.R_JOURNAL_N, layout.R_JOURNAL, 4),
)
"""Of the list of deaths, of that of births and of the journal: the fields with the number of entries and with the
address, and the words of an entry."""


class ChangeJournal:
    """The lists and the journal of the relation with the descriptor `fields`, whose memory is kept between epochs.

    They have room only while the relation is open. So a kernel that is about to change another one asks for room first.
    """

    def __init__(self, fields: Descriptor) -> None:
        self._fields = fields
        self._blocks: tuple[Block, Block, Block] | None = None
        self._room = 0
        """Entries that each of the blocks can take."""

    def open(self) -> None:
        """Begin with nothing in the lists: all rows that are there now were there when the epoch began."""
        if self._blocks is None:
            room = self._fields.catalog.room
            self._blocks = Block(8 * _ROOM, room=room), Block(8 * _ROOM, room=room), Block(32 * _ROOM, room=room)
            self._room = _ROOM
            self._publish()
        cells, number = self._fields.catalog.cells, self._fields.number
        cells[number, layout.R_ROOM] = self._room
        self._empty()
        cells[number, layout.R_START] = cells[number, layout.R_N]

    def _publish(self) -> None:
        for field, block in zip((layout.R_OUT, layout.R_IN, layout.R_JOURNAL), self._blocks or (), strict=True):
            self._fields[field] = block.address

    def _empty(self) -> None:
        cells, number = self._fields.catalog.cells, self._fields.number
        for field in layout.R_LIST_COUNTERS:
            cells[number, field] = 0

    def ensure(self, changes: int) -> None:
        """Make room for so many changes."""
        while self._fields[layout.R_ROOM] < changes:
            self.grow()

    def expect(self, changes: int) -> None:
        """Make room for so many changes more."""
        self.ensure(max(self._fields[listed] for listed, _, _ in _LISTS) + changes)

    def grow(self) -> None:
        """Make room for twice as many changes."""
        assert self._fields[layout.R_ROOM], "the relation is not open"
        room = 2 * self._room
        for block, size in zip(self._blocks or (), (8, 8, 32), strict=True):
            block.grow(size * room)
            self._publish()
        self._fields[layout.R_ROOM] = self._room = room

    def list_length(self, version: int) -> int:
        """Return the number of rows in a list, OUT or IN; re-derived rows are in IN as well."""
        field = layout.R_OUT_N if version == layout.OUT else layout.R_IN_N
        length: int = self._fields.catalog.cells[self._fields.number, field]
        return length

    def rows(self, version: int) -> NDArray[numpy.int64]:
        """Return the rows in a list, OUT or IN, in place: they move when the lists grow."""
        assert self._blocks is not None
        return self._blocks[version == layout.IN].view(numpy.int64, self.list_length(version))

    def births(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """Return the numbers and the former births of the rows in the journal, in place."""
        assert self._blocks is not None
        count = self._fields[layout.R_JOURNAL_N]
        journal = self._blocks[2].view(numpy.int64, 4 * count).reshape(count, 4)
        return journal[:, 0], journal[:, 2]

    def part(self, start: int, descriptor: Descriptor) -> None:
        """Let the lists and the journal of another descriptor be the room from place `start` behind what is in these
        on, and empty."""
        for listed, address, width in _LISTS:
            descriptor[address] = self._fields[address] + 8 * width * (self._fields[listed] + start)
            descriptor[listed] = 0

    def join(self, starts: Sequence[int], descriptors: Sequence[Descriptor]) -> None:
        """Add what is in the parts of other descriptors, which start at these places."""
        for block, (listed, _, width) in zip(self._blocks or (), _LISTS, strict=True):
            places = block.view(numpy.int64, width * self._fields[layout.R_ROOM])
            end = before = self._fields[listed]
            for start, descriptor in zip(starts, descriptors, strict=True):
                first, count = before + start, descriptor[listed]
                if first > end:
                    places[width * end : width * (end + count)] = places[width * first : width * (first + count)]
                end += count
            self._fields[listed] = end

    def list_born(self, first: int, end: int) -> None:
        """Add rows `first` to `end` to those that were born."""
        self.expect(end - first)
        listed = self._fields[layout.R_IN_N] + end - first
        assert self._blocks is not None
        self._blocks[1].view(numpy.int64, listed)[first - end :] = numpy.arange(first, end)
        self._fields[layout.R_IN_N] = listed

    def show(self, died: AnyWords, born: AnyWords | range) -> None:
        """Let the lists be these rows, for which there is room, and all of them the source of the next round."""
        assert self._blocks is not None
        for block, numbers, field in zip(self._blocks, (died, born), (layout.R_OUT_N, layout.R_IN_N), strict=False):
            listed = block.view(numpy.int64, len(numbers))
            for base in range(0, len(numbers), _AT_ONCE):
                part = numbers[base : base + _AT_ONCE]
                listed[base : base + _AT_ONCE] = numpy.arange(part.start, part.stop) if type(part) is range else part
            self._fields[field] = len(numbers)
        self.show_all()

    def show_all(self) -> None:
        """Make all that died and was born the source of the next round."""
        cells, number = self._fields.catalog.cells, self._fields.number
        cells[number, layout.R_OUT_LOW] = cells[number, layout.R_IN_LOW] = 0
        cells[number, layout.R_OUT_HIGH] = cells[number, layout.R_OUT_N]
        cells[number, layout.R_IN_HIGH] = cells[number, layout.R_IN_N]

    def show_nothing(self) -> None:
        """Make an empty list of deaths the source of the next round, and all births that of the one after."""
        cells, number = self._fields.catalog.cells, self._fields.number
        cells[number, layout.R_OUT_LOW] = cells[number, layout.R_OUT_HIGH] = cells[number, layout.R_OUT_N]
        cells[number, layout.R_IN_LOW] = cells[number, layout.R_IN_HIGH] = 0

    def end(self) -> None:
        """Empty the lists, and give them back where they have become large. It asks for no memory."""
        cells, number = self._fields.catalog.cells, self._fields.number
        cells[number, layout.R_ROOM] = 0
        if not (cells[number, layout.R_OUT_N] or cells[number, layout.R_IN_N] or cells[number, layout.R_JOURNAL_N]):
            return
        forget_journal(self._fields.catalog.table, self._fields.number)
        self._empty()
        if self._room > _MOST_ROOM:
            self._blocks, self._room = None, 0
