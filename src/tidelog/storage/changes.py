"""Changes of a relation in place, between its `open` and its `close` or `take_back`.

Each function changes rows and lists them in the journal of the relation, so that all of them can be undone. An update
of a hyper-node charges and gives single derivations: `retract`, `bear_supported`, `assert_facts`. `change_facts` and
`absorb` determine the live rows. A `RelationGroup` reads and writes the descriptors of many relations together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.kernels.calling import expect
from tidelog.kernels.settling import list_facts, settle_lists
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.extents import RowEpochs
from tidelog.storage.memory import Block
from tidelog.storage.rows import distinct_numbers
from tidelog.storage.stored import PORTION, StoredRelation

_NONE = numpy.empty(0, numpy.int64)
LISTED = layout.R_OUT_N, layout.R_IN_N
"""The fields with the numbers of rows that have died and were born."""
_MANY = 8
"""So many descriptors are looked at as an array."""


def change_facts(stored: StoredRelation, removed: AnyWords, inserted: AnyWords) -> None:
    """Delete the live rows numbered `removed` and insert the rows `inserted`, all absent, as the only change of an
    epoch."""
    if len(inserted):
        stored.ensure(len(inserted))
        stored.insert(inserted)
    stored.journal.ensure(max(len(removed), len(inserted)))
    expect(len(removed) + len(inserted))
    list_facts(stored.catalog.table, stored.number, removed.astype(numpy.int64, copy=False))


def date(stored: StoredRelation, words: AnyWords, epochs: AnyWords) -> None:
    """Say since which epochs some rows are there."""
    numbers, known = stored.find(words), stored.epochs_of(numpy.arange(stored.rows))
    known[numbers[numbers >= 0]] = epochs[numbers >= 0]
    stored.epochs = RowEpochs.of_rows(known)


def date_changes(stored: StoredRelation, changes: Sequence[tuple[bool, AnyWords, AnyWords]]) -> None:
    """Say since which epochs facts are there that epochs have asserted (True) or retracted, in this order: since the
    first assertion behind the last retraction, unless they were there before all of these changes."""
    asserted = numpy.concatenate([numpy.full(len(words), asserts) for asserts, words, _ in changes])
    numbers = stored.find(numpy.concatenate([words for _, words, _ in changes]))
    epochs = numpy.concatenate([each for _, _, each in changes])
    here = numbers >= 0
    asserted, numbers, epochs = asserted[here], numbers[here], epochs[here]
    places, retracted = numpy.arange(len(numbers)), numpy.full(stored.rows, -1)
    retracted[numbers[~asserted]] = places[~asserted]  # The last one counts,
    behind = numpy.flatnonzero(asserted & (places > retracted[numbers]))[::-1]
    known = stored.epochs_of(numpy.arange(stored.rows))
    first = known.copy()
    first[numbers[behind]] = epochs[behind]  # and here the first one.
    was_there = (retracted < 0) & (known != 0) & (numpy.abs(known) < numpy.abs(first))
    stored.epochs = RowEpochs.of_rows(numpy.where(was_there, known, first))


def call_all_new(stored: StoredRelation) -> None:
    """Let every row count as born in this epoch, right after the relation was opened."""
    stored.fields[layout.R_START] = 0
    stored.journal.ensure(stored.rows)
    stored.journal.show(_NONE, range(stored.rows))


# --- an update of a hyper-node ---------------------------------------------------------------------------------------


def retract(stored: StoredRelation, words: AnyWords) -> None:
    """Take a derivation from each of these live rows, facts no longer asserted; the first death round is 1."""
    from tidelog.kernels.changes import retract_rows

    numbers = stored.find(words)
    block = Block(8 * len(numbers), room=stored.catalog.room)
    block.view(numpy.int64, len(numbers))[:] = numbers
    done, table = 0, stored.catalog.table
    while (done := retract_rows(table, stored.number, block.address, done, len(numbers), 0)) < len(numbers):
        stored.journal.grow()


def bear_supported(stored: StoredRelation, current: int, start: int = 0) -> None:
    """Re-derive the rows that died and have derivations left, in round `current`: those in the list of deaths from
    `start` on."""
    from tidelog.kernels.changes import bear_supported

    if stored.marks.keeps_supports:
        stored.journal.ensure(stored.journal.list_length(layout.OUT) + stored.journal.list_length(layout.IN))
        bear_supported(stored.catalog.table, stored.number, current, start)


def assert_facts(stored: StoredRelation, words: AnyWords, current: int) -> None:
    """Give a derivation to each of these rows, newly asserted facts; new rows are born in round `current`."""
    from tidelog.kernels.changes import assert_rows

    catalog = stored.catalog
    buffer = catalog.stage(words)
    done, table, tag = 0, catalog.table, catalog.tag
    while (done := assert_rows(table, stored.number, buffer.address, done, len(words), current, tag)) < len(words):
        stored.ensure(min(len(words) - done, max(stored.rows, PORTION)))
        stored.journal.expect(1)


# --- many relations at a time ----------------------------------------------------------------------------------------


def with_nonzero(relations: Iterable[StoredRelation], *fields: int) -> list[StoredRelation]:
    """Return those of some relations of one catalog whose descriptors have another value than 0 in one of the fields.
    Of the hundreds of a hyper-node, mostly few change."""
    found = list(relations)
    if len(found) < _MANY:
        kept = []
        for stored in found:
            cells, number = stored.catalog.cells, stored.number
            for field in fields:
                if cells[number, field]:
                    kept.append(stored)
                    break
        return kept
    return [found[i] for i in numpy.flatnonzero(_values(found, fields).any(axis=1)).tolist()]


def field_total(relations: Sequence[StoredRelation], field: int) -> int:
    """Return the sum of a field in the descriptors of relations of one catalog."""
    if len(relations) >= _MANY:
        return int(_values(relations, (field,)).sum())
    total = 0
    for stored in relations:
        total += stored.catalog.cells[stored.number, field]
    return total


def outgrows(relations: Sequence[StoredRelation], sizes: Sequence[int]) -> bool:
    """Return True if one of the relations of one catalog has more live rows than its size."""
    if len(relations) >= _MANY:
        rows, dead = _values(relations, (layout.R_N, layout.R_DEAD)).T
        return bool((rows - dead > sizes).any())
    for stored, size in zip(relations, sizes, strict=True):
        cells, number = stored.catalog.cells, stored.number
        if cells[number, layout.R_N] - cells[number, layout.R_DEAD] > size:
            return True
    return False


def start(relations: Iterable[StoredRelation]) -> None:
    """Call the rows of relations of one catalog that do not change such as were there when the epoch began."""
    idle = [stored for stored in relations if not stored.changing]
    if len(idle) >= _MANY:
        table, numbers = idle[0].catalog.table, numpy.array([stored.number for stored in idle])
        table[numbers, layout.R_START] = table[numbers, layout.R_N]
        return
    for stored in idle:
        cells, number = stored.catalog.cells, stored.number
        cells[number, layout.R_START] = cells[number, layout.R_N]


def _values(relations: Sequence[StoredRelation], fields: Sequence[int]) -> NDArray[numpy.int64]:
    """Return fields of the descriptors of relations of one catalog, a row for each relation."""
    numbers = numpy.array([stored.number for stored in relations])
    found: NDArray[numpy.int64] = relations[0].catalog.table[numbers[:, None], fields]
    return found


# --- how it has ended ------------------------------------------------------------------------------------------------


def settle_change(stored: StoredRelation) -> tuple[AnyWords, AnyWords]:
    """Return the numbers of the rows that died and were born on balance, in place, and list no others from now on."""
    journal = stored.journal
    if stored.repeats:  # Rows may have died and been born several times.
        counts, start = stored.marks.counts_in_place(), stored.fields[layout.R_START]
        died, born = distinct_numbers(journal.rows(layout.OUT)), distinct_numbers(journal.rows(layout.IN))
        stored.remove(died[(died >= start) & (counts[died] <= 0)])
        journal.show(died[died < start], born[counts[born] > 0])
    expect(journal.list_length(layout.OUT) + journal.list_length(layout.IN))
    settle_lists(stored.catalog.table, stored.number)
    return journal.rows(layout.OUT), journal.rows(layout.IN)


def changed_rows(stored: StoredRelation) -> tuple[AnyWords, AnyWords]:
    """Return copies of the rows that died and those that were born, once that is settled."""
    return stored.take(stored.journal.rows(layout.OUT)), stored.take(stored.journal.rows(layout.IN))


def reborn_rows(stored: StoredRelation) -> AnyWords:
    """Return copies of the rows that were there when the change began, still are, and have another birth."""
    numbers, births = stored.journal.births()
    now = stored.marks.births_of(numbers)
    return stored.take(numbers[(now != births) & stored.marks.alive(numbers)])


# --- a relation in the place of another ------------------------------------------------------------------------------


def absorb(stored: StoredRelation, new: StoredRelation) -> None:
    """Let a relation have the rows of `new`, and keep its own in their places. Counts and births are taken over; rows
    that `new` has not die, rows that only `new` has are born."""
    marks = stored.marks
    marks.keep_as(new.marks)
    start, found = stored.rows, _places(stored, new)
    marks.save()
    alive = marks.counts_in_place() > 0
    alive[found[found >= 0]] = False
    died, inserted = numpy.flatnonzero(alive), numpy.flatnonzero(found == -1)
    stored.insert(new.take(inserted))
    stored.journal.ensure(max(len(died), len(inserted)))
    found[inserted] = numpy.arange(start, stored.rows, dtype=numpy.int32)
    there = found >= 0
    marks.replace(new.marks, died, found[there], there)
    stored.journal.show(died, range(start, stored.rows))


def difference(stored: StoredRelation, new: StoredRelation) -> tuple[AnyWords, AnyWords]:
    """Return the live rows that `new` has not, and the rows that only `new` has."""
    found = _places(new, stored)
    only = numpy.ones(new.rows, bool)
    only[found[found >= 0]] = False
    return stored.take(numpy.flatnonzero(found == -1)), new.take(numpy.flatnonzero(only))


def _places(stored: StoredRelation, other: StoredRelation) -> NDArray[numpy.int32]:
    """Return for each row of `other` its row number here, -1 where it is absent and -2 where it is dead there."""
    from tidelog.kernels.sets import place_rows

    found = Block(4 * other.rows, room=stored.catalog.room)
    place_rows(stored.catalog.table, stored.number, other.number, found.address, stored.catalog.tag)
    return found.view(numpy.int32, other.rows).copy()


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
        self._indexed = [stored for stored, _ in found]
        self._indexed_numbers = numpy.array([stored.number for stored in self._indexed], numpy.int64)

    def settle(self) -> None:
        """Make all rows visible to plans as old ones, and bring the indexes up to date."""
        self.extend_lagging()
        if len(self.stored) >= _MANY:
            table = self.stored[0].catalog.table
            table[self._numbers, layout.R_OLD] = table[self._numbers, layout.R_NEW] = table[self._numbers, layout.R_N]
        else:
            for stored in self.stored:
                cells, number = stored.catalog.cells, stored.number
                cells[number, layout.R_OLD] = cells[number, layout.R_NEW] = cells[number, layout.R_N]
        for stored in self._closed:
            stored.settle()

    def extend_lagging(self) -> None:
        """Enter the rows into those indexes that lack some."""
        if len(self._indexes) >= _MANY:
            table = self.stored[0].catalog.table
            rows = table[self._indexed_numbers, layout.R_N]
            for place in numpy.flatnonzero(table[self._index_numbers, layout.I_DONE] < rows).tolist():
                self._indexes[place].extend(int(rows[place]))
            return
        for index, indexed in zip(self._indexes, self._indexed, strict=True):
            cells, rows = indexed.catalog.cells, indexed.rows
            if cells[index.number, layout.I_DONE] < rows:
                index.extend(rows)
