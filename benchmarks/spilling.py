"""Recursions whose tables take four times the memory that they may have, so that they lie in files, beside the same
ones in memory. The target is ten times the seconds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy

import tidelog
from benchmarks.evaluate import warm_up
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.storage.room import resident

CLOSURE = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""
SAME_GENERATION = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(p, x), e(p, y).
t(x, y) :- e(a, x), t(a, b), e(b, y).
"""
PROGRAMS = {"closure": (CLOSURE, 8_000, 12_000), "same generation": (SAME_GENERATION, 12_000, 15_000)}
"""The programs, with the nodes and edges of the random graphs that they read."""
_TIMES = 4


def evaluation(program: str, nodes: int, edges: int, memory: int | None) -> Measured:
    """Evaluate a program over a random graph: in memory, or with so many bytes for its tables and a folder for
    files."""
    warm_up()
    _once(program, 50, 80, memory)  # compiles the kernels
    return measure(lambda: _once(program, nodes, edges, memory), 1)


def _once(program: str, nodes: int, edges: int, memory: int | None) -> Run:
    db = tidelog.connect()
    db.options(closures=False, threads=1)
    db.load(program)
    db.insert("e", numpy.random.default_rng(1).integers(0, nodes, (edges, 2)))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        if memory is not None:
            db.options(memory=resident() + memory, spill=folder)
        with Stopwatch() as watch:
            db.commit()
        kept = db.stats()["memory"]
        details = {
            "table_mb": (kept["rows"] + kept["indexes"]) / 1e6,
            "files_mb": kept["files"] / 1e6,
            "ns_per_tuple": watch.wall / len(db["t"]) * 1e9,
        }
        return Run({"t": len(db["t"])}, watch.wall, watch.cpu, details)


def lines(options: Options) -> Iterator[Line]:
    """Yield a transitive closure, and a program of the same generation."""
    for name, (program, nodes, edges) in PROGRAMS.items():
        inside = in_child(evaluation, program, nodes, edges, None)
        budget = int(inside.details["table_mb"] * 1e6 / _TIMES)
        measured = in_child(evaluation, program, nodes, edges, budget)
        what = f"{name}, {inside.sizes['t']:,} tuples, a quarter of the memory"
        yield Line(
            "spilling", what, measured, inside.sizes, (Target("seconds", 10 * inside.wall),), {"in memory": inside}
        )
