"""Whole networks: repeated runs, cuts, restarts, rules in flight, facts of the program, and what a user does wrong."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from tests.depth import cases
from tests.network.cases import COUNTS, CYCLE, NEGATION, REACHABILITY, trial
from tidelog.errors import DataError, ProgramError, UsageError
from tidelog.network import SimulatedNetwork, Simulation

RING = [("a", "b"), ("b", "c"), ("c", "a")]


def ring(**options: object) -> Simulation:
    simulation = Simulation(REACHABILITY, 5, **options)  # type: ignore[arg-type]
    simulation.insert("link", RING)
    simulation.run()
    return simulation


def test_a_ring_reaches_itself() -> None:
    assert ring()["reachable"] == {(x, y) for x in "abc" for y in "abc"}


def test_each_node_has_its_own_part() -> None:
    simulation = ring()
    assert simulation.node("b")["reachable"] == {("b", x) for x in "abc"}
    assert simulation.node("b")["link"] == {("b", "c")}


def test_a_seed_gives_the_same_bytes_again() -> None:
    first, second, other = (trial(seed, 4, 20, loss=0.3, duplicates=0.3, restarts=True) for seed in (11, 11, 12))
    assert (first.trace, first.messages, first.bytes) == (second.trace, second.messages, second.bytes)
    assert first.trace != other.trace


def test_the_order_of_sets_in_memory_does_not_matter() -> None:
    """Python orders sets of strings anew in every process."""
    code = f"from tests.network.cases import trial; print(*(trial(seed, 4, 20).trace for seed in range({cases(12)})))"
    traces = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(traces) == 1


def test_a_network_in_two_parts() -> None:
    simulation = ring()
    simulation.cut(["a", "b"], ["c"])
    simulation.delete("link", [("b", "c")])
    simulation.insert("link", [("c", "d")])
    simulation.run()
    assert (simulation.quiet, ("a", "d") in simulation["reachable"]) == (False, False)
    simulation.heal()
    simulation.run()
    assert simulation.quiet
    assert simulation["reachable"] == {("a", "b"), ("c", "a"), ("c", "b"), ("c", "d")}


def test_a_node_that_never_answers() -> None:
    """The others settle what they can, and everything once it is back."""
    simulation = ring()
    simulation.cut(["a", "b"])
    simulation.insert("link", [("b", "a"), ("a", "d")])
    simulation.delete("link", [("b", "c")])
    simulation.run()
    assert ("b", "d") in simulation["reachable"]
    simulation.heal()
    simulation.run()
    assert simulation.quiet
    assert simulation["reachable"] == {(x, y) for x in "abc" for y in "abd"}


def test_a_restart_at_every_moment() -> None:
    for step in range(30):
        simulation = Simulation(REACHABILITY, 3, loss=0.1)
        simulation.insert("link", RING)
        simulation.delete("link", RING[:1])
        simulation.run(step)
        for name in "abc":
            simulation.restart(name)
        simulation.run()
        assert simulation.quiet
        assert simulation["reachable"] == {("b", "c"), ("b", "a"), ("c", "a")}


def test_rules_in_flight() -> None:
    for steps in range(12):
        simulation = Simulation(REACHABILITY, steps, loss=0.1)
        simulation.insert("link", RING)
        simulation.run(steps)
        simulation.rules.add("r3: reachable(@d, s) :- link(@s, d).")
        simulation.run(steps)
        simulation.rules.remove("r2")
        simulation.run()
        assert simulation["reachable"] == {*RING, *((y, x) for x, y in RING)}


def test_a_rule_that_comes_back_changed() -> None:
    simulation = ring()
    simulation.rules.remove("r1")
    simulation.run()
    assert simulation["reachable"] == set()
    simulation.rules.add("r1: reachable(@d, s) :- link(@s, d).")
    simulation.rules.remove("r2")
    simulation.run()
    assert simulation["reachable"] == {(y, x) for x, y in RING}


def test_rules_bring_declarations() -> None:
    simulation = ring()
    simulation.rules.add(".decl loop(@x: symbol)\nloop(@x) :- reachable(@x, x).")
    simulation.run()
    assert simulation["loop"] == {("a",), ("b",), ("c",)}
    simulation.insert("loop", [("z",)])
    simulation.run()
    assert ("z",) in simulation["loop"]


def test_a_rule_is_told_once_in_each_direction() -> None:
    """What a node hears from another one that it was about to tell is the answer as well."""
    names = [f"n{number}" for number in range(10)]
    simulation = Simulation(REACHABILITY, 1)
    simulation.insert("link", list(pairwise(names)))
    simulation.run()
    simulation.rules.remove("r2")
    simulation.run()
    assert simulation.quiet
    messages = sum((node.messages for node in simulation.nodes.values()), Counter[str]())
    assert 0 < messages["RuleChange"] + messages["Noted"] <= 10 * 9
    assert simulation["reachable"] == set(pairwise(names))


def test_rules_reach_nodes_that_come_later() -> None:
    simulation = ring()
    simulation.rules.remove("r2")
    simulation.insert("link", [("x", "y"), ("y", "z")])
    simulation.run()
    assert {row for row in simulation["reachable"] if row[0] == "x"} == {("x", "y")}


def test_conflicting_rules_are_set_aside_alike() -> None:
    simulation = Simulation(
        ".decl e(@x: symbol, y: symbol) .decl p(@x: symbol, y: symbol) .decl q(@x: symbol, y: symbol)", 3
    )
    simulation.insert("e", [("a", "b"), ("b", "a")])
    simulation.run()
    simulation.cut(["a"], ["b"])
    simulation.node("a").rules.add("s: p(@x, y) :- e(@x, y), !q(@x, y).")
    simulation.node("b").rules.add("t: q(@x, y) :- e(@x, y), !p(@x, y).")
    simulation.run()
    simulation.heal()
    simulation.run()
    assert simulation.quiet
    for node in simulation.nodes.values():
        assert list(node.state.book.refused) == ["t"]
        assert "E0301" in node.state.book.refused["t"]
    assert simulation["p"] == {("a", "b"), ("b", "a")}
    assert simulation["q"] == set()


def test_facts_of_the_program_begin_where_they_live() -> None:
    simulation = Simulation(REACHABILITY + 'link("a", "b").\nlink("b", "c").\n')
    simulation.run()
    assert simulation["reachable"] == {("a", "b"), ("a", "c"), ("b", "c")}
    simulation.delete("link", [("a", "b")])
    simulation.restart("a")
    simulation.run()
    assert simulation["reachable"] == {("b", "c")}


def test_relations_that_every_node_has_for_itself() -> None:
    text = (
        REACHABILITY
        + '.decl hub(x: symbol)\n.decl near(@x: symbol)\nhub("b").\nnear(@x) :- reachable(@x, h), hub(h).\n'
    )
    simulation = Simulation(text)
    simulation.insert("link", [("a", "b"), ("c", "d")])
    simulation.run()
    assert simulation["near"] == {("a",)}
    assert simulation["hub"] == {("b",)}


def test_nodes_that_are_called_by_numbers() -> None:
    simulation = Simulation(REACHABILITY.replace("symbol", "number"))
    simulation.insert("link", [(1, 2), (2, 3)])
    simulation.run()
    assert simulation["reachable"] == {(1, 2), (1, 3), (2, 3)}
    assert set(simulation.nodes) == {"1", "2", "3"}


def test_a_node_without_a_name_is_a_node() -> None:
    simulation = Simulation(REACHABILITY, restarts=True)
    simulation.insert("link", [("", "b"), ("b", "")])
    simulation.run()
    assert simulation["reachable"] == {("", ""), ("", "b"), ("b", ""), ("b", "b")}
    simulation.delete("link", [("", "b")])
    simulation.run()
    assert simulation["reachable"] == {("b", "")}


def test_records_travel() -> None:
    text = """.type way = [head: symbol, tail: way]
.decl link(@x: symbol, y: symbol) .decl way(@x: symbol, y: symbol, w: way)
way(@x, y, [y, nil]) :- link(@x, y).
way(@x, z, [y, w]) :- link(@x, y), way(@y, z, w), x != z, w = [_, nil]."""
    simulation = Simulation(text, loss=0.2, restarts=True)
    simulation.insert("link", RING)
    simulation.run()
    assert ("a", "c", ("b", ("c", None))) in simulation["way"]


def test_negation_and_aggregates_at_rest() -> None:
    simulation = Simulation(NEGATION, 2)
    simulation.insert("link", [("a", "b")])
    simulation.insert("wanted", [("a", "b"), ("a", "c")])
    simulation.run()
    assert simulation["missing"] == {("a", "c")}
    simulation.insert("link", [("b", "c")])
    simulation.run()
    assert simulation["missing"] == set()
    counting = Simulation(COUNTS, 2)
    counting.insert("link", [("a", "b"), ("b", "c"), ("c", "b")])
    counting.run()
    assert counting["degree"] == {("a", 2), ("b", 2), ("c", 2)}
    assert counting["incoming"] == {("b", 2), ("c", 1)}


def test_the_cycle_of_the_paper() -> None:
    simulation = Simulation(CYCLE, 4, duplicates=0.5)
    simulation.insert("a", [("0", "1")])
    simulation.delete("a", [("0", "1")])
    simulation.insert("a", [("0", "1")])
    simulation.run()
    assert simulation["q"]
    simulation.delete("a", [("0", "1")])
    simulation.run()
    assert simulation["p"] | simulation["q"] == set()


def test_what_a_user_does_wrong() -> None:
    simulation = ring()
    for code, error, call in (
        ("E0401", DataError, lambda: simulation.insert("link", [("a", 1)])),
        ("E0401", DataError, lambda: simulation.insert("link", [("a",)])),
        ("E0601", UsageError, lambda: simulation.insert("links", [("a", "b")])),
        ("E0601", UsageError, lambda: simulation["links"]),
        ("E0608", UsageError, lambda: simulation.rules.remove("r9")),
        ("E0620", UsageError, lambda: simulation.rules.add('link("a", "b").')),
        ("E0221", ProgramError, lambda: simulation.rules.add("r1: reachable(@x, x) :- link(@x, _).")),
        ("E0313", ProgramError, lambda: simulation.rules.add("reachable(@x, y) :- link(@x, _), link(@y, _).")),
        ("E0201", ProgramError, lambda: simulation.rules.add("reachable(@x, y) :- road(@x, y).")),
    ):
        with pytest.raises(error, match=code):
            call()
    assert simulation.quiet


def test_an_unknown_schedule() -> None:
    with pytest.raises(UsageError, match=r"E0635.*random, lifo"):
        SimulatedNetwork(1, schedule="slow")


def test_the_trace_is_of_what_arrived() -> None:
    assert Simulation(REACHABILITY).trace == hashlib.sha256().hexdigest()
