"""Targets, compared with measurements.

Times are judged by the CPU seconds of the process, as a busy machine stretches the others; ratios compare CPU seconds
of one and the same run.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.findings import Judged

WHOLE = 0.35
_BOUNDS = {("galen", 10_000): 0.2, ("galen", 100_000): 1.25, ("crdt", 10): 0.1, ("crdt", 100): 0.1}
_SMALL_MEDIAN = 0.010
_SMALL_WORST = 0.2
_IDLE = 0.0001
_STATE = 1.5
_SAME = 2.0


def of_updates(found: Mapping[str, Any]) -> Iterator[Judged]:
    """Yield the targets for updates of one program."""
    name = found["name"]
    groups = grouped(found["epochs"])
    for (size, kind), group in groups.items():
        cpu = [epoch["cpu"] for epoch in group]
        if name == "galen" and size == 10:
            yield Judged(f"galen, {kind} 10, median", statistics.median(cpu), _SMALL_MEDIAN, "s")
            yield Judged(f"galen, {kind} 10, worst of {len(cpu)}", max(cpu), _SMALL_WORST, "s")
        if (name, size) in _BOUNDS:
            # "Never above" is about the worst, "at most" about the median.
            figure = max(cpu) if size == 100_000 else statistics.median(cpu)
            bound = _BOUNDS[name, size]
            yield Judged(f"{name}, {kind} {size:,}, of scratch", figure / found["scratch_cpu"], bound, "x")
    yield Judged(f"{name}, an epoch that changes nothing", found["idle"], _IDLE, "s")


def of_epochs(name: str, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Judged]:
    """Yield the target for the thirteen epochs of one program, compared with a new database for each of them."""
    if "auto" in found and "fresh" in found:
        ratio = found["auto"]["cpu"] / found["fresh"]["cpu"]
        yield Judged(f"{name}, 13 epochs, of recomputing each", ratio, WHOLE, "x")


def of_state(name: str, without: Mapping[str, Any], kept: Mapping[str, Any]) -> Iterator[Judged]:
    """Yield the targets for the price of the state, after some changes."""
    yield Judged(f"{name}, CPU with the state for updates", kept["cpu"] / without["cpu"], _STATE, "x")
    yield Judged(f"{name}, memory with the state for updates", kept["peak"] / without["peak"], _STATE, "x")


def of_proportion(found: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    """Yield the target that the size of a graph, or of a group, does not count."""
    for shape in dict.fromkeys(row["shape"] for row in found):
        for kind in ("delete", "insert"):
            times = [row[kind] for row in found if row["shape"] == shape]
            yield Judged(f"{shape}, {kind} the last fact, slowest of fastest", max(times) / min(times), _SAME, "x")


def grouped(epochs: Sequence[Mapping[str, Any]]) -> dict[tuple[int, str], list[Mapping[str, Any]]]:
    """Return epochs by size and kind of change."""
    groups: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for epoch in epochs:
        groups.setdefault((epoch["size"], epoch["kind"]), []).append(epoch)
    return groups
