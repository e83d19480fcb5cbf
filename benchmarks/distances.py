"""Shortest distances from one source on a random graph, from scratch and after changes, beside SciPy's Dijkstra and
DuckDB's recursive query with keys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pyarrow as pa

from benchmarks import peers
from benchmarks.evaluate import changing, evaluate, inserting
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.common.arrays import Words
from tidelog.database.database import Database

DISTANCES = """
.decl e(x: number, y: number, w: number)
.decl dist(x: number, d: number) min(d)
dist(0, 0).
dist(y, d + w) :- dist(x, d), e(x, y, w).
"""
_KEYED = """
WITH RECURSIVE dist(x, d) USING KEY (x) AS (
  SELECT 0, 0
  UNION
  SELECT e.y, min(dist.d + e.w)
  FROM dist JOIN e ON dist.x = e.x LEFT JOIN recurring.dist AS known ON known.x = e.y
  WHERE known.d IS NULL OR dist.d + e.w < known.d GROUP BY e.y)
SELECT count(*), sum(d) FROM dist
"""
CHANGES = 100
SMALL, LARGE = (100_000, 500_000), (1_000_000, 5_000_000)


def graph(nodes: int, edges: int) -> Words:
    """Return the edges of a random graph with lengths from 1 to 100, always the same one."""
    rng = numpy.random.default_rng(2)
    ends = rng.integers(0, nodes, (edges, 2))
    return numpy.column_stack([ends, rng.integers(1, 101, edges)]).astype(numpy.int64)


def reached(db: Database) -> dict[str, int]:
    """Return how many nodes the source reaches, and the sum of their distances."""
    words = db["dist"].words()
    return {"reached": len(words), "sum": int(words[:, 1].sum())}


def evaluation(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure all distances from scratch."""
    found = graph(nodes, edges)
    evaluate(DISTANCES, inserting({"e": found[:10]}), reached)  # compiles the kernels
    return measure(lambda: evaluate(DISTANCES, inserting({"e": found}), reached), runs)


def changes(nodes: int, edges: int) -> Measured:
    """Measure what it takes to follow an edge that goes and one that comes back, the median of several."""
    measured = changing(DISTANCES, "e", graph(nodes, edges), CHANGES)
    assert not measured.details["bootstraps"]
    return measured


def scipy_dijkstra(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure Dijkstra's algorithm of SciPy on the same edges, of which it keeps the shortest between two nodes."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    found = graph(nodes, edges)

    def once() -> Run:
        with Stopwatch() as watch:
            order = numpy.lexsort((found[:, 2], found[:, 1], found[:, 0]))
            rows = found[order]
            first = numpy.ones(len(rows), bool)
            first[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
            rows = rows[first]
            matrix = csr_array((rows[:, 2].astype(float), (rows[:, 0], rows[:, 1])), shape=(nodes, nodes))
            distances = dijkstra(matrix, indices=0)
        near = distances[numpy.isfinite(distances)]
        return Run({"reached": len(near), "sum": int(near.sum())}, watch.wall, watch.cpu)

    return measure(once, runs)


def duckdb_distances(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the same by DuckDB, which keeps one row for each node."""
    found = pa.table(dict(zip("xyw", graph(nodes, edges).T, strict=True)))
    return peers.duckdb_query(_KEYED, {"e": found}, ["reached", "sum"], runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield a graph of a hundred thousand nodes; with `full`, of a million."""
    for nodes, edges in (SMALL, LARGE) if options.full else (SMALL,):
        others = {
            "scipy": in_child(scipy_dijkstra, nodes, edges, options.runs),
            "duckdb": in_child(duckdb_distances, nodes, edges, options.runs),
        }
        measured = in_child(evaluation, nodes, edges, options.runs)
        name = f"{nodes / 1e6:g} M nodes, {edges / 1e6:g} M edges"
        target = Target("seconds", 2.0 * nodes / LARGE[0])
        yield Line("distances", name, measured, others["scipy"].sizes, (target,), others)
        followed = in_child(changes, nodes, edges)
        yield Line("distances", f"{name}, an edge goes or comes", followed, {}, (Target("seconds", 0.005),))
