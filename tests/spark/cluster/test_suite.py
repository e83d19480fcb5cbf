"""The suite of all engines on partitions in this process, with all ways of placing relations."""

from __future__ import annotations

from zlib import crc32

import pytest

from tests.depth import cases
from tests.scripts import script_for
from tests.spark.cluster.harness import LIMITS, NOTHING_EVERYWHERE, SKEWED, Cluster, evaluated, followed
from tests.suite import FIRST_SEED, Facts, Suite, Views
from tests.terms import terms_script
from tidelog.spark.cluster.placement.place import PlacementLimits

WAYS = [
    (1, LIMITS[0]),
    (3, LIMITS[0]),
    (16, LIMITS[0]),
    (3, SKEWED),
    (16, SKEWED),
    *((3, limits) for limits in LIMITS[1:]),
]


def way_for(text: str) -> tuple[int, PlacementLimits]:
    """Return one of the ways, which depends on the program."""
    return WAYS[crc32(text.encode()) % len(WAYS)]


def evaluate(text: str, facts: Facts) -> Views:
    partitions, limits = way_for(text)
    return evaluated(text, facts, partitions=partitions, limits=limits)


class TestCluster(Suite):
    evaluate = staticmethod(evaluate)
    random_programs = cases(10)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_random_changes(way: tuple[int, PlacementLimits]) -> None:
    """After every epoch views and net changes are those of the embedded engine."""
    for seed in range(FIRST_SEED + 100 * WAYS.index(way), FIRST_SEED + 100 * WAYS.index(way) + cases(2)):
        problem = followed(script_for(seed), *way)
        assert not problem, f"{problem}\n{script_for(seed)}"


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_random_changes_of_values_with_branches(way: tuple[int, PlacementLimits]) -> None:
    for seed in range(FIRST_SEED + 100 * WAYS.index(way), FIRST_SEED + 100 * WAYS.index(way) + cases(3)):
        problem = followed(terms_script(seed), *way)
        assert not problem, f"{problem}\n{terms_script(seed)}"


@pytest.mark.smoke
def test_groups_that_nobody_asks_for_any_more() -> None:
    """The rule never holds, so that its groups have no home of their own once the recursion is gone."""
    text = """
    .decl e(x: number, y: number)
    .decl p(x: number, y: number)
    .decl q(x: number)
    q(z) :- p(y, z), y > y, s = sum w : { e(w, y) }, s > 0.
    loop: p(x, x) :- q(x).
    """
    with Cluster(1, NOTHING_EVERYWHERE) as db:
        db.load(text)
        db.insert("e", [(3, 0)])
        db.commit()
        db.rules.remove("loop")
        db.commit()
        assert db.views() == {"e": {(3, 0)}, "p": set(), "q": set()}
