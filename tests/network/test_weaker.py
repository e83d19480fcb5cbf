"""Why the algorithm is as it is: without each part of it some network goes wrong or never comes to rest.

The same networks, with the same seeds, come to rest in the centralised answer when nothing is taken away.
"""

from __future__ import annotations

import random

import pytest

from tests.network.cases import CASES, Case, World
from tidelog.network import Simulation
from tidelog.network.choices import BASE, Chosen
from tidelog.network.derivations import Derivation
from tidelog.network.messages import Offer, Support
from tidelog.network.node_state import Letter, NodeState
from tidelog.network.peer import Peer, Said
from tidelog.network.program import LocatedTuple

PQ = Case(
    """
.decl a(@x: symbol, y: symbol)
.decl l(@x: symbol, y: symbol)
.decl p(@x: symbol)
.decl q(@x: symbol)
p1: p(@y) :- a(@x, y).
q1: q(@y) :- p(@x), l(@x, y).
p2: p(@y) :- q(@x), l(@x, y).
""",
    {"a": "nn", "l": "nn"},
)
NETWORKS = {**CASES, "p and q": PQ}


class DivergedError(Exception):
    """A node does not come to rest by itself."""


class Weak(NodeState):
    """Gives up when it has chosen too often."""

    turns = 0

    def _reconsider(self, fact: LocatedTuple) -> None:
        self.turns += 1
        if self.turns > 5000:
            raise DivergedError
        super()._reconsider(fact)


class HeightsOnly(Weak):
    """No sets: nothing tells a tuple that holds itself up from others."""

    def _value(self, head: LocatedTuple, instance: Derivation) -> tuple[int, Support]:
        return super()._value(head, instance)[0], frozenset()


class BaseFactsOnly(Weak):
    """Sets of base facts, without the tuples derived on the way."""

    def _value(self, head: LocatedTuple, instance: Derivation) -> tuple[int, Support]:
        height, support = super()._value(head, instance)
        return height, frozenset(fact for fact in support if BASE in self.offers.get(fact, {}))


class LargestFirst(Weak):
    """The largest height instead of the least."""

    def _choice(self, fact: LocatedTuple) -> Chosen | None:
        given = self.offers.get(fact, {}).items()
        return max((Chosen(each.height, each.support, sender) for sender, each in given), default=None, key=_largest)


def _largest(chosen: Chosen) -> tuple[int, str]:
    return chosen.height, chosen.source


class ByName(Weak):
    """The sender with the least name, whatever the height."""

    def _choice(self, fact: LocatedTuple) -> Chosen | None:
        given = self.offers.get(fact, {}).items()
        return min((Chosen(each.height, each.support, sender) for sender, each in given), default=None, key=_name)


def _name(chosen: Chosen) -> str:
    return chosen.source


class ByArrival(Weak):
    """The sender that was heard last, whatever the height."""

    def _choice(self, fact: LocatedTuple) -> Chosen | None:
        given = list(self.offers.get(fact, {}).items())
        return Chosen(given[-1][1].height, given[-1][1].support, given[-1][0]) if given else None


class SetsNotAnnounced(Weak):
    """A derivation of the same height that rests on other tuples is not worth a message."""

    def _differs(self, best: Said | None, old: Said | None) -> bool:
        return (best and best.height) != (old and old.height)


class Eager(NodeState):
    """Every new state is sent at once, without waiting for an acknowledgement of the last one."""

    def _announce(self, *, impatient: bool = False) -> list[Letter]:
        return super()._announce(impatient=True)


class NoNumbers(Peer):
    """Nodes that believe every offer, however old it is."""

    def is_news(self, offer: Offer, known: int) -> bool:
        return True


class NoTombstones(Peer):
    """Nodes that forget withdrawn offers at once."""

    def note_withdrawal(self, offer: Offer) -> None:
        pass


class NoFloor(Peer):
    """Tombstones go when anything is heard, whatever may still be on its way."""

    def raise_floor(self, low: int) -> None:
        self.graves.clear()


class Believing(Weak):
    conversation = NoNumbers


class Forgetting(Weak):
    conversation = NoTombstones


class Hasty(Weak):
    conversation = NoFloor


def settles(case: Case, seed: int, machine: type[NodeState]) -> bool:
    """Return True if a network comes to rest, within reason, in the centralised answer."""
    rng = random.Random(f"weaker {seed}")
    names = [f"n{number}" for number in range(rng.randrange(2, 6))]
    simulation = Simulation(case.text, seed, duplicates=0.3, roots=False, machine=machine)
    rules = {line.split(":")[0]: line for line in case.text.splitlines() if ":-" in line}
    world = World(case, {name: {} for name in case.base}, rules)
    for _ in range(rng.randrange(10, 25)):
        relation = rng.choice(list(case.base))
        facts = world.facts[relation]
        if facts and rng.random() < 0.4:
            row = rng.choice(list(facts))
            del facts[row]
            simulation.delete(relation, [row])
        else:
            row = tuple(rng.choice(names) if kind == "n" else rng.randrange(1, 4) for kind in case.base[relation])
            facts[row] = None
            simulation.insert(relation, [row])
        simulation.run(rng.choice([0, 2, 20]))
    simulation.run(3000)
    return simulation.quiet and all(simulation[name] == rows for name, rows in world.views().items())


def fails(case: Case, seed: int, machine: type[NodeState]) -> bool:
    """Return True if a network does not come to rest, or in another answer."""
    try:
        return not settles(case, seed, machine)
    except DivergedError:
        return True


@pytest.mark.parametrize(
    ("machine", "network"),
    [
        (HeightsOnly, "cycle"),
        (HeightsOnly, "p and q"),
        (BaseFactsOnly, "p and q"),
        (LargestFirst, "p and q"),
        (ByName, "p and q"),
        (ByArrival, "p and q"),
        (Believing, "reachability"),
        (Forgetting, "reachability"),
        (Hasty, "reachability"),
    ],
)
def test_every_part_is_needed(machine: type[NodeState], network: str) -> None:
    case = NETWORKS[network]
    seed = next(seed for seed in range(400) if fails(case, seed, machine))
    assert settles(case, seed, NodeState)


@pytest.mark.parametrize(
    ("machine", "expected"), [(SetsNotAnnounced, {"0", "2", "3"}), (NodeState, {"0", "1", "2", "3"})]
)
def test_a_change_of_the_set_alone_is_news(machine: type[NodeState], expected: set[str]) -> None:
    """q(0) goes on resting on p(2) instead of p(1), at the same height. Unless that is told, p(1), which now rests on
    q(0) by way of p(3) and q(1), seems to rest on itself."""
    text = PQ.text + "p3: p(@x) :- q(@x).\n"
    simulation = Simulation(text, 1, roots=False, machine=machine)
    simulation.insert("a", [("4", "1"), ("4", "2")])
    simulation.insert("l", [("1", "0"), ("2", "0"), ("0", "3"), ("3", "1")])
    simulation.run()
    simulation.delete("a", [("4", "1")])
    simulation.run()
    assert {name for (name,) in simulation["p"]} == expected


def test_waiting_for_acknowledgements_saves_messages() -> None:
    """A node leaves a full mesh."""
    offers = dict.fromkeys([NodeState, Eager], 0)
    names = [f"n{number}" for number in range(6)]
    for machine in offers:
        for seed in range(3):
            simulation = Simulation(CASES["non-linear"].text, seed, roots=False, machine=machine)
            simulation.insert("link", [(a, b) for a in names for b in names if a != b])
            simulation.run()
            before = sum(node.messages["Offer"] for node in simulation.nodes.values())
            simulation.delete("link", [pair for name in names[1:] for pair in (("n0", name), (name, "n0"))])
            simulation.run()
            offers[machine] += sum(node.messages["Offer"] for node in simulation.nodes.values()) - before
            assert simulation["reachable"] == {(a, b) for a in names[1:] for b in names[1:]}
    assert offers[NodeState] < 0.95 * offers[Eager]
