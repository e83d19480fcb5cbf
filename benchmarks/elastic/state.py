"""The price of the state that allows updates: the same program with and without it.

With `maintain` False the engine counts nothing and knows no births; it only evaluates. With the state, ten sets of ten
facts are also deleted and inserted again, to include all that updates add to the state.
"""

from __future__ import annotations

from typing import Any

import numpy

from benchmarks.elastic.updates import epoch
from benchmarks.elastic.workloads import sample, workload
from benchmarks.evaluate import warm_up
from benchmarks.harness import Stopwatch, peak

_SETS, _SIZE = 10, 10


def experiment(name: str, folder: str, maintain: bool, seed: int) -> dict[str, Any]:
    """Return seconds of the first epoch, the most bytes held until then (`first`) and in all (`peak`)."""
    warm_up()
    work = workload(name, folder)
    random = numpy.random.default_rng(seed)
    db = work.database()
    db.options(maintain=maintain)
    before = peak()
    with Stopwatch() as scratch:
        db.commit()
    first = peak()
    for _ in range(_SETS if maintain else 0):
        chosen = sample(work.facts, _SIZE, random)
        for kind in ("delete", "insert"):
            epoch(db, kind, chosen)
    return {
        "maintain": maintain,
        "seconds": scratch.wall,
        "cpu": scratch.cpu,
        "before": before,
        "first": first,
        "peak": peak(),
    }
