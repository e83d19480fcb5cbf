"""Families of lists in one pool against Python's lists: random changes, notes that are kept or had back, and new pools.

After each step the pool is accounted for: what lists have room for and what was given up is what is in use, and no two
lists that can still be read share a place.
"""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest

from tests.suite import FIRST_SEED
from tidelog.kernels import lists as module
from tidelog.kernels.layout import ENTRIES, FAMILIES, GIVEN_UP, NOTED, SAVED, USED

MANY = 6
NOTABLE = range(FAMILIES - SAVED, FAMILIES)
"""The families whose lists can be noted."""

Model = dict[tuple[int, int], list[int]]


class Lists:
    """So many lists in each family, and what they have to hold."""

    def __init__(self, many: int = MANY) -> None:
        self.pool: Any = numpy.empty(4, numpy.int32)
        self.lists: Any = numpy.zeros((FAMILIES + SAVED, many, 3), numpy.int64)
        self.used: Any = numpy.zeros(ENTRIES + SAVED * many, numpy.int64)
        self.model: Model = {(family, k): [] for family in range(FAMILIES) for k in range(many)}
        self.noted: Model = {}

    def values(self, family: int, k: int) -> list[int]:
        start, length, _ = self.lists[family, k]
        found: list[int] = self.pool[start : start + length].tolist()
        return found

    def note(self, family: int, k: int) -> None:
        module.note(self.lists, self.used, family, k)
        self.noted.setdefault((family, k), self.model[family, k])

    def append(self, family: int, k: int, value: int) -> None:
        self.pool = module.append(self.pool, self.lists, self.used, family, k, value)
        self.model[family, k] = [*self.model[family, k], value]

    def replace(self, family: int, k: int, values: list[int]) -> None:
        numbers = numpy.array([*values, -1], numpy.int32)  # of which the last one is not asked for
        self.pool = module.replace(self.pool, self.lists, self.used, family, k, numbers, len(values))
        self.noted.setdefault((family, k), self.model[family, k])
        self.model[family, k] = values

    def discard(self, family: int, k: int, value: int) -> None:
        """The last value takes the place of the first occurrence."""
        module.discard(self.pool, self.lists, family, k, value)
        left = list(self.model[family, k])
        left[left.index(value)] = left[-1]
        self.model[family, k] = left[:-1]

    def end_notes(self, back: bool) -> None:
        module.end_notes(self.lists, self.used, back)
        if back:
            self.model |= self.noted
        self.noted = {}

    def check(self) -> None:
        assert {place: self.values(*place) for place in self.model} == self.model
        places = {place: self.lists[place] for place in self.model}
        assert all(length <= room or not room for _, length, room in places.values())
        rooms = [
            (start, max(length, room))
            for place, (start, length, room) in places.items()
            if room or place not in self.noted
        ]
        for family, k in self.noted:
            start, length, room = self.lists[family + SAVED, k]
            assert self.pool[start : start + length].tolist() == self.noted[family, k]
            rooms += [(start, max(length, room - 1))]
        taken = [place for start, size in rooms for place in range(start, start + size)]
        assert len(taken) == len(set(taken))
        assert all(place < self.used[USED] for place in taken)
        assert self.used[USED] <= len(self.pool)
        assert self.used[USED] - self.used[GIVEN_UP] == sum(room for _, _, room in places.values())
        assert self.used[NOTED] == len(self.noted)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 20))
def test_random_changes(seed: int) -> None:
    rng = random.Random(seed)
    lists = Lists()
    for _ in range(150):
        family, k = rng.randrange(FAMILIES), rng.randrange(MANY)
        notable, held = rng.choice(NOTABLE), lists.model[family, k]
        match rng.randrange(10):
            case 0:
                lists.note(notable, k)
            case 1 | 2:
                lists.replace(notable, k, sorted(rng.sample(range(50), rng.randrange(8))))
            case 3 if held and family not in NOTABLE:
                lists.discard(family, k, rng.choice(held))
            case 4 if rng.random() < 0.3:
                lists.end_notes(rng.random() < 0.5)
            case 5 if not lists.noted and rng.random() < 0.3:
                lists.pool = module.compacted(lists.pool, lists.lists, lists.used)
                assert lists.used[GIVEN_UP] == 0
                assert lists.used[USED] == sum(map(len, lists.model.values()))
            case _:
                lists.append(family, k, rng.randrange(50))
        lists.check()
    lists.end_notes(True)
    lists.check()


def test_a_list_that_is_noted_twice_is_had_back_as_it_was_the_first_time() -> None:
    lists = Lists()
    for value in (3, 5):
        lists.append(NOTABLE[0], 2, value)
    lists.replace(NOTABLE[0], 2, [7])
    lists.replace(NOTABLE[0], 2, [])
    lists.append(NOTABLE[1], 2, 9)
    lists.check()
    lists.end_notes(True)
    lists.check()
    assert lists.values(NOTABLE[0], 2) == [3, 5]
    assert lists.values(NOTABLE[1], 2) == [9]


def test_each_of_some_lists_holds_its_own_number() -> None:
    lists = Lists()
    lists.pool = module.put_alone(lists.pool, lists.lists, lists.used, 1, 2, 5)
    lists.model |= {(1, k): [k] for k in (2, 3, 4)}
    lists.check()


def test_lists_with_new_numbers() -> None:
    """Numbers 1 and 4 go, and the values that are left are numbered in the same way, and so are complements of values;
    the first one of each list of the last family stays."""
    lists, numbers = Lists(), numpy.array([2, -1, 0, 3, -1, 1], numpy.int32)
    kept = [0, 2, 3, 5]
    rng = random.Random(FIRST_SEED)
    for family in range(FAMILIES):
        for k in kept:
            for value in rng.sample(kept, rng.randrange(5)):
                lists.append(family, k, rng.choice((value, ~value)))
    fresh, last = Lists(len(kept)), FAMILIES - 1
    fresh.pool = numpy.empty(100, numpy.int32)
    for family in range(FAMILIES):
        sized = int(family == last)
        module.renumbered(lists.pool, lists.lists, family, numbers, numbers, sized, fresh.pool, fresh.lists, fresh.used)
    for (family, k), values in lists.model.items():
        if k in kept:
            new = [int(numbers[value]) if value >= 0 else ~int(numbers[~value]) for value in values]
            fresh.model[family, int(numbers[k])] = values[:1] + new[1:] if family == last else new
    fresh.check()
    assert fresh.used[GIVEN_UP] == 0
    fresh.append(FAMILIES - 1, 3, 1)
    fresh.check()
