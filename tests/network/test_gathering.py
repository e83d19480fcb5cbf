"""Verbs of explanations that need the facts of all nodes: asked of a database with these facts."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests import functions
from tests.depth import cases
from tests.network.cases import CASES, REACHABILITY, trial
from tests.network.test_branches import LINKS, End, Hop, Named
from tests.network.test_branches import PROGRAM as BRANCHES
from tests.network.test_constructs import PROGRAM as CONSTRUCTS
from tests.network.test_explanations import VERDICTS, line, network_of, verdicts
from tests.network.test_functors import CALLS
from tests.suite import FIRST_SEED
from tidelog.errors import DataError, UsageError
from tidelog.language.inlining import INLINE
from tidelog.network import Node, SimulatedNetwork, Simulation
from tidelog.network.config import NetworkConfig
from tidelog.network.gathering import NetworkVerbs
from tidelog.network.local import LocalNetwork


def assert_same(network: Simulation) -> None:
    """A network at rest has the views of its database, and its facts."""
    db = network.database()
    for name, relation in network.program.relations.items():
        if INLINE not in relation.qualifiers:
            assert set(db[name]) == network[name], name
            assert set(db.asserted(name)) == network.asserted(name), name
    db.check()


@pytest.mark.parametrize("name", CASES)
def test_the_database_of_a_network_has_its_views(name: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(2)):
        assert_same(trial(seed, 5, 30, CASES[name], restarts=False))


def test_the_database_of_a_network_with_functors_and_branches() -> None:
    network = network_of(CALLS, 3, functors=functions)
    network.insert("link", [("a", "b", 1), ("b", "c", 2), ("c", "a", 3)])
    network.run()
    assert_same(network)
    network = network_of(CALLS, 3, functors=lambda _: functions)
    network.insert("link", [("a", "b", 1)])
    network.run()
    assert_same(network)
    network = network_of(BRANCHES, 3)
    network.insert("link", LINKS)
    network.insert("known", [("a", (Hop("x", 2, End()), Named("y"))), ("a", (End(), Named("z")))])
    network.run()
    assert_same(network)
    network = network_of(CONSTRUCTS, 3)
    network.insert("link", [("a", "b"), ("b", "c"), ("d", "d")])
    network.insert("cost", [("a", "x", 3), ("a", "y", 2)])
    network.run()
    assert_same(network)


def test_rules_that_travel_and_facts_of_the_program_that_have_gone() -> None:
    network = network_of(f'{VERDICTS}\nlink("z", "a").')
    network.insert("link", [("a", "b")])
    network.rules.add("back: near(@y, x) :- link(@x, y).")
    network.rules.remove("n")
    network.run()
    assert_same(network)
    assert ("z", "a") in network.database()["link"]
    network.delete("link", [("z", "a")])
    network.run()
    assert ("z", "a") not in network.database()["link"]
    assert_same(network)
    assert "[back]" in str(network.why_not("near", ("a", "b")))


def test_why_not_repair_undo_and_what_if() -> None:
    network = line()
    assert (
        str(network.why_not("reachable", ("d", "a"), depth=0))
        == """\
reachable("d", "a") does not hold: no rule derives it
  [r1 at <text>:4:1]
    fails: link(@"d", "a")
  [r2 at <text>:5:1]
    fails: link(@"d", z)"""
    )
    assert next(network.ways_to_derive("reachable", ("d", "a"))) == (("link", ("d", "a")),)
    assert {each.facts for each in network.ways_to_remove("reachable", ("a", "d"))} == {
        (("link", row),) for row in network["link"]
    }
    assert [each.rules for each in network.ways_to_remove("reachable", ("a", "d"), rules=True)] == [("r1",), ("r2",)]
    before = network["reachable"], network.messages
    with network.what_if() as trial:
        trial.delete("link", [("b", "c")])
    assert trial.change is not None
    gone = set(trial.change["reachable"].deleted)
    assert (network["reachable"], network.messages) == before
    network.delete("link", [("b", "c")])
    network.run()
    assert network["reachable"] == before[0] - gone


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(3)))
def test_answers_are_confirmed_by_the_network(seed: int) -> None:
    """With the facts of a repair the network comes to rest with the tuple, and without those of `undo` without it."""
    rng, nodes = random.Random(seed), "abcd"
    network = network_of(REACHABILITY, seed)
    network.insert("link", {(rng.choice(nodes), rng.choice(nodes)) for _ in range(4)})
    network.run()
    wanted = rng.choice(sorted({(x, y) for x in nodes for y in nodes} - network["reachable"]))
    facts = rng.choice(list(network.ways_to_derive("reachable", wanted)))
    for name, row in facts:
        network.insert(name, [row])
    network.run()
    assert wanted in network["reachable"]
    for name, row in rng.choice(list(network.ways_to_remove("reachable", wanted))).facts:
        network.delete(name, [row])
    network.run()
    assert wanted not in network["reachable"]


def test_what_networks_cannot_answer() -> None:
    network = line()
    with pytest.raises(UsageError, match="E0672"):
        network.why_not("reachable", ("a", "d"))
    with pytest.raises(UsageError, match="E0670"):
        network.ways_to_remove("reachable", ("d", "a"))
    with pytest.raises(UsageError, match="E0601"):
        network.why_not("nobody", ("d", "a"))
    with pytest.raises(DataError, match="E04"):
        network.ways_to_derive("reachable", ("d",))


def test_what_a_node_cannot_answer() -> None:
    node = Node("a", REACHABILITY, SimulatedNetwork(1).transport("a"))
    node.insert("link", [("a", "b")])
    assert node.asserted("link") == {("a", "b")}
    assert node.asserted("reachable") == set()
    goal = ("reachable", ("a", "c"))
    for verb in (node.why_not, node.blame, node.ways_to_remove, node.ways_to_derive):
        with pytest.raises(UsageError, match=rf"E0677.*`{verb.__name__}` needs the facts of all nodes"):
            verb(*goal)
    with pytest.raises(UsageError, match=r"E0677.*`what_if`"):
        node.what_if()
    with pytest.raises(UsageError, match="E0601"):
        node.asserted("nobody")


def test_facts_of_a_proof_are_looked_up_at_the_nodes() -> None:
    network: NetworkVerbs = verdicts()
    assert isinstance(network, Simulation)
    proof = network.explain("near", ("a", "d"))
    assert not proof.check(network).granted
    fact, *_ = (step for step in proof.steps if step.sort == "fact")
    network.insert("near", [("a", "d")])
    network.delete(fact.relation, [fact.values])
    network.run()
    with pytest.raises(tidelog.ProofRejected, match="E0820"):
        proof.check(network)


def test_processes() -> None:
    config = NetworkConfig(REACHABILITY, ("a", "b", "c"), facts={"link": [["a", "b"], ["b", "c"]]})
    with LocalNetwork(config) as network:
        assert network.settle(30)
        assert network.asserted("link") == {("a", "b"), ("b", "c")}
        assert network.asserted("reachable") == set()
        assert set(network.database()["reachable"]) == network["reachable"]
        assert next(network.ways_to_derive("reachable", ("c", "a"))) == (("link", ("c", "a")),)
        assert [each.facts for each in network.ways_to_remove("reachable", ("a", "b"))] == [(("link", ("a", "b")),)]
        with network.what_if() as trial:
            trial.delete("link", [("a", "b")])
        assert trial.change is not None
        assert set(trial.change["reachable"].deleted) == {("a", "b"), ("a", "c")}
        network.rules.add("back: reachable(@y, x) :- link(@x, y).")
        assert "[back]" in str(network.why_not("reachable", ("c", "z")))
