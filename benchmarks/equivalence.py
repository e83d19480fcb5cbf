"""Components of a random graph by an equivalence relation, beside SciPy's connected components."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from benchmarks.evaluate import counting, evaluate, inserting
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.common.arrays import Words

SAME = """
.decl e(x: number, y: number)
.decl same(x: number, y: number) eqrel
same(x, y) :- e(x, y).
"""
NODES, EDGES, PAIRS = 1_000_000, 5_000_000, 999_936_001_024


def graph(nodes: int, edges: int) -> Words:
    """Return the edges of a random graph, always the same one."""
    return numpy.random.default_rng(1).integers(0, nodes, (edges, 2)).astype(numpy.int64)


def evaluation(nodes: int, edges: int, runs: int | None) -> Measured:
    """Measure the components of a random graph."""
    found = graph(nodes, edges)
    evaluate(SAME, inserting({"e": found[:10]}), counting(["same"]))  # compiles the kernels
    return measure(lambda: evaluate(SAME, inserting({"e": found}), counting(["same"])), runs)


def components(edges: Words, nodes: int) -> tuple[int, Words]:
    """Return the number of components by SciPy, and for each node that of its own."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ones = numpy.ones(len(edges), numpy.int8)
    matrix = coo_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
    number, own = connected_components(matrix, directed=False)
    return int(number), own


def scipy_components(nodes: int, edges: int, runs: int | None) -> Measured:
    """Label the components of the same graph with SciPy, from the same array."""
    found = graph(nodes, edges)

    def once() -> Run:
        with Stopwatch() as watch:
            _, own = components(found, nodes)
        members = numpy.bincount(own[numpy.unique(found)])
        return Run({"same": int((members.astype(numpy.int64) ** 2).sum())}, watch.wall, watch.cpu)

    return measure(once, runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield the graph with a million nodes."""
    others = {"scipy": in_child(scipy_components, NODES, EDGES, options.runs)}
    measured = in_child(evaluation, NODES, EDGES, options.runs)
    yield Line("equivalence", "1 M nodes, 5 M edges", measured, {"same": PAIRS}, (Target("seconds", 1.5),), others)
