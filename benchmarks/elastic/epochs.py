"""Thirteen epochs: the initial one, six small changes, a large one, four small ones, a large one.

Small changes delete a set and insert it again; the large ones delete a large set and insert that. Every strategy has a
process of its own: "auto", "update" and "bootstrap" are those of `options`, "fresh" is a new database for each epoch,
which is what an engine without maintenance does.
"""

from __future__ import annotations

from typing import Any

import numpy

from benchmarks.elastic.updates import epoch
from benchmarks.elastic.workloads import sample, sizes, without, workload
from benchmarks.evaluate import warm_up
from benchmarks.harness import BenchmarkError, Stopwatch, peak
from tidelog.errors import LimitError

STRATEGIES = ("auto", "fresh", "bootstrap", "update")
SMALL = {"crdt": 10, "points_to": 10, "galen": 10}
LARGE = {"crdt": 10_000, "points_to": 10_000, "galen": 100_000}
_PATIENCE = 5
"""An update is given up when it takes this many times the evaluation from scratch, as the paper gives up in time."""


def experiment(name: str, folder: str, small: int, large: int, strategy: str, seed: int) -> dict[str, Any]:
    """Return the seconds of each epoch, None for one that was stopped, and the peak of memory in bytes."""
    warm_up()
    work = workload(name, folder)
    random = numpy.random.default_rng(seed)
    sets = [sample(work.facts, small, random) for _ in range(5)]
    big = sample(work.facts, large, random)
    changes = [(kind, chosen) for chosen in sets[:3] for kind in ("delete", "insert")]
    changes += [("delete", big)]
    still = without(work.facts, big)
    rest = [sample(still, small, random) for _ in range(2)]
    changes += [(kind, chosen) for chosen in rest for kind in ("delete", "insert")]
    changes += [("insert", big)]
    db = work.database()
    with Stopwatch() as first:
        db.commit()
    before = sizes(db)
    seconds: list[float | None] = [first.wall]
    cpu, initial, bootstraps = first.cpu, peak(), 1
    if strategy != "fresh":
        db.options(strategy=strategy, timeout=max(10, _PATIENCE * first.wall))
        for kind, chosen in changes:
            try:
                done = epoch(db, kind, chosen)
            except LimitError:
                seconds.append(None)
                break
            seconds.append(done["seconds"])
            cpu += done["cpu"]
            bootstraps += done["bootstraps"] > 0
    else:
        facts, full = work.facts, work.facts
        for kind, chosen in changes:
            db.close()
            full = still if chosen is big and kind == "delete" else full
            facts = without(full, chosen) if kind == "delete" and chosen is not big else full
            facts, full = (work.facts, work.facts) if chosen is big and kind == "insert" else (facts, full)
            db = work.database(facts)
            with Stopwatch() as again:
                db.commit()
            seconds.append(again.wall)
            cpu += again.cpu
            bootstraps += 1
    if None not in seconds and sizes(db) != before:
        raise BenchmarkError(f"{name}, {strategy}: sizes are {sizes(db)} after thirteen epochs, not {before}")
    return {
        "strategy": strategy,
        "small": small,
        "large": large,
        "seconds": seconds,
        "cpu": cpu,
        "bootstraps": bootstraps,
        "peak_initial": initial,
        "peak": peak(),
    }
