"""One edge at the far end of a chain, a grid or a tree, one member of a group: the same work, whatever the size.

The rules derive from edges all nodes reached from the root. In the chain and the tree the edge is the last one to a
leaf, in the grid one of the two into the last corner; it is deleted and inserted again. So is a member of the one group
of an aggregate, for `min` and `max` the member that is the value.
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
OPERATIONS = ("count", "sum", "mean", "min", "max", "median")
PROGRAM = """
.decl edge(x: number, y: number)
.decl root(x: number)
.decl reached(x: number)
reached(x) :- root(x).
reached(y) :- reached(x), edge(x, y).
"""
GROUP = """
.decl of(group: number)
.decl member(group: number, value: number)
.decl result(group: number, value: {kind})
result(group, x) :- of(group), x = {op} {value} : {{ member(group, v) }}.
"""
_TIMES = 101
_WARM = 20


def edges(shape: str, nodes: int) -> Words:
    """Return the edges of a graph of about `nodes` nodes from 0; the last one is at the far end."""
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
    """Return median seconds of the deletion and of the insertion of the last edge."""
    return {"shape": shape, "nodes": nodes} | _there_and_back(PROGRAM, "root", "edge", edges(shape, nodes), "reached")


def group(op: str, members: int) -> dict[str, Any]:
    """Return the same for a member of a group."""
    values = numpy.random.default_rng(1).permutation(members)
    last = 0 if op == "min" else members - 1
    rows = numpy.column_stack([numpy.zeros(members, numpy.int64), numpy.append(values[values != last], last)])
    kind = "float" if op in ("mean", "median") else "number"
    program = GROUP.format(op=op, value="" if op == "count" else "v", kind=kind)
    return {"shape": op, "nodes": members} | _there_and_back(program, "of", "member", rows, "result")


def _there_and_back(program: str, single: str, name: str, rows: Words, view: str) -> dict[str, float]:
    """Return median seconds of the deletion and of the insertion of the last row of a relation; relation `single` has a
    0."""
    warm_up()
    db = tidelog.connect()
    db.load(program)
    db.insert(name, rows)
    db.insert(single, [(0,)])
    db.commit()
    db.options(strategy="update")
    before = numpy.unique(db[view].words(), axis=0)
    taken: dict[str, list[float]] = {"delete": [], "insert": []}
    for _ in range(_WARM + _TIMES):
        for kind, times in taken.items():
            times.append(epoch(db, kind, {name: rows[-1:]})["seconds"])
    if not numpy.array_equal(numpy.unique(db[view].words(), axis=0), before):
        raise BenchmarkError(f"{view} of {len(rows)} facts is not what it was")
    return {kind: statistics.median(times[_WARM:]) for kind, times in taken.items()}
