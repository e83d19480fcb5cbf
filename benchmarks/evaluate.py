"""One evaluation with tidelog, with its parts; all cases measure it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

import tidelog
from benchmarks.harness import Measured, Run, Stopwatch, measure
from tidelog.common.arrays import Words
from tidelog.database.database import Database
from tidelog.workspace.change import Change

CLOSURE = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""
NON_LINEAR = CLOSURE.replace("e(y, z)", "t(y, z)")


def evaluate(text: str, fill: Callable[[Database], None], sizes: Callable[[Database], Mapping[str, int]]) -> Run:
    """Load a program, `fill` the database and commit, in a new database, on one thread like the peers.

    The seconds are those of the commit: storing the facts, and the fix-point of all hyper-nodes. Details have the
    loading before it, these two parts, and the part of the fix-point that makes room.
    """
    db = tidelog.connect()
    db.options(threads=1)
    with Stopwatch() as load:
        db.load(text)
        fill(db)
    with Stopwatch() as commit:
        change = db.commit()
    run = Run(sizes(db), commit.wall, commit.cpu, {"load": load.wall, "load_cpu": load.cpu, **parts(change)})
    db.close()
    return run


def parts(change: Change) -> dict[str, float]:
    """Return the seconds of a commit by their use; `growing` is a part of `fixpoint`."""
    fixpoint = sum(node.seconds for node in change.report.nodes)
    return {"store": change.report.seconds - fixpoint, "fixpoint": fixpoint, "growing": change.report.growing}


def inserting(facts: Mapping[str, Any]) -> Callable[[Database], None]:
    """Return a function that fills a database with these tables."""

    def fill(db: Database) -> None:
        for name, data in facts.items():
            db.insert(name, data)

    return fill


def changing(text: str, name: str, rows: Words, count: int) -> Measured:
    """Measure what it takes to follow a row of a relation that goes, or comes back: the slower of the two, for `count`
    random rows. Details have the worst seconds, and how many hyper-nodes were bootstrapped in all."""
    db = tidelog.connect()
    db.options(threads=1)
    db.load(text)
    db.insert(name, rows)
    db.commit()
    some = iter(rows[numpy.random.default_rng(3).integers(0, len(rows), count + 2)])
    worst, bootstraps = 0.0, 0

    def once() -> Run:
        nonlocal worst, bootstraps
        row, seconds = next(some)[None, :], []
        for change in (db.delete, db.insert):
            change(name, row)
            with Stopwatch() as watch:
                report = db.commit().report
            bootstraps += report.bootstraps
            seconds.append((watch.wall, watch.cpu))
        worst = max(worst, *(wall for wall, _ in seconds))
        return Run({}, max(wall for wall, _ in seconds), max(cpu for _, cpu in seconds))

    once()
    worst, bootstraps = 0.0, 0
    measured = measure(once, count)
    return replace(measured, details={"worst": worst, "bootstraps": bootstraps})


def counting(names: Sequence[str]) -> Callable[[Database], dict[str, int]]:
    """Return a function that asks a database for the sizes of these relations."""
    return lambda db: {name: len(db[name]) for name in names}


def warm_up() -> None:
    """Have the kernels compiled, or read from the cache, by a program that needs them all."""
    _chain(60)


def first_evaluation() -> Measured:
    """Run a small evaluation in a process that has done nothing yet: with an empty cache, mostly compilation."""
    return measure(lambda: _chain(60), 1)


def _chain(n: int) -> Run:
    return evaluate(CLOSURE, inserting({"e": [(i, i + 1) for i in range(n)]}), counting(["t"]))
