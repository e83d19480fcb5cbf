"""Large groups of aggregates in Python that merge: a change reads a part of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import tidelog
from tests.database.test_user_aggregates import SUM, Counted
from tests.depth import cases
from tests.suite import FIRST_SEED
from tidelog.errors import UsageError
from tidelog.maintain import user_aggregates


def test_with_a_merge_a_change_reads_a_part_of_a_large_group() -> None:
    counted = Counted()
    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", counted.init, counted.step, merge=lambda one, other: one + other)
    db.insert("e", [(0, y) for y in range(10_000)] + [(1, y) for y in range(100)])
    db.commit()
    db.options(strategy="update")
    counted.taken()
    for number in range(20):
        db.insert("e", [(0, 50_000 + number), (1, 50_000 + number)])
        db.delete("e", [(0, number)])
        assert db.commit().report.bootstraps == 0
        steps = counted.taken()["step"] - (101 + number)  # The small group is read.
        if number == 0:
            assert steps == 10_000  # The first change reads all parts.
        elif number not in (1, 2, 4, 8, 16):  # changes after which the value is compared
            assert 0 < steps < 10_000 // 16
    expected = {(0, sum(range(20, 10_000)) + sum(range(50_000, 50_020)))}
    assert set(db["per"]) == expected | {(1, sum(range(100)) + sum(range(50_000, 50_020)))}
    assert db.stats()["aggregates"]["total"]["states"] == 1
    db.check()
    db.delete("e", [(0, y) for y in range(9_000)])
    db.commit()
    assert db.stats()["aggregates"]["total"]["states"] == 0


BEST = """
.aggregate best(name: symbol, rank: number): symbol
.decl e(x: number, name: symbol, rank: number)
.decl per(x: number, names: symbol)
per(x, names) :- e(x, _, _), names = best(n, r) : { e(x, n, r) }.
"""


def best_of(state: list[tuple[int, str]], name: str, rank: int) -> list[tuple[int, str]]:
    state.append((rank, name))
    state.sort()
    del state[4:]
    return state


def both(one: list[tuple[int, str]], other: list[tuple[int, str]]) -> list[tuple[int, str]]:
    one += other
    one.sort()
    del one[4:]
    return one


def test_merged_groups_follow_random_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that are changed in place, operands of several kinds, groups that grow and shrink beyond the bound."""
    monkeypatch.setattr(user_aggregates, "LARGE", 12)
    monkeypatch.setattr(user_aggregates, "_FEWEST", 2)
    for seed in range(FIRST_SEED, FIRST_SEED + cases(5)):
        rng = random.Random(f"merged {seed}")
        db = tidelog.connect()
        db.load(BEST)
        db.aggregate("best", list, best_of, merge=both, finish=lambda state: " ".join(name for _, name in state))
        db.options(strategy="update")
        rows: set[tuple[int, str, int]] = set()
        for _ in range(40):
            new = {(rng.randrange(2), f"n{rng.randrange(40)}", rng.randrange(9)) for _ in range(rng.randrange(30))}
            gone = {row for row in rows if rng.random() < rng.choice((0.02, 0.3))}
            db.delete("e", gone)
            db.insert("e", new)
            db.commit()
            rows = (rows - gone) | new
            groups = {x: sorted((rank, name) for key, name, rank in rows if key == x) for x in {x for x, _, _ in rows}}
            assert set(db["per"]) == {(x, " ".join(name for _, name in group[:4])) for x, group in groups.items()}
        db.check()


def merging(monkeypatch: pytest.MonkeyPatch, merge: Callable[[Any, Any], Any]) -> tidelog.Database:
    monkeypatch.setattr(user_aggregates, "LARGE", 12)
    db = tidelog.connect()
    db.load(SUM)
    db.aggregate("total", 0, lambda state, x: state + x, merge=merge)
    db.insert("e", [(0, y) for y in range(100)])
    db.commit()
    db.options(strategy="update")
    return db


def test_a_merge_that_is_not_the_state_of_both_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    db = merging(monkeypatch, max)
    db.insert("e", [(0, 200)])
    db.commit()
    db.insert("e", [(0, 300)])
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert caught.value.code == "E0644"
    assert "the merge of `total` is not the state of both groups, in the group 0: the value is" in str(caught.value)


def test_a_merge_that_raises_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = [False]

    def merge(one: int, other: int) -> int:
        if failing[0]:
            raise ValueError("now")
        return one + other

    db = merging(monkeypatch, merge)
    db.insert("e", [(0, 200)])
    db.commit()
    before = set(db["per"])
    failing[0] = True
    db.insert("e", [(0, 300)])
    with pytest.raises(UsageError, match=r"the merge of `total` in the group 0 raised ValueError: now"):
        db.commit()
    assert set(db["per"]) == before
    failing[0] = False
    db.commit()
    assert set(db["per"]) == {(0, sum(range(100)) + 500)}


def test_functions_with_a_merge_that_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    db = merging(monkeypatch, lambda one, other: one + other)
    db.insert("e", [(0, 200)])
    db.commit()
    db.aggregate("total", 0, lambda state, x: state + 2 * x, merge=lambda one, other: one + other)
    db.commit()
    db.insert("e", [(0, 300)])
    db.commit()
    assert set(db["per"]) == {(0, 2 * (sum(range(100)) + 500))}
    db.check()
