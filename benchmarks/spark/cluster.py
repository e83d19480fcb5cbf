"""The cluster engine beside the embedded one: bootstraps, small updates, rounds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from tidelog.database import connect
from tidelog.spark.cluster import ClusterEngine
from tidelog.spark.cluster.localize import Limits
from tidelog.spark.embedded import Front
from tidelog.spark.engines import RowChange

Words = NDArray[np.int64]
PER_ROUND = 0.5
"""Seconds that a round may take beside what the kernels need."""


@dataclass(frozen=True)
class Bootstrap:
    """Seconds of the embedded engine and of the cluster engine, the same relation's sizes, and how the latter went."""

    name: str
    way: str
    embedded: float
    cluster: float
    rows: int
    rounds: int
    shuffled: int
    updates: tuple[float, ...]
    update_rounds: tuple[int, ...]

    @property
    def ratio(self) -> float:
        """The cluster engine's time without what rounds may cost, by the embedded engine's."""
        return max(0.0, self.cluster - PER_ROUND * self.rounds) / self.embedded


def embedded(text: str, facts: Mapping[str, Words], view: str) -> tuple[float, int]:
    """Seconds and rows of a view with the embedded engine."""
    db = connect()
    db.load(text)
    for name, rows in facts.items():
        db.insert_words(name, rows)
    started = time.perf_counter()
    db.commit()
    seconds, rows_of_view = time.perf_counter() - started, len(db[view])
    db.close()
    return seconds, rows_of_view


def bootstrap(
    session: SparkSession,
    name: str,
    text: str,
    facts: Mapping[str, Words],
    view: str,
    limits: Limits | None = None,
    updates: int = 3,
) -> Bootstrap:
    """Both engines on one program; then `updates` epochs that each take ten facts away and bring ten back."""
    alone, expected = embedded(text, facts, view)
    front = Front()
    front.add_program(text)
    engine = ClusterEngine(session, front.dictionary, limits=limits)
    draft = front.draft
    try:
        started = time.perf_counter()
        engine.epoch(draft, {each: RowChange(rows, rows[:0]) for each, rows in facts.items()}, {})
        together = time.perf_counter() - started
        if engine.size(view) != expected:
            raise AssertionError(f"{name}: {engine.size(view):,} rows of {view}, not {expected:,}")
        front.settle(draft)
        first = engine.explanation
        ways = {relation: way for relations, way in first.nodes for relation in relations}
        seconds, rounds = [], []
        changing, rows = next(iter(facts.items()))
        for number in range(updates):
            here, there = rows[10 * number : 10 * number + 10], rows[10 * number - 10 : 10 * number]
            started = time.perf_counter()
            engine.epoch(draft, {changing: RowChange(there, here)}, {})
            seconds.append(time.perf_counter() - started)
            rounds.append(engine.explanation.rounds)
        return Bootstrap(
            name,
            ways.get(view, "split"),
            alone,
            together,
            expected,
            first.rounds,
            first.bytes,
            tuple(seconds),
            tuple(rounds),
        )
    finally:
        engine.close()


def warm(session: SparkSession) -> float:
    """Start what a first epoch starts: Python workers, the host, the kernels; the seconds of that."""
    text = ".decl e(x: number, y: number)\n.decl t(x: number, y: number)\nt(x, y) :- e(y, x)."
    started = time.perf_counter()
    bootstrap(session, "warm", text, {"e": np.array([[1, 2], [2, 3]], np.int64)}, "t", updates=0)
    return time.perf_counter() - started


HEAD = f"{'program':26}{'way':12}{'embedded':>10}{'cluster':>10}{'rounds':>8}{'ratio':>7}{'rows':>13}  updates"


def row(found: Bootstrap) -> str:
    """A line of the table."""
    updates = ", ".join(f"{each:.2f} s" for each in found.updates)
    return (
        f"{found.name:26}{found.way:12}{found.embedded:>8.2f} s{found.cluster:>8.2f} s{found.rounds:>8}"
        f"{found.ratio:>7.1f}{found.rows:>13,}  {updates}"
    )
