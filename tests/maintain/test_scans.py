"""A change that would need a large new index scans instead, some times, before it gets the index."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.suite import loaded
from tidelog.maintain import update
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
    real = update._scanning

    def counted(sight: update.Sight, i: int, state: int) -> update.Sight:
        scanning.append(i)
        return real(sight, i, state)

    monkeypatch.setattr(update, "_scanning", counted)
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


def evaluated(facts: dict[str, set[tuple[int, int]]]) -> tidelog.Database:
    return loaded(PROGRAM, {name: sorted(rows) for name, rows in facts.items()})
