"""GALEN with changes of ten facts, and the tables of GALEN on the pages.

`python -m benchmarks --only galen --only galen_changes --full` measures what these tables show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy

from benchmarks import findings, galen
from benchmarks.elastic.updates import epoch
from benchmarks.elastic.workloads import sample, workload
from benchmarks.evaluate import warm_up
from benchmarks.harness import Line, Measured, Options, Run, in_child, measure

FACTS, SETS = 10, 40
CASE, WHAT = "galen_changes", f"{FACTS} facts that go or come back"


def changes(folder: str, sets: int | None) -> Measured:
    """Measure random sets of facts that go, and come back: the median change. The first set makes the indexes that
    updates need, and is not measured."""
    warm_up()
    work = workload("galen", folder)
    db = work.database()
    db.options(threads=1)
    db.commit()
    random = numpy.random.default_rng(7)
    chosen = (sample(work.facts, FACTS, random) for _ in range(1 + (sets or SETS)))
    steps = chain.from_iterable((("delete", facts), ("insert", facts)) for facts in chosen)

    def once() -> Run:
        found = epoch(db, *next(steps))
        return Run({}, found["seconds"], found["cpu"])

    once()
    once()
    measured = measure(once, 2 * (sets or SETS))
    db.close()
    return measured


def lines(options: Options) -> Iterator[Line]:
    """Yield the changes as one line."""
    yield Line(CASE, WHAT, in_child(changes, str(options.data), options.runs))


def tables(lines: Sequence[Line]) -> dict[str, Any]:
    """Return the tables that a run publishes: `galen` beside Nemo, and the parts of its time, if it has their lines."""
    found = {line.what: line for line in lines if line.case in ("galen", CASE)}
    if not {galen.SCRATCH, galen.CHECK, WHAT} <= found.keys() or "nemo" not in found[galen.SCRATCH].peers:
        return {}
    scratch, changed = found[galen.SCRATCH], found[WHAT].measured
    rows = [
        ["tidelog, 24 million tuples from scratch, with all that maintenance needs", _seconds(scratch.measured.cpu)],
        ["Nemo, the same rules in the same run", _seconds(scratch.peers["nemo"].cpu)],
        [
            f"tidelog, a change of ten facts after that, median of {changed.runs}",
            {"ms": round(1e3 * changed.cpu, 1)},
        ],
    ]
    parts = _parts(scratch.measured.details, found[galen.CHECK].measured)
    return {
        "galen": findings.table(("GALEN, on one thread", "CPU time"), rows),
        "galen_parts": findings.table(("part of GALEN from scratch", "figure"), parts),
    }


def _parts(scratch: Mapping[str, float], check: Measured) -> list[list[Any]]:
    return [
        ["loading", _seconds(scratch["load"])],
        ["storing the facts", _seconds(scratch["store"])],
        ["fixpoint", _seconds(scratch["fixpoint"])],
        ["growing, part of the fixpoint", _seconds(scratch["growing"])],
        ["indexes, estimated, part of the fixpoint", _seconds(scratch["reindexing"])],
        ["check of the views, wall time relative to the evaluation", round(check.wall / check.details["bootstrap"], 2)],
        [
            "check of the views, CPU time relative to the evaluation",
            round(check.cpu / check.details["bootstrap_cpu"], 2),
        ],
        ["check of the views, memory relative to the evaluation", round(check.details["memory_ratio"], 2)],
    ]


def _seconds(seconds: float) -> dict[str, float]:
    """Return seconds with three significant digits."""
    return {"s": float(f"{seconds:.3g}")}
