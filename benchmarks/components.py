"""Least members and sizes of the components of a random graph, as aggregates over its closure, beside SciPy's connected
components and DuckDB's recursive query with keys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pyarrow as pa

from benchmarks import peers
from benchmarks.equivalence import components, graph
from benchmarks.evaluate import changing, evaluate, inserting
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from benchmarks.labels import KEYED
from tidelog.database.database import Database

LEAST = """
.decl e(x: number, y: number)
.decl con(x: number, y: number)
.decl c(x: number, c: number)
con(x, y) :- e(x, y).
con(x, y) :- con(y, x).
con(x, z) :- con(x, y), con(y, z).
c(x, c) :- con(x, _), c = min y : { con(x, y) }.
"""
SIZES = """
.decl size(x: number, n: number)
size(x, n) :- con(x, _), n = count : { con(x, _) }.
"""
NODES, EDGES = 500_000, 1_000_000
CHANGES = 40


def least(db: Database) -> dict[str, int]:
    """Return the number of nodes with edges, and of components."""
    words = db["c"].words()
    return {"nodes": len(words), "components": len(numpy.unique(words[:, 1]))}


def with_pairs(db: Database) -> dict[str, int]:
    """Return the number of pairs besides, as the sum of all sizes."""
    return {**least(db), "pairs": int(db["size"].words()[:, 1].sum())}


def evaluation(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the least member of each component."""
    found = graph(nodes, edges)
    evaluate(LEAST, inserting({"e": found[:10]}), least)  # compiles the kernels
    return measure(lambda: evaluate(LEAST, inserting({"e": found}), least), runs)


def with_sizes(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the least member and the size of each component."""
    found = graph(nodes, edges)
    evaluate(LEAST + SIZES, inserting({"e": found[:10]}), with_pairs)
    return measure(lambda: evaluate(LEAST + SIZES, inserting({"e": found}), with_pairs), runs)


def changes(nodes: int, edges: int) -> Measured:
    """Measure what it takes to follow an edge that goes and one that comes back, the median of several."""
    return changing(LEAST, "e", graph(nodes, edges), CHANGES)


def scipy_components(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the connected components of SciPy, with the least member of each."""
    found = graph(nodes, edges)

    def once() -> Run:
        with Stopwatch() as watch:
            number, own = components(found, nodes)
            first = numpy.full(number, nodes)
            numpy.minimum.at(first, own, numpy.arange(nodes))
            there = numpy.unique(found)
            labels = first[own[there]]
        members = numpy.bincount(labels).astype(numpy.int64)
        sizes = {"nodes": len(there), "components": len(numpy.unique(labels)), "pairs": int((members**2).sum())}
        return Run(sizes, watch.wall, watch.cpu)

    return measure(once, runs)


def duckdb_components(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the same by DuckDB, which passes labels on, of nodes with edges."""
    found = graph(nodes, edges)
    tables = {"e": pa.table(dict(zip("xy", found.T, strict=True))), "n": pa.table({"x": numpy.unique(found)})}
    sizes = ", sizes AS (SELECT count(*) AS size FROM label GROUP BY l)"
    select = f"{sizes} SELECT sum(size)::BIGINT, count(*), sum(size * size)::BIGINT FROM sizes"
    query = KEYED.replace("SELECT count(DISTINCT l) FROM label", select)
    return peers.duckdb_query(query, tables, ["nodes", "components", "pairs"], runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield a graph with a million edges: from scratch, and after changes."""
    others = {
        "scipy": in_child(scipy_components, NODES, EDGES, options.runs),
        "duckdb": in_child(duckdb_components, NODES, EDGES, options.runs),
    }
    sizes = others["scipy"].sizes
    name = f"{NODES / 1e6:g} M nodes, {EDGES / 1e6:g} M edges"
    expected = {key: sizes[key] for key in ("nodes", "components")}
    measured = in_child(evaluation, NODES, EDGES, options.runs)
    yield Line("components", f"{name}, least members", measured, expected, (Target("seconds", 0.6),), others)
    measured = in_child(with_sizes, NODES, EDGES, options.runs)
    yield Line("components", f"{name}, least members and sizes", measured, sizes, (), others)
    yield Line("components", f"{name}, an edge goes or comes", in_child(changes, NODES, EDGES), {}, ())
