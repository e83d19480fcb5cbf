"""What all benchmarks say in the same words: promises with what was found, and the JSON document of a run."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Judged:
    """A promise: `found` is at most `bound`; the unit is "s", "MB", "GB" or "x", which is a ratio."""

    what: str
    found: float
    bound: float
    unit: str

    @property
    def met(self) -> bool:
        return self.found <= self.bound

    def as_json(self) -> dict[str, Any]:
        """For the JSON document."""
        return {**asdict(self), "met": self.met}


def promises(judged: Sequence[Judged]) -> str:
    """A table: each promise with what was found."""
    lines = [f"{'target':68}{'found':>12}{'at most':>12}  met"]
    for one in judged:
        found, bound = (_figure(figure, one.unit) for figure in (one.found, one.bound))
        lines.append(f"{one.what:68}{found:>12}{bound:>12}  {'yes' if one.met else 'NO'}")
    return "\n".join(lines)


def _figure(figure: float, unit: str) -> str:
    return f"{1e3 * figure:,.2f} ms" if unit == "s" and figure < 1 else f"{figure:,.3f} {unit}"


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write what was found as JSON, with the time and the machine."""
    document = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        **found,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
