"""A relation in the midst of a change against a dictionary: what each row's count, birth and support become, what is
listed as dead and born, and that all of it is as before once the change has been taken back.

Facts of derived relations are asserted and retracted here; the derivations of rules do the same to a row.
"""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass

import numpy
import pytest

from tests.suite import FIRST_SEED
from tidelog.kernels.layout import IN, MOST_COUNTED, R_MASK, R_ROOM, R_SLOTS
from tidelog.storage.catalog import Catalog
from tidelog.storage.changes import assert_facts, bear_supported, changed_rows, retract, settle_change
from tidelog.storage.marks import Marks
from tidelog.storage.stored import StoredRelation

Row = tuple[int, int]
MULTIPLIERS = -7046029254386353131, -4658895280553007687


@dataclass(frozen=True)
class Mark:
    """The expected marks of a live row."""

    count: int
    birth: int
    support: int


def words(rows: list[Row]) -> numpy.ndarray:
    return numpy.array(rows, numpy.int64).reshape(-1, 2)


def marks_of(stored: StoredRelation) -> dict[Row, Mark]:
    """The marks of the live rows, each found where the relation says that it is."""
    live = stored.live()
    rows = [(x, y) for x, y in stored.take(live).tolist()]
    counts = stored.marks.counts()[live]
    if stored.changing:
        counts &= MOST_COUNTED  # without the sign of those that are journalled
    supports = stored.marks.supports()[live] if stored.marks.keeps_supports else counts
    columns = (column.tolist() for column in (counts, stored.marks.births()[live], supports))
    assert stored.find(words(rows)).tolist() == live.tolist()
    return {row: Mark(*values) for row, *values in zip(rows, *columns, strict=True)}


def check_slots(stored: StoredRelation) -> None:
    """Each live row has one slot; the others are empty, or name no row but keep searches going."""
    address, mask = stored.catalog.table[stored.number, [R_SLOTS, R_MASK]].tolist()
    slots = numpy.ctypeslib.as_array((ctypes.c_int32 * (mask + 1)).from_address(address))
    named = slots & mask
    assert sorted((named[named > 0] - 1).tolist()) == stored.live().tolist()


def by_first(stored: StoredRelation, nodes: int) -> dict[int, set[int]]:
    """The second columns of live rows by the first one, from an index."""
    return {x: set(stored.take(stored.select((0,), numpy.array([[x]])))[:, 1].tolist()) for x in range(nodes)}


class Change:
    """A change of a relation, and the same on `now`, a dictionary."""

    def __init__(self, stored: StoredRelation, before: dict[Row, Mark]) -> None:
        self.stored = stored
        self.now = dict(before)
        self.births = 0
        self.died: dict[Row, int] = {}
        """The supports of the rows that have died and were not born again."""
        stored.open()

    def retract(self, rows: list[Row]) -> None:
        retract(self.stored, words(rows))
        for row in rows:
            mark = self.now.pop(row)
            if mark.count > 1:
                self.now[row] = Mark(mark.count - 1, mark.birth, mark.support - 1)
            else:
                self.died[row] = mark.support - 1

    def bear_supported(self, current: int) -> None:
        bear_supported(self.stored, current)
        for row, support in list(self.died.items()):
            if self.stored.marks.keeps_supports and support > 0:
                self.now[row] = Mark(support, current if self.stored.marks.keeps_births else 0, support)
                self.births += 1
                del self.died[row]

    def assert_facts(self, rows: list[Row], current: int) -> None:
        assert_facts(self.stored, words(rows), current)
        for row in rows:
            birth = current if self.stored.marks.keeps_births else 0
            if row in self.now:
                mark = self.now[row]
                count, support = (min(number + 1, MOST_COUNTED) for number in (mark.count, mark.support))
                self.now[row] = Mark(count, mark.birth, support)
            else:
                self.now[row] = Mark(1, birth, self.died.pop(row, 0) + 1)
                self.births += 1

    def settle(self, before: dict[Row, Mark]) -> None:
        """Assert that the lists are the difference between the rows before and now."""
        settle_change(self.stored)
        died, born = ({(x, y) for x, y in rows.tolist()} for rows in changed_rows(self.stored))
        assert (died, born) == (before.keys() - self.now.keys(), self.now.keys() - before.keys())


def filled(rng: random.Random, nodes: int, bits: int, by_row: bool, supported: bool) -> StoredRelation:
    """A relation with some rows, of which some are counted to the end, and some are supported by more than counts."""
    every = [(x, y) for x in range(nodes) for y in range(nodes)]
    rows = rng.sample(every, len(every) // 2)
    counts = numpy.array([rng.choice((1, 1, 2, 3, MOST_COUNTED - 1)) for _ in rows], numpy.int32)
    births = numpy.array(sorted(rng.randrange(1, 9) for _ in rows), numpy.int32)
    more = numpy.array([rng.choice((0, 0, 1, 2)) for _ in rows], numpy.int32)
    stored = StoredRelation(Catalog(bits), 2)
    stored.insert(words(rows))
    supports = numpy.minimum(counts + more, MOST_COUNTED - 1) if supported else None
    stored.marks.become(Marks(counts, births if by_row else 0 * births, supports, by_row))
    return stored


@pytest.mark.parametrize(("by_row", "supported"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 6))
def test_random_changes_kept_and_taken_back(seed: int, by_row: bool, supported: bool) -> None:
    rng, nodes, bits = random.Random(seed), 6, 32 * (1 + seed % 2)
    every = [(x, y) for x in range(nodes) for y in range(nodes)]
    stored = filled(rng, nodes, bits, by_row, supported)
    stored.index((0,)).extend(stored.rows)
    for epoch in range(8):
        before, dead = marks_of(stored), stored.dead
        change = Change(stored, before)
        change.retract(rng.sample(sorted(change.now), rng.randrange(len(change.now))))
        if rng.random() < 0.3:
            change.retract(rng.sample(sorted(change.now), rng.randrange(len(change.now) + 1)))
        change.bear_supported(10 * epoch + 20)
        for number in range(rng.randrange(3)):
            change.assert_facts(rng.sample(every, rng.randrange(len(every))), 10 * epoch + 21 + number)
        assert marks_of(stored) == change.now
        assert stored.journal.list_length(IN) == change.births
        assert stored.marks.derivations() == sum(mark.count for mark in change.now.values())
        change.settle(before)
        if rng.random() < 0.5:
            stored.take_back()
            assert marks_of(stored) == before
            assert len(stored) == len(before)
            assert stored.dead >= dead
        else:
            stored.close()
            assert marks_of(stored) == change.now
            assert len(stored) == len(change.now)
        check_slots(stored)
        now = marks_of(stored)
        gone = [row for row in every if row not in now]
        assert (stored.find(words(gone)) == -1).all()
        assert by_first(stored, nodes) == {x: {y for z, y in now if z == x} for x in range(nodes)}
        if rng.random() < 0.3 and len(gone) > 3:
            stored.insert(words(gone[:3]))  # in the places of those that were taken back, maybe
            stored.open()  # without births of their own, which rows of a bootstrap have
            stored.close()
            assert len(marks_of(stored)) == len(now) + 3


def test_a_row_that_dies_twice_in_a_change_is_had_back_as_it_was() -> None:
    """It is journalled when it dies, and again when it is born and dies once more."""
    stored = StoredRelation(Catalog(), 2)
    stored.insert(words([(1, 2), (3, 4)]))
    stored.marks.become(Marks(numpy.array([2, 1], numpy.int32), numpy.array([5, 6], numpy.int32), None, by_row=True))
    before = marks_of(stored)
    stored.open()
    for current in (7, 8):
        retract(stored, words([(3, 4)]))
        assert_facts(stored, words([(3, 4)]), current)
    retract(stored, words([(1, 2)]))
    assert marks_of(stored) == {(1, 2): Mark(1, 5, 1), (3, 4): Mark(1, 8, 1)}
    stored.take_back()
    assert marks_of(stored) == before


def test_the_journal_grows_with_the_facts_and_no_faster() -> None:
    """The rows need room many times, and the lists of the change a few times."""
    facts = numpy.arange(200_000).reshape(-1, 2)
    stored = StoredRelation(Catalog(), 2)
    stored.open()
    assert_facts(stored, facts, 1)
    assert len(stored) == len(facts)
    assert stored.fields[R_ROOM] <= 2 * len(facts)
    stored.take_back()


def test_more_facts_than_there_was_room_for() -> None:
    """Rows, slots, lists and the journal grow, each while a kernel goes through the facts."""
    rows = [(x, y) for x in range(2) for y in range(3_000)]
    stored = StoredRelation(Catalog(), 2)
    stored.marks.keep_births()
    change = Change(stored, {})
    change.assert_facts(rows, 3)
    assert marks_of(stored) == change.now == dict.fromkeys(rows, Mark(1, 3, 1))
    settle_change(stored)
    stored.close()
    check_slots(stored)
    for keep in (False, True):
        change = Change(stored, dict.fromkeys(rows, Mark(1, 3, 1)))
        change.retract(rows[1:])
        assert len(change.died) == len(rows) - 1
        change.settle(dict.fromkeys(rows, Mark(1, 3, 1)))
        if keep:
            stored.close()
        else:
            stored.take_back()
        check_slots(stored)
        assert stored.words().tolist() == ([list(rows[0])] if keep else [list(row) for row in rows])


def word_with_hash(value: int) -> int:
    """The word of 64 bits whose hash is `value`: the way back through `mix`."""
    first, second = (pow(multiplier, -1, 2**64) for multiplier in MULTIPLIERS)
    found = value
    for _ in range(3):  # each time 29 bits more are those from before
        found = value ^ (found >> 29)
    found = found * second % 2**64
    found = (found ^ (found >> 32)) * first % 2**64
    return found - 2**64 if found >= 2**63 else found


def test_a_dead_row_without_hash_bits_does_not_hide_those_behind_it() -> None:
    """The upper half of a hash stands in the slot, and a slot that is all zero ends a search."""
    first, second = (numpy.array([[word_with_hash(value)]]) for value in (1, 2))
    stored = StoredRelation(Catalog(64), 1)
    stored.insert(numpy.concatenate([first, second]))
    stored.open()
    retract(stored, first)
    stored.close()
    assert (stored.find(first).tolist(), stored.find(second).tolist()) == ([-1], [1])
    check_slots(stored)
    stored.insert(second)
    assert len(stored) == 1
