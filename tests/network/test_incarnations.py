"""A node that comes back with nothing: others forget what it said, and say again what concerns it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.network.cases import CASES, REACHABILITY, exchange, trial
from tests.network.test_node import ask_twice, packet
from tidelog.errors import UsageError
from tidelog.network import Node, SimulatedNetwork, Simulation
from tidelog.network.messages import Ack, Offer

RING = [("a", "b"), ("b", "c"), ("c", "a")]


def test_what_it_had_asserted_is_gone_and_what_others_say_is_not() -> None:
    simulation = Simulation(REACHABILITY, 1)
    simulation.insert("link", RING)
    simulation.run()
    simulation.lose("a")
    assert simulation.node("a")["reachable"] == set()
    simulation.run()
    assert simulation.quiet
    assert simulation["reachable"] == {("b", "c"), ("b", "a"), ("c", "a")}
    simulation.insert("link", RING[:1])
    simulation.run()
    assert simulation["reachable"] == {(x, y) for x in "abc" for y in "abc"}


def test_its_numbers_never_stand_for_what_was_before() -> None:
    simulation = Simulation(REACHABILITY, 1)
    simulation.insert("link", RING)
    simulation.delete("link", RING[:1])
    simulation.run()
    simulation.lose("a")
    simulation.insert("link", RING[:1])
    simulation.run()
    assert len(simulation["reachable"]) == 9


def test_it_hears_of_rules_that_came_before() -> None:
    simulation = Simulation(REACHABILITY, 1)
    simulation.insert("link", RING)
    simulation.rules.remove("r2")
    simulation.run()
    simulation.lose("a")
    simulation.insert("link", RING[:1])
    simulation.run()
    assert simulation["reachable"] == set(RING)


@pytest.mark.parametrize("name", CASES)
def test_nodes_that_lose_their_stores_under_every_adversity(name: str) -> None:
    for seed in range(3):
        trial(seed, 5, 40, CASES[name], losses=True, loss=0.3, duplicates=0.5, restarts=True)


def test_packets_of_a_former_incarnation_do_not_count() -> None:
    wires = SimulatedNetwork(1)
    a = Node("a", REACHABILITY, wires.transport("a"))
    old, new = (Offer(1, 1, ("reachable", ("a", name)), 1) for name in ("old", "new"))
    for offer, incarnation in ((old, 0), (new, 1), (old, 0)):
        wires.post("b", "a", packet(offer, incarnation=incarnation))
        exchange(wires, a)
    assert a["reachable"] == {("a", "new")}
    assert dict(a.rejected) == {"former incarnation": 1}


def test_packets_for_a_former_incarnation_do_not_count() -> None:
    """An acknowledgement for what the node has said before its time, for instance."""
    wires = SimulatedNetwork(1)
    a = Node("a", REACHABILITY, wires.transport("a"), incarnation=2)
    a.insert("link", [("a", "b")])
    a.tell([])
    wires.post("b", "a", packet(Ack(1), Offer(1, 1, ("reachable", ("a", "old")), 1)))
    exchange(wires, a)
    assert (a.quiet, a["reachable"]) == (False, {("a", "b")})
    wires.post("b", "a", packet(Ack(1), Offer(1, 1, ("reachable", ("a", "new")), 1), known=2))
    exchange(wires, a)
    assert a.quiet
    assert a["reachable"] == {("a", "b"), ("a", "new")}


def test_nothing_is_quiet_before_others_know() -> None:
    wires = SimulatedNetwork(1)
    a, b = (Node(name, REACHABILITY, wires.transport(name), peers="ab") for name in "ab")
    b.insert("link", [("b", "a"), ("b", "c")])
    exchange(wires, a, b)
    a.insert("link", [("a", "b")])
    exchange(wires, a, b)
    assert a["reachable"] == {("a", "b"), ("a", "a"), ("a", "c")}
    a = Node("a", REACHABILITY, wires.transport("a"), peers="ab", incarnation=1)
    assert (a.quiet, ask_twice(wires, a)) == (False, False)
    a.resend()
    exchange(wires, a, b)
    assert a.quiet
    a.insert("link", [("a", "b")])
    exchange(wires, a, b)
    assert a["reachable"] == {("a", "b"), ("a", "a"), ("a", "c")}


def test_two_that_both_come_back_know_each_other() -> None:
    wires = SimulatedNetwork(1)
    a = Node("a", REACHABILITY, wires.transport("a"), peers="ab", incarnation=3)
    b = Node("b", REACHABILITY, wires.transport("b"), peers="ab", incarnation=5)
    a.insert("link", [("a", "b")])
    b.insert("link", [("b", "a")])
    for _ in range(3):
        a.resend()
        b.resend()
        exchange(wires, a, b)
    assert a.quiet
    assert b.quiet
    assert a["reachable"] | b["reachable"] == {(x, y) for x in "ab" for y in "ab"}


def test_a_store_keeps_the_incarnation(tmp_path: Path) -> None:
    wires = SimulatedNetwork(1)
    for incarnation in (4, 0):
        with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path / "a", incarnation=incarnation) as a:
            wires.post("b", "a", packet(Ack(7), incarnation=2, known=4))
            exchange(wires, a)
            assert a.state.incarnation == 4
            assert a.state.peers["b"].incarnation == 2


def test_incarnations_are_counted_from_zero() -> None:
    for wrong in (-1, 2**20 + 1, "1"):
        with pytest.raises(UsageError, match="E0624"):
            Node("a", REACHABILITY, SimulatedNetwork(1).transport("a"), incarnation=wrong)  # type: ignore[arg-type]
