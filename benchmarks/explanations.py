"""Explanations of random tuples: proofs on GALEN and on the points-to analysis; there also what would end a tuple, and
why others do not hold.

The first questions, which make plans and indexes, are not measured. The sizes are the numbers of steps, sets and
attempts, which depend on the data alone. Seconds are medians; those of the slowest question stand in a line of their
own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import tidelog
from benchmarks import doop, galen
from benchmarks.evaluate import inserting
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.database.database import Database
from tidelog.maintain.deltas import rows_of

QUESTIONS = 1_000
FEWER = 100
"""Questions that take longer."""
_WARM = 20
POINTS_TO = "VarPointsTo"

Tuple = tuple[Any, ...]


def proofs_of_galen(folder: str, relation: str) -> Measured:
    """Measure proofs of random tuples of GALEN."""
    db = tidelog.connect()
    db.load(galen.PROGRAM)
    inserting(galen.tables(Path(folder)))(db)
    db.commit()
    words = rows_of(db.engine.relation(relation))
    rng = random.Random(1)
    goals = [tuple(words[rng.randrange(len(words))].tolist()) for _ in range(QUESTIONS + _WARM)]
    return _asked(goals, lambda goal: len(db.explain(relation, goal).steps))


def proofs_of_doop(folder: str) -> Measured:
    """Measure proofs of random tuples of the points-to analysis."""
    db = _analysis(folder)
    goals = random.Random(1).sample(list(db[POINTS_TO]), QUESTIONS + _WARM)
    return _asked(goals, lambda goal: len(db.explain(POINTS_TO, goal).steps))


def ends_of_doop(folder: str) -> Measured:
    """Measure how long it takes to find a smallest set of facts without which a tuple would not hold."""
    db = _analysis(folder)
    goals = random.Random(1).sample(list(db[POINTS_TO]), FEWER + _WARM)
    return _asked(goals, lambda goal: len(next(db.ways_to_remove(POINTS_TO, goal)).facts))


def absences_of_doop(folder: str) -> Measured:
    """Measure why a variable does not point to an object of the analysis."""
    db = _analysis(folder)
    rng, rows = random.Random(1), list(db[POINTS_TO])
    known, goals = set(rows), list[Tuple]()
    while len(goals) < QUESTIONS + _WARM:
        (heap, _), (_, variable) = rng.choice(rows), rng.choice(rows)
        if (heap, variable) not in known:
            goals.append((heap, variable))
    return _asked(goals, lambda goal: len(db.why_not(POINTS_TO, goal).attempts))


def _analysis(folder: str) -> Database:
    db = doop.filled(Path(folder) / "doop")
    db.commit()
    return db


def _asked(goals: list[Tuple], ask: Callable[[Tuple], int]) -> Measured:
    """Measure a question for each of some tuples but the first ones. The details have the slowest one."""
    for goal in goals[:_WARM]:
        ask(goal)
    rest = iter(goals[_WARM:])
    worst = {"worst": 0.0, "worst_cpu": 0.0}
    found = [0]

    def once() -> Run:
        goal = next(rest)
        with Stopwatch() as watch:
            found[0] += ask(goal)
        worst["worst"], worst["worst_cpu"] = max(worst["worst"], watch.wall), max(worst["worst_cpu"], watch.cpu)
        return Run({}, watch.wall, watch.cpu, dict(worst))

    measured = measure(once, len(goals) - _WARM)
    return replace(measured, sizes={"found": found[0]}, details=worst)


def lines(options: Options) -> Iterator[Line]:
    """Yield the medians of questions of each sort, and the slowest proof and set of facts."""
    folder = str(options.data)
    for relation in ("p", "q"):
        measured = in_child(proofs_of_galen, folder, relation)
        yield from _both(f"proofs of tuples of {relation} of GALEN", measured, Target("seconds", 0.02), _SLOWEST)
    proofs = in_child(proofs_of_doop, folder)
    yield from _both("proofs of points-to tuples", proofs, Target("seconds", 0.05), _SLOWEST)
    yield from _both("what would end a points-to tuple", in_child(ends_of_doop, folder), Target("seconds", 0.5))
    absent = in_child(absences_of_doop, folder)
    yield Line("explanations", "why a points-to tuple does not hold, the median", absent, {}, (Target("seconds", 0.1),))


_SLOWEST = Target("seconds", 1.0)


def _both(what: str, measured: Measured, median: Target, *slowest: Target) -> Iterator[Line]:
    """Yield the line of the median with its target, and that of the slowest question with its own, if it has one."""
    yield Line("explanations", f"{what}, the median", measured, {}, (median,))
    worst = replace(measured, wall=measured.details["worst"], cpu=measured.details["worst_cpu"])
    yield Line("explanations", f"{what}, the slowest", worst, {}, slowest)
