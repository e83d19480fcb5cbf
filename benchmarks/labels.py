"""Components of a random graph by the least label, beside SciPy's components and DuckDB's recursive query with keys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pyarrow as pa

from benchmarks import peers
from benchmarks.equivalence import EDGES, NODES, components, graph
from benchmarks.evaluate import evaluate, inserting
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.database.database import Database

LABELS = """
.decl e(x: number, y: number)
.decl n(x: number)
.decl label(x: number, l: number) min(l)
label(x, x) :- n(x).
label(y, l) :- label(x, l), e(x, y).
label(x, l) :- label(y, l), e(x, y).
"""
KEYED = """
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


def evaluation(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the least labels."""
    found, numbers = graph(nodes, edges), numpy.arange(nodes)[:, None]
    evaluate(LABELS, inserting({"e": found[:10], "n": numbers[:10]}), labels)  # compiles the kernels
    return measure(lambda: evaluate(LABELS, inserting({"e": found, "n": numbers}), labels), runs)


def scipy_components(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the connected components of SciPy."""
    found = graph(nodes, edges)

    def once() -> Run:
        with Stopwatch() as watch:
            number, _ = components(found, nodes)
        return Run({"components": number}, watch.wall, watch.cpu)

    return measure(once, runs)


def duckdb_labels(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the same by DuckDB, which keeps one row for each node."""
    tables = {
        "e": pa.table(dict(zip("xy", graph(nodes, edges).T, strict=True))),
        "n": pa.table({"x": numpy.arange(nodes)}),
    }
    return peers.duckdb_query(KEYED, tables, ["components"], runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield the graph with a million nodes."""
    others = {
        "scipy": in_child(scipy_components, NODES, EDGES, options.runs),
        "duckdb": in_child(duckdb_labels, NODES, EDGES, options.runs),
    }
    measured = in_child(evaluation, NODES, EDGES, options.runs)
    yield Line("labels", "1 M nodes, 5 M edges", measured, others["scipy"].sizes, (Target("seconds", 2.0),), others)
