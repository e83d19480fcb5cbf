"""One edge at the far end of a chain, a grid or a tree: the same work, however large the graph is.

Reached from the root is what the rules derive. In the chain and the tree the edge is the last one to a leaf, in the
grid one of the two into the last corner; it goes and comes again.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy

import tidelog
from benchmarks.elastic.updates import epoch
from benchmarks.elastic.workloads import Words
from benchmarks.evaluate import warm_up
from benchmarks.harness import BenchmarkError

SIZES = (1_000, 10_000, 100_000)
FULL = (*SIZES, 1_000_000)
SHAPES = ("chain", "grid", "tree")
PROGRAM = """
.decl edge(x: number, y: number)
.decl root(x: number)
.decl reached(x: number)
reached(x) :- root(x).
reached(y) :- reached(x), edge(x, y).
"""
_TIMES = 101
_WARM = 20


def edges(shape: str, nodes: int) -> Words:
    """The edges of a graph of about `nodes` nodes from 0; the last one is at the far end."""
    numbers = numpy.arange(1, nodes)
    if shape == "chain":
        return numpy.column_stack([numbers - 1, numbers])
    if shape == "tree":
        return numpy.column_stack([(numbers - 1) // 2, numbers])
    side = int(nodes**0.5)
    cells = numpy.arange(side * side)
    right = cells[cells % side < side - 1]
    down = cells[: side * (side - 1)]
    return numpy.concatenate([numpy.column_stack([right, right + 1]), numpy.column_stack([down, down + side])])


def experiment(shape: str, nodes: int) -> dict[str, Any]:
    """Median seconds of the deletion and of the insertion of the last edge."""
    warm_up()
    graph = edges(shape, nodes)
    db = tidelog.connect()
    db.load(PROGRAM)
    db.insert("edge", graph)
    db.insert("root", [(0,)])
    db.commit()
    db.options(strategy="update")
    size = len(db["reached"])
    taken: dict[str, list[float]] = {"delete": [], "insert": []}
    for _ in range(_WARM + _TIMES):
        for kind, times in taken.items():
            times.append(epoch(db, kind, {"edge": graph[-1:]})["seconds"])
    if len(db["reached"]) != size:
        raise BenchmarkError(f"{shape} of {nodes}: {len(db['reached'])} reached, not {size}")
    medians = {kind: statistics.median(times[_WARM:]) for kind, times in taken.items()}
    return {"shape": shape, "nodes": nodes, **medians}
