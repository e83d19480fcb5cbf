"""Readers during a commit: eight threads read tuples of a snapshot, one by one, while GALEN is evaluated from scratch.

The facts are committed first, and then the rules: once without readers, once with readers that rest between two reads,
as those of a service do, and once with readers that never rest, which take a core. Each read is of one tuple, which is
there half of the time. A wrong answer ends the run.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy

import tidelog
from benchmarks import galen
from benchmarks.evaluate import inserting, warm_up
from benchmarks.harness import BenchmarkError, Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.database.database import Database
from tidelog.database.snapshots import Snapshot

THREADS = 8
RESTS = {"rest": 0.005, "never rest": 0.0}
"""Seconds between two reads of a thread."""
_TUPLES = 10_000
_DECLARATIONS, _RULES = galen.PROGRAM.split("g1:")


def evaluation(folder: str, rest: float, runs: int | None) -> Measured:
    """Measure the commit with readers. The details have the seconds without them, and those of a read."""
    warm_up()
    return measure(lambda: _once(Path(folder), rest), runs or 1)


def _once(folder: Path, rest: float) -> Run:
    tables = galen.tables(folder)
    alone, _ = _committed(_facts(tables))
    db = _facts(tables)
    goals = _goals(db)
    ended = threading.Event()
    with db.snapshot() as snapshot, ThreadPoolExecutor(THREADS) as pool:
        readers = [pool.submit(_read, snapshot, goals[i::THREADS], rest, ended) for i in range(THREADS)]
        try:
            beside, sizes = _committed(db)
        finally:
            ended.set()
        seconds = numpy.concatenate([reader.result() for reader in readers])
    middle, slow = numpy.quantile(seconds, [0.5, 0.99]).tolist()
    figures = {"alone": alone.wall, "alone_cpu": alone.cpu, "read": middle, "slow_read": slow}
    return Run(sizes, beside.wall, beside.cpu, {**figures, "reads": float(len(seconds))})


def _facts(tables: dict[str, Any]) -> Database:
    """Return a database with the facts, and no rules yet."""
    db = tidelog.connect()
    db.load(_DECLARATIONS)
    inserting(tables)(db)
    db.commit()
    return db


def _committed(db: Database) -> tuple[Stopwatch, dict[str, int]]:
    """Commit the rules, and close the database. Return the time of the commit, and the sizes."""
    db.load(f"g1:{_RULES}")
    with db:
        with Stopwatch() as watch:
            db.commit()
        return watch, {name: len(db[name]) for name in galen.SIZES}


def _goals(db: Database) -> list[tuple[tuple[Any, ...], bool]]:
    """Return tuples, and whether they are among the facts."""
    rng, facts = random.Random(1), list(db["p"])
    there = set(facts)
    goals = [(rng.choice(facts), True) for _ in range(_TUPLES)]
    others = ((rng.choice(facts)[0], rng.choice(facts)[1]) for _ in range(_TUPLES))
    goals += [(each, each in there) for each in others]
    rng.shuffle(goals)
    return goals


def _read(snapshot: Snapshot, goals: list[tuple[tuple[Any, ...], bool]], rest: float, ended: threading.Event) -> Any:
    """Read tuples on and on, and rest for some seconds after each. Return the seconds of each read."""
    relation, seconds = snapshot["p"], list[float]()
    while not ended.is_set():
        for goal, expected in goals:
            started = time.perf_counter()
            found = goal in relation
            seconds.append(time.perf_counter() - started)
            if found is not expected:
                raise BenchmarkError(f"p{goal} was {'there' if found else 'missing'}")
            if ended.wait(rest) if rest else ended.is_set():
                break
    return numpy.array(seconds)


def lines(options: Options) -> Iterator[Line]:
    """Yield the commits beside the readers, and the median and the 99th percentile of their reads."""
    for name, rest in RESTS.items():
        measured = in_child(evaluation, str(options.data), rest, options.runs)
        target = Target("seconds", 1.1 * measured.details["alone"])
        text = f"GALEN's rules, while {THREADS} threads read and {name}"
        yield Line("readers", text, measured, galen.SIZES, (target,))
        for what, figure in (("the median", "read"), ("the 99th percentile", "slow_read")):
            read = replace(measured, wall=measured.details[figure], cpu=0.0)
            text = f"a read of one tuple by threads that {name}, {what}"
            yield Line("readers", text, read, {}, (Target("seconds", 0.001),))
