"""Constructs that the checker rewrites, on nodes: inline relations, equivalence relations and witnesses."""

from __future__ import annotations

import tidelog

PROGRAM = """
.decl link(@s: symbol, d: symbol)
.decl cost(@s: symbol, d: symbol, c: number)
.decl step(@s: symbol, d: symbol) inline
near: step(@s, d) :- link(@s, d).
.decl reach(@s: symbol, d: symbol)
r1: reach(@s, d) :- step(@s, d).
r2: reach(@s, d) :- link(@s, z), reach(@z, d).
.decl same(@s: symbol, d: symbol) eqrel
r3: same(@s, d) :- link(@s, d).
.decl cheapest(@s: symbol, d: symbol)
r4: cheapest(@s, d) :- link(@s, _), 0 < min c : { cost(@s, d, c) }.
"""


def pairs(*names: str) -> set[tuple[str, str]]:
    return {(x, y) for each in names for x in each for y in each}


def test_nodes_follow_their_facts_and_rules() -> None:
    network = tidelog.network.Simulation(PROGRAM, seed=3, loss=0.2, duplicates=0.2)
    network.insert("link", [("a", "b"), ("b", "c"), ("d", "d")])
    network.insert("cost", [("a", "x", 3), ("a", "y", 2), ("a", "z", 2), ("c", "x", 1)])
    network.run()
    assert set(network["reach"]) == {("a", "b"), ("a", "c"), ("b", "c"), ("d", "d")}
    assert set(network["same"]) == pairs("abc", "d")
    assert set(network["cheapest"]) == {("a", "y"), ("a", "z")}
    network.delete("link", [("b", "c")])
    network.delete("cost", [("a", "y", 2), ("a", "z", 2)])
    network.run()
    assert set(network["reach"]) == {("a", "b"), ("d", "d")}
    assert set(network["same"]) == pairs("ab", "d")
    assert set(network["cheapest"]) == {("a", "x")}
    network.rules.add("back: step(@d, s) :- link(@s, d).")
    network.run()
    assert set(network["reach"]) == {("a", "b"), ("b", "a"), ("a", "a"), ("d", "d")}
    network.rules.remove("near")
    network.run()
    assert set(network["reach"]) == {("a", "a"), ("b", "a"), ("d", "d")}
