"""Targets for regular paths, compared with measurements.

Ratios compare CPU seconds of one and the same process; the bounds of closures are wall seconds and peaks of processes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.findings import Judged

Found = Mapping[int, Mapping[str, Any]]
"""By the number of a query, what `measure` says of it."""

SHARE, OF_SHARE = 0.05, 0.5
MANY_NODES, OF_EDGE = 100_000, 0.02
PEERS = ("duckdb", "nemo")


def of_workload(found: Mapping[int, Mapping[str, Mapping[str, Any]]]) -> Iterator[Judged]:
    """Yield for each peer the geometric mean of the ratios."""
    for peer in PEERS:
        ratios = [ratio for row in found.values() if (ratio := compared(row, peer)) is not None]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            yield Judged(f"CPU seconds of {peer}'s, geometric mean of {len(ratios)}", mean, 1, "x")


def compared(row: Mapping[str, Mapping[str, Any]], peer: str) -> float | None:
    """Return the ratio of tidelog's CPU seconds to the peer's for a query; a peer stopped for time counts with the time
    that it had. Return None if tidelog was stopped, or the peer for its memory."""
    ours, other = row["tidelog"], row.get(peer, {})
    if "stopped" in ours or "cpu" not in other:
        return None
    return float(ours["cpu"] / other["cpu"])


def of_updates(name: str, nodes: int | None, found: Found) -> Iterator[Judged]:
    """Yield targets for inserted symbols, and for single edges if there are many nodes."""
    done = [row for row in found.values() if "stopped" not in row]
    batches = [batch for row in done for batch in row["batches"] if batch["share"] == SHARE]
    if batches:
        ivm, fvm = averages(batches, "insert")
        yield Judged(f"{name}: {SHARE:.0%} of the symbols inserted, of FVM", ivm / fvm, OF_SHARE, "x")
    if nodes is None or nodes >= MANY_NODES:
        for kind in ("delete", "insert"):
            ratios = [row["edges"][kind]["cpu"] / row["whole"]["cpu"] for row in done if kind in row["edges"]]
            if ratios:
                yield Judged(f"{name}: {kind} an edge, of FVM, median query", statistics.median(ratios), OF_EDGE, "x")


def averages(batches: Sequence[Mapping[str, Any]], what: str) -> tuple[float, float]:
    """Return the average CPU seconds of maintenance and of full materialization."""
    ivm = statistics.fmean(batch[what]["cpu"] for batch in batches)
    return ivm, statistics.fmean(batch[what]["fvm"]["cpu"] for batch in batches)


def of_closures(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Judged]:
    """Yield each bound on a closure that has a figure."""
    for case, figure, what, bound, unit in (
        ("compressed", "wall", "closure of CA-HepTh", 1, "s"),
        ("compressed", "peak", "closure of CA-HepTh, peak", 0.5, "GB"),
        ("read out", "wall", "closure of CA-HepTh as Arrow", 6, "s"),
        ("read out", "peak", "closure of CA-HepTh as Arrow, peak", 2, "GB"),
        ("edges", "delete", "CA-HepTh: delete an edge, median", 0.2, "s"),
        ("joined by rules", "wall", "CA-HepTh joined by rules", 1.1, "s"),
        ("joined by rules", "peak", "CA-HepTh joined by rules, peak", 0.5, "GB"),
        ("edges, joined by rules", "delete", "CA-HepTh joined by rules: delete an edge, median", 0.2, "s"),
        ("edges, joined by rules", "insert", "CA-HepTh joined by rules: insert an edge, median", 0.2, "s"),
        ("RS1, n = 400", "wall", "RS1 on DS1, n = 400", 0.3, "s"),
    ):
        if case in found:
            yield Judged(what, found[case][figure] / (1e9 if unit == "GB" else 1), bound, unit)
    for name in ("RS2", "RS3"):
        if name in found:
            ratio = found[name]["cpu"] / found[f"{name} without recognition"]["cpu"]
            yield Judged(f"{name}, w = 200, of that without recognition", ratio, 0.5, "x")
