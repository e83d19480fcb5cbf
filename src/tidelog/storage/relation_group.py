"""Relations of one catalog whose descriptors are read and written together: of hundreds, few need more than that."""

from __future__ import annotations

from collections.abc import Iterable

import numpy

from tidelog.kernels import layout
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.stored import StoredRelation


class RelationGroup:
    """Some relations of one catalog, in their order, with the indexes that they have now or when `note_indexes` was
    last called."""

    def __init__(self, relations: Iterable[StoredRelation]) -> None:
        self.stored = [*relations]
        self._numbers = numpy.array([stored.number for stored in self.stored], numpy.int64)
        self._closed = [stored for stored in self.stored if isinstance(stored, ClosedRelation)]
        self.note_indexes()

    def note_indexes(self) -> None:
        """Note the indexes that there are: those of them made later are no part of the group."""
        found = [(stored, index) for stored in self.stored for index in stored.indexes.values()]
        self._indexes = [index for _, index in found]
        self._index_numbers = numpy.array([index.number for index in self._indexes], numpy.int64)
        self._indexed = numpy.array([stored.number for stored, _ in found], numpy.int64)

    def start(self) -> None:
        """Call the rows of those relations that do not change such as were there when the epoch began."""
        if self.stored:
            table = self.stored[0].catalog.table
            idle = self._numbers
            if any(stored.changing for stored in self.stored):
                idle = idle[[not stored.changing for stored in self.stored]]
            table[idle, layout.R_START] = table[idle, layout.R_N]

    def settle(self) -> None:
        """Make all rows visible to plans as old ones, and bring the indexes up to date."""
        self.extend_lagging()
        if self.stored:
            table = self.stored[0].catalog.table
            table[self._numbers, layout.R_OLD] = table[self._numbers, layout.R_NEW] = table[self._numbers, layout.R_N]
        for stored in self._closed:
            stored.settle()

    def extend_lagging(self) -> None:
        """Enter the rows into those indexes that lack some."""
        if not self._indexes:
            return
        table = self.stored[0].catalog.table
        rows = table[self._indexed, layout.R_N]
        for place in numpy.flatnonzero(table[self._index_numbers, layout.I_DONE] < rows).tolist():
            self._indexes[place].extend(int(rows[place]))
