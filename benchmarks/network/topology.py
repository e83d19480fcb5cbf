"""Random topologies and the programs that run on them."""

from __future__ import annotations

import random

Pair = tuple[str, str]

LINEAR = """
.decl link(@x: symbol, y: symbol)
.decl reachable(@x: symbol, y: symbol)
r1: reachable(@s, d) :- link(@s, d).
r2: reachable(@s, d) :- link(@s, z), reachable(@z, d).
"""
NON_LINEAR = LINEAR.replace("link(@s, z), reachable(@z, d)", "reachable(@s, z), reachable(@z, d)")
PATH_VECTOR = """
.decl link(@x: symbol, y: symbol)
.decl path(@x: symbol, y: symbol, nodes: symbol, hops: number)
.decl best(@x: symbol, y: symbol, hops: number)
p1: path(@s, d, cat(" ", s, " ", d, " "), 1) :- link(@s, d), s != d.
p2: path(@s, d, cat(" ", s, p), h + 1) :- link(@s, z), path(@z, d, p, h), !contains(cat(" ", s, " "), p), h < 4.
b1: best(@s, d, h) :- path(@s, d, _, _), h = min k : { path(s, d, _, k) }.
"""


def topology(rng: random.Random, nodes: int) -> list[Pair]:
    """Return the edges of a random tree and half as many more: three links per node on average."""
    names = [f"n{number}" for number in range(nodes)]
    edges = {(names[rng.randrange(number)], names[number]) for number in range(1, nodes)}
    most = nodes * (nodes - 1) // 2
    while len(edges) < min(most, nodes - 1 + nodes // 2):
        a, b = sorted(rng.sample(range(nodes), 2))
        edges.add((names[a], names[b]))
    return sorted(edges)


def both_ways(edges: list[Pair]) -> list[Pair]:
    """Return a link in each direction."""
    return [link for a, b in edges for link in ((a, b), (b, a))]
