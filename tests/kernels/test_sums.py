"""Exact sums of floats by groups, beside exact fractions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy
import pytest

from tests.depth import cases
from tidelog.kernels.sums import PARTS, add_exactly, deal

GREATEST = math.ldexp(2**53 - 1, 971)


Sums = Callable[..., list[float]]


@pytest.fixture(params=["plain", "dispatcher"])
def sums(request: pytest.FixtureRequest) -> Sums:
    """The sums of groups by the kernel, as Python runs it and as machine code."""

    def added(groups: list[list[float]], most: int = 1_000) -> list[float]:
        values = numpy.array([value for group in groups for value in group], numpy.float64)
        sizes, found = numpy.array([len(group) for group in groups], numpy.int64), numpy.empty(len(groups))
        with numpy.errstate(all="ignore"):
            kernel = getattr(add_exactly, request.param)
            end = kernel(values, 0, sizes, 0, len(groups), most, numpy.empty(PARTS), found)
        assert end == len(values)
        return found.tolist()

    return added


def test_sums_are_rounded_once(sums: Sums) -> None:
    half = 2.0**-53
    groups = [
        [],
        [0.1] * 10,
        [1e308, 1.0, -1e308],
        [1.0, half],  # a tie goes to the even neighbour
        [1.0, half, 2.0**-1074],  # what follows it decides
        [1.0, half, -(2.0**-1074)],
        [-1.0, -half, -(2.0**-1074)],
        [1.0 + 2 * half, half],
        [5e-324, 5e-324],
    ]
    assert sums(groups) == [0.0, 1.0, 1.0, 1.0, 1.0 + 2 * half, 1.0, -1.0 - 2 * half, 1.0 + 4 * half, 1e-323]


def test_groups_without_a_finite_sum_are_left_to_others(sums: Sums) -> None:
    groups = [[math.inf], [1.0], [math.inf, -math.inf], [GREATEST, GREATEST, -GREATEST], [1.0] * 5, [2.0, 3.0]]
    assert [math.isnan(each) for each in sums(groups, most=4)] == [True, False, True, True, True, False]


@pytest.mark.parametrize("seed", range(cases(20)))
def test_random_sums_are_those_of_fractions(sums: Sums, seed: int) -> None:
    rng = random.Random(seed)
    width = rng.choice((0, 3, 60, 900))

    def value() -> float:
        return rng.choice((-1, 1)) * math.ldexp(rng.randrange(2**53), rng.randint(-width, width) - 53)

    groups = [[value() for _ in range(rng.choice((0, 1, 3, 40)))] for _ in range(20)]
    for group in groups:
        group += [-each for each in group if rng.random() < 0.3]
        rng.shuffle(group)
    assert sums(groups) == [float(sum(map(Fraction, group))) for group in groups]


def test_values_are_dealt_out_in_their_order() -> None:
    place, values = numpy.array([2, 0, 2, 1, 0]), numpy.array([5, 6, 7, 8, 9])
    ends, dealt = numpy.array([0, 2, 3]), numpy.zeros(5, numpy.int64)
    for low, high in ((0, 3), (3, 5)):
        deal(place, values, low, high, ends, dealt)
    assert dealt.tolist() == [6, 9, 8, 5, 7]
