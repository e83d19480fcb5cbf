"""A stored relation behaves like a set of tuples, an index like a dictionary of lists, in both word sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels import layout
from tidelog.kernels.indexes import CLASS, capacity
from tidelog.storage.catalog import Catalog
from tidelog.storage.changes import change_facts
from tidelog.storage.stored import StoredRelation

Rows = list[tuple[int, ...]]


def relation(arity: int, rows: Rows, bits: int = 32) -> StoredRelation:
    stored = StoredRelation(Catalog(bits), arity)
    stored.insert(words(rows, arity))
    return stored


def words(rows: Rows, arity: int) -> np.ndarray:
    return np.array(rows, np.int64).reshape(len(rows), arity)


def remove(stored: StoredRelation, numbers: np.ndarray) -> None:
    stored.open()
    change_facts(stored, numbers, np.empty((0, stored.arity), np.int64))
    stored.close()


def tuples(stored: StoredRelation) -> Rows:
    return [tuple(row) for row in stored.words().tolist()]


def segments(stored: StoredRelation, keys: tuple[int, ...]) -> dict[tuple[int, ...], list[int]]:
    """Return the content of the index by `keys`, read from its memory: the live row numbers by key. Check that each
    segment lies where its key is looked up, and has room for its entries."""
    index = stored.index(keys)
    fields = stored.catalog.table[index.number]
    slots = index._slots.view(np.int64, int(fields[layout.I_MASK]) + 1)
    arena = index._arena.view(stored.catalog.dtype, int(fields[layout.I_TOP])).astype(np.int64)
    stride, found = 1 + len(index.payloads), {}
    for slot in slots[slots != 0]:
        offset = int(slot & 0xFFFFFFFF) - 1
        first = offset + 2 + len(keys)
        assert int(arena[offset]) <= capacity(int(arena[offset + 1]) & CLASS)
        entries = arena[first : first + int(arena[offset]) * stride].reshape(-1, stride)
        for entry in entries[entries[:, 0] >= 0]:
            row = stored.take(np.array([entry[0]]))[0]
            assert [row[c] for c in index.payloads] == entry[1:].tolist()
        found[tuple(arena[offset + 2 : first].tolist())] = entries[entries[:, 0] >= 0, 0].tolist()
    return found


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("arity", [0, 1, 2, 3, 7])
def test_rows_are_distinct_and_keep_the_order_of_arrival(arity: int, bits: int) -> None:
    rows = [tuple((i * 7 + j) % 50 for j in range(arity)) for i in range(5_000)]
    stored = relation(arity, rows, bits)
    assert tuples(stored) == list(dict.fromkeys(rows))
    assert stored.marks.counts().tolist() == [1] * len(set(rows))


@pytest.mark.parametrize("bits", [32, 64])
def test_growth_keeps_every_row_findable(bits: int) -> None:
    rows = np.column_stack([np.arange(200_000), np.arange(200_000) // 3])
    stored = StoredRelation(Catalog(bits), 2)
    for part in np.array_split(rows, 7):
        stored.insert(part)
    assert (stored.find(rows) == np.arange(200_000)).all()
    assert (stored.find(rows + np.array([0, 1])) == -1).all()


def test_a_value_that_does_not_fit_is_not_found() -> None:
    stored = relation(1, [(-1,), (5,)])
    assert stored.find(words([(2**32 + 5,), (2**32 - 1,), (5,)], 1)).tolist() == [-1, -1, 1]


small = st.integers(0, 4)
steps = st.lists(
    st.tuples(st.booleans(), st.lists(st.tuples(small, small, small), max_size=40)), min_size=1, max_size=8
)


@settings(max_examples=150)
@given(steps, st.sampled_from([32, 64]))
def test_insertions_and_deletions_agree_with_a_set(script: list[tuple[bool, Rows]], bits: int) -> None:
    stored = StoredRelation(Catalog(bits), 3)
    keys = [(0,), (1, 2), ()]
    for key in keys:
        stored.index(key)
    model: set[tuple[int, ...]] = set()
    for inserting, rows in script:
        if inserting:
            stored.insert(words(rows, 3))
            model |= set(rows)
        else:
            numbers = stored.find(words(rows, 3))
            remove(stored, np.unique(numbers[numbers >= 0]))
            model -= set(rows)
        for key in keys:
            stored.index(key).extend(stored.rows)
        assert set(tuples(stored)) == model
        assert len(stored) == len(model)
        for key in keys:
            grouped: dict[tuple[int, ...], list[int]] = {}
            for number in stored.live().tolist():
                row = stored.take(np.array([number]))[0].tolist()
                grouped.setdefault(tuple(row[c] for c in key), []).append(number)
            assert {k: v for k, v in segments(stored, key).items() if v} == grouped


def grouped(stored: StoredRelation, column: int) -> dict[tuple[int, ...], list[int]]:
    """Return the numbers of the live rows by their value in a column."""
    found: dict[tuple[int, ...], list[int]] = {}
    for number, value in zip(stored.live().tolist(), stored.words()[:, column].tolist(), strict=True):
        found.setdefault((value,), []).append(number)
    return found


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(
    ("least", "apart"), [(0, 1), (-700, 1), (5, 3), (-(2**31), 1), (2**31 - 1_500, 1), (-9, 9_999)]
)
def test_an_index_of_many_rows_has_what_one_row_after_the_other_gives(bits: int, least: int, apart: int) -> None:
    """Values close together are laid out at once, others row by row; both go on in the same way."""
    rng = np.random.default_rng(bits + apart)
    values = rng.integers(0, 30, 6_000) ** 2 + rng.integers(0, 40, 6_000)
    rows = np.column_stack([rng.integers(0, 50, 6_000), least + apart * values, rng.integers(0, 50, 6_000)])
    stored, model = (StoredRelation(Catalog(bits), 3) for _ in range(2))
    for each in (stored, model):
        each.insert(rows[:4_000])
        remove(each, np.arange(0, each.rows, 3))
    stored.index((1,)).extend(stored.rows)
    for high in range(0, model.rows + 500, 500):
        model.index((1,)).extend(min(high, model.rows))
    assert segments(stored, (1,)) == {k: v for k, v in segments(model, (1,)).items() if v} == grouped(stored, 1)
    for each in (stored, model):
        each.insert(rows)
        each.index((1,)).extend(each.rows)
        remove(each, np.arange(1, each.rows, 2)[each.marks.alive(np.arange(1, each.rows, 2))])
    found = {k: v for k, v in segments(stored, (1,)).items() if v}
    assert found == {k: v for k, v in segments(model, (1,)).items() if v} == grouped(stored, 1)
    for value in rows[:200, 1:2]:
        assert stored.near({1: value[0]}).tolist() == model.near({1: value[0]}).tolist()


def test_wide_relations_keep_only_row_numbers_in_their_indexes() -> None:
    rows = [tuple((i + j) % 5 for j in range(6)) for i in range(40)]
    stored = relation(6, rows)
    stored.index((0, 3)).extend(stored.rows)
    assert stored.index((0, 3)).payloads == ()
    assert segments(stored, (0, 3)) == {(i, (i + 3) % 5): [i] for i in range(5)}


def test_a_copy_has_the_live_rows_with_counts_and_births() -> None:
    stored = relation(1, [(1,), (2,), (3,), (4,)])
    stored.marks.runs = [(0, 7), (2, 9)]
    remove(stored, np.array([1]))
    copy = stored.copy_to(Catalog(64))
    assert tuples(copy) == [(1,), (3,), (4,)]
    assert copy.marks.births().tolist() == [7, 9, 9]
    assert copy.catalog.bits == 64
    assert copy.dead == 0


def test_freed_descriptors_are_used_again() -> None:
    catalog = Catalog()
    first = StoredRelation(catalog, 2)
    numbers = {first.number, first.index((0,)).number, first.index((1,)).number}
    del first
    for _ in range(3):
        second = StoredRelation(catalog, 1)
        assert {second.number, second.index((0,)).number, second.index(()).number} == numbers
        assert second.rows == 0
        del second


def _fail(*_: object) -> None:
    raise MemoryError


def test_a_directory_that_has_moved_is_known_when_there_is_no_memory_to_split_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # An index of values close together is laid out without splitting it.
    stored = relation(1, [(100 * i,) for i in range(40_000)])
    index = stored.index((0,))
    with monkeypatch.context() as patch:
        patch.setattr("tidelog.kernels.slots.split", _fail)
        with pytest.raises(MemoryError):
            index.extend(stored.rows)
    assert stored.catalog.table[index.number, layout.I_SLOTS] == index._slots.address
    index.extend(stored.rows)
    assert len(index) == 40_000


@pytest.mark.parametrize("part", ["_rows", "_slots"])
def test_rows_are_whole_when_there_is_no_memory_for_more(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    rows: Rows = [(i, -i) for i in range(40_000)]
    stored = relation(2, rows[:2_000])
    with monkeypatch.context() as patch:
        patch.setattr(getattr(stored, part), "grow", _fail)
        with pytest.raises(MemoryError):
            stored.insert(words(rows, 2))
    known = len(stored)
    assert 2_000 <= known < 40_000
    assert (stored.find(words(rows, 2)) == np.where(np.arange(40_000) < known, np.arange(40_000), -1)).all()
    stored.insert(words(rows, 2))
    assert sorted(tuples(stored)) == sorted(rows)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("keys", [(0,), (0, 1)])
def test_an_arena_is_packed_before_it_grows(bits: int, keys: tuple[int, ...]) -> None:
    nodes, turns = 300, 60
    stored = StoredRelation(Catalog(bits), 3)
    index = stored.index(keys)
    expected: dict[tuple[int, ...], list[int]] = {}
    largest = packed = 0
    for turn in range(turns):
        rows: Rows = [(node, node % 7, turn) for node in range(nodes) if node % (turn + 1) < 40]
        start = stored.rows
        stored.insert(words(rows, 3))
        for number, row in enumerate(rows, start):
            expected.setdefault(tuple(row[c] for c in keys), []).append(number)
        if turn % 5 == 4:  # Entries of rows that are dead move along.
            dead = range(start - 300, start, 3)
            remove(stored, np.array(dead))
            expected = {key: [r for r in numbers if r not in dead] for key, numbers in expected.items()}
        unused = stored.catalog.table[index.number, layout.I_UNUSED]
        index.extend(stored.rows)
        packed += stored.catalog.table[index.number, layout.I_UNUSED] < unused // 2
        largest = max(largest, index._arena.size)
        if turn % 6 == 5:
            assert segments(stored, keys) == expected
    entries = sum(len(numbers) for numbers in expected.values())
    assert packed >= 2
    assert largest < 2 * (entries * (1 + len(index.payloads)) + len(expected) * (2 + len(keys))) * bits // 8


@pytest.mark.parametrize("bits", [32, 64])
def test_rows_are_found_by_slots_of_every_size_when_most_have_died(bits: int) -> None:
    stored, present = StoredRelation(Catalog(bits), 1), np.empty(0, np.int64)
    for base in range(0, 60_000, 700):
        stored.insert(np.arange(base, base + 700).reshape(-1, 1))
        remove(stored, stored.find(np.arange(base, base + 690).reshape(-1, 1)))
        present = np.append(present, np.arange(base + 690, base + 700))
        assert stored.rows < stored.fields[layout.R_MASK]
    found = stored.find(np.arange(60_200).reshape(-1, 1))
    assert np.flatnonzero(found >= 0).tolist() == present.tolist()
    assert stored.take(found[found >= 0])[:, 0].tolist() == present.tolist()


def test_a_relation_that_was_large_is_used_again() -> None:
    stored = StoredRelation(Catalog(64), 2, counted=False)
    stored.insert(np.arange(400_000).reshape(-1, 2))
    rows = np.arange(1, 10_001).reshape(-1, 2)
    stored.restart()
    for part in np.array_split(rows, 7):
        stored.insert(part)
    assert stored.words().tolist() == rows.tolist()


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("count", [7, 8, 9, 11])
def test_rows_are_selected_by_any_number_of_columns(bits: int, count: int) -> None:
    """An index has at most MAX_KEYS columns; rows that differ behind them are told apart all the same."""
    rows = [(*([0] * 6), i // 4, 0, i % 2, 5, i % 3, i) for i in range(12)]
    stored = relation(12, rows, bits)
    remove(stored, np.array([4]))
    keys = tuple(range(count))
    wanted = sorted({row[:count] for row in rows[3:8]})
    found = [tuple(row) for row in stored.take(stored.select(keys, words(wanted, count))).tolist()]
    assert sorted(found) == sorted(row for i, row in enumerate(rows) if row[:count] in wanted and i != 4)
