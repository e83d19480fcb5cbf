"""Changes while data grow: facts that are everywhere come to live apart; rounds stay as they are."""

from __future__ import annotations

import pytest

import tidelog
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, Cluster
from tests.spark.cluster.test_faults import Forgetful
from tidelog.spark.cluster.placement.place import PlacementLimits

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl back(x: number, y: number)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), e(y, z).
back(x, y) :- e(x, y), e(y, x).
"""


@pytest.mark.smoke
def test_facts_that_outgrow_everywhere() -> None:
    """Also when partitions are lost meanwhile; the changes are those of the facts."""
    for often in (0.0, 0.4):
        here = tidelog.connect()
        here.load(PROGRAM)
        with Cluster(3, PlacementLimits(replicate=8, closures=0), executors=Forgetful(1, often)) as there:
            there.load(PROGRAM)
            homes = []
            for first in range(0, 60, 6):
                rows = [(i, (i * 7) % 20) for i in range(first, first + 6)]
                for db in (here, there):
                    db.insert("e", rows)
                    db.delete("e", [(first - 5, ((first - 5) * 7) % 20)])
                expected, epoch = here.commit(), there.commit()
                changes = there.changes(epoch)
                for name in here.relations:
                    assert there[name] == set(here[name])
                    found = changes.get(name, (set(), set()))
                    assert found == (set(expected[name].inserted), set(expected[name].deleted)), (first, name)
                assert there.engine.plan is not None
                homes.append(there.engine.plan.homes["e"])
            assert homes[0] == "all"
            assert homes[-1] == 0


def test_as_many_rounds_in_a_late_epoch_as_in_an_early_one() -> None:
    with Cluster(3, NOTHING_EVERYWHERE) as db:
        db.load(PROGRAM)
        db.insert("e", [(i, i + 1) for i in range(20)])
        db.commit()
        taken = set()
        for number in range(60):
            db.insert("e", [(100 + number % 2, 3)])
            db.delete("e", [(101 - number % 2, 3)])
            db.commit()
            taken.add((db.engine.explanation.rounds, len(db.engine.plan.program.nodes) if db.engine.plan else 0))
        assert len(taken) == 1


def test_what_explain_says() -> None:
    with Cluster(2, NOTHING_EVERYWHERE) as db:
        db.load(PROGRAM)
        db.insert("e", [(1, 2), (2, 1)])
        db.commit()
        assert db.engine.describe().splitlines() == [
            "2 partitions, epoch 1",
            "last epoch: 2 rounds, 4 rows and 192 bytes between partitions",
            "a round: 1 Spark job of 1 stage, Range -> MapInArrow",
            "t: split",
            "back: split",
        ]


def test_new_symbols_and_records_are_in_few_files() -> None:
    """However many commits brought them, from the driver and from rules; also when partitions are lost meanwhile."""
    program = """
    .type Pair = [a: symbol, b: number]
    .decl e(x: symbol, y: number)
    .decl named(x: symbol, p: Pair)
    named(cat(x, "!"), [x, y]) :- e(x, y).
    """
    commits = 90
    for often in (0.0, 0.3):
        with Cluster(2, NOTHING_EVERYWHERE, executors=Forgetful(1, often)) as db:
            db.load(program)
            files, symbols = [], []
            for number in range(commits):
                db.insert("e", [(f"s{number}", number)])
                db.commit()
                files.append(len(db.engine.folder.names()))
                symbols.append(len(db.engine.symbols))
                assert db.engine.starts.keys() == {*db.engine.symbols, *db.engine.committed.symbols}
            assert max(symbols) <= 10
            assert max(files[commits // 2 :]) <= max(files[: commits // 2]) + 4, "a log that is written anew"
            assert db["named"] == {(f"s{number}!", (f"s{number}", number)) for number in range(commits)}
