"""Bootstraps into files: derived rows wait until there are many, and are then inserted in the order of their slots."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.kernels import layout
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

_REGIONS = 1 << 12
_TOGETHER = 1 << 6
"""Regions of the slots into which rows are inserted at a time, because their memory has to stay until then,"""
_MOST, _LEAST = 1 << 16, 1 << 12
"""and as many rows at most; or so many rows of any regions."""
_SLOTS_OF_PAGE = 10
"""Bits of the position of a slot within a page."""
_ROWS_OF_PAGE = 10
"""Bits of the number of a row among those whose marks are in a page."""
_NEAR = 8
"""Pages with so few others between them are read at once."""

_LARGE = 1 / 8
"""The part of the budget from which on the rows of a relation wait,"""
_ROOM = 1 / 16
"""and the part of it that they take before, and after they are ordered."""


class WaitingRows:
    """The rows that a bootstrap has derived for `stored` and not inserted yet, at most `room`; more than a batch."""

    def __init__(self, stored: StoredRelation, room: int) -> None:
        self._stored = stored
        self._width = stored.arity * stored.catalog.dtype.itemsize
        self._rows, self._ordered = (Block(room * self._width, room=stored.catalog.room) for _ in range(2))
        self._met = Block(8 * _MOST)
        stored.fields[layout.R_WAITING_ROOM] = room
        stored.fields[layout.R_WAITING] = self._rows.address

    def insert(self, look: Look) -> None:
        """Insert all rows, in the order of the slots that they go to. An exception of `look` ends the work."""
        from tidelog.kernels.sets import insert_rows
        from tidelog.kernels.waiting import order_waiting

        stored = self._stored
        fields, catalog = stored.fields, stored.catalog
        count, slots = fields[layout.R_WAITING_N], fields[layout.R_MASK] + 1
        shift = max(0, slots.bit_length() - _REGIONS.bit_length())
        places = Block(8 * (2 + (slots >> shift)))
        order_waiting(catalog.table, stored.number, self._ordered.address, places.address, shift, catalog.tag)
        fields[layout.R_WAITING_N] = done = 0
        for block in stored.blocks():
            block.read_ahead(ahead=False)
        ends = places.view(numpy.int64, slots >> shift)
        while done < count:
            region = int(ends.searchsorted(done, side="right"))
            end = int(ends[min(region + _TOGETHER, len(ends)) - 1])
            end = min(max(end, done + _LEAST), done + _MOST, count)
            self._fetch(done, end)
            rows, since, hashes = self._ordered.address, fields[layout.R_NEW], catalog.hashes
            while (
                done := insert_rows(catalog.table, stored.number, rows, done, end, since, hashes, catalog.tag)
            ) < end:
                stored.ensure()
            look()
        for block in stored.blocks():
            block.read_ahead(ahead=True)

    def _fetch(self, start: int, end: int) -> None:
        """Let the system read what the insertion of rows `start` to `end` needs: slots, then the rows and marks to
        which these lead."""
        from tidelog.kernels.waiting import rows_met, slots_met

        stored = self._stored
        rows, slots, *marks = stored.blocks()
        known = stored.catalog.table, stored.number, self._ordered.address, start, end
        slots_met(*known, self._met.address, stored.catalog.tag)
        for first, last in _pages(self._met.view(numpy.int64, end - start), _SLOTS_OF_PAGE):
            slots.fetch(4 * first, 4 * last)
        met = rows_met(*known, self._met.address, stored.catalog.tag)
        for first, last in _pages(self._met.view(numpy.int64, met), _ROWS_OF_PAGE):
            for block, width in ((rows, self._width), *((mark, 4) for mark in marks)):
                block.fetch(first * width, last * width)

    def end(self) -> None:
        """Insert rows at once from now on."""
        self._stored.fields[layout.R_WAITING] = self._stored.fields[layout.R_WAITING_N] = 0


def _pages(numbers: Words, bits: int) -> list[tuple[int, int]]:
    """Return runs of numbers, as first one and end, that include these and begin and end with a page; `bits` of a
    number are its place in the page."""
    if not len(numbers):
        return []
    met = numpy.zeros((int(numbers.max()) >> bits) + 1, bool)
    met[numbers >> bits] = True
    pages = numpy.flatnonzero(met)
    breaks = numpy.flatnonzero(numpy.diff(pages) > _NEAR)
    firsts, lasts = pages[numpy.append(0, breaks + 1)], pages[numpy.append(breaks, len(pages) - 1)]
    return list(zip((firsts << bits).tolist(), (lasts + 1 << bits).tolist(), strict=True))


class Waiting:
    """The rows that wait, of the relations that a bootstrap derives in batches of at most `batch` rows."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._rows: dict[int, WaitingRows] = {}

    def look_at(self, stored: StoredRelation, node: NDArray[numpy.int64]) -> bool:
        """Return True if rows of a relation begin to wait, because it is large and there is a folder for files. From
        then on, threads share no work of the hyper-node whose state is `node`: they insert in no order."""
        budget = stored.catalog.room.budget
        row = stored.arity * stored.catalog.dtype.itemsize
        if budget is None or not row or stored.number in self._rows or stored.bytes() < _LARGE * budget:
            return False
        self._rows[stored.number] = WaitingRows(stored, 2 * self._batch + int(_ROOM * budget) // row)
        node[layout.N_SHARE] = 0
        return True

    def insert(self, number: int, look: Look) -> None:
        """Insert the rows that wait for the relation of this number. An exception of `look` ends the work."""
        self._rows[number].insert(look)

    def end(self) -> None:
        """Let no rows wait any more. None does, unless the bootstrap has failed."""
        for rows in self._rows.values():
            rows.end()
