"""Rows that wait are inserted as others are, in another order: sets, counts, births and rounds are the same."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import numpy
import pytest

import tidelog
from tests.allocations import spilling
from tests.depth import cases
from tests.recount import mistakes, state_of
from tests.scripts import run, script_for
from tests.suite import FIRST_SEED, chunks
from tidelog.common.looking import ignore_limits
from tidelog.kernels import layout
from tidelog.maintain import bootstrap
from tidelog.storage import grids, waiting
from tidelog.storage.catalog import Catalog
from tidelog.storage.room import Room
from tidelog.storage.stored import StoredRelation
from tidelog.storage.waiting import WaitingRows
from tidelog.workspace.options import DatabaseOptions

SAME_GENERATION = """
.decl up(x: number, y: number)
.decl s(x: number, y: number)
s(x, y) :- up(x, p), up(y, p).
s(x, y) :- up(x, a), s(a, b), up(y, b).
"""
CLOSURE = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Let rows of all relations wait, in files. Return a list that gets how many are inserted at a time."""
    inserted: list[int] = []
    spilling(monkeypatch, 1)
    monkeypatch.setattr("tidelog.database.database.DatabaseOptions", partial(DatabaseOptions, spill=tmp_path))
    monkeypatch.setattr(waiting, "_LARGE", 0)
    monkeypatch.setattr(waiting, "_ROOM", 0)
    for name, value in (("_REGIONS", 8), ("_TOGETHER", 1), ("_MOST", 512), ("_LEAST", 16), ("_NEAR", 0)):
        monkeypatch.setattr(waiting, name, value)
    insert = WaitingRows.insert

    def noted(self: WaitingRows, look: object) -> None:
        inserted.append(self._stored.fields[layout.R_WAITING_N])
        insert(self, look)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(WaitingRows, "insert", noted)
    return inserted


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(12)))
def test_waiting_rows_are_inserted_as_others(monkeypatch: pytest.MonkeyPatch, seed: int, bits: int) -> None:
    rng = random.Random(seed)
    for name in ("_TOGETHER", "_LEAST", "_NEAR"):
        monkeypatch.setattr(waiting, name, rng.choice([1, 5, 64]))
    monkeypatch.setattr(waiting, "_MOST", rng.choice([1, 100, 1 << 16]))
    plain, late = (StoredRelation(Catalog(bits), 2) for _ in range(2))
    for stored in (plain, late):
        stored.marks.keep_supports()
    rows = WaitingRows(late, 5_000)
    for _ in range(4):
        batch = numpy.array([[rng.randrange(90), rng.randrange(70)] for _ in range(rng.choice([0, 1, 300, 5_000]))])
        batch = batch.reshape(-1, 2).astype(late.catalog.dtype)
        start = plain.rows
        for stored in (plain, late):
            stored.fields[layout.R_NEW] = start  # rows of this round are counted again
        rows._rows.view(late.catalog.dtype, batch.size)[:] = batch.ravel()
        late.fields[layout.R_WAITING_N] = len(batch)
        rows.insert(ignore_limits)
        insert_counted(plain, batch, start)
        assert late.fields[layout.R_WAITING_N] == 0
        assert found(late, start) == found(plain, start)
        assert found(late, 0) == found(plain, 0)
        assert late.rows_emitted == plain.rows_emitted


def insert_counted(stored: StoredRelation, batch: numpy.ndarray, since: int) -> None:
    """Insert rows one after the other, as a round does whose first new row is `since`."""
    from tidelog.kernels.sets import insert_rows
    from tidelog.storage.memory import Pinned

    catalog, pinned, done = stored.catalog, Pinned(batch.copy()), 0
    stored.ensure(len(batch))
    while done < len(batch):
        arguments = pinned.address, done, len(batch), since, catalog.hashes, catalog.tag
        done = insert_rows(catalog.table, stored.number, *arguments)


def found(stored: StoredRelation, start: int) -> list[tuple[object, ...]]:
    """Return the rows from a number on with their counts and supports, sorted."""
    marks = stored.marks.counts(), stored.marks.supports()
    words = map(tuple, stored.take(numpy.arange(start, stored.rows)).tolist())
    return sorted(zip(words, *(each[start:].tolist() for each in marks), strict=True))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("text", [CLOSURE, SAME_GENERATION])
def test_programs_whose_rows_wait(waits: list[int], monkeypatch: pytest.MonkeyPatch, text: str, threads: int) -> None:
    monkeypatch.setattr(bootstrap, "CALLED_BATCH", 1024)  # None calls Python, so that batches are smaller.
    rng = random.Random(3)
    db, plain = tidelog.connect(), tidelog.connect()
    plain.options(spill=None)
    name, view = ("e", "t") if text == CLOSURE else ("up", "s")
    edges = sorted({(rng.randrange(120), rng.randrange(120)) for _ in range(400)})
    for each in (db, plain):
        each.options(closures=False, threads=threads)
        each.load(text)
        each.insert(name, edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Room, "budget", None)
        plain.commit()
    db.commit()
    assert max(waits) > 1024, "rows wait until there are many"
    assert sum(waits) >= len(db[view]) > 5_000
    assert state_of(db) == state_of(plain)
    assert mistakes(db, state_of(db), {name: set(edges), view: set()}) == ""
    assert db.engine.stats()["rounds"] == plain.engine.stats()["rounds"]
    db.check()
    db.options(strategy="update")
    db.delete(name, edges[:3])
    assert db.commit().report.nodes[0].strategy == "update"
    assert mistakes(db, state_of(db), {name: set(edges) - set(edges[:3]), view: set()}) == ""


@pytest.mark.parametrize("seeds", chunks(FIRST_SEED + 800_000, 50, 25))
def test_random_scripts_whose_rows_wait(waits: list[int], seeds: range) -> None:
    for seed in seeds:
        problem = run(script_for(seed), ("update", "auto", "bootstrap")[seed % 3])
        assert not problem, f"{problem}\n{script_for(seed)}"
    assert sum(waits) > 10 * len(seeds)


def test_a_limit_in_the_middle_leaves_no_trace(waits: list[int]) -> None:
    db = tidelog.connect()
    db.options(closures=False, max_rows=9_000, threads=1)
    db.load(CLOSURE)
    db.insert("e", [(x, (x + 1) % 200) for x in range(200)])
    with pytest.raises(tidelog.LimitError, match="E0502"):
        db.commit()
    assert waits
    assert db.has_pending
    db.options(max_rows=None)
    db.commit()
    assert len(db["t"]) == 40_000


def test_pairs_that_a_grid_has_do_not_wait(waits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(bootstrap, "_WORK_BEFORE_LOOK", 100)
    monkeypatch.setattr(Room, "fits", lambda self, more: True)
    for least in (1 << 40, 20):
        monkeypatch.setattr(grids, "_LEAST", least)
        monkeypatch.setattr(grids, "_BITS", 100)
        db = tidelog.connect()
        db.options(maintain=False)
        db.load(SAME_GENERATION)
        db.insert("up", [(i, (7 * i + k * k) % 25) for i in range(25) for k in range(4)])
        db.commit()
        found.append((set(db["s"]), db.stats()["derivations"], sum(waits)))
        waits.clear()
    assert found[0][:2] == found[1][:2]
    assert 0 < found[1][2] < found[0][2]
