"""Growth while a session maintains a view: rounds, the plan of a round, files, memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from benchmarks.evaluate import NON_LINEAR
from benchmarks.spark.programs import evaluate, loaded
from tidelog.spark.cluster.engine import ClusterEngine
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.rows import driver_change

Words = NDArray[np.int64]
EPOCHS = 50
"""Epochs of a span; a log of messages is written anew after 40."""


@dataclass(frozen=True)
class Span:
    """Epochs that by turns delete ten facts and insert them again.

    It has the different numbers of rounds that they took, and sizes of plans in bytes; the most files of the state
    after an epoch, and bytes in these; and the bytes of memory of the partitions with their host, and of the driver's
    Python, at the end.
    """

    until: int
    rounds: tuple[int, ...]
    plans: tuple[int, ...]
    files: int
    stored: int
    partitions: int
    driver: int


def growth(session: SparkSession, facts: Mapping[str, Words], spans: int = 4) -> list[Span]:
    """Measure `spans` spans of small changes of the non-linear closure, exchanged."""
    workspace = loaded(NON_LINEAR)
    engine = ClusterEngine(session, workspace.dictionary, limits=PlacementLimits(closures=0, gather=0))
    ten, none = facts["e"][:10], facts["e"][:0]
    found = []
    try:
        evaluate(engine, workspace, {name: driver_change(rows, rows[:0]) for name, rows in facts.items()})
        for span in range(1, spans + 1):
            rounds, plans = set[int](), set[int]()
            files, stored = list[int](), list[int]()
            for number in range(EPOCHS):
                change = driver_change(ten, none) if number % 2 else driver_change(none, ten)
                evaluate(engine, workspace, {"e": change})
                sizes = {file.name: file.stat().st_size for file in Path(engine.folder.address).iterdir()}
                rounds.add(engine.explanation.rounds)
                plans.add(sizes[engine.committed.plan])
                files.append(len(sizes))
                stored.append(sum(sizes.values()))
            partitions = sum(map(_memory, _hosts(str(session.sparkContext.applicationId))))
            driver, different = _memory(Path("/proc/self")), (tuple(sorted(rounds)), tuple(sorted(plans)))
            found.append(Span(span * EPOCHS, *different, max(files), max(stored), partitions, driver))
        return found
    finally:
        engine.close()


def _hosts(application: str) -> list[Path]:
    """Return the processes of the partitions of a Spark application, and of their host."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"processes.host\0{application}".encode() in (process / "cmdline").read_bytes():
                found.append(process)
    return found


def _memory(process: Path) -> int:
    """Return the bytes of memory of a process that are in no file, and its part of those that it shares with others."""
    lines = (process / "smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:"))


HEAD = f"{'epochs':>8}{'rounds':>10}{'plan':>8}{'files':>8}{'state':>10}{'partitions':>12}{'driver':>10}"


def line(found: Span) -> str:
    """Return a line of the table; sizes in MB, except for the plan's, which is in bytes."""
    rounds, plans = ("/".join(map(str, each)) for each in (found.rounds, found.plans))
    megabytes = [f"{size / 1e6:,.1f}" for size in (found.stored, found.partitions, found.driver)]
    return (
        f"{found.until:>8}{rounds:>10}{plans:>8}{found.files:>8}{megabytes[0]:>10}{megabytes[1]:>12}{megabytes[2]:>10}"
    )
