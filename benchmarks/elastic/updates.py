"""Facts deleted and inserted again: random sets of 10 to 100,000 facts, against evaluation from scratch."""

from __future__ import annotations

import statistics
from typing import Any

import numpy

from benchmarks.elastic.workloads import Facts, sample, sizes, workload
from benchmarks.evaluate import warm_up
from benchmarks.harness import BenchmarkError, Stopwatch
from tidelog.database.database import Database

SETS = {10: 50, 100: 5, 1_000: 5, 10_000: 5, 100_000: 5}
QUICK = {10: 50, 100: 5, 1_000: 5, 10_000: 2, 100_000: 1}
_IDLE = 1_000


def experiment(name: str, folder: str, sets: dict[int, int], strategy: str, seed: int) -> dict[str, Any]:
    """Evaluate from scratch, then per size (`sets`: size -> number of sets) delete and insert; `epochs` has each."""
    warm_up()
    work = workload(name, folder)
    random = numpy.random.default_rng(seed)
    db = work.database()
    with Stopwatch() as scratch:
        db.commit()
    before = sizes(db)
    if any(before[view] != size for view, size in work.sizes.items()):
        raise BenchmarkError(f"{name} has {before} from scratch, published are {work.sizes}")
    db.options(strategy=strategy)
    epochs = []
    for size, times in sets.items():
        for _ in range(times):
            chosen = sample(work.facts, int(size), random)
            for kind in ("delete", "insert"):
                epochs.append({"size": int(size), "kind": kind} | epoch(db, kind, chosen))
            if sizes(db) != before:
                raise BenchmarkError(f"{name}: after {size} facts went and came, sizes are {sizes(db)}, not {before}")
    return {
        "name": name,
        "facts": sum(map(len, work.facts.values())),
        "derived": sum(before[name] for name in derived_by(db)),
        "scratch": scratch.wall,
        "scratch_cpu": scratch.cpu,
        "idle": idle(db),
        "epochs": epochs,
    }


def derived_by(db: Database) -> set[str]:
    """Return the names of the relations that rules derive."""
    return {head.relation for rule in db.program.rules for head in rule.heads}


def epoch(db: Database, kind: str, facts: Facts) -> dict[str, Any]:
    """Delete or insert `facts` in one epoch. The time includes the encoding of the facts."""
    with Stopwatch() as watch:
        for name, words in facts.items():
            getattr(db, kind)(name, words)
        report = db.commit().report
    return {
        "seconds": watch.wall,
        "cpu": watch.cpu,
        "impact": report.impact,
        "bootstraps": report.bootstraps,
        "updates": report.updates,
    }


def idle(db: Database) -> float:
    """Return the seconds of an epoch that changes nothing, by the engine's own clock; the median of many."""
    return statistics.median(db.commit().report.seconds for _ in range(_IDLE))
