"""GALEN, a medical ontology, from scratch: 211 million derivations of 24 million tuples."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import tidelog
from benchmarks import data, peers
from benchmarks.evaluate import first_evaluation, inserting, parts, warm_up
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure, peak
from tidelog.database.database import Database
from tidelog.storage.catalog import Index

PROGRAM = """
.decl p(x: number, z: number)
.decl q(x: number, y: number, z: number)
.decl r(r: number, p: number, e: number)
.decl c(y: number, z: number, w: number)
.decl u(r: number, z: number, w: number)
.decl s(r: number, p: number)
g1: p(x, z) :- p(x, y), p(y, z).
g2: q(x, r, z) :- p(x, y), q(y, r, z).
g3: p(x, z) :- p(y, w), u(w, r, z), q(x, r, y).
g4: p(x, z) :- c(y, w, z), p(x, w), p(x, y).
g5: q(x, q2, z) :- q(x, r, z), s(r, q2).
g6: q(x, e, o) :- q(x, y, z), r(y, u, e), q(z, u, o).
"""
COLUMNS = {"p": "xz", "q": "xyz", "r": "rpe", "c": "yzw", "u": "rzw", "s": "rp"}
SIZES = {"p": 7_560_179, "q": 16_595_494}
SCRATCH, CHECK = "from scratch, load and commit", "check of the views, on all cores"


def tables(folder: Path) -> dict[str, Any]:
    """Return the six relations."""
    return {name: data.numbers(folder / f"galen/{name}.txt.gz", ",", columns) for name, columns in COLUMNS.items()}


def evaluation(folder: str, runs: int | None, threads: int = 1) -> Measured:
    """Measure GALEN with tidelog. The seconds are those of loading and commit, since Nemo's contain both."""
    warm_up()
    return measure(lambda: _once(Path(folder), threads), runs or 1)


def _once(folder: Path, threads: int) -> Run:
    db = tidelog.connect()
    db.options(threads=threads)
    with Stopwatch() as load:
        db.load(PROGRAM)
        inserting(tables(folder))(db)
    with Stopwatch() as commit:
        change = db.commit()
    highest = peak()
    sizes = {name: len(db[name]) for name in SIZES}
    stats = db.stats()
    memory = stats["memory"]["rows"] + stats["memory"]["indexes"]
    details = {
        "load": load.wall,
        **parts(change),
        "reindexing": _reindexing(db),
        "bytes_per_tuple": memory / sum(stats["relations"].values()),
        "rounds": float(stats["rounds"]),
    }
    db.close()
    return Run(sizes, load.wall + commit.wall, load.cpu + commit.cpu, details, highest)


def checking(folder: str, runs: int | None) -> Measured:
    """Measure the check of GALEN's views; the peak is that of evaluation and check."""
    warm_up()
    return measure(lambda: _checked(Path(folder)), runs or 1)


def _checked(folder: Path) -> Run:
    db = tidelog.connect()
    with Stopwatch() as bootstrap:
        db.load(PROGRAM)
        inserting(tables(folder))(db)
        db.commit()
    alone = peak()
    with Stopwatch() as check:
        db.check()
    details = {"bootstrap": bootstrap.wall, "bootstrap_cpu": bootstrap.cpu, "memory_ratio": peak() / alone}
    run = Run({name: len(db[name]) for name in SIZES}, check.wall, check.cpu, details)
    db.close()
    return run


def _reindexing(db: Database) -> float:
    """Return the seconds that building all indexes anew takes, an estimate of their part in the fix-point, which
    extends them round by round inside the kernel."""
    seconds = 0.0
    for stored in db.engine.views.values():
        for keys in stored.indexes:
            started = time.perf_counter()
            index = Index(stored.catalog, stored.number, stored.arity, keys)
            index.extend(stored.rows)
            seconds += time.perf_counter() - started
            del index
    return seconds


def lines(options: Options) -> Iterator[Line]:
    """Yield GALEN as a whole, and the compilation of the kernels, which happens once per machine."""
    with tempfile.TemporaryDirectory() as cache:
        cold = in_child(first_evaluation, cache=cache)
        yield Line("galen", "compile the kernels, once per machine", cold)
    others = {"nemo": in_child(peers.nemo_galen, str(options.data))} if options.full else {}
    measured = in_child(evaluation, str(options.data), options.runs)
    targets: tuple[Target, ...] = (Target("seconds", 25), Target("bytes", 2.06e9), Target("ratio", 6))
    yield Line("galen", SCRATCH, measured, SIZES, targets, others)
    two = in_child(evaluation, str(options.data), options.runs, 2)
    two = replace(two, details={**two.details, "speedup": measured.wall / two.wall})
    yield Line("galen", "from scratch, on two threads", two, SIZES)
    checked = in_child(checking, str(options.data), options.runs)
    targets = Target("seconds", checked.details["bootstrap"]), Target("bytes", 1.5 * measured.peak)
    yield Line("galen", CHECK, checked, SIZES, targets)
