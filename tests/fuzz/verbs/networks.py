"""Simulated networks, and nodes of one, in memory and with a store."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzz.verbs.databases import angry, half
from tests.fuzz.verbs.kind import Kind, Known
from tidelog import network
from tidelog.errors import UsageError
from tidelog.network import Node, Simulation
from tidelog.network.limits import is_name

_PROGRAM = """
.type Pair = [a: number, b: symbol]  .type Tree = Leaf { x: number } | Fork { left: Tree, right: Tree } | None {}
.decl link(@x: symbol, y: symbol)  .decl reach(@x: symbol, y: symbol)  .decl cost(@x: symbol, n: number, f: float)
.decl pairs(@x: symbol, p: Pair, u: unsigned)  .decl trees(@x: symbol, t: Tree)  .decl back(@x: symbol, y: symbol)
.decl many(@x: symbol, n: number)  .decl known(x: symbol)  .decl lone(@x: symbol, y: symbol)
.functor half(x: number): number  .functor angry(x: number): number
r1: reach(@s, d) :- link(@s, d).  r2: reach(@s, d) :- link(@s, z), reach(@z, d).
b: back(@y, x) :- link(@x, y), known(y).  m: many(@x, n) :- link(@x, _), n = count : { link(x, _) }.
h: many(@x, @half(n)) :- cost(@x, n, _).  known("a"). known("b").  l: lone(@x, y) :- link(@x, y), !back(@x, y).
link("a", "b"). link("b", "c"). cost("a", 1, 2.5).
"""
_BEGIN = """
db = Simulation(PROGRAM, functors=FUNCTIONS, **options); db.run(2000)
wires = network.SimulatedNetwork(1)
node, other = opened("a", wires, store), opened("b", wires, None)
node.insert("link", [("a", "b")]); turns(wires, node, other)
proof = node.explain("reach", ("a", "b"), seconds=0.1)
"""
_FUNCTIONS = (half, angry)


def opened(name: str, wires: network.SimulatedNetwork, store: str | None, **options: Any) -> Node:
    """Return a node of a network of two."""
    given: dict[str, Any] = {"peers": ["a", "b"], "functors": _FUNCTIONS, **options}
    return Node(name, _PROGRAM, wires.transport(name), store=store, **given)


def turns(wires: network.SimulatedNetwork, *nodes: Node) -> None:
    """Deliver some packets."""
    for _ in range(200):
        if wires.empty:
            return
        wires.deliver()
        for node in nodes:
            node.turn()


def settled(sim: Simulation) -> None:
    """Let a network come to rest, and assert that it has the views of one database, if that can evaluate the rules."""
    sim.heal()
    sim.run(20_000)
    if sim.book.changes.keys() - {key for node in sim.nodes.values() for key in node.state.book.changes}:
        return  # A node was lost with a change of rules that no other one had got.
    try:
        db = sim.database()
    except UsageError:  # A functor fails for a tuple that a node leaves out.
        return
    found = {name: {row for row in db[name] if is_name(row[0])} for name in db.relations if name != "known"}
    wrong = [name for name, rows in found.items() if sim.quiet and rows != sim[name]]
    assert not wrong, f"other views than those of a database: {wrong}"


def _views(place: Simulation | Node) -> dict[str, Any]:
    program = place.book.program if isinstance(place, Simulation) else place.state.book.program
    names = [name for name, each in program.places.items() if not each.auxiliary]
    rows = {name: sorted(map(repr, place[name])) for name in names}
    facts = {name: sorted(map(repr, place.asserted(name))) for name in names}
    return {**rows, "facts": facts}


def _state(known: Known) -> dict[str, Any]:
    sim: Simulation = known["db"]
    found = {"db": _views(sim), "nodes": [*sim.nodes], "program": str(sim.program), "packets": sim.network.on_the_way}
    for name in ("node", "other"):
        found |= {name: _views(known[name]), f"rules of {name}": known[name].state.book.rules}
    return found  # without the packets on the way: peers hear of a change that fails, and of its end


def _lasting(known: Known) -> dict[str, Any] | None:
    return None if known["store"] is None else _views(known["node"])


NETWORKS = Kind(
    name="networks",
    relations={
        "link": "x node y symbol", "reach": "x node y symbol", "cost": "x node n number f float",
        "pairs": "x node p Pair u unsigned", "trees": "x node t Tree", "back": "x node y symbol",
        "many": "x node n number", "known": "x node", "lone": "x node y symbol", "nope": "x node",
    },
    names={
        "Simulation": Simulation, "Node": Node, "network": network, "PROGRAM": _PROGRAM, "FUNCTIONS": _FUNCTIONS,
        **{each.__name__: each for each in (opened, turns, settled, *_FUNCTIONS)},
    },
    begin=_BEGIN,
    state=_state,
    changing=re.compile(
        r"\b(insert|delete|rules|cut|heal|restart|lose|run|node|turn|turns|explain|introduce|resend"
        r"|network_quiet|ask|pursue|opened|post|deliver|close|Simulation|settled)\b"
    ),
    asking=re.compile(r"\bexplain\("),
    check="settled(db)",
    reopen="node.close(); node = opened('a', wires, store)",
    lasting=_lasting,
)  # fmt: skip
