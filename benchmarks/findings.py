"""Targets with the figures that a run found, and the JSON document of a run; all benchmarks share them."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT


@dataclass(frozen=True)
class Judged:
    """A target: `found` is at most `bound`; the unit is "s", "MB", "GB" or "x", which is a ratio."""

    what: str
    found: float
    bound: float
    unit: str

    @property
    def met(self) -> bool:
        return self.found <= self.bound

    def as_json(self) -> dict[str, Any]:
        """Return the target for the JSON document."""
        return {**asdict(self), "met": self.met}


def promises(judged: Sequence[Judged]) -> str:
    """Return a table for the terminal: each target with the figure found."""
    lines = [f"{'target':68}{'found':>12}{'at most':>12}  met"]
    for one in judged:
        found, bound = (_figure(figure, one.unit) for figure in (one.found, one.bound))
        lines.append(f"{one.what:68}{found:>12}{bound:>12}  {'yes' if one.met else 'NO'}")
    return "\n".join(lines)


def _figure(figure: float, unit: str) -> str:
    return f"{1e3 * figure:,.2f} ms" if unit == "s" and figure < 1 else f"{figure:,.3f} {unit}"


def table(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return a table as `benchmarks.published` expects it, but for its origin, which `write` adds."""
    return {"columns": [{"title": title} for title in titles], "rows": rows}


def targets(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the table of targets that a run publishes, with four significant digits."""
    rows = [[one.what, _cell(one.found, one.unit), _cell(one.bound, one.unit), one.met] for one in judged]
    return table(("case", "found", "at most", "met"), rows)


def _cell(figure: float, unit: str) -> Any:
    small = {"s": "ms", "GB": "MB"}.get(unit)
    if small and figure < 1:
        figure, unit = 1e3 * figure, small
    short = float(f"{figure:.4g}")
    return short if unit == "x" else {unit: short}


def write(path: Path, found: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the figures of a run as JSON with time and machine, and the tables that it publishes with their origin."""
    when, load = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.getloadavg()[0]
    origin: dict[str, Any] = {
        "command": shlex.join(["python", *sys.orig_argv[1:]]),
        "machine": f"{os.cpu_count()} processors, load {load:.1f}",
        "when": when[:10],
        "commit": _commit(),
    }
    document = {
        "when": when,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load": load,
        **found,
        "tables": {name: {**origin, **published} for name, published in tables.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def _commit() -> str | None:
    """Return the commit of the checkout, marked if files differ from it; None outside of a repository."""
    words = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
