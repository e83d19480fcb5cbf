"""Networks to try: classic protocols, random located programs, and a trial of either under every adversity.

A trial is decided by its seed. It changes facts and rules at random while packets are lost, repeated, reordered and
nodes stop and start, lets the network come to rest, and compares it with what one database makes of the same program.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import tidelog
from tidelog.errors import ProgramError
from tidelog.language import check, read
from tidelog.network import Node, SimulatedNetwork, Simulation, localize
from tidelog.network.simulation import SCHEDULES

REACHABILITY = """
.decl link(@x: symbol, y: symbol)
.decl reachable(@x: symbol, y: symbol)
r1: reachable(@s, d) :- link(@s, d).
r2: reachable(@s, d) :- link(@s, z), reachable(@z, d).
"""
NON_LINEAR = REACHABILITY.replace("link(@s, z), reachable(@z, d)", "reachable(@s, z), reachable(@z, d)")
CHEAPEST = """
.decl link(@x: symbol, y: symbol, c: number)
.decl cost(@x: symbol, y: symbol, c: number)
.decl best(@x: symbol, y: symbol, c: number)
.decl hop(@x: symbol, y: symbol, z: symbol)
c1: cost(@s, d, c) :- link(@s, d, c).
c2: cost(@s, d, c + k) :- link(@s, z, c), best(@z, d, k), s != d, c + k < 9.
c3: best(@s, d, c) :- cost(@s, d, _), c = min k : { cost(s, d, k) }.
"""
BOUNDED = """
.decl link(@x: symbol, y: symbol, c: number)
.decl cost(@x: symbol, y: symbol, c: number)
.decl best(@x: symbol, y: symbol, c: number)
.decl hop(@x: symbol, y: symbol, z: symbol)
c1: cost(@s, d, c) :- link(@s, d, c).
c2: cost(@s, d, c + k) :- link(@s, z, c), cost(@z, d, k), s != d, c + k < 6.
c3: best(@s, d, c) :- cost(@s, d, _), c = min k : { cost(s, d, k) }.
c4: hop(@s, d, z) :- best(@s, d, c + k), link(@s, z, c), best(@z, d, k).
"""
CYCLE = """
.decl a(@x: symbol, y: symbol)
.decl p(@x: symbol, y: symbol)
.decl q(@x: symbol, y: symbol)
p1: p(@y, x) :- a(@x, y).
q1: q(@y, x) :- p(@x, y).
p2: p(@y, x) :- q(@x, y).
"""
ODD_EVEN = """
.decl link(@x: symbol, y: symbol)
.decl odd(@x: symbol, y: symbol)
.decl even(@x: symbol, y: symbol)
o1: odd(@s, d) :- link(@s, d).
o2: odd(@s, d) :- link(@s, z), even(@z, d).
e1: even(@s, d) :- link(@s, z), odd(@z, d).
"""
SAME_GENERATION = (
    """
.decl parent(@x: symbol, y: symbol)
.decl same(@x: symbol, y: symbol)
s1: same(@x, y) :- parent(@x, p), parent(@y, p).
s2: same(@x, y) :- parent(@x, p), same(@p, q), parent(@y, q).
""".replace(
        "s1: same(@x, y) :- parent(@x, p), parent(@y, p).", "s1: same(@x, y) :- parent(@x, p), child(@p, y)."
    ).replace("same(@p, q), parent(@y, q)", "same(@p, q), child(@q, y)")
    + """
.decl child(@x: symbol, y: symbol)
c1: child(@p, x) :- parent(@x, p).
"""
)
NEGATION = """
.decl link(@x: symbol, y: symbol)
.decl wanted(@x: symbol, y: symbol)
.decl reachable(@x: symbol, y: symbol)
.decl missing(@x: symbol, y: symbol)
.decl reported(@x: symbol, y: symbol)
.decl calm(@x: symbol)
r1: reachable(@s, d) :- link(@s, d).
r2: reachable(@s, d) :- link(@s, z), reachable(@z, d).
u1: missing(@s, d) :- wanted(@s, d), !reachable(@s, d).
u2: reported(@d, s) :- missing(@s, d).
u3: reported(@e, s) :- reported(@d, s), link(@d, e), !missing(@d, e).
u4: calm(@s) :- link(@s, _), !missing(@s, _).
"""
COUNTS = """
.decl link(@x: symbol, y: symbol)
.decl reachable(@x: symbol, y: symbol)
.decl degree(@x: symbol, n: number)
.decl incoming(@x: symbol, n: number)
.decl hub(@x: symbol)
r1: reachable(@s, d) :- link(@s, d).
r2: reachable(@s, d) :- reachable(@s, z), link(@z, d).
n1: degree(@s, n) :- link(@s, _), n = count : { reachable(s, _) }.
n2: incoming(@d, n) :- link(_, d), n = count : { link(_, d) }.
n3: hub(@s) :- degree(@s, n), incoming(@s, m), n + m > 4.
"""


LARGEST_WITHOUT_ROOTS = 12
"""Nodes up to which trials do without roots: 26 whose `reachable` joined itself were busy after 145,000 offers."""


LARGEST_NON_LINEAR = 20
"""Nodes up to which `reachable` joins itself in trials. 26 come to rest as well, after 47,000 offers with losses, but
every restart then writes and reads 7,600 derivations."""


@dataclass(frozen=True)
class Case:
    """A program, the columns of its base relations ("n" a node, "w" a weight), and rules that may come and go."""

    text: str
    base: dict[str, str]
    spare: tuple[str, ...] = ()

    @property
    def views(self) -> list[str]:
        return [name for name in check(read(self.text)).relations if name not in self.base]


LINKS = {"link": "nn"}
CASES = {
    "reachability": Case(REACHABILITY, LINKS, ("x1: reachable(@d, s) :- link(@s, d).",)),
    "non-linear": Case(
        NON_LINEAR, LINKS, ("x1: reachable(@d, s) :- link(@s, d).", "x2: reachable(@s, s) :- link(@s, _).")
    ),
    "bounded": Case(BOUNDED, {"link": "nnw"}, ("x1: cost(@d, s, c) :- link(@s, d, c).",)),
    "cycle": Case(CYCLE, {"a": "nn"}, ("x1: q(@x, y) :- a(@x, y).",)),
    "odd and even": Case(ODD_EVEN, LINKS, ("x1: even(@s, s) :- link(@s, _).",)),
    "same generation": Case(SAME_GENERATION, {"parent": "nn"}, ("x1: same(@x, x) :- parent(@x, _).",)),
    "negation": Case(NEGATION, {"link": "nn", "wanted": "nn"}, ("x1: missing(@s, s) :- link(@s, _), !link(@s, s).",)),
    "counts": Case(COUNTS, LINKS, ("x1: reachable(@d, s) :- link(@s, d).",)),
}


def random_case(rng: random.Random) -> Case:
    """A located program that can be made local: two base relations, up to four derived ones, recursion, negation."""
    while True:
        base = {"b0": "nn", "b1": "nn", "b2": "n"}
        arity = {**{name: len(columns) for name, columns in base.items()}, "d0": 2, "d1": 2, "d2": 1, "d3": 2}
        places = {name: rng.randrange(width) for name, width in arity.items()}
        lines = [
            f".decl {name}({', '.join(('@' if i == places[name] else '') + f'c{i}: symbol' for i in range(width))})"
            for name, width in arity.items()
        ]
        rules = [f"g{number}: {_random_rule(rng, arity)}" for number in range(rng.randrange(4, 9))]
        cut = rng.randrange(2) + 1
        case = Case("\n".join([*lines, *rules[:-cut]]), base, tuple(rules[-cut:]))
        try:
            localize(check(read("\n".join([*lines, *rules]))))
            localize(check(read(case.text)))
        except ProgramError:
            continue
        return case


def _random_rule(rng: random.Random, arity: dict[str, int]) -> str:
    names = "xyzw"[: rng.randrange(2, 5)]

    def atom(name: str, known: str = names) -> str:
        return f"{name}({', '.join(rng.choice(known) for _ in range(arity[name]))})"

    head = rng.choice(["d0", "d1", "d2", "d3"])
    body = [atom(rng.choice([*arity, "b0", "b1"])) for _ in range(rng.choice([1, 2, 2, 2, 3]))]
    bound = "".join(sorted({letter for each in body for letter in each.split("(")[1] if letter in names}))
    if rng.random() < 0.25:
        body.append(f"!{atom(rng.choice(list(arity)), bound)}")
    if len(bound) > 1 and rng.random() < 0.25:
        body.append(f"{bound[0]} != {bound[1]}")
    return f"{atom(head, bound)} :- {', '.join(body)}."


@dataclass
class World:
    """The database that gets the same changes beside the network."""

    case: Case
    facts: dict[str, dict[tuple[object, ...], None]] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    functors: Any = ()

    def views(self) -> dict[str, set[tuple[object, ...]]]:
        """The centralised answer."""
        lines = [line for line in self.case.text.splitlines() if ":-" not in line]
        database = tidelog.connect(functors=self.functors)
        database.load("\n".join([*lines, *self.rules.values()]))
        for name, rows in self.facts.items():
            database.insert(name, list(rows))
        database.commit()
        return {name: set(database[name]) for name in self.case.views}


def trial(seed: int, nodes: int, changes: int, case: Case | None = None, **options: object) -> Simulation:
    """A network that has come to rest after random changes. AssertionError where it differs from one database."""
    rng = random.Random(f"trial {seed}")
    if case is None:
        classic = [each for name, each in CASES.items() if nodes <= LARGEST_NON_LINEAR or name != "non-linear"]
        case = rng.choice(classic) if rng.random() < 0.5 else random_case(rng)
    settings = {
        "loss": rng.choice([0.0, 0.1, 0.3]),
        "duplicates": rng.choice([0.0, 0.2, 0.5]),
        "restarts": rng.random() < 0.5,
        "schedule": rng.choice(SCHEDULES),
        "sticky": rng.random() < 0.3,
        "roots": rng.random() < 0.7 or nodes > LARGEST_WITHOUT_ROOTS,
        **options,
    }
    losses = settings.pop("losses", rng.random() < 0.3)
    simulation = Simulation(case.text, seed, **settings)  # type: ignore[arg-type]
    rules = {line.split(":")[0]: line for line in case.text.splitlines() if ":-" in line}
    world = World(case, {name: {} for name in case.base}, rules, options.get("functors", ()))
    names = [f"n{number}" for number in range(nodes)]
    share = min(1.0, 2.2 / nodes) if nodes > 6 else 0.6  # of all pairs: the networks are sparse
    most = max(2, round(share * nodes * (nodes - 1) / len(case.base)))
    for _ in range(changes):
        _change(rng, simulation, world, names, most)
        if losses and rng.random() < 0.03:
            _lose(rng, simulation, world)
        simulation.run(rng.choice([0, 0, 1, 3, 10, 40]))
        if rng.random() < 0.03:
            simulation.cut(names[: nodes // 2], names[nodes // 2 :])
        elif rng.random() < 0.2:
            simulation.heal()
    simulation.heal()
    simulation.run()
    assert simulation.quiet
    wanted = world.views()
    for name, rows in wanted.items():
        found = simulation[name]
        assert found == rows, f"{name}: missing {sorted(rows - found)[:3]}, wrong {sorted(found - rows)[:3]}"
    assert_nothing_left(simulation)
    return simulation


def _change(rng: random.Random, simulation: Simulation, world: World, names: list[str], most: int) -> None:
    """One random change of a fact or, rarely, of a rule."""
    if rng.random() < 0.04:
        spare = {rule.split(":")[0]: rule for rule in (*world.case.spare, *world.rules.values())}
        present = [name for name in spare if name in world.rules]
        absent = [name for name in spare if name not in world.rules]
        if absent and rng.random() < 0.6:
            name = rng.choice(absent)
            world.rules[name] = spare[name]
            simulation.rules.add(spare[name])
        elif present:
            name = rng.choice(present)
            del world.rules[name]
            simulation.rules.remove(name)
        return
    relation = rng.choice(list(world.case.base))
    facts = world.facts[relation]
    if facts and (len(facts) >= most or rng.random() < 0.4):
        row = rng.choice(list(facts))
        del facts[row]
        simulation.delete(relation, [row])
    else:
        kinds = world.case.base[relation]
        row = tuple(rng.choice(names) if kind == "n" else rng.randrange(1, 4) for kind in kinds)
        facts[row] = None
        simulation.insert(relation, [row])


def _lose(rng: random.Random, simulation: Simulation, world: World) -> None:
    """A node loses its store, with its facts, and begins again; not where nobody else has heard of a rule."""
    if not simulation.nodes:
        return
    name = rng.choice(list(simulation.nodes))
    others = [node.state.book.changes for other, node in simulation.nodes.items() if other != name]
    if all(change in (each.get(key) for each in others) for key, change in simulation.book.changes.items()):
        simulation.lose(name)
        for relation, rows in world.facts.items():
            place = simulation.book.program.places[relation].location
            assert place is not None
            world.facts[relation] = {row: None for row in rows if row[place] != name}


def assert_nothing_left(simulation: Simulation) -> None:
    """At rest, nodes keep nothing about tuples that do not hold."""
    owned = {fact: node.name for node in simulation.nodes.values() for fact in node.state.chosen}
    for node in simulation.nodes.values():
        machine = node.state
        assert all(fact in machine.chosen for fact in machine.offers)
        assert all(fact[0] in machine.book.program.places for fact in machine.chosen)
        for name, peer in machine.peers.items():
            assert peer.quiet
            assert not peer.numbers
            assert not peer.withdrawn
            assert not peer.graves, f"{node.name} keeps {len(peer.graves)} tombstones of {name}"
            assert all(owned[fact] == name for fact in peer.said)


def exchange(wires: SimulatedNetwork, *nodes: Node) -> None:
    """Deliver until nothing is on its way."""
    while not wires.empty:
        wires.deliver()
        for node in nodes:
            node.turn()


def couple(text: str, **functors: Any) -> tuple[SimulatedNetwork, Node, Node]:
    """Two nodes that know each other, each with the functions that stand under its name, `a` or `b`."""
    wires = SimulatedNetwork(seed=1)
    one, two = (Node(name, text, wires.transport(name), peers="ab", functors=functors.get(name, ())) for name in "ab")
    return wires, one, two
