"""Sets as runs against Python's sets: random ones, of which many numbers are neighbours."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy
import pytest

from tests.suite import FIRST_SEED
from tidelog.kernels import runs as module
from tidelog.kernels.components import REACH
from tidelog.kernels.layout import ENTRIES, FAMILIES, SAVED
from tidelog.kernels.lists import assign

MOST = 120
SEEDS = range(FIRST_SEED, FIRST_SEED + 400)


def drawn(rng: random.Random, most: int = MOST) -> set[int]:
    """Draw a set: single numbers, runs, and gaps in runs."""
    found: set[int] = set()
    for _ in range(rng.randrange(6)):
        first = rng.randrange(most)
        found |= set(range(first, min(most, first + rng.choice((1, 2, 3, 40)))))
    return found - {rng.randrange(most) for _ in range(rng.randrange(4))}


def row() -> Any:
    return numpy.full(MOST + 1, 77, numpy.int32)


def row_of(numbers: set[int]) -> tuple[Any, int]:
    """Return the numbers as a row, and its length."""
    written = row()
    found = numpy.array([*sorted(numbers), 99], numpy.int32)  # of which the last one is not asked for
    return written, int(module.gathered(written, found, len(numbers)))


def numbers_in(written: Any, length: int) -> set[int]:
    """Return the numbers of a row: in order, with their number in front, in no more room than one by one, and all
    neighbours in one run."""
    values = [int(value) for value in written[1:length]]
    starts = [value for value in values if value >= 0]
    runs = []
    for i, value in enumerate(values):
        if value >= 0:
            runs.append((value, ~values[i + 1] if values[i + 1 : i + 2] and values[i + 1] < 0 else value))
    assert all(low <= high for low, high in runs)
    assert all(high + 1 < low for (_, high), (low, _) in pairwise(runs))
    assert len(starts) == len(runs)
    found = {number for low, high in runs for number in range(low, high + 1)}
    assert written[0] == len(found)
    assert length <= 1 + len(found)
    return found


@pytest.mark.parametrize("first", SEEDS[::100])
def test_random_sets(first: int) -> None:
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        one, two = drawn(rng), drawn(rng)
        if rng.random() < 0.3:
            two = one ^ {rng.randrange(MOST) for _ in range(rng.randrange(3))}
        (ours, i), (others, j) = row_of(one), row_of(two)
        assert numbers_in(ours, i) == one, seed
        assert {x for x in range(MOST) if module.contains(ours, 1, i, x)} == one, seed
        into = row()
        assert numbers_in(into, module.united(into, ours, 1, i, others, 1, j)) == one | two, seed
        assert numbers_in(into, module.without(into, ours, 1, i, others, 1, j)) == one - two, seed
        lost, gained = row(), row()
        m, n = module.apart(lost, gained, ours, 1, i, others, 1, j)
        assert numbers_in(lost, m) == one - two, seed
        assert numbers_in(gained, n) == two - one, seed
        found = numpy.empty(MOST, numpy.int32)
        assert found[: module.spread(found, ours, 1, i)].tolist() == sorted(one), seed


def test_reach_sets() -> None:
    rng = random.Random(FIRST_SEED)
    pool: Any = numpy.empty(4, numpy.int32)
    lists: Any = numpy.zeros((FAMILIES + SAVED, MOST, 3), numpy.int64)
    used: Any = numpy.zeros(ENTRIES + SAVED * MOST, numpy.int64)
    sets = [drawn(rng) - {c} for c in range(MOST)]
    for c, numbers in enumerate(sets):
        written, length = row_of(numbers)
        pool = assign(pool, lists, used, REACH, c, written, length if numbers else 0)
    for c, numbers in enumerate(sets):
        assert module.size_of(pool, lists, c) == len(numbers)
        assert {d for d in range(MOST) if module.reaches(pool, lists, c, d)} == numbers
        into = row()
        length = module.with_itself(into, pool, lists, c)
        assert numbers_in(into, length) == numbers | {c}
        for other in (numbers, sets[0], numbers ^ {7}):
            assert module.equal(*row_of(other), pool, lists, c) == (other == numbers)


def test_a_run_that_begins_below_a_limit_and_ends_behind_it() -> None:
    for one, two in (({3, 4, 5, 6}, {4}), ({3, 4, 5, 6}, {3, 4}), ({3}, {3, 4}), ({*range(40)}, {*range(39)})):
        (ours, i), (others, j), into = row_of(one), row_of(two), row()
        assert numbers_in(into, module.without(into, ours, 1, i, others, 1, j)) == one - two
        assert numbers_in(into, module.united(into, ours, 1, i, others, 1, j)) == one | two
