"""Partitions that become more or fewer: rows move, and nothing else changes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidelog
from tests.depth import cases
from tests.scripts import change_in, script_for
from tests.spark.cluster.harness import GATHERED, LIMITS, NOTHING_EVERYWHERE, SKEWED, Cluster
from tests.suite import FIRST_SEED, difference
from tidelog.errors import UsageError
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import LocalExecutors, PartitionCount

EXCHANGED = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl degree(x: number, n: number)
.decl name(x: number, s: symbol)
.decl joined(x: number, s: symbol)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), t(y, z).
degree(x, n) :- e(x, _), n = count : { t(x, _) }.
joined(x, cat(s, r)) :- e(x, y), name(x, s), name(y, r).
"""
EDGES = [(i, i + 1) for i in range(40) if i % 8] + [(100 + i, 100 + (i + 1) % 10) for i in range(10)]
NAMES = [(i, f"n{i}") for i in range(20)]


def filled(db: Cluster | tidelog.Database) -> None:
    db.load(EXCHANGED)
    db.insert("e", EDGES)
    db.insert("name", NAMES)
    db.commit()


@pytest.mark.parametrize("limits", [*LIMITS, SKEWED], ids=str)
def test_random_scripts_over_a_changing_number_of_partitions(limits: PlacementLimits) -> None:
    for seed in range(FIRST_SEED + 900, FIRST_SEED + 900 + cases(4)):
        script, rng = script_for(seed), random.Random(seed)
        here = tidelog.connect()
        with Cluster(2, limits) as there:
            for db in (here, there):
                db.load(script.text())
                for name, rows in script.facts.items():
                    db.insert(name, sorted(rows, key=repr))
                db.commit()
            for number, epoch in enumerate(script.epochs):
                there.engine.counting.fixed = count = rng.choice((1, 2, 3, 5, 8))
                for db in (here, there):
                    change_in(db, script, epoch)
                expected = here.commit()
                change = there.changes(there.commit())
                place = f"seed {seed}, epoch {number}, {count} partitions\n{script}"
                wanted = {name: (set(expected[name].inserted), set(expected[name].deleted)) for name in expected}
                assert {name: both for name, both in change.items() if any(both)} == wanted, place
                assert there.engine.stats()["partitions"] == count
                assert not difference(there.views(), {name: set(here[name]) for name in here.relations}), place


@pytest.mark.parametrize("limits", [NOTHING_EVERYWHERE, GATHERED], ids=str)
def test_rows_move_and_no_recursion_begins_anew(limits: PlacementLimits) -> None:
    with Cluster(2, limits) as db:
        filled(db)
        before, rounds = db.views(), db.engine.explanation.rounds
        for count in (5, 3):
            db.engine.counting.fixed = count
            db.insert("e", [(100, 101)])  # It is there.
            outcome = db.commit()
            last = db.engine.explanation
            assert db.views() == before
            assert not any(map(any, db.changes(outcome).values()))
            assert (last.rounds, last.rows, last.resets, last.restored) == (1, 0, 0, count), (last, rounds)
            assert outcome.report.bootstraps == 0, outcome.report.nodes
            assert outcome.report.moved == last.repartitioned
            assert f"partitions became {count}" in db.engine.describe()
            assert len(db.engine.stats()["rows_of_partitions"]) == count
            db.check()
        here = tidelog.connect()
        filled(here)
        exchanged = any(way == "exchanged" for _, way in db.engine.explanation.nodes)
        # What has moved has no births that can be compared, as a deletion in a recursion across partitions needs them.
        for gone, came, resets in (((103, 104), (200, 1), exchanged), ((104, 105), (201, 1), False)):
            for each in (here, db):
                each.delete("e", [gone])
                each.insert("e", [came])
                each.commit()
            assert db.engine.explanation.repartitioned == ""
            assert db.engine.explanation.resets == resets
        assert not difference(db.views(), {name: set(here[name]) for name in here.relations})
        db.check()


def test_a_session_with_more_executors_goes_on_from_the_folder(tmp_path: Path) -> None:
    with Cluster(2, NOTHING_EVERYWHERE, tmp_path / "state") as db:
        filled(db)
        before = db.views()
    with Cluster(7, NOTHING_EVERYWHERE, tmp_path / "state") as db:
        db.load(EXCHANGED)
        assert db.decoded("t", db.engine.relation("t")) == before["t"]
        db.workspace.settle(db.workspace.draft())
        db.insert("e", [(500, 501)])
        db.commit()
        assert db.engine.explanation.repartitioned.startswith("2 partitions became 7")
        assert db.engine.explanation.resets == 0
        assert db["t"] == before["t"] | {(500, 501)}
        db.check()


class FailsOnce(LocalExecutors):
    """Fails in the task of the kind `what`."""

    what = ""

    def run(self, tasks):  # type: ignore[no-untyped-def]
        if any(task.what == self.what for task in tasks):
            self.what = ""
            super().run(tasks[:1])
            raise OSError("the disk is gone")
        return super().run(tasks)


@pytest.mark.smoke
@pytest.mark.parametrize("what", ["spread", "signed", "round"])
def test_a_move_that_fails_has_not_happened(what: str) -> None:
    executors = FailsOnce()
    with Cluster(2, NOTHING_EVERYWHERE, executors=executors) as db:
        filled(db)
        before, files = db.views(), len(db.engine.folder.names())
        db.engine.counting.fixed = 4
        executors.what = what
        db.insert("e", [(500, 501)])
        with pytest.raises(UsageError, match="E0681"):
            db.commit()
        assert db.engine.stats()["partitions"] == 2
        assert db.views() == before
        assert len(db.engine.folder.names()) == files
        db.insert("e", [(500, 501)])
        db.commit()
        assert db.engine.stats()["partitions"] == 4
        assert db["t"] == before["t"] | {(500, 501)}


def test_the_number_of_partitions_follows_executors_that_stay() -> None:
    executors = LocalExecutors(slots=2)
    with Cluster(None, NOTHING_EVERYWHERE, executors=executors) as db:
        filled(db)
        seen: list[int] = []
        for slots in (2, 4, 2, 4, 4, 5, 5, 3, 3, 1, 1, 1):
            executors.workers = slots
            db.insert("e", [(500 + len(seen), 1)])
            db.commit()
            seen.append(db.engine.stats()["partitions"])
        assert seen == [2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 1, 1]


def test_a_fixed_number_of_partitions_follows_nobody() -> None:
    count = PartitionCount(3)
    assert [count.next(present, slots) for present, slots in ((0, 1), (3, 8), (3, 8), (3, 1))] == [3, 3, 3, 3]


def test_what_the_driver_holds_of_a_round_grows_with_partitions_not_with_their_square() -> None:
    """A message is all that a partition sends in a round, however many partitions get a part of it."""
    held = {}
    for partitions in (8, 32):
        with Cluster(partitions, NOTHING_EVERYWHERE) as db:
            db.load(
                ".decl e(x: number, y: number) .decl t(x: number, y: number)"
                "t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, z)."
            )
            db.insert("e", [(i, 7 * i % 1_000) for i in range(1_000)])
            db.commit()
            last, folder = db.engine.explanation, db.engine.folder
            assert last.messages <= 2 * partitions * last.rounds
            assert last.rows > partitions * partitions
            held[partitions] = sum(len(folder.read(name)) for name in db.engine.committed.since) / last.rounds
    assert held[32] < 4.5 * held[8], held
