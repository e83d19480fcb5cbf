"""Triangles of a graph with a hub. No order of the atoms alone is good for it: each meets the square of the edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from benchmarks.evaluate import counting, evaluate, inserting
from benchmarks.harness import Line, Measured, Options, Target, in_child, measure
from tidelog.common.arrays import Words

TRIANGLES = """
.decl arc(x: number, y: number)
.decl triangle(x: number, y: number, z: number)
triangle(x, y, z) :- arc(x, y), arc(y, z), arc(x, z).
"""
SPOKES = 1_000_000


def hub(spokes: int) -> Words:
    """Return edges from node 0 to all others and back, and from each to the next."""
    others = numpy.arange(1, spokes + 1)
    zeros = numpy.zeros_like(others)
    pairs = (zeros, others), (others, zeros), (others, others + 1)
    return numpy.concatenate([numpy.column_stack(pair) for pair in pairs]).astype(numpy.int64)


def evaluation(spokes: int, runs: int | None) -> Measured:
    """Measure all triangles from scratch."""
    edges = hub(spokes)
    evaluate(TRIANGLES, inserting({"arc": edges[:10]}), counting(["triangle"]))  # compiles the kernels
    return measure(lambda: evaluate(TRIANGLES, inserting({"arc": edges}), counting(["triangle"])), runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield triangles around a hub."""
    measured = in_child(evaluation, SPOKES, options.runs)
    target = Target("seconds", 1.5)
    yield Line("cycles", "triangles, a hub of 1 M", measured, {"triangle": 3 * SPOKES - 3}, (target,))
