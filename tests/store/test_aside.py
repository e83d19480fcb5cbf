"""Checkpoints that another thread writes while epochs go on: they have the state of the epoch in which they began."""

from __future__ import annotations

import io
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy
import pytest

import tidelog
from tests.depth import cases
from tests.scripts import Follower, script_for
from tests.store.disks import WRITES
from tests.suite import FIRST_SEED, views
from tidelog.durable.simulated import SimulatedDisk
from tidelog.errors import Problem, UsageError
from tidelog.store.checkpoint import EngineImage
from tidelog.store.database import StoredDatabase

RULES = """
.type Pair = [left: symbol, right: symbol]
.decl edge(x: symbol, y: symbol)
.decl path(x: symbol, y: symbol)
.decl made(p: Pair)
one: path(x, y) :- edge(x, y).
more: path(x, z) :- path(x, y), edge(y, z).
pair: made([x, y]) :- path(x, y).
"""
OTHER = '.decl other(x: symbol)  other("old").'
_SECONDS = 60.0


class Gate:
    """Lets the thread of a database write its checkpoints once it is `open`."""

    def __init__(self, db: StoredDatabase) -> None:
        self.open = threading.Event()
        self.written = 0
        self._db = db
        self._write = db.keeper.state.write_in_background
        db.keeper.in_background, db.keeper.price, db.keeper.least = True, 1e9, 0.0
        db.keeper.state.write_in_background = self._wait  # type: ignore[method-assign]

    def _wait(self, number: int, write: Any) -> str:
        assert self.open.wait(_SECONDS)
        found = self._write(number, write)
        self.written += 1
        return found

    def begin(self) -> None:
        """Let the next epoch begin a checkpoint."""
        self.open.clear()
        self._db.keeper.price = 0.0

    def end(self) -> None:
        """Let the checkpoint be written."""
        self._db.keeper.price = 1e9
        self.open.set()
        aside = self._db.keeper._background
        assert aside is not None
        aside._thread.join(_SECONDS)
        assert aside.is_written


@pytest.fixture
def db(tmp_path: Path) -> Iterator[StoredDatabase]:
    with tidelog.connect(tmp_path / "store") as found:
        found.keeper.price = 1e9
        found.load(RULES)
        found.insert("edge", [("a", "b"), ("b", "c")])
        found.commit()
        yield found


def commit(db: StoredDatabase, *inserted: tuple[str, str], deleted: tuple[tuple[str, str], ...] = ()) -> None:
    db.insert("edge", list(inserted))
    db.delete("edge", list(deleted))
    db.commit()


def files_in(db: StoredDatabase, part: str) -> list[str]:
    return sorted(os.listdir(db.folder / part))


def test_epochs_go_on_while_a_checkpoint_is_written(db: StoredDatabase) -> None:
    gate = Gate(db)
    gate.begin()
    commit(db, ("c", "d"))
    commit(db, ("d", "e"), deleted=(("a", "b"),))
    assert db.stats()["store"]["checkpoint"] is None
    assert len(db["path"]) == 6
    gate.end()
    commit(db, ("e", "f"))
    assert gate.written == 1
    stats = db.stats()["store"]
    assert (stats["checkpoint"], stats["segments"], stats["epoch"]) == (2, 2, 4)
    commit(db, ("f", "g"))  # It removes what has been replaced.
    assert (files_in(db, "checkpoints"), files_in(db, "segments")) == (["00000002"], [])
    assert files_in(db, "logs") == ["00000002", "00000005", "00000005.done"]  # The first one has epochs 2 to 4.
    kept = views(db)
    db.close()
    with tidelog.connect(db.folder) as again:
        assert views(again) == kept
        again.check()
        assert again.blame("edge", ("d", "e")).epoch == 3


def arrays(image: EngineImage) -> dict[str, list[Any]]:
    file = io.BytesIO()
    image.write(file)
    file.seek(0)
    return {name: array.tolist() for name, array in numpy.load(file, allow_pickle=False).items()}


@pytest.mark.parametrize("seed", range(FIRST_SEED + 830_000, FIRST_SEED + 830_000 + cases(24)))
def test_an_image_stays_as_it_was(seed: int) -> None:
    """Rows, marks, symbols and epochs, whatever later epochs change, also the word size and the rules."""
    script, rng = script_for(seed), random.Random(seed)
    follower = Follower(script, rng.choice(["update", "auto"]))
    images: list[tuple[EngineImage, dict[str, list[Any]]]] = []
    for epoch in script.epochs:
        if rng.random() < 0.5:
            engine = follower.db.engine
            images.append((EngineImage(engine, "", apart=True), arrays(EngineImage(engine, ""))))
        follower.follow(epoch)
    for image, expected in images:
        assert arrays(image) == expected


def test_relations_that_go_meanwhile_are_not_in_the_next_state(db: StoredDatabase) -> None:
    db.load('.decl other(x: symbol)\nother("old").')
    gate = Gate(db)
    gate.begin()
    commit(db, ("c", "d"))
    db.load("", replace=OTHER)
    threading.Timer(0.05, gate.open.set).start()
    db.commit()
    db.load(".decl other(x: symbol)")
    commit(db, ("x", "y"))
    assert (set(db["other"]), ("x", "y") in db["path"]) == (set(), True)
    kept = views(db)
    db.close()
    with tidelog.connect(db.folder) as again:
        assert views(again) == kept
        again.check()


def test_a_full_disk_loses_nothing(db: StoredDatabase) -> None:
    gate = Gate(db)

    def full(number: int, write: Any) -> str:
        class Full(io.RawIOBase):
            def write(self, data: Any, /) -> int:
                raise UsageError(Problem("E0681", "no space left on device"))

        write(Full())
        raise AssertionError

    gate._write = full
    gate.begin()
    commit(db, ("c", "d"))
    gate.end()
    commit(db, ("d", "e"))
    assert db.stats()["store"]["checkpoint"] is None
    assert files_in(db, "checkpoints") == []
    db.close()
    with tidelog.connect(db.folder) as again:
        assert len(again["path"]) == 10


def test_other_syncs_wait_for_a_part_of_the_file_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.durable.files._AT_ONCE", 100)
    disk, steps = SimulatedDisk(), list[str]()
    files = disk.files()
    files.establish()
    disk.before = lambda operation, name: steps.append(operation) if operation in WRITES else None
    found = files.write("big", lambda file: [file.write(bytes(50)), file.write(bytes(230))], gently=True)
    assert steps == ["create", "write", "write", "sync file", "write", "sync file", "write", "sync file"]
    assert files.read_bytes("big") == bytes(280)
    assert found == files.checksum("big")


def test_closing_ends_the_thread(db: StoredDatabase) -> None:
    gate = Gate(db)
    gate.begin()
    commit(db, ("c", "d"))
    aside = db.keeper._background
    assert aside is not None
    threading.Timer(0.05, gate.open.set).start()
    db.close()
    assert aside.is_written
    assert files_in(db, "checkpoints") == []
    with tidelog.connect(db.folder) as again:
        assert len(again["path"]) == 6


def test_a_fork_waits_for_no_thread(db: StoredDatabase) -> None:
    gate = Gate(db)
    gate.begin()
    commit(db, ("c", "d"))
    child = os.fork()
    if not child:
        try:
            db.keeper.close()
        finally:
            os._exit(0)
    end, ended = time.monotonic() + _SECONDS, 0
    while not ended and time.monotonic() < end:
        ended, _ = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    assert ended == child
    gate.end()
    commit(db, ("d", "e"))
    assert db.stats()["store"]["checkpoint"] == 2


def test_an_error_of_the_thread_is_one_of_the_next_commit(db: StoredDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """And that commit has happened."""
    gate = Gate(db)

    def broken(self: EngineImage, file: IO[bytes], look: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(EngineImage, "write", broken)
    gate.begin()
    commit(db, ("c", "d"))
    gate.end()
    with pytest.raises(RuntimeError, match="broken"):
        commit(db, ("d", "e"))
    assert len(db["path"]) == 10
