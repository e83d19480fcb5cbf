"""The suite of all engines on partitions in this process, with all ways of placing relations."""

from __future__ import annotations

from zlib import crc32

import pytest

from tests.scripts import script_for
from tests.spark.cluster.harness import HEAVY, LIMITS, evaluated, followed
from tests.suite import FIRST_SEED, Facts, Suite, Views
from tidelog.spark.cluster.localize import Limits

WAYS = [
    (1, LIMITS[0]),
    (3, LIMITS[0]),
    (16, LIMITS[0]),
    (3, HEAVY),
    (16, HEAVY),
    *((3, limits) for limits in LIMITS[1:]),
]


def evaluate(text: str, facts: Facts) -> Views:
    """The views, in a way that depends on the program."""
    partitions, limits = WAYS[crc32(text.encode()) % len(WAYS)]
    return evaluated(text, facts, partitions=partitions, limits=limits)


class TestCluster(Suite):
    evaluate = staticmethod(evaluate)
    random_programs = 30


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_random_changes(way: tuple[int, Limits]) -> None:
    """After every epoch views and net changes are those of the embedded engine."""
    for seed in range(FIRST_SEED + 100 * WAYS.index(way), FIRST_SEED + 100 * WAYS.index(way) + 6):
        problem = followed(script_for(seed), *way)
        assert not problem, f"{problem}\n{script_for(seed)}"
