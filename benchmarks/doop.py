"""The points-to analysis of a Java program as its authors wrote it, with components, and single facts that go."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import tidelog
from benchmarks.evaluate import warm_up
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.database.database import Database
from tidelog.io import read_facts

SIZES = {
    "VarPointsTo": 511_397,
    "InstanceFieldPointsTo": 354_511,
    "ArrayIndexPointsTo": 5_636,
    "StaticFieldPointsTo": 705,
    "CallGraphEdge": 13_136,
    "Reachable": 2_875,
    "Assign": 31_754,
}
CHANGES = 50
SOME = ("_AssignHeapAllocation", "_VirtualMethodInvocation")
"""Relations of which single facts go."""


def filled(folder: Path) -> Database:
    """Return a database with the analysis and its facts, before the first commit."""
    db = tidelog.connect()
    db.options(threads=1)
    db.load(folder / "doop.dl")
    for directive in db.program.directives:
        if directive.name == "input":
            relation = db.program.relations[directive.relation]
            db.insert_words(relation.name, read_facts(directive.options, folder, relation, db.dictionary))
    return db


def evaluation(folder: str, runs: int | None) -> Measured:
    """Measure the analysis from scratch: the program and the packed files of facts are read, and all views made."""
    warm_up()

    def once() -> Run:
        with Stopwatch() as load:
            db = filled(Path(folder) / "doop")
        with Stopwatch() as commit:
            db.commit()
        sizes = {name: len(db[name]) for name in SIZES}
        db.close()
        details = {"load": load.wall, "load_cpu": load.cpu}
        return Run(sizes, load.wall + commit.wall, load.cpu + commit.cpu, details)

    return measure(once, runs)


def changes(folder: str, relation: str) -> Measured:
    """Measure what it takes to follow one fact that goes, the median of several; the worst is a detail."""
    db = filled(Path(folder) / "doop")
    db.commit()
    some = iter(random.Random(1).sample(list(db[relation]), CHANGES + 1))
    worst = [0.0]

    def once() -> Run:
        row = next(some)
        db.delete(relation, [row])
        with Stopwatch() as watch:
            report = db.commit().report
        db.insert(relation, [row])
        assert report.bootstraps + db.commit().report.bootstraps == 0
        worst.append(watch.wall)
        return Run({}, watch.wall, watch.cpu, {"worst": max(worst)})

    once()
    worst[:] = [0.0]
    return measure(once, CHANGES)


def lines(options: Options) -> Iterator[Line]:
    """Yield the analysis from scratch, and single facts that go."""
    measured = in_child(evaluation, str(options.data), options.runs)
    yield Line("doop", "from scratch, files read", measured, SIZES, (Target("seconds", 4),))
    for relation in SOME:
        followed = in_child(changes, str(options.data), relation)
        yield Line("doop", f"a fact of {relation} goes", followed, {}, (Target("seconds", 0.01),))
