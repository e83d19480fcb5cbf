"""The benchmark of networks, on sizes that take no time."""

from __future__ import annotations

import random

from benchmarks.network.measure import exhaustive_cost, node_cost
from benchmarks.network.topology import LINEAR, PATH_VECTOR, both_ways, topology
from tidelog.language import check, read
from tidelog.network import Simulation, localize


def test_a_topology_is_connected_and_sparse() -> None:
    edges = topology(random.Random(1), 20)
    assert len(edges) == len(set(edges)) == 29
    simulation = Simulation(LINEAR)
    simulation.insert("link", both_ways(edges))
    simulation.run()
    assert len(simulation["reachable"]) == 400


def test_small_topologies_have_no_more_links_than_there_are_pairs() -> None:
    assert len(topology(random.Random(1), 3)) == 3


def test_the_cost_of_cuts() -> None:
    cost = node_cost("linear", LINEAR, 6, 4)
    assert cost.tuples == 36
    assert cost.kept >= 36
    assert 0 < cost.cut < cost.rebuild
    assert 0 < cost.factor <= cost.worst


def test_exhaustive_sets_are_larger() -> None:
    exhaustive, cost = exhaustive_cost(LINEAR, 3), node_cost("linear", LINEAR, 3, 3)
    assert exhaustive.kept > cost.kept
    assert exhaustive.members > cost.members
    assert exhaustive.start > cost.rebuild


def test_path_vector_is_local() -> None:
    assert localize(check(read(PATH_VECTOR))).places["best"].location == 0
