"""A change that would need a large new index scans instead, some times, before it gets the index."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.suite import loaded
from tidelog.maintain import update_plans
from tidelog.maintain.assemble import Sight
from tidelog.rules import plans

PROGRAM = """
.decl e(x: number, y: number)
.decl s(y: number, z: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), t(y, z).
t(x, z) :- e(x, y), s(y, z).
"""


def test_scans_agree_with_evaluation_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_SMALL", -1.0)
    scanning: list[int] = []
    real = update_plans._sight_of_scan

    def counted(sight: Sight, i: int, state: int) -> Sight:
        scanning.append(i)
        return real(sight, i, state)

    monkeypatch.setattr(update_plans, "_sight_of_scan", counted)
    rng = random.Random(5)
    facts = {name: {(rng.randrange(9), rng.randrange(9)) for _ in range(12)} for name in "es"}
    db = evaluated(facts)
    db.options(strategy="update")
    for _ in range(40):
        for name, rows in facts.items():
            gone = set(rng.sample(sorted(rows), 2))
            came = {(rng.randrange(9), rng.randrange(9)) for _ in range(2)}
            db.delete(name, sorted(gone))
            db.insert(name, sorted(came))
            facts[name] = (rows - gone) | came
        assert db.commit().report.bootstraps == 0
        assert set(db["t"]) == set(evaluated(facts)["t"])
    assert scanning


def test_a_relation_is_scanned_so_often_and_then_gets_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_SMALL", -1.0)
    scans: list[str] = []
    real = update_plans._jobs

    def seen(*args: object) -> list[object]:
        jobs = real(*args)  # type: ignore[arg-type]
        scans.extend(name for name in args[5].scanned if name not in scans)  # type: ignore[attr-defined]
        return list(jobs)

    monkeypatch.setattr(update_plans, "_jobs", seen)
    db = evaluated({"e": {(0, 1), (1, 2)}, "s": {(1, 3), (2, 4)}})
    db.options(strategy="update")
    left, machines = [], []
    for number in range(update_plans._SCANS + 5):
        db.insert("s", [(1, 10 + number)])
        assert db.commit().report.bootstraps == 0
        [kept] = [each for each in db.engine.maintained.values() if "s" in each.stored]
        left.append(kept.scanned.get("s"))
        machines.append(kept.machine)
    assert "s" in scans
    assert left == [*range(update_plans._SCANS - 1, -1, -1), None, None, None, None, None]
    assert len(set(map(id, machines))) == 2  # one that scans, one with the index
    assert len(db["t"]) == 3 + 3 + update_plans._SCANS + 5


def evaluated(facts: dict[str, set[tuple[int, int]]]) -> tidelog.Database:
    return loaded(PROGRAM, {name: sorted(rows) for name, rows in facts.items()})
