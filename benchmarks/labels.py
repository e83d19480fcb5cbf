"""Components of a random graph by the least label, beside SciPy's components and DuckDB's recursive query with keys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pyarrow as pa

from benchmarks import peers
from benchmarks.equivalence import EDGES, NODES, graph
from benchmarks.evaluate import evaluate, inserting
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.database import Database

LABELS = """
.decl e(x: number, y: number)
.decl n(x: number)
.decl label(x: number, l: number) min(l)
label(x, x) :- n(x).
label(y, l) :- label(x, l), e(x, y).
label(x, l) :- label(y, l), e(x, y).
"""
_KEYED = """
WITH RECURSIVE label(x, l) USING KEY (x) AS (
  SELECT x, x FROM n
  UNION
  SELECT e.y, min(label.l)
  FROM label JOIN (SELECT x, y FROM e UNION ALL SELECT y, x FROM e) AS e ON label.x = e.x
  JOIN recurring.label AS known ON known.x = e.y
  WHERE label.l < known.l GROUP BY e.y)
SELECT count(DISTINCT l) FROM label
"""


def labels(db: Database) -> dict[str, int]:
    """Return the number of labels, one for each component."""
    return {"components": len(numpy.unique(db["label"].words()[:, 1]))}


def evaluation(runs: int | None) -> Measured:
    """Measure the least labels."""
    edges, nodes = graph(NODES, EDGES), numpy.arange(NODES)[:, None]
    evaluate(LABELS, inserting({"e": edges[:10], "n": nodes[:10]}), labels)  # compiles the kernels
    return measure(lambda: evaluate(LABELS, inserting({"e": edges, "n": nodes}), labels), runs)


def scipy_components(runs: int | None) -> Measured:
    """Measure the connected components of SciPy."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    edges = graph(NODES, EDGES)

    def once() -> Run:
        with Stopwatch() as watch:
            ones = numpy.ones(len(edges), numpy.int8)
            matrix = coo_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(NODES, NODES))
            number, _ = connected_components(matrix, directed=False)
        return Run({"components": int(number)}, watch.wall, watch.cpu)

    return measure(once, runs)


def duckdb_labels(runs: int | None) -> Measured:
    """Measure the same by DuckDB, which keeps one row for each node."""
    edges = pa.table(dict(zip("xy", graph(NODES, EDGES).T, strict=True)))
    return peers.duckdb_query(_KEYED, {"e": edges, "n": pa.table({"x": numpy.arange(NODES)})}, ["components"], runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield the graph with a million nodes."""
    others = {
        "scipy": in_child(scipy_components, options.runs),
        "duckdb": in_child(duckdb_labels, options.runs),
    }
    measured = in_child(evaluation, options.runs)
    yield Line("labels", "1 M nodes, 5 M edges", measured, others["scipy"].sizes, (Target("seconds", 2.0),), others)
