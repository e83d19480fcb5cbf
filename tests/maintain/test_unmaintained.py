"""The option `maintain`: nothing is counted without it, and the views are the same, whenever it is switched."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.depth import cases
from tests.suite import loaded
from tidelog.errors import UsageError

PROGRAM = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl t(x: number, y: number)
.decl u(x: number, y: number)
.decl n(x: number, c: number)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), t(y, z).
u1: u(x, y) :- f(x, y), !t(x, y).
u2: u(x, z) :- u(x, y), f(y, z).
n1: n(x, c) :- e(x, _), c = count : { t(x, _) }.
"""
FACTS = {"e": [(1, 2), (2, 3)], "f": [(3, 4), (4, 3)], "t": [(5, 6)]}


def evaluated(facts: dict[str, list[tuple[int, int]]], *, maintain: bool = True) -> tidelog.Database:
    return loaded(PROGRAM, facts, maintain=maintain, closures=False)


def test_every_change_is_a_bootstrap_that_says_why() -> None:
    db = evaluated(FACTS, maintain=False)
    db.insert("f", [(4, 5)])
    report = db.commit().report
    assert [(node.relations, node.strategy) for node in report.nodes if node.strategy != "skip"] == [
        (("u",), "bootstrap")
    ]
    assert [node.reason for node in report.nodes if node.impact] == ["f changed; views are not maintained"]
    assert set(db["u"]) == {(3, 4), (4, 3), (3, 3), (4, 4), (4, 5), (3, 5)}


def test_switched_on_the_next_change_is_the_last_bootstrap() -> None:
    db = evaluated(FACTS, maintain=False)
    db.options(maintain=True)
    for expected in (1, 0):
        db.insert("f", [(10 + expected, 5)])
        assert db.commit().report.bootstraps == expected


@pytest.mark.parametrize("seed", range(cases(16)))
def test_switching_back_and_forth_changes_no_view(seed: int) -> None:
    rng = random.Random(seed)
    facts = {name: {(rng.randrange(6), rng.randrange(6)) for _ in range(8)} for name in FACTS}
    db = evaluated({name: sorted(rows) for name, rows in facts.items()}, maintain=bool(seed % 2))
    for _ in range(8):
        before = {name: set(db[name]) for name in "tun"}
        db.options(maintain=rng.random() < 0.5)
        for name, rows in facts.items():
            gone = set(rng.sample(sorted(rows), min(2, len(rows))))
            came = {(rng.randrange(6), rng.randrange(6)) for _ in range(2)}
            db.delete(name, sorted(gone))
            db.insert(name, sorted(came))
            facts[name] = (rows - gone) | came
        change = db.commit()
        expected = evaluated({name: sorted(rows) for name, rows in facts.items()})
        for name in "tun":
            assert set(db[name]) == set(expected[name])
            assert set(change[name].inserted) == set(db[name]) - before[name]
            assert set(change[name].deleted) == before[name] - set(db[name])


def test_the_option_is_true_or_false() -> None:
    with pytest.raises(UsageError, match="maintain must be True or False"):
        tidelog.connect().options(maintain="no")
