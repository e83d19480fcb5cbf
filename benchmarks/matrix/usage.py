"""What processes of the matrix took, and how tables show it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FIRST = "tidelog"
"""The engine whose seconds those of peers are multiples of."""


@dataclass(frozen=True)
class Usage:
    """What the process of an evaluation took: CPU and wall seconds, the most memory in bytes; and the sizes that it
    found, without any if it failed or was killed."""

    cpu: float
    wall: float
    peak: int
    sizes: Mapping[str, int]


def median(runs: Sequence[Usage]) -> Usage:
    """Return the medians of runs, at least one; no sizes if they do not agree."""
    cpu, wall, peak = (statistics.median(each) for each in zip(*((x.cpu, x.wall, x.peak) for x in runs), strict=True))
    return Usage(cpu, wall, int(peak), runs[0].sizes if all(x.sizes == runs[0].sizes for x in runs) else {})


def agree(line: Mapping[str, Usage]) -> bool:
    """Return True if all engines found the same sizes."""
    found = [usage.sizes for usage in line.values()]
    return all(sizes and sizes == found[0] for sizes in found)


def cell(line: Mapping[str, Usage], name: str) -> str:
    """Return seconds, megabytes, and for a peer the ratio."""
    if name not in line:
        return "-"
    usage = line[name]
    if not usage.sizes:
        return f"stopped at {usage.wall:.0f} s; {usage.peak >> 20:,}"
    shown = f"{usage.cpu:.2f}; {usage.peak >> 20:,}"
    return f"{shown} ({usage.cpu / line[FIRST].cpu:.2f} x)" if FIRST in line and not name.startswith(FIRST) else shown
