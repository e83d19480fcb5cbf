"""The marks of rows - counts, births, supports - survive growth, copies and changes that are taken back."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tidelog.kernels.layout import MOST_COUNTED
from tidelog.storage.catalog import Catalog
from tidelog.storage.changes import absorb
from tidelog.storage.marks import Marks
from tidelog.storage.stored import StoredRelation


def relation(
    catalog: Catalog, values: list[int], rng: random.Random, *, supported: bool, by_row: bool
) -> StoredRelation:
    """A relation of these values with random marks."""
    stored, n = StoredRelation(catalog, 1), len(values)
    stored.insert(np.array(values, np.int64).reshape(n, 1))
    counts = np.array([rng.randint(1, 9) for _ in values], np.int32)
    supports = counts + np.array([rng.randint(0, 3) for _ in values], np.int32) if supported else None
    births = np.sort(np.array([rng.randint(0, 4) for _ in values], np.int64))
    stored.marks.become(Marks(counts, births, supports, by_row))
    stored.settle()
    return stored


def state(stored: StoredRelation) -> list[tuple[int, ...]]:
    """The live rows with their marks, and whether a count is saturated."""
    live, marks = stored.live(), stored.marks
    columns = stored.words()[:, 0], marks.counts()[live], marks.births()[live], marks.supports()[live]
    return [*zip(*(column.tolist() for column in columns), strict=True), (int(marks.saturated),)]


@pytest.mark.parametrize("seed", range(12))
def test_a_relation_becomes_another_or_is_taken_back(seed: int) -> None:
    rng, catalog = random.Random(seed), Catalog(32 if seed % 2 else 64)
    old, new = (
        relation(catalog, rng.sample(range(60), 30), rng, supported=rng.random() < 0.5, by_row=rng.random() < 0.5)
        for _ in range(2)
    )
    if seed % 3 == 0:
        old.marks.counts_in_place()[rng.randrange(30)] = MOST_COUNTED
        old.marks.look_for_saturation()
        assert old.marks.saturated
    before, after = state(old), state(new)
    old.open()
    absorb(old, new)
    assert sorted(state(old)) == sorted(after)
    old.take_back()
    assert state(old) == before
    old.open()
    absorb(old, new)
    old.close()
    assert sorted(state(old)) == sorted(after)


def test_marks_grow_with_the_rows() -> None:
    stored = relation(Catalog(), list(range(50)), random.Random(1), supported=True, by_row=True)
    before = state(stored)[:-1]
    stored.insert(np.arange(50, 9_000).reshape(-1, 1))
    assert state(stored)[:50] == before
    assert (stored.marks.counts()[50:] == 1).all()
    assert (stored.marks.births()[50:] == 0).all()


def test_births_are_shifted_and_shifted_back() -> None:
    stored = relation(Catalog(), list(range(50)), random.Random(2), supported=False, by_row=False)
    births = stored.marks.births()
    stored.marks.shift_births(7)
    assert (stored.marks.births() == births + 7).all()
    assert stored.marks.youngest == births.max() + 7
    stored.marks.shift_births(-7)
    assert (stored.marks.births() == births).all()
