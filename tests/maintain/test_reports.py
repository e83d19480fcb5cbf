"""Epochs report what they change before they change it, whatever their strategy, threads and end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tests.mixtures import MixtureFollower, mixture_for
from tests.reports import reporting
from tests.scripts import Follower, WrongError, change_in, script_for
from tests.sharing import sharing
from tests.suite import FIRST_SEED
from tidelog.database.transaction import Transaction
from tidelog.maintain.strategies import situation
from tidelog.storage.readers import Readers

STRATEGIES = ("auto", "update", "bootstrap")
PROGRAM = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl t(x: number, y: number)
.decl u(x: number, y: number)
.decl c(x: number, y: number)
t(x, y) :- e(x, y). t(x, z) :- t(x, y), e(y, z), z < x + 99.
u(x, y) :- t(x, y), f(x, y). u(x, z) :- u(x, y), f(y, z), z < x + 99.
c(x, y) :- e(x, y). c(x, z) :- c(x, y), c(y, z).
"""


def database(strategy: str = "update") -> tidelog.Database:
    """Return a database with an epoch behind it."""
    db = tidelog.connect()
    db.options(strategy=strategy)
    db.load(PROGRAM)
    for name in "ef":
        db.insert(name, [(x, x + 1) for x in range(8)])
    db.commit()
    return db


def change(db: tidelog.Database | Transaction[Any]) -> None:
    db.delete("e", [(2, 3)])
    db.insert("e", [(8, 9), (0, 5)])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("count", [1, 3])
def test_an_epoch_reports_facts_views_and_closures(strategy: str, count: int) -> None:
    db = database(strategy)
    with reporting() as attempts, sharing(count):
        with db.what_if() as trial:
            change(trial)
        change(db)
        db.commit()
    assert [attempt.undone for attempt in attempts] == [True, False]
    for attempt in attempts:  # A bootstrap that nobody else reads makes new relations.
        assert attempt.relations >= (1 if strategy == "bootstrap" else 3)
        assert attempt.closures == 1


def test_merged_births_wider_words_and_lost_rules_are_reported() -> None:
    db = database()
    with reporting() as attempts:
        change(db)
        db.insert("t", [(50, 51)])
        db.rules.add("back: t(y, x) :- u(x, y), f(x, x).")
        db.commit()
        db.rules.remove("back")
        db.insert("f", [(2**40, 1)])
        db.commit()
        for name in list(db.rules):
            db.rules.remove(name)
        db.commit()
    assert db.stats()["word_bits"] == 64
    assert all(attempt.relations for attempt in attempts)


def test_random_scripts_report_all_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(situation, "_ALWAYS_WORTH", 0.0)  # "auto" gives each update up that it can.
    undone = relations = closures = 0
    for seed in range(FIRST_SEED, FIRST_SEED + cases(40)):
        script, strategy = script_for(seed), STRATEGIES[seed % 3]
        with reporting() as attempts, sharing(1 + seed % 3):
            follower = Follower(script, strategy, 1e-6)
            for epoch in script.epochs:
                with follower.db.transaction(dry_run=True) as trial:
                    change_in(trial, script, epoch)
                follower.follow(epoch)
        undone += sum(attempt.undone for attempt in attempts)
        relations += sum(attempt.relations for attempt in attempts)
        closures += sum(attempt.closures for attempt in attempts)
    assert undone > cases(100)
    assert relations > cases(400)
    assert closures >= cases(3) - 1


def test_scripts_over_all_constructs_report_all_changes(tmp_path: Path) -> None:
    relations = 0
    for seed in range(FIRST_SEED, FIRST_SEED + cases(2)):
        script = mixture_for(seed)
        with reporting() as attempts:
            follower = MixtureFollower(script, STRATEGIES[seed % 3], tmp_path / str(seed) if seed % 2 else None)
            for number in range(len(script.epochs)):
                follower.step(number)
        relations += sum(attempt.relations for attempt in attempts)
    assert relations > 50


@pytest.mark.parametrize("name", ["begin", "begin_closure"])
def test_an_epoch_that_reports_nothing_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Readers, name, lambda readers, changing: None)
    db = database()
    change(db)
    with reporting(), pytest.raises(WrongError, match="and was not reported"):
        db.commit()
