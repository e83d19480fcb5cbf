"""Another process goes on from the partitions in the folder, and finds damage in it."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tests.depth import cases
from tests.scripts import script_for
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, Cluster, evaluated, followed
from tests.suite import FIRST_SEED
from tidelog.durable.remote import TakenOverError
from tidelog.errors import DataError, Problem, UsageError
from tidelog.spark.cluster.exchange.folder import LOCK
from tidelog.spark.cluster.manifest import BEFORE, MANIFEST
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import LocalExecutors

PROGRAM = """
.decl e(x: number, y: symbol)
.decl t(x: number, y: symbol)
.decl both(s: symbol)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), e(strlen(y), z).
both(cat(s, r)) :- e(1, s), t(1, r).
"""
FACTS = [(1, "a"), (1, "bb"), (2, "ccc"), (3, "a"), (3, "dddd")]


def filled(folder: Path) -> Cluster:
    db = Cluster(2, NOTHING_EVERYWHERE, folder)
    db.load(PROGRAM)
    db.insert("e", FACTS)
    db.commit()
    db.insert("e", [(4, "bb")])
    db.delete("e", [(2, "ccc")])
    db.commit()
    return db


@pytest.mark.parametrize("way", [(3, NOTHING_EVERYWHERE), (2, PlacementLimits())], ids=str)
def test_random_programs(way: tuple[int, PlacementLimits], tmp_path: Path) -> None:
    for seed in range(FIRST_SEED + 900, FIRST_SEED + 900 + cases(5)):
        folder = tmp_path / str(seed)
        problem = followed(script_for(seed), *way, restarts=random.Random(seed), folder=folder)
        assert not problem, f"{seed}: {problem}\n{script_for(seed).text()}"


@pytest.mark.parametrize("save", [False, True])
def test_what_a_process_finds(save: bool, tmp_path: Path) -> None:
    """Views, words and epochs are those of before. Nothing is exchanged, and what was saved is not derived."""
    with filled(tmp_path) as db:
        views, blame = db.views(), str(db.blame("t", (1, "bb")))
        db.restart(save=save)
        assert (db.views(), str(db.blame("t", (1, "bb")))) == (views, blame)
        assert db.engine.stats()["rounds"] == 0
        executors = db.engine.executors
        assert isinstance(executors, LocalExecutors)
        partitions = [keeper.partition for keeper in executors.keepers.values()]
        evaluated_anew = sum(each.engine.stats()["bootstraps"] for each in partitions if each is not None)
        assert (evaluated_anew == 0) == save
        db.delete("e", [(4, "bb")])
        db.insert("e", [(2, "ccc")])
        db.commit()
        assert db.views() == evaluated(PROGRAM, {"e": FACTS})
        db.check()


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
@pytest.mark.parametrize("save", [False, True])
def test_every_damaged_file_is_found(save: bool, harm: str, tmp_path: Path) -> None:
    db = filled(tmp_path / "sound")
    views, names = db.views(), {name for name in db.engine.folder.names() if name != LOCK}
    if save:
        db.engine.save()
        names = {name for name in db.engine.folder.names() if name != LOCK}
    db.engine.close()
    assert len(names) > 8
    unread = set()
    for name in sorted(names):
        file = shutil.copytree(tmp_path / "sound", tmp_path / name) / name
        data = bytearray(file.read_bytes())
        data[random.Random(name).randrange(len(data))] ^= 1
        if harm == "remove":
            file.unlink()
        else:
            file.write_bytes(data if harm == "flip" else data[:-1])
        with suppress(DataError):
            db.restart(save=False, folder=tmp_path / name)
            assert db.views() == views
            unread.add(name.partition("-")[0])
    assert unread == ({"facts", "sent"} if save else set())


@pytest.mark.smoke
@pytest.mark.parametrize("happens", [False, True])
def test_a_process_that_is_killed_before_its_epoch_lasts(happens: bool, tmp_path: Path) -> None:
    """Somebody else says which epoch was the last one: the folder has both while this is open."""
    with filled(tmp_path / "folder") as db:
        views, token = db.views(), db.engine.committed.token
        db.insert("e", [(1, "new")])
        db.commit(lambda prospect: shutil.copytree(tmp_path / "folder", tmp_path / "killed"))
        assert {MANIFEST, BEFORE} <= {file.name for file in (tmp_path / "killed").iterdir()}
        assert BEFORE not in db.engine.folder.names()
        if happens:
            views, token = db.views(), db.engine.committed.token
        db.restart(save=False, folder=tmp_path / "killed", token=token)
        assert db.views() == views
        with pytest.raises(DataError, match="manifest-before"):
            db.restart(save=False, folder=tmp_path / "killed", token="none")


@pytest.mark.parametrize("lost", [False, True])
def test_files_of_who_has_taken_the_folder_stay(lost: bool, tmp_path: Path) -> None:
    """A process that finds out at its commit cleans nothing up; one whose disk is full does."""
    with filled(tmp_path) as db:
        before = (tmp_path / MANIFEST).read_bytes()

        def fails(prospect: object) -> None:
            (tmp_path / "facts-of-another").touch()
            cause = TakenOverError("by another process") if lost else OSError("no space left")
            raise UsageError(Problem("E0680", "the seal fails")) from cause

        db.insert("e", [(1, "new")])
        with pytest.raises(UsageError, match="the seal fails"):
            db.commit(fails)
        assert (tmp_path / "facts-of-another").exists() == lost
        assert ((tmp_path / MANIFEST).read_bytes() == before) != lost
