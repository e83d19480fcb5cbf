"""Networks with a peer that says anything at all: no node stops, and what the peer has no part in comes out right."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.depth import cases
from tests.network.cases import REACHABILITY
from tests.network.test_node import packet
from tidelog.network import Limits, Node, SimulatedNetwork
from tidelog.network.journal import dump, load
from tidelog.network.messages import (
    ROOT,
    Ack,
    Ask,
    Because,
    Floor,
    Heard,
    Hello,
    Message,
    NodeReason,
    Noted,
    Offer,
    RuleChange,
    Tell,
    Why,
)
from tidelog.network.program import LocatedTuple

HONEST = "acd"
VALUES = ("evil", "worse", "", "ä", "x" * 300)
"""What the peer lies about: none of it is a node, or an end of an honest link."""

RULES = (
    None,
    "nonsense",
    'r1: reachable(@s, "evil") :- link(@s, _).',
    "x: reachable(@s, cat(d, d)) :- reachable(@s, d).",
    "x: reachable(@s, d) :- link(@s, d), n = range(0, 1000000000000), n < 0.",
    ".decl other(@s: symbol, n: number)\nx: other(@d, 1) :- link(@s, d).",
    ".decl other(@s: symbol, d: symbol)\nx: other(@d, s) :- link(@s, d).",
)


class Hostile:
    """The peer `b`: knows whatever the honest nodes know, but their secrets."""

    def __init__(self, rng: random.Random, nodes: list[Node]) -> None:
        self.rng = rng
        self.nodes = nodes
        self.seq = 0

    def packet(self, receiver: str) -> bytes:
        messages = [self.message(receiver) for _ in range(self.rng.randrange(1, 5))]
        return packet(*messages, receiver=receiver, incarnation=self.rng.choice((0, 0, 0, 0, 1)))

    def message(self, receiver: str) -> Message:
        rng = self.rng
        match rng.randrange(14):
            case 0:
                return rng.choice((Ack(self.number()), Hello(), Heard(self.number()), Ask(self.number())))
            case 1:
                return Floor(self.number())
            case 2:
                return Tell(self.number(), rng.random() < 0.5, self.number(), ("a", "evil"))
            case 3:
                return Noted(rng.choice("rx"), self.number(), "b")
            case 4:
                return RuleChange("x", self.number(), rng.choice("ab"), rng.choice(RULES))
            case 5:
                return Why(self.number(), (self.fact(receiver), *self.known()[:3]))
            case 6:
                return Because(self.number(), tuple(self.reason(receiver) for _ in range(rng.randrange(4))))
            case _:
                self.seq += 1
                height = rng.choice((None, 0, 1, 3, self.number()))
                seq = rng.choice((self.seq, self.seq, self.number()))
                return Offer(seq, rng.randrange(1, self.seq + 2), self.fact(receiver), height, self.set(), self.dead())

    def reason(self, receiver: str) -> NodeReason:
        rng, fact = self.rng, self.fact(receiver)
        program = self.nodes[0].state.book.program
        rule = rng.choice([*program.rule_of, "x.y"])
        body = tuple(self.fact(rng.choice("ab")) for _ in range(rng.randrange(3)))
        if rng.random() < 0.5:
            return NodeReason(fact, "derived", (), rule, self.number(), body, ())
        return NodeReason(fact, rng.choice(("asserted", "heard", "missing", "withheld")), (rng.choice("abcd"),))

    def number(self) -> int:
        return self.rng.choice((0, 1, 2, 7, 2**31, 2**62, 2**63 - 1))

    def fact(self, receiver: str) -> LocatedTuple:
        relations = [*self.nodes[0].state.book.program.places, "other", "unknown"]
        values: tuple[Any, ...] = (receiver, self.rng.choice(VALUES))
        return self.rng.choice(relations), self.rng.choice(
            (values, values, values, (receiver,), (receiver, 7), ("c", "evil"))
        )

    def known(self) -> list[LocatedTuple]:
        """Everything that honest nodes rest on, grounds included."""
        machine = self.rng.choice(self.nodes).state
        return [member for offers in machine.offers.values() for given in offers.values() for member in given.support]

    def set(self) -> frozenset[LocatedTuple]:
        known = self.known()
        return frozenset(self.rng.sample(known, min(3, len(known))))

    def dead(self) -> frozenset[LocatedTuple]:
        return frozenset(fact for fact in self.known() if fact[0] == ROOT and self.rng.random() < 0.5)


@pytest.mark.parametrize("seed", range(cases(80)))
def test_what_the_peer_has_no_part_in_comes_out_right(seed: int) -> None:
    rng = random.Random(seed)
    wires = SimulatedNetwork(seed, schedule=rng.choice(("random", "fifo", "lifo")))
    limits = Limits(memory=20_000, steps=3_000, rows=500, names=frozenset("x"))
    nodes = [Node(name, REACHABILITY, wires.transport(name), peers=HONEST, limits=limits) for name in HONEST]
    hostile = Hostile(rng, nodes)
    links: set[tuple[str, str]] = set()
    asserted: set[tuple[str, str]] = set()
    for _ in range(60):
        node = rng.choice(nodes)
        link = (node.name, rng.choice(HONEST))
        if link in links:
            links.discard(link)
            node.delete("link", [link])
        else:
            links.add(link)
            asserted.add(link)
            node.insert("link", [link])
        for _ in range(rng.randrange(6)):
            receiver = rng.choice(HONEST)
            wires.post("b", receiver, hostile.packet(receiver))
        for _ in range(rng.randrange(10)):
            if not wires.empty:
                wires.deliver()
                rng.choice(nodes).turn()
        if rng.random() < 0.2 and node["reachable"]:
            node.begin_inquiry("reachable", rng.choice(sorted(node["reachable"])))
        for each in nodes:
            if each.inquiry is not None:
                proof = each.proof_of(each.inquiry)
                if proof.goal.sort != "open":  # Nothing is left to check.
                    proof.check()
                facts = {row for name, row in proof.facts if {*row} <= {*HONEST}}
                assert facts <= asserted
        if rng.random() < 0.1:
            other = rng.choice(nodes)
            state = dump(other.state)
            other.state = load(state)
            assert dump(other.state) == state
    settle(wires, nodes)
    right = closure(links)
    honest = {row for node in nodes for row in node["reachable"] if row[1] in {*HONEST}}
    assert honest == right


def settle(wires: SimulatedNetwork, nodes: list[Node]) -> None:
    """Deliver until the honest nodes have nothing more to say to each other; `b` never answers."""
    for _ in range(40):
        while not wires.empty:
            wires.deliver()
            for node in nodes:
                node.turn()
        for node in nodes:
            node.resend()


def closure(links: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(links)
    while more := {(x, w) for x, y in found for z, w in links if y == z} - found:
        found |= more
    return found
