"""How the benchmarks of partitions count, and what they predict."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.equivalence import graph
from benchmarks.spark import scaling, skew
from benchmarks.spark.scaling import Assumptions, Point
from tidelog.spark.cluster.placement.place import memory_of_closure


def test_what_partitions_say_to_each_other() -> None:
    """Nothing over one; the same tuples over several, and the linear closure in two rounds."""
    facts = scaling.edges(80)
    alone = scaling.point("linear, edges everywhere", 1, facts)
    several = scaling.point("linear, edges everywhere", 4, facts)
    assert (alone.rows, alone.bytes) == (0, 0)
    assert several.tuples == alone.tuples > len(facts)
    assert several.rows == 3 * len(facts)
    assert several.rounds == 2
    assert scaling.point("non-linear, exchanged", 4, facts).tuples == alone.tuples


@pytest.mark.parametrize("partitions", [1, 4, 16])
@pytest.mark.parametrize("nodes", [pytest.param(100_000, marks=pytest.mark.deep), 25_000])
def test_components_take_memory_and_messages_by_the_formula(partitions: int, nodes: int) -> None:
    facts = np.unique(graph(nodes, 200_000), axis=0)
    found = scaling.point(scaling.COMPONENTS, partitions, facts)
    assert found.tuples == len(np.unique(facts))
    assert (found.rounds, found.messages) == (2, partitions)
    assert found.rows == (partitions - 1) * len(facts)
    wanted = partitions * memory_of_closure(len(facts), found.tuples, partitions)
    assert found.memory == pytest.approx(wanted, rel=0.1)


def test_a_prediction() -> None:
    measured = Point("p", 64, tuples=1_000, rounds=10, rows=0, bytes=30_000, seconds=1.0)
    given = Assumptions(executors=10, tuples=1e9, kernels=1e6, network=1e8, per_round=2.0, skew=1.0)
    found = scaling.predicted(measured, given)
    assert found == pytest.approx({"compute": 100.0, "transfer": 60.0, "rounds": 20.0, "total": 180.0})


def test_a_hub_with_and_without_spreading() -> None:
    """800 edges, half of them to one node, counted where their rows are or all in one partition."""
    given = skew.facts(800)
    gathered, spread = (skew.hub("count of all edges", given, limit) for limit in (skew.NEVER, 100))
    assert (gathered.spread, spread.spread) == (False, True)
    assert gathered.sent > 700
    assert spread.sent < 32
    assert gathered.of_share > 5
    assert spread.of_share < 2
