"""Updates on one thread and on two, in turn, in one process: 10,000 facts of GALEN that go and come back, and an edge
or a rule of the chains of RS3."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy

import tidelog
from benchmarks import galen, zodiac
from benchmarks.evaluate import inserting, warm_up
from benchmarks.harness import Line, Measured, Options, Stopwatch, Target, in_child, peak
from tidelog.database.database import Database
from tidelog.workspace.change import Change

FACTS = 10_000
TURBINES = 200
CASES = ("r10new", "the middle edge of p1", "the last edge of p1")
_RUNS = 5
_R10 = next(line for line in zodiac.RS3.splitlines() if line.startswith("r10:"))

Way = Callable[[Database], Change]


def of_galen(folder: str, runs: int | None) -> Measured:
    """Measure random facts of GALEN, among all relations: the seconds to delete and to insert them, together."""
    warm_up()
    facts = {
        name: numpy.column_stack([column.to_numpy() for column in table.columns])
        for name, table in galen.tables(Path(folder)).items()
    }
    db = tidelog.connect()
    db.load(galen.PROGRAM)
    inserting(facts)(db)
    db.commit()
    random = numpy.random.default_rng(7)
    total = sum(map(len, facts.values()))
    chosen = {name: rows[random.random(len(rows)) < FACTS / total] for name, rows in facts.items()}

    def gone(db: Database) -> Change:
        for name, rows in chosen.items():
            db.delete(name, rows)
        return db.commit()

    def back(db: Database) -> Change:
        inserting(chosen)(db)
        return db.commit()

    return _measured(db, gone, back, runs or 2)


def of_chains(case: str, turbines: int, runs: int | None) -> Measured:
    """Measure a change of RS3, one of `CASES`: the seconds of it and of its return, together."""
    warm_up()
    db = tidelog.connect()
    db.load(zodiac.RS3)
    inserting(zodiac.facts(turbines))(db)
    db.commit()
    first = turbines - 1 if case == CASES[2] else turbines // 2 - 1

    def gone(db: Database) -> Change:
        if case == CASES[0]:
            db.rules.remove("r10")
        else:
            db.delete("p1", [(first, first + 1)])
        return db.commit()

    def back(db: Database) -> Change:
        if case == CASES[0]:
            db.rules.add(_R10)
        else:
            db.insert("p1", [(first, first + 1)])
        return db.commit()

    return _measured(db, gone, back, runs or _RUNS)


def _measured(db: Database, gone: Way, back: Way, runs: int) -> Measured:
    """Measure a change and its return, on one thread and on two in turn. The figures are those on two threads; details
    have the seconds on one, and the ratio. The first change makes the indexes, and is not measured."""
    db.options(strategy="update")
    gone(db)
    back(db)
    walls: dict[int, list[float]] = {1: [], 2: []}
    cpus: dict[int, list[float]] = {1: [], 2: []}
    impact = 0
    for _ in range(runs):
        for threads in (1, 2):
            db.options(threads=threads)
            with Stopwatch() as watch:
                reports = gone(db).report, back(db).report
            assert sum(report.bootstraps for report in reports) == 0
            impact = sum(report.impact for report in reports)
            walls[threads].append(watch.wall)
            cpus[threads].append(watch.cpu)
    one, two = statistics.median(walls[1]), statistics.median(walls[2])
    details = {"one_thread": one, "one_thread_cpu": statistics.median(cpus[1]), "ratio": two / one}
    db.close()
    return Measured({"changed": impact}, two, statistics.median(cpus[2]), details, runs, peak())


def lines(options: Options) -> Iterator[Line]:
    """Yield the changes of RS3, and those of GALEN where its data are there. Two threads should take 0.6 of the
    time."""
    changes = [(f"RS3, {case}", in_child(of_chains, case, TURBINES, options.runs)) for case in CASES]
    if options.data is not None:
        changes.append((f"GALEN, {FACTS:,} facts", in_child(of_galen, str(options.data), options.runs)))
    for what, measured in changes:
        target = Target("seconds", 0.6 * measured.details["one_thread"])
        yield Line("updates", f"{what}, on two threads", measured, {}, (target,))
