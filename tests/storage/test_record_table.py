"""Tables of records: they follow other tables, forget what is not used, and stand interruptions of both."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interrupting import attempts
from tidelog.storage.records import Key, RecordTable

ONE, TWO, THREE, FOUR = (1, 1), (2, 2), (3, 3), (4, 4)


def table(*keys: Key) -> RecordTable:
    """The records with these fields, which have the ids from 1 on."""
    made = RecordTable(2)
    assert made.pack(keys).tolist() == [*range(1, len(keys) + 1)]
    return made


def content(known: RecordTable) -> dict[int, list[int]]:
    """The ids of all records, and their fields."""
    return {word: known.row(word) for word in known.present(1, known.count).tolist()}


def follow(known: RecordTable, start: int, rows: list[Key], present: list[bool] | None = None) -> bool:
    return known.follow(start, np.array(rows, np.int64), np.array(present or [True] * len(rows)))


def test_a_table_follows_another_in_parts() -> None:
    keys = [(i, i % 7) for i in range(40)]
    source, known = table(*keys), RecordTable(2)
    for start, end in ((1, 6), (4, 6), (4, 20), (20, 41), (41, 41)):
        assert known.follow(start, source.rows[start:end], np.ones(end - start, bool))
    assert content(known) == content(source)
    assert [known.find_or_add(key, grow=False) for key in keys] == [*range(1, 41)]
    assert (len(known), known.count, known.made) == (40, 41, 40)
    assert known.find_or_add((7, 7), grow=True) == 41


@pytest.mark.parametrize(
    ("start", "rows", "present", "possible"),
    [
        (4, [FOUR], None, True),
        (2, [TWO, THREE], None, True),
        (2, [TWO], None, True),
        (3, [THREE, FOUR, ONE], [True, True, False], True),
        (5, [FOUR], None, False),  # Nobody has id 4.
        (2, [TWO, FOUR], None, False),
        (2, [TWO, THREE], [True, False], False),
        (4, [FOUR, ONE], None, False),  # Two ids for the same fields.
    ],
)
def test_a_table_follows_only_what_fits(
    start: int, rows: list[Key], present: list[bool] | None, possible: bool
) -> None:
    known = table(ONE, TWO, THREE)
    assert follow(known, start, rows, present) == possible
    assert [known.find_or_add(key, grow=False) for key in (ONE, TWO, THREE)] == [1, 2, 3]
    assert known.find_or_add(FOUR, grow=False) == (4 if possible and FOUR in rows else None)
    if not possible:
        assert (known.count, known.made, content(known)) == (4, 3, {1: [1, 1], 2: [2, 2], 3: [3, 3]})


def test_fields_of_reclaimed_ids_do_not_matter() -> None:
    known = table(ONE, TWO, THREE)
    known.give_back(np.array([True, True, False, True]))
    assert not follow(known, 2, [TWO, THREE])
    assert follow(known, 1, [ONE, (9, 9), THREE, FOUR], [True, False, True, True])
    assert content(known) == {1: [1, 1], 3: [3, 3], 4: [4, 4]}


def test_records_that_an_interruption_left_half_known_can_be_given_back() -> None:
    stopped = 0
    for attempt in attempts(KeyboardInterrupt, "tidelog/storage/"):
        known = table(ONE, TWO)
        with attempt:
            known.pack([THREE, FOUR, (5, 5)])
        stopped += attempt.stopped
        used = np.ones(known.count, bool)
        used[3:4] = False
        known.give_back(used)
        left = content(known)
        assert THREE not in map(tuple, left.values())
        assert known.find_or_add((9, 9), grow=True) == 3
        assert known.find_or_add(THREE, grow=False) is None
        assert content(known) == left | {3: [9, 9]}
    assert stopped > 3


def test_a_table_that_loses_most_records_needs_less_memory() -> None:
    known = table(*((i, 0) for i in range(10_000)))
    before = known.bytes()
    used = np.zeros(known.count, bool)
    used[[0, 5, 9]] = True
    known.give_back(used)
    assert content(known) == {5: [4, 0], 9: [8, 0]}
    assert known.bytes() * 50 < before
    assert known.pack([(-1, 0), (-2, 0)]).tolist() == [1, 2]
