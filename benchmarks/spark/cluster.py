"""The cluster engine beside the embedded one: bootstraps, small updates, rounds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from benchmarks.evaluate import CLOSURE
from benchmarks.spark.programs import evaluate, loaded
from tidelog.connect import connect
from tidelog.spark.cluster.engine import ClusterEngine
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.rows import driver_change

Words = NDArray[np.int64]
PER_ROUND = 0.5
"""Seconds that a round may take beside what the kernels need."""


@dataclass(frozen=True)
class Bootstrap:
    """Seconds of the embedded engine and of the cluster engine, the same relation's sizes, the iterations of semi-naive
    evaluation, and the rounds of the cluster engine."""

    name: str
    way: str
    embedded: float
    cluster: float
    rows: int
    iterations: int
    rounds: int
    shuffled: int
    updates: tuple[float, ...]
    update_rounds: tuple[int, ...]

    @property
    def ratio(self) -> float:
        """Return the cluster engine's time without the allowance for rounds, divided by the embedded engine's."""
        return max(0.0, self.cluster - PER_ROUND * self.rounds) / self.embedded


def embedded(text: str, facts: Mapping[str, Words], view: str, written: bool) -> tuple[float, int, int]:
    """Return seconds of the embedded engine, rows of a view, and iterations of semi-naive evaluation, in which closures
    take part only if their pairs are `written`."""
    db = connect()
    db.options(closures=not written)
    db.load(text)
    for name, rows in facts.items():
        db.insert_words(name, rows)
    started = time.perf_counter()
    db.commit()
    seconds, rows_of_view = time.perf_counter() - started, len(db[view])
    iterations = db.stats()["rounds"]
    db.close()
    return seconds, rows_of_view, iterations


def bootstrap(
    session: SparkSession,
    name: str,
    text: str,
    facts: Mapping[str, Words],
    view: str,
    limits: PlacementLimits | None = None,
    updates: int = 3,
) -> Bootstrap:
    """Run both engines on one program; then `updates` epochs that each delete any ten facts, and insert them again. If
    `limits` make the cluster engine write the pairs of closures, the embedded engine does that, too."""
    alone, expected, iterations = embedded(text, facts, view, limits is not None and limits.closures == 0)
    if not iterations:
        _, _, iterations = embedded(text, facts, view, True)
    workspace = loaded(text)
    engine = ClusterEngine(session, workspace.dictionary, limits=limits)
    try:
        started = time.perf_counter()
        evaluate(engine, workspace, {each: driver_change(rows, rows[:0]) for each, rows in facts.items()})
        together = time.perf_counter() - started
        if engine.size(view) != expected:
            raise AssertionError(f"{name}: {engine.size(view):,} rows of {view}, not {expected:,}")
        first = engine.explanation
        ways = {relation: way for relations, way in first.nodes for relation in relations}
        seconds, rounds = [], []
        changing, rows = next(iter(facts.items()))
        rows = np.random.default_rng(1).permutation(rows)
        for number in range(updates):
            here, there = rows[10 * number : 10 * number + 10], rows[10 * number - 10 : 10 * number]
            started = time.perf_counter()
            evaluate(engine, workspace, {changing: driver_change(there, here)})
            seconds.append(time.perf_counter() - started)
            rounds.append(engine.explanation.rounds)
        return Bootstrap(
            name,
            ways.get(view, "split"),
            alone,
            together,
            expected,
            iterations,
            first.rounds,
            first.bytes,
            tuple(seconds),
            tuple(rounds),
        )
    finally:
        engine.close()


def warm(session: SparkSession) -> float:
    """Start everything that a first epoch starts: Python workers, the host, the kernels; return the seconds of that."""
    edges = np.column_stack([np.arange(20), np.arange(1, 21)])
    started = time.perf_counter()
    for limits in (None, PlacementLimits(closures=0)):
        bootstrap(session, "warm", CLOSURE, {"e": edges}, "t", limits, updates=2)
    return time.perf_counter() - started


HEAD = (
    f"{'program':26}{'way':12}{'embedded':>10}{'cluster':>10}{'iterations':>12}{'rounds':>8}{'ratio':>7}{'rows':>13}"
    "  updates"
)


def row(found: Bootstrap) -> str:
    """Return a line of the table; the iterations are those of semi-naive evaluation."""
    updates = ", ".join(f"{each:.2f} s" for each in found.updates)
    return (
        f"{found.name:26}{found.way:12}{found.embedded:>8.2f} s{found.cluster:>8.2f} s{found.iterations:>12}"
        f"{found.rounds:>8}{found.ratio:>7.1f}{found.rows:>13,}  {updates}"
    )
