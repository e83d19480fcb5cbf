"""Update or bootstrap: a change of many rows is weighed by the derivations that it concerns, not by its rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

import tidelog
from tidelog.kernels.compiling import between_kernels
from tidelog.maintain import engine, update
from tidelog.maintain.strategies import situation

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


@pytest.mark.parametrize("rule", ["t(x, z) :- t(x, y), e(y, z), x != 9.", "d(z, c + 1) :- d(y, c), e(y, z), c < 9."])
def test_kernels_are_compiled_whatever_an_update_may_take(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """Otherwise an update that needs a kernel which no process has compiled would be given up each time."""
    seen: list[str] = []
    looks: list[Callable[[], object]] = []
    look_at_price = update.NodeUpdate.look

    def between(look: Callable[[], object]) -> AbstractContextManager[None]:
        looks.append(look)
        return between_kernels(look)

    def look(self: update.NodeUpdate) -> None:
        looks[-1]()
        seen.append("goes on")
        look_at_price(self)

    monkeypatch.setattr(engine, "between_kernels", between)
    monkeypatch.setattr(update.NodeUpdate, "look", look)
    monkeypatch.setattr(situation, "_ALWAYS_WORTH", -1.0)
    db = tidelog.connect()
    db.options(switch=1e-9)
    db.load(f".decl e(x: number, y: number) .decl t(x: number, y: number) .decl d(x: number, c: number) min(c) {rule}")
    db.load("t(x, y) :- e(x, y). d(x, 0) :- e(x, _).")
    db.insert("e", [(i, i + 1) for i in range(8)])
    db.commit()
    db.insert("e", [(8, 9)])
    assert any("given up after" in node.reason for node in db.commit().report.nodes)
    assert seen


@pytest.mark.usefixtures("weighed")
@pytest.mark.parametrize("change", ["insert", "delete"])
def test_only_updates_that_can_lose_derivations_are_given_up_for_their_time(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last bootstrap says little about the price of the next one where relations have grown. A bootstrap makes
    all derivations that are won, whatever it costs; it makes none of those that are lost."""
    monkeypatch.setattr(situation, "_ALWAYS_WORTH", -1.0)
    db = small_database(40)
    db.options(switch=1e-9)
    getattr(db, change)("a", [(38, 0), (41, 1), (42, 0)])
    strategy, reason = node(db.commit())
    assert strategy == {"insert": "update", "delete": "bootstrap"}[change]
    assert ("given up after" in reason) == (change == "delete")


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


# --- the estimate, of changes so few that their derivations can be counted by hand -----------------------------------

THREE_OR_ONE = [(0, 10), (0, 11), (0, 12), (1, 10)]
"""Rows of `b`: an even row of `a` has three derivations, an odd one has one."""


@pytest.fixture
def weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change is weighed, and no number of derivations is too small for a bootstrap."""
    monkeypatch.setattr(update, "_WEIGHED", 0)
    monkeypatch.setattr(update, "_FEW", 0)


def small_database(rows: int) -> tidelog.Database:
    """`pairs` of so many rows of `a`, and beside them of four rows of `c`."""
    db = tidelog.connect()
    db.load(f"{PAIRS}.decl c(x: number)\npairs(x, 0) :- c(x).")
    db.insert("a", [(x, x % 2) for x in range(rows)])
    db.insert("b", THREE_OR_ONE)
    db.insert("c", [(x,) for x in range(4)])
    db.commit()
    return db


def estimate(db: tidelog.Database) -> str:
    """What the update that is given up would have cost."""
    strategy, reason = node(db.commit())
    assert strategy == "bootstrap", reason
    return reason.partition("at once, ")[2]


@pytest.mark.usefixtures("weighed")
@pytest.mark.parametrize("budget", [1, 100_000])
def test_few_changes_are_counted(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rules count, and kernels that look at the clock in between continue where they were."""
    monkeypatch.setattr(update, "WORK_BEFORE_LOOK", budget)
    db = small_database(6)
    db.delete("a", [(0, 0), (2, 0), (1, 1)])
    db.delete("c", [(1,), (2,)])
    db.insert("a", [(6, 0)])
    assert estimate(db) == "to lose some 9 and win some 3 derivations of 16"


@pytest.mark.usefixtures("weighed")
@pytest.mark.parametrize(("deleted", "lost"), [(4, 12), (5, 18), (8, 24), (10, 36)])
def test_many_changes_are_counted_by_a_sample(deleted: int, lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five rows each second one is taken, which counts twice, and of ten rows each third one."""
    monkeypatch.setattr(update, "_SAMPLE", 4)
    db = small_database(24)
    db.delete("a", [(2 * x, 0) for x in range(deleted)])
    found = estimate(db) if lost > 12 else node(db.commit())[0]
    assert found == (f"to lose some {lost} and win some 0 derivations of 52" if lost > 12 else "update")


@pytest.mark.usefixtures("weighed")
def test_counting_stops_at_twice_the_derivations_there_are() -> None:
    """There are 304. Two batches of the first rule are more than twice as many; its 3,000 are not all counted."""
    db = small_database(0)
    db.insert("a", [(x, 1) for x in range(300)])
    db.insert("b", [(2, z) for z in range(30)])
    db.commit()
    db.insert("a", [(x, 2) for x in range(100)])
    db.insert("c", [(x,) for x in range(100, 110)])
    assert estimate(db) == "to lose some 0 and win some 1,024 derivations of 304"


@pytest.mark.usefixtures("weighed")
@pytest.mark.parametrize(("deleted", "strategy"), [(20, "update"), (60, "bootstrap")])
def test_functions_in_python_are_not_called_to_count(deleted: int, strategy: str) -> None:
    called: list[int] = []

    def twice(y: int) -> int:
        called.append(y)
        return 2 * y

    db = tidelog.connect(functors={"twice": twice})
    db.load(
        ".functor twice(y: number): number\n.decl a(x: number)\n.decl pairs(x: number, y: number)\n"
        "pairs(x, @twice(x)) :- a(x)."
    )
    db.insert("a", [(x,) for x in range(100)])
    db.commit()
    db.delete("a", [(x,) for x in range(deleted)])
    found, reason = node(db.commit())
    assert found == strategy
    assert strategy == "update" or reason.endswith("to lose some 60 and win some 0 derivations of 100")
    assert set(db["pairs"]) == {(x, 2 * x) for x in range(deleted, 100)}
    assert sorted(called) == list(range(100)), "what a function gave is remembered"
