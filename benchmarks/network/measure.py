"""Messages and state of nodes when a link is cut and repaired, beside two alternatives: the paper's exhaustive
derivation sets, and starting from scratch."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from statistics import mean, median

from benchmarks.network.topology import Pair, both_ways, topology
from papers.psn import State, Tuple, Update, sn
from tidelog.language import check, read
from tidelog.network import Simulation, localize
from tidelog.network.program import LocalRule, LocatedProgram
from tidelog.rules import core


@dataclass(frozen=True)
class Cost:
    """The cost of one size: means over cut links, in offers.

    `members` are the elements of all stored sets, `affected` the tuples whose choice a cut changed, `rebuild` the
    offers of a network that starts without the link. `factor` and `worst` are the median and the largest number of
    offers of a cut for each affected tuple and link of a node; the worst are cuts that leave a part unreachable.
    """

    program: str
    nodes: int
    degree: float
    tuples: int
    kept: int
    members: int
    affected: float
    cut: float
    repair: float
    rebuild: float
    factor: float
    worst: float
    seconds: float


def offers(simulation: Simulation) -> int:
    """Return the offers that all nodes have sent."""
    return sum(node.messages["Offer"] for node in simulation.nodes.values())


def choices(simulation: Simulation) -> dict[object, tuple[object, ...]]:
    """Return the choice of every node for every tuple."""
    nodes = simulation.nodes.values()
    return {fact: chosen[:2] for node in nodes for fact, chosen in node.state.chosen.items()}


def started(text: str, links: list[Pair], *, roots: bool = True) -> Simulation:
    """Return a network at rest."""
    simulation = Simulation(text, 1, roots=roots)
    simulation.insert("link", links)
    simulation.run()
    return simulation


def node_cost(name: str, text: str, nodes: int, cuts: int, *, roots: bool = True) -> Cost:
    """Measure nodes on a random topology, for some of its links."""
    rng = random.Random(f"{nodes} nodes")
    edges = topology(rng, nodes)
    simulation = started(text, both_ways(edges), roots=roots)
    kept = [
        given for node in simulation.nodes.values() for each in node.state.offers.values() for given in each.values()
    ]
    affected, cut, repair, rebuild = [], [], [], []
    begin = time.process_time()
    chosen = rng.sample(edges, min(cuts, len(edges)))
    for edge in chosen:
        before, sent = choices(simulation), offers(simulation)
        simulation.delete("link", both_ways([edge]))
        simulation.run()
        after = choices(simulation)
        affected.append(sum(before.get(fact) != after.get(fact) for fact in before.keys() | after.keys()))
        cut.append(offers(simulation) - sent)
        sent = offers(simulation)
        simulation.insert("link", both_ways([edge]))
        simulation.run()
        repair.append(offers(simulation) - sent)
    seconds = (time.process_time() - begin) / len(chosen)
    for edge in chosen[:1]:
        rebuild.append(offers(started(text, both_ways([each for each in edges if each != edge]), roots=roots)))
    degree = 2 * len(edges) / nodes
    factors = [sent / (number * degree) for sent, number in zip(cut, affected, strict=True)]
    return Cost(
        name,
        nodes,
        degree,
        len(simulation["reachable"]),
        len(kept),
        sum(len(given.support) for given in kept),
        mean(affected),
        mean(cut),
        mean(repair),
        mean(rebuild),
        median(factors),
        max(factors),
        seconds,
    )


@dataclass(frozen=True)
class Exhaustive:
    """The paper's algorithm on the same links: updates sent between nodes, tuples stored with their sets, and the
    members of those sets."""

    nodes: int
    start: int
    cut: int
    kept: int
    members: int


def exhaustive_cost(text: str, nodes: int) -> Exhaustive:
    """Measure pipelined semi-naive evaluation with all derivation sets; a cut of one link in both directions."""
    rng = random.Random(f"{nodes} nodes")
    edges = topology(rng, nodes)
    program = localize(check(read(text)))
    local = {rule.key: rule for rule in program.rules}
    rules = [core.CoreRule(key, rule.origin, rule.head, rule.body) for key, rule in local.items()]
    abroad = [key for key, rule in local.items() if _goes_abroad(rule, program)]
    links = [Tuple(("link", pair)) for pair in both_ways(edges)]
    state = State(rules, [Update(True, link) for link in links])
    sn(state)
    start, kept = sum(state.sent[key] for key in abroad), list(state.view.elements())
    cut = both_ways(rng.sample(edges, 1))
    state.waiting.update([Update(False, Tuple(("link", pair))) for pair in cut])
    sn(state)
    members = sum(len(each.used) + len(each.endless) for each in kept)
    return Exhaustive(nodes, start, sum(state.sent[key] for key in abroad) - start, len(kept), members)


def _goes_abroad(rule: LocalRule, program: LocatedProgram) -> bool:
    location = program.places[rule.head.relation].location
    return location is not None and rule.head.args[location] != rule.at
