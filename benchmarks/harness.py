"""Runs, times and judges: the measurements of a process (`Measured`), a line of the table (`Line`), and the way from
the one to the other (`in_child`).

Times are wall seconds and, because machines are shared, CPU seconds (user and system) of the process, medians of
several runs. A size that is not the published one makes a line wrong, a target that is missed only makes it slow.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class BenchmarkError(Exception):
    """The error that a benchmark could not be run."""


@dataclass(frozen=True)
class Options:
    """The options of a run: the folder with the published data, slow parts too, a fixed number of runs."""

    data: Path | None = None
    full: bool = False
    runs: int | None = None


@dataclass(frozen=True)
class Run:
    """One run: sizes of relations, seconds, parts of them or other figures by name, and the most memory held in bytes,
    if that is not the peak of the process."""

    sizes: Mapping[str, int]
    wall: float
    cpu: float
    details: Mapping[str, float] = field(default_factory=dict)
    peak: int | None = None


@dataclass(frozen=True)
class Measured:
    """Several runs in one process: medians, and the most memory that the process held meanwhile, in bytes."""

    sizes: Mapping[str, int]
    wall: float
    cpu: float
    details: Mapping[str, float]
    runs: int
    peak: int


@dataclass(frozen=True)
class Target:
    """A bound on the `kind` of figure: "seconds" and "bytes" are at most `bound`, "ratio" at least."""

    kind: str
    bound: float

    def __str__(self) -> str:
        match self.kind:
            case "seconds":
                return f"< {self.bound:g} s"
            case "bytes":
                return f"< {self.bound / 1e9:g} GB"
            case _:
                return f"> {self.bound:g} x"


@dataclass(frozen=True)
class Line:
    """A line of the table: the figures of tidelog, and those of `peers` for the same in the same run."""

    case: str
    what: str
    measured: Measured
    expected: Mapping[str, int] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    peers: Mapping[str, Measured] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Return True if all sizes are the published ones, those of the peers as well."""
        return all(
            measured.sizes.get(name) == size
            for measured in (self.measured, *self.peers.values())
            for name, size in self.expected.items()
        )

    def ratio(self, peer: str) -> float:
        """Return the CPU seconds of the peer as a multiple of tidelog's, loading included on both sides."""
        return self.peers[peer].cpu / max(self.measured.cpu + self.measured.details.get("load_cpu", 0.0), 1e-9)

    @property
    def met(self) -> bool | None:
        """Return True if all targets are met; None without targets. A ratio that was not measured is no miss."""
        figures = {
            "seconds": [self.measured.wall],
            "bytes": [float(self.measured.peak)],
            "ratio": [-self.ratio(peer) for peer in self.peers],
        }
        bounds = [(t, -t.bound if t.kind == "ratio" else t.bound) for t in self.targets if figures[t.kind]]
        return all(figure <= bound for t, bound in bounds for figure in figures[t.kind]) if bounds else None

    def as_json(self) -> dict[str, Any]:
        """Return everything about the line, for the JSON document."""
        return {
            "case": self.case,
            "what": self.what,
            **asdict(self.measured),
            "expected": dict(self.expected),
            "exact": self.exact,
            "peers": {name: asdict(m) | {"ratio": self.ratio(name)} for name, m in self.peers.items()},
            "targets": [asdict(target) for target in self.targets],
            "met": self.met,
        }


def measure(once: Callable[[], Run], runs: int | None) -> Measured:
    """Call `once` as often as requested, or as often as its cost allows, and return medians."""
    done: list[Run] = []
    wanted = runs or 1
    while len(done) < wanted:
        gc.collect()
        _forget_peak()
        run = once()
        done.append(replace(run, peak=run.peak or peak()))
        wanted = runs or _runs_for(done[0].wall)
    sizes = {name for run in done for name in run.sizes if run.sizes[name] != done[0].sizes[name]}
    if sizes:
        raise BenchmarkError(f"sizes differ between runs: {', '.join(sorted(sizes))}")
    return Measured(
        done[0].sizes,
        statistics.median(run.wall for run in done),
        statistics.median(run.cpu for run in done),
        {name: statistics.median(run.details[name] for run in done) for name in done[0].details},
        len(done),
        max(run.peak or 0 for run in done),
    )


def _runs_for(seconds: float) -> int:
    return 7 if seconds < 1 else 3 if seconds < 8 else 1


@dataclass
class Stopwatch:
    """Wall and CPU seconds of a `with` block."""

    wall: float = 0.0
    cpu: float = 0.0

    def __enter__(self) -> Stopwatch:
        self._started = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._started[0]
        self.cpu = time.process_time() - self._started[1]


def peak() -> int:
    """Return the most memory that this process has held, in bytes.

    Read it from /proc if there is one: the figure of `getrusage` begins with that of the process that started this one.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def _forget_peak() -> None:
    """Let `peak` begin anew with the present memory, if the system can do that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def in_child(function: Callable[..., Measured], *arguments: Any, cache: str | None = None) -> Measured:
    """Run a function of a module of this package in a process of its own; `cache` is an empty folder for kernels.

    Arguments have to be JSON. Raise BenchmarkError with the output of the process if it fails.
    """
    name = f"{function.__module__}:{function.__name__}"
    environment = dict(os.environ)
    if cache is not None:
        for variable in ("NUMBA_CACHE_DIR", "TIDELOG_CACHE_DIR"):
            environment.pop(variable, None)
        environment["XDG_CACHE_HOME"] = cache
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.child", name, json.dumps(arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchmarkError(f"{name} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))
