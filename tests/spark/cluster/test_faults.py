"""Partitions that are lost, tasks that run twice or fail, drivers that stop: it is right, or has not happened."""

from __future__ import annotations

import errno
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tests.scripts import script_for
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, SKEWED, Cluster, followed
from tests.suite import FIRST_SEED
from tidelog.errors import DataError, LimitError, UsageError
from tidelog.spark.cluster import manifest
from tidelog.spark.cluster.exchange.rounds import Task
from tidelog.spark.cluster.manifest import ClusterManifest
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import LocalExecutors
from tidelog.spark.cluster.processes.serve import Keeper
from tidelog.workspace.options import DatabaseOptions

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl name(x: number, s: symbol)
.decl joined(x: number, s: symbol)
.decl degree(x: number, n: number)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), t(y, z).
degree(x, n) :- e(x, _), n = count : { t(x, _) }.
joined(x, cat(s, r)) :- t(x, y), name(x, s), name(y, r).
"""
EDGES = [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6)]
NAMES = [(i, f"n{i}") for i in range(7)]


class Forgetful(LocalExecutors):
    """Loses partitions now and then, and does tasks twice."""

    def __init__(self, seed: int, often: float = 0.3) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.often = often

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        for key in list(self.keepers):
            if self.random.random() < self.often:
                del self.keepers[key]
        if self.random.random() < self.often:
            super().run(tasks)
        return super().run(tasks)


class Failing(LocalExecutors):
    """Fails in the middle of a round, once, when `rounds` have been done."""

    def __init__(self, rounds: int, error: BaseException) -> None:
        super().__init__()
        self.rounds = rounds
        self.error = error

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        self.rounds -= 1
        if self.rounds == -1:
            super().run(tasks[: len(tasks) // 2])
            raise self.error
        return super().run(tasks)


@pytest.mark.parametrize("way", [(3, NOTHING_EVERYWHERE), (2, PlacementLimits())], ids=str)
def test_partitions_that_are_lost_and_tasks_that_run_twice(way: tuple[int, PlacementLimits]) -> None:
    for seed in range(FIRST_SEED + 700, FIRST_SEED + 700 + cases(6)):
        problem = followed(script_for(seed), *way, executors=Forgetful(seed))
        assert not problem, f"{problem}\n{script_for(seed)}"


@pytest.mark.parametrize("way", [(3, SKEWED), (2, PlacementLimits())], ids=str)
def test_lost_partitions_that_save_themselves_now_and_then(
    way: tuple[int, PlacementLimits], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClusterManifest, "is_far_ahead", property(lambda manifest: manifest.epoch % 3 == 1))
    for seed in range(FIRST_SEED + 700, FIRST_SEED + 700 + cases(2)):
        restarts, folder = random.Random(seed), tmp_path / str(seed)
        problem = followed(script_for(seed), *way, restarts, executors=Forgetful(seed), folder=folder)
        assert not problem, f"{problem}\n{script_for(seed)}"


def test_lost_partitions_evaluate_what_has_come_since_they_saved_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_MANY_UNSAVED", 100)
    executors = LocalExecutors()
    with Cluster(3, NOTHING_EVERYWHERE, executors=executors) as db:
        db.load(PROGRAM)
        db.insert("e", [(i, i + 1) for i in range(20)])
        db.insert("name", NAMES)
        first = db.commit()
        saved = db.engine.committed.snapshot
        assert saved is not None
        assert saved.token == db.engine.committed.token
        executors.keepers.clear()  # What the epoch has changed is not in their files.
        assert len(db.changes(first)["t"][0]) == 20 * 21 // 2
        db.insert("e", [(40, 41)])
        db.delete("name", [(6, "n6")])
        db.commit()
        db.rules.add("more: degree(x, 0) :- name(x, _).")
        db.insert("name", [(7, "n7")])
        db.commit()
        facts, blamed = sorted(db["name"]), str(db.blame("t", (1, 3)))
        assert db.engine.committed.snapshot is not None
        assert db.engine.committed.snapshot.token == saved.token
        executors.keepers.clear()
        db.insert("e", [(41, 42)])
        change = db.changes(db.commit())
        assert change["t"] == ({(40, 42), (41, 42)}, set())
        stats = db.engine.stats()
        assert (stats["restored"], stats["replayed"] < 25) == (3, True), stats
        partitions = [keeper.partition for keeper in executors.keepers.values()]
        assert not any(each is None or each.engine.stats()["bootstraps"] for each in partitions)
        assert (sorted(db["name"]), str(db.blame("t", (1, 3)))) == (facts, blamed)
        assert len(db["t"]) == 20 * 21 // 2 + 3
        db.check()


def filled(db: Cluster | tidelog.Database) -> None:
    db.load(PROGRAM)
    db.insert("e", EDGES)
    db.insert("name", NAMES)
    db.commit()


def embedded(*edges: tuple[int, int], without: tuple[int, int] | None = None) -> dict[str, set[Any]]:
    db = tidelog.connect()
    filled(db)
    db.insert("e", edges)
    db.delete("e", [without] if without else [])
    db.commit()
    return {name: set(db[name]) for name in db.relations}


@pytest.mark.parametrize("rounds", range(6))
@pytest.mark.parametrize("change", ["insert", "delete", "rule"])
def test_an_epoch_that_fails_has_not_happened(rounds: int, change: str) -> None:
    executors = Failing(1_000, ConnectionError("the network is gone"))
    with Cluster(3, NOTHING_EVERYWHERE, executors=executors) as db:
        filled(db)
        files = set(db.engine.folder.names())
        executors.rounds = rounds
        for attempt in range(2):
            if change == "insert":
                db.insert("e", [(3, 4)])
            elif change == "delete":
                db.delete("e", [(3, 1)])
            else:
                db.rules.add("t(x, y) :- t(y, x).")
            if attempt == 0 and executors.rounds >= 0:
                try:
                    db.commit()
                except UsageError:
                    assert db.views() == embedded()
                    assert {
                        name for name in set(db.engine.folder.names()) - files if not name.startswith("symbols")
                    } == set()
                    continue
                break  # It had fewer rounds.
            db.commit()
        if change == "insert":
            assert db.views() == embedded((3, 4))
        elif change == "delete":
            assert db.views() == embedded(without=(3, 1))
        else:
            assert {(2, 1), (6, 4)} <= db["t"]


def test_a_driver_that_stops_in_the_middle(tmp_path: Path) -> None:
    """Another driver goes on from the last epoch that was committed, and finds nothing left of the one that was not."""
    executors = Failing(1_000, KeyboardInterrupt())
    first = Cluster(3, NOTHING_EVERYWHERE, tmp_path / "state", executors)
    filled(first)
    executors.rounds = 2
    first.insert("e", [(6, 7)])
    first.engine.clean = lambda: None  # type: ignore[method-assign]  # nobody cleans up behind a driver that is killed
    with pytest.raises(KeyboardInterrupt):
        first.commit()
    assert first.engine.owner is not None
    first.engine.owner.release()
    left = set((tmp_path / "state").iterdir())

    second = Cluster(3, NOTHING_EVERYWHERE, tmp_path / "state", LocalExecutors())
    assert set((tmp_path / "state").iterdir()) < left
    second.load(PROGRAM)
    rows = second.engine.relation("t")
    assert second.decoded("t", rows) == embedded()["t"]
    second.workspace.settle(second.workspace.draft())
    second.insert("e", [(3, 4)])
    second.commit()
    assert second.views() == embedded((3, 4))
    second.engine.close()


def test_two_databases_on_one_folder(tmp_path: Path) -> None:
    with Cluster(2, PlacementLimits(), tmp_path / "state") as first:
        filled(first)
        with pytest.raises(UsageError, match="E0680"):
            Cluster(2, PlacementLimits(), tmp_path / "state")
        assert first.views() == embedded()
    with Cluster(2, PlacementLimits(), tmp_path / "state") as second:
        second.load(PROGRAM)
        assert second.decoded("t", second.engine.relation("t")) == embedded()["t"]


def test_another_driver_learns_record_types_of_which_there_is_no_record(tmp_path: Path) -> None:
    text = ".type Pair = [x: number, y: number]\n.decl e(x: number)\n.decl p(a: Pair)\np([x, x]) :- e(x), x > 5."
    with Cluster(2, PlacementLimits(), tmp_path / "state") as first:
        first.load(text)
        first.insert("e", [(1,)])
        first.commit()
    with Cluster(2, PlacementLimits(), tmp_path / "state") as second:
        second.load(text)
        second.insert("e", [(7,)])
        second.commit()
        assert second["p"] == {((7, 7),)}


def test_another_driver_knows_symbols_that_partitions_have_not_needed_yet(tmp_path: Path) -> None:
    text = ".decl e(s: symbol)\n.decl n(k: number)"
    with Cluster(2, PlacementLimits(), tmp_path / "state") as first:
        first.load(text)
        first.insert("e", [("three",)])
        first.commit()
    with Cluster(2, PlacementLimits(), tmp_path / "state") as second:
        second.load(text)
        second.workspace.dictionary.encode("three", "symbol")
        second.engine.resume()
        second.rules.add("n(strlen(s)) :- e(s).")
        second.commit()
        assert second["n"] == {(5,)}


@pytest.mark.smoke
def test_a_damaged_folder(tmp_path: Path) -> None:
    with Cluster(2, PlacementLimits(), tmp_path / "state") as db:
        filled(db)
    (tmp_path / "state" / "manifest").write_bytes(b"no manifest")
    with pytest.raises(DataError, match="E0682"):
        Cluster(2, PlacementLimits(), tmp_path / "state")


def test_a_folder_where_nothing_can_be_written(tmp_path: Path) -> None:
    """The epoch has not happened; the next one works once there is room again."""
    full = OSError(errno.ENOSPC, "No space left on device")
    executors = Failing(1_000, full)
    with Cluster(3, NOTHING_EVERYWHERE, executors=executors) as db:
        filled(db)
        executors.rounds = 1
        db.insert("e", [(3, 4)])
        with pytest.raises(UsageError, match="No space left"):
            db.commit()
        assert db.views() == embedded()
        db.insert("e", [(3, 4)])
        db.commit()
        assert db.views() == embedded((3, 4))


def test_a_limit_leaves_everything_as_it_was() -> None:
    with Cluster(3, NOTHING_EVERYWHERE) as db:
        filled(db)
        db.options = DatabaseOptions(max_rows=10)
        db.insert("e", [(6, 4), (6, 1), (2, 5)])
        with pytest.raises(LimitError, match="E0502"):
            db.commit()
        assert db.views() == embedded()
        db.options = DatabaseOptions()
        db.insert("e", [(3, 4)])
        db.commit()
        assert db.views() == embedded((3, 4))


def test_a_reader_of_an_earlier_epoch_is_told_so() -> None:
    """And does not disturb the partitions."""
    with Cluster(2, PlacementLimits()) as db:
        filled(db)
        assert db.engine.plan is not None
        task = db.engine.tasks("rows", ("t", db.engine.plan.views["t"], True, ""))[0]
        db.insert("e", [(3, 4)])
        db.commit()
        keeper = Keeper()
        with pytest.raises(UsageError, match="E0687"):
            list(keeper.read_rows(task))
        assert keeper.partition is None
        assert db.views() == embedded((3, 4))


def test_files_do_not_pile_up() -> None:
    with Cluster(3, NOTHING_EVERYWHERE) as db:
        filled(db)
        most = 0
        for number in range(120):
            db.insert("e", [(number % 7, number % 5)])
            db.delete("e", [(number % 6, number % 4)])
            db.commit()
            most = max(most, len(db.engine.folder.names()))
        reference = tidelog.connect()
        reference.load(PROGRAM)
        reference.insert("name", NAMES)
        reference.insert("e", db["e"])
        reference.commit()
        assert db.views() == {name: set(reference[name]) for name in reference.relations}
        assert most < 400
        assert len(db.engine.folder.names()) < 400
        folder = Path(db.engine.folder.address)
    assert not folder.exists()


FORK = """
import os, sys, tidelog
from pathlib import Path
from tests.spark.cluster.harness import Cluster

def code_of(call):
    try:
        call()
    except tidelog.TidelogError as error:
        return error.code

for folder in (None, Path(sys.argv[1])):
    db = Cluster(2, folder=folder)
    db.load(".decl e(x: number)  .decl t(x: number)  t(x) :- e(x).")
    db.insert("e", [(1,), (2,)])
    db.commit()
    db.insert("e", [(3,)])
    number = os.fork()
    if not number:
        found = code_of(db.commit)
        db.engine.close()
        os._exit(0 if found == "E0627" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
    db.commit()
    assert db["t"] == {(1,), (2,), (3,)}
    assert db.engine.folder.local.is_dir()
    db.engine.close()
"""


def test_a_child_changes_nothing_in_the_folder_of_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore:This process", "-c", FORK, str(tmp_path / "state")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr  # also of a child


@pytest.mark.parametrize("replaced", [False, True])
def test_a_database_without_its_lock_commits_nothing(tmp_path: Path, replaced: bool) -> None:
    place = tmp_path / "state"
    first = Cluster(2, PlacementLimits(), place)
    filled(first)
    (place / "lock").unlink()
    other = Cluster(2, PlacementLimits(), place) if replaced else None
    before = sorted(place.iterdir())
    first.insert("e", [(6, 7)])
    with pytest.raises(UsageError, match="E0628"):
        first.commit()
    assert sorted(place.iterdir()) == before
    first.engine.close()
    if other is not None:
        other.engine.close()
    with Cluster(2, PlacementLimits(), place) as again:
        again.load(PROGRAM)
        assert again.decoded("t", again.engine.relation("t")) == embedded()["t"]


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "state").mkdir()
    (tmp_path / "state/lock").symlink_to(tmp_path / "precious")
    with pytest.raises(UsageError, match="E0681"):
        Cluster(2, PlacementLimits(), tmp_path / "state")
    assert (tmp_path / "precious").read_text() == "precious"
