"""An ended ground ends at once for all that rests on it: it takes few offers, whatever the reason."""

from __future__ import annotations

import pytest

from tests.depth import cases
from tests.network.cases import CASES, NEGATION, NON_LINEAR, REACHABILITY, trial
from tidelog.network import Simulation
from tidelog.network.choices import Grounds, root_of
from tidelog.network.messages import ROOT, RULE

MESH = [(x, y) for x in "abcdef" for y in "abcdef" if x != y]
FAR = [("a", "z"), ("z", "a")]


def offers(simulation: Simulation) -> int:
    return sum(node.messages["Offer"] for node in simulation.nodes.values())


def kept(simulation: Simulation) -> int:
    """The derivations that nodes have been offered, by others or by themselves."""
    return sum(len(each) for node in simulation.nodes.values() for each in node.state.offers.values())


def mesh(text: str, *, roots: bool = True) -> Simulation:
    simulation = Simulation(text, 5, roots=roots)
    simulation.insert("link", [*MESH, *FAR])
    simulation.run()
    return simulation


@pytest.mark.parametrize("text", [REACHABILITY, NON_LINEAR])
def test_what_cannot_be_reached_any_more_goes_at_once(text: str) -> None:
    """Without roots, nodes try ever longer ways round the mesh."""
    sent = {}
    for roots in (True, False):
        simulation = mesh(text, roots=roots)
        before, had = offers(simulation), kept(simulation)
        simulation.delete("link", FAR)
        simulation.run()
        assert simulation["reachable"] == {(x, y) for x in "abcdef" for y in "abcdef"}
        sent[roots] = offers(simulation) - before
        if roots:
            assert sent[roots] <= 1.2 * (had - kept(simulation))  # nearly each lost derivation was withdrawn, and once
    assert sent[False] > 2 * sent[True]


@pytest.mark.parametrize("text", [REACHABILITY, NON_LINEAR])
def test_a_fact_of_a_recursive_relation_that_goes_takes_what_rests_on_it_along(text: str) -> None:
    sent = {}
    for roots in (True, False):
        simulation = mesh(text, roots=roots)
        simulation.insert("reachable", [("a", "y")])
        simulation.run()
        assert ("f", "y") in simulation["reachable"]
        before = offers(simulation)
        simulation.delete("reachable", [("a", "y")])
        simulation.run()
        assert not any(y == "y" for _, y in simulation["reachable"])
        sent[roots] = offers(simulation) - before
    assert sent[False] > 1.5 * sent[True]


@pytest.mark.parametrize("text", [REACHABILITY, NON_LINEAR])
def test_a_rule_that_goes_takes_what_rests_on_it_along(text: str) -> None:
    simulation = mesh(text)
    before, had = offers(simulation), kept(simulation)
    simulation.rules.remove("r1")
    simulation.run()
    assert simulation["reachable"] == set()
    assert offers(simulation) - before <= had
    simulation.rules.add("r1: reachable(@s, d) :- link(@s, d).")
    simulation.run()
    assert len(simulation["reachable"]) == 49


def test_a_negated_tuple_that_comes_takes_what_rests_on_its_absence_along() -> None:
    text = """
.decl link(@x: symbol, y: symbol)
.decl closed(@x: symbol)
.decl open(@x: symbol, y: symbol)
.decl back(@x: symbol, y: symbol)
b: back(@y, x) :- link(@x, y).
o1: open(@s, d) :- link(@s, d), !closed(@s).
o2: open(@s, d) :- back(@z, s), open(@z, d).
"""
    sent = {}
    for roots in (False, True):
        simulation = Simulation(text, 5, roots=roots)
        simulation.insert("link", [*MESH, ("a", "z")])
        simulation.run()
        assert ("f", "z") in simulation["open"]
        before = offers(simulation)
        simulation.insert("closed", [("a",)])
        simulation.run()
        assert simulation["open"] == {(x, y) for x in "abcdef" for y in "abcdef"}
        sent[roots] = offers(simulation) - before
    assert sent[False] > 1.5 * sent[True]
    simulation.delete("closed", [("a",)])
    simulation.run()
    assert {row for row in simulation["open"] if row[1] == "z"} == {(x, "z") for x in "abcdef"}


def test_sets_of_what_does_not_depend_on_itself_are_empty() -> None:
    simulation = Simulation(NEGATION, 1)
    simulation.insert("link", [("a", "b"), ("b", "c")])
    simulation.insert("wanted", [("a", "z")])
    simulation.run()
    chosen = simulation.node("a").state.chosen
    assert chosen["missing", ("a", "z")].support == frozenset()
    assert chosen["missing", ("a", "z")].height == 1
    assert ("reachable", ("b", "c")) in chosen["reachable", ("a", "c")].support


@pytest.mark.parametrize("seed", range(cases(12)))
def test_dead_roots_may_be_forgotten(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Grounds, "most_dead", 2)
    simulation = trial(seed, 5, 40, CASES["non-linear" if seed % 2 else "negation"], roots=True, restarts=True)
    assert all(len(node.state.grounds.dead) < 20 for node in simulation.nodes.values())


def made(name: str = "n", *, kept: bool = True) -> Grounds:
    return Grounds(name, kept=kept, secret=name.encode())


def test_a_number_stands_for_one_thing_only() -> None:
    grounds = made()
    link = ("link", ("n", "m"))
    first = grounds.of("r1.0", [link])
    assert first == [(RULE, ("r1.0",)), grounds.root(1)] == grounds.of("r1.0", [link])
    grounds.end_root(link)
    assert not grounds.holds(frozenset(first))
    [proof] = grounds.dead_in(frozenset([*first, link]))
    assert root_of(proof) == grounds.root(1)
    assert grounds.of("r1.0", [link])[1] == grounds.root(2)
    assert grounds.of_fact() == {grounds.root(3)}
    assert [grounds.root(number)[1][:2] for number in (1, 2, 3)] == [("n", 1), ("n", 2), ("n", 3)]


def test_what_the_node_of_a_root_gives_away_ends_it_everywhere() -> None:
    grounds, other = made(), made("m")
    link, rule = ("link", ("n", "m")), (RULE, ("r1.0",))
    [root] = other.of_fact()
    other.end([root, link, rule])
    grounds.mark_ended(other.dead_in(frozenset([root])))
    assert grounds.news() == {root}
    assert grounds.news() == set()
    assert grounds.holds(frozenset([link, rule]))
    grounds.switch(frozenset(["r1.0"]), frozenset())
    assert not grounds.holds(frozenset([rule]))
    grounds.switch(frozenset(), frozenset(["r1.0"]))
    assert grounds.holds(frozenset([rule]))
    assert grounds.news() == {rule}


def test_without_roots_there_are_no_grounds() -> None:
    grounds = made(kept=False)
    grounds.mark_ended([(ROOT, ("m", 7, "text"))])
    grounds.switch(frozenset(["r1.0"]), frozenset())
    assert grounds.of("r1.0", [("link", ("n", "m"))]) == []
    assert grounds.of_fact() == grounds.news() == set()
    assert grounds.holds(frozenset([root_of((ROOT, ("m", 7, "text"))), (RULE, ("r1.0",))]))
