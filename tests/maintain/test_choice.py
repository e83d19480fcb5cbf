"""Update or bootstrap: a change of many rows is weighed by the derivations that it concerns, not by its rows."""

from __future__ import annotations

import pytest

import tidelog

PAIRS = """
.decl a(x: number, y: number)
.decl b(y: number, z: number)
.decl pairs(x: number, z: number)
pairs(x, z) :- a(x, y), b(y, z).
"""
HEAVY = [(x, y) for x in range(300) for y in range(40)]
"""Rows of `a` with a hundred derivations each, of 1.2 million."""
LIGHT = [(x, y) for x in range(300) for y in range(1_000, 1_020)]
"""Rows of `a` with one derivation each."""
B = [(y, z) for y in range(40) for z in range(100)] + [(y, 0) for y in range(1_000, 1_020)]


def database(a: list[tuple[int, int]]) -> tidelog.Database:
    db = tidelog.connect()
    db.load(PAIRS)
    db.insert("a", a)
    db.insert("b", B)
    db.commit()
    return db


def node(change: tidelog.Change) -> tuple[str, str]:
    """How the hyper-node of `pairs` followed, and why."""
    (found,) = [node for node in change.report.nodes if node.relations == ("pairs",)]
    return found.strategy, found.reason


def test_deletions_of_nearly_half_of_the_derivations_are_a_bootstrap_at_once() -> None:
    db = database(HEAVY + LIGHT)
    db.delete("a", HEAVY[::2])
    strategy, reason = node(db.commit())
    assert strategy == "bootstrap"
    assert "an update was given up at once, to lose some" in reason
    assert set(db["pairs"]) == {(x, z) for x in range(300) for z in range(100)}
    assert db.engine.counts("pairs").sum() == 300 * 100 * 20 + 300 * 20


def test_as_many_rows_with_few_derivations_are_an_update() -> None:
    db = database(HEAVY + LIGHT)
    db.delete("a", LIGHT)
    strategy, reason = node(db.commit())
    assert (strategy, reason) == ("update", "a changed")
    assert set(db["pairs"]) == {(x, z) for x in range(300) for z in range(100)}


def test_insertions_that_outnumber_what_there_is_are_a_bootstrap_at_once() -> None:
    db = database(LIGHT + HEAVY[::10])
    db.insert("a", HEAVY[1::2])
    strategy, reason = node(db.commit())
    assert strategy == "bootstrap"
    assert "and win some" in reason
    assert len(db["pairs"]) == 30_000


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
def test_a_forced_strategy_weighs_nothing(strategy: str) -> None:
    db = database(HEAVY + LIGHT)
    db.options(strategy=strategy)
    db.delete("a", HEAVY[::2])
    found, reason = node(db.commit())
    assert found == strategy
    assert "given up" not in reason


def test_rows_that_lose_several_derivations_are_as_before_when_the_epoch_fails() -> None:
    db = database(HEAVY + LIGHT)
    db.options(strategy="update", max_rows=1_000)
    before = db.engine.counts("pairs").tolist()
    db.delete("a", HEAVY[:6_000])
    db.insert("b", [(y, 5_000 + z) for y in range(1_000, 1_020) for z in range(1_000)])
    with pytest.raises(tidelog.LimitError):
        db.commit()
    assert db.engine.counts("pairs").tolist() == before
