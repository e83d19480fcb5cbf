"""Early projections: where they pay an engine finds them by itself, and the views are the same with and without."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import tidelog
from tests.recount import mistakes, state_of
from tests.suite import loaded
from tidelog.database.database import Database
from tidelog.maintain import early, threads
from tidelog.maintain.machine import Inputs
from tidelog.rules.core import HyperNode

POINTS_TO = """
.decl address(y: number, x: number)
.decl assign(y: number, x: number)
.decl read(y: number, x: number)
.decl written(y: number, x: number)
.decl pt(y: number, x: number)
a: pt(y, x) :- address(y, x).
b: pt(y, x) :- assign(y, z), pt(z, x).
c: pt(y, w) :- read(y, x), pt(x, z), pt(z, w).
d: pt(z, w) :- written(y, x), pt(y, z), pt(x, w).
"""
SAME_GENERATION = """
.decl e(x: number, y: number)
.decl sg(x: number, y: number)
sg(x, y) :- e(a, x), e(a, y).
sg(x, y) :- e(a, x), sg(a, b), e(b, y).
"""


def pointers(n: int = 150, seed: int = 5) -> dict[str, list[tuple[int, int]]]:
    """Few loads and stores, among many assignments."""
    rng = random.Random(seed)
    sizes = {"address": n, "assign": n + n // 3, "read": n // 15, "written": n // 15}
    return {name: [(rng.randrange(n), rng.randrange(n)) for _ in range(size)] for name, size in sizes.items()}


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels come back after few bindings, and few are enough to count parts."""
    monkeypatch.setattr("tidelog.maintain.bootstrap._WORK_BEFORE_LOOK", 1_000)
    monkeypatch.setattr(early, "_STOPS", (20_000, 80_000))
    monkeypatch.setattr(early, "_WASTE", 1)
    monkeypatch.setattr(early, "_ROW", 1)
    monkeypatch.setattr(early, "_GAIN", 1.0)


def parts(db: Database) -> set[str]:
    return {name for name in db.engine.views if name.startswith("#projection.")}


def right(db: Database) -> bool:
    """Views, births and counts are those that the rules and facts lead to."""
    facts = {name: set(db[name]) if name not in ("pt", "sg") else set() for name in db.relations}
    return mistakes(db, state_of(db), facts) == ""


@pytest.mark.parametrize("count", [1, 2])
def test_an_engine_finds_the_parts_that_pay(eager: None, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(threads, "SHARED_FROM", 16)
    plain, db = (loaded(POINTS_TO, pointers(), early_projection=way, threads=count) for way in ("never", "auto"))
    assert not parts(plain)
    assert len(parts(db)) == 2  # of the rule that reads and of the one that writes
    assert set(db["pt"]) == set(plain["pt"])
    assert right(db)
    db.check()
    names = {name for node in db.engine.structure.idle for name in node.relations}
    assert names == {"pt"}


def test_few_bindings_are_no_reason() -> None:
    db = loaded(POINTS_TO, pointers())
    assert not parts(db)


def test_parts_that_are_as_large_as_the_relation_are_not_tried(eager: None) -> None:
    edges = {"e": [(x, y) for x in range(60) for y in range(x + 1, min(x + 5, 60))]}
    db = loaded(SAME_GENERATION, edges)
    assert not parts(db)
    assert right(db)


def test_what_did_not_pay_is_taken_back_for_good(eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "_GAIN", 0.0)
    bootstraps: list[HyperNode] = []
    original = early.EarlyChoice.counter

    def counter(choice: early.EarlyChoice, node: HyperNode) -> Callable[[Inputs, int], None] | None:
        bootstraps.append(node)
        return original(choice, node)

    monkeypatch.setattr(early.EarlyChoice, "counter", counter)
    db = loaded(POINTS_TO, pointers())
    assert not parts(db)
    assert len(bootstraps) == 3  # as it is, with the parts, and as it is
    db.options(strategy="bootstrap")
    db.insert("read", [(1, 2)])
    db.commit()
    assert len(bootstraps) == 4
    assert set(db["pt"]) == set(loaded(POINTS_TO, dict(pointers(), read=[*pointers()["read"], (1, 2)]))["pt"])


def test_facts_and_rules_come_and_go_without_a_bootstrap(eager: None) -> None:
    db = loaded(POINTS_TO, pointers())
    assert parts(db)
    db.options(strategy="update")
    rng = random.Random(9)
    for _ in range(4):
        for name in ("assign", "read", "written"):
            db.delete(name, rng.sample(sorted(db[name]), 2))
            db.insert(name, [(rng.randrange(150), rng.randrange(150)) for _ in range(2)])
        change = db.commit()
        assert {node.strategy for node in change.report.nodes} == {"update"}
        assert right(db)
    db.rules.remove("c")
    change = db.commit()
    assert right(db)
    db.rules.add("c: pt(y, w) :- read(y, x), pt(x, z), pt(z, w).")
    change = db.commit()
    assert {node.strategy for node in change.report.nodes} == {"update"}
    assert right(db)
    assert len(parts(db)) == 2


def test_options_change_the_program_of_the_next_epoch() -> None:
    db = loaded(POINTS_TO, pointers(), early_projection="always")
    assert len(parts(db)) == 2
    expected = set(db["pt"])
    for way, number in (("never", 0), ("always", 2), ("auto", 0)):
        db.options(early_projection=way)
        db.insert("read", [(200, 201)])
        db.commit()
        db.delete("read", [(200, 201)])
        db.commit()
        assert len({name for name in parts(db) if len(db.engine.views[name])}) == number
        assert set(db["pt"]) == expected
        assert right(db)


def test_a_store_keeps_them(eager: None, tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store") as db:
        db.load(POINTS_TO)
        for name, rows in pointers().items():
            db.insert(name, rows)
        db.commit()
        kept, expected = parts(db), set(db["pt"])
        assert kept
    with tidelog.connect(tmp_path / "store") as db:
        assert db.stats()["bootstraps"] == 0
        assert parts(db) == kept
        assert set(db["pt"]) == expected
        db.options(strategy="update")
        db.insert("read", [(3, 4)])
        change = db.commit()
        assert {node.strategy for node in change.report.nodes} == {"update"}
        assert right(db)
        db.check()


def test_a_failed_epoch_keeps_the_program(eager: None) -> None:
    db = loaded(POINTS_TO, pointers(), early_projection="always")
    before, rows = db.engine.program, set(db["pt"])
    db.options(max_rows=1, strategy="bootstrap")
    db.rules.add("e: pt(x, x) :- address(x, _).")
    with pytest.raises(tidelog.TidelogError):
        db.commit()
    db.rollback()
    assert db.engine.program is before
    db.options(max_rows=None, strategy="update")
    db.insert("read", [(5, 6)])
    assert db.commit().report.nodes[0].strategy == "update"
    assert set(db["pt"]) >= rows
    assert right(db)


def test_proofs_show_the_rules_as_they_are_written() -> None:
    db = loaded(POINTS_TO, pointers(60), early_projection="always")
    for row in sorted(db["pt"])[::40]:
        proof = db.explain("pt", row)
        assert not proof.check(db).open
        assert "#" not in str(proof)
    missing = next((x, y) for x in range(60) for y in range(60) if (x, y) not in set(db["pt"]))
    assert "#" not in str(db.why_not("pt", missing))


def test_another_way_is_an_error() -> None:
    with pytest.raises(tidelog.TidelogError, match='use "auto", "always" or "never"'):
        tidelog.connect().options(early_projection="sometimes")
