"""Counters: one number per substitution of a rule, kept while it holds, never used twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import tidelog
from tests.suite import Views, compiled, evaluate_embedded, evaluate_naive, evaluate_seminaive
from tidelog.errors import ProgramError
from tidelog.store.database import StoredDatabase

NUMBERED = """
.type Shape = Point {} | Box { side: number }
.decl item(name: symbol, size: number, shape: Shape)
.decl id(name: symbol, size: number, n: number)
.decl small(name: symbol, n: number)
.decl sizes(c: number)
id(name, size, $) :- item(name, size, _).
small(name, autoinc()) :- item(name, size, _), size < 3, !hidden(name).
.decl hidden(name: symbol)
sizes(c) :- c = count : { id(_, _, n), n >= 0 }.
"""


def database(text: str, strategy: str = "auto", folder: Path | None = None) -> tidelog.Database:
    db = tidelog.connect() if folder is None else tidelog.connect(folder)
    db.options(strategy=strategy)
    if not db.rules:
        db.load(text)
    return db


def numbers(db: tidelog.Database) -> list[int]:
    """All numbers that rules of NUMBERED have given."""
    return integers([n for _, _, n in db["id"]] + [n for _, n in db["small"]])


def integers(values: Iterable[object]) -> list[int]:
    """Numbers in their order."""
    found = [value for value in values if isinstance(value, int)]
    return sorted(found)


# --- the numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluate", [evaluate_naive, evaluate_seminaive, evaluate_embedded])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a(x, $) :- b(x, _).", {"a": {(1, 0), (1, 1), (2, 2), (3, 3)}}),
        ("a(x, autoinc()) :- b(x, y), y > 10, x < 3.", {"a": {(1, 0), (2, 1)}}),
        ("one(10 + $).", {"one": {(10,)}}),
        ("a(x, n), one(n) :- b(x, 20), n = $.", {"a": {(1, 0), (2, 1)}, "one": {(0,), (1,)}}),
        ("a(x, $) :- b(x, _), x > 2 ; b(_, x), x = 30.", {"a": {(3, 0), (30, 1)}}),
        ("one($) :- b(x, 20), y = range(x, x + 2).", {"one": {(0,), (1,), (2,), (3,)}}),
        ("a(range(0, 2), $) :- b(3, _).", {"a": {(0, 0), (1, 1)}}),
        ("one(n) :- b(3, _), n = $, !b(n, _).", {"one": {(0,)}}),
        ("a(c, n) :- b(3, _), n = $ + 1, c = count : { b(n, _) }.", {"a": {(2, 1)}}),
        ("a(c, $) :- c = count : { b(x, _) }.", {"a": {(4, 0)}}),
        ("a(m, $) :- b(x, _), m = max y : { b(x, y) }, x != 3.", {"a": {(20, 0), (20, 1), (20, 2)}}),
    ],
)
def test_values(evaluate: object, text: str, expected: Views) -> None:
    program = ".decl b(x: number, y: number) b(1, 10). b(1, 20). b(2, 20). b(3, 30)."
    program += f" .decl a(x: number, n: number) .decl one(n: number) {text}"
    found = evaluate(program, {})  # type: ignore[operator]
    assert {name: found[name] for name in expected} == expected


def test_counters_of_a_rule_give_different_numbers() -> None:
    db = database(".decl a(x: number, n: number, m: number) .decl b(x: number) a(x, $, $) :- b(x).")
    db.insert("b", [(1,), (2,), (3,)])
    db.commit()
    rows = sorted(db["a"])
    assert integers([n for _, n, _ in rows] + [m for _, _, m in rows]) == [0, 1, 2, 3, 4, 5]


def test_instances_of_a_component_have_rules_of_their_own() -> None:
    db = database(".comp C { .decl a(n: number) a($). } .init one = C .init two = C")
    db.commit()
    assert {*db["one.a"], *db["two.a"]} == {(0,), (1,)}


def test_equal_programs_over_equal_facts_give_equal_numbers() -> None:
    rows = [(name, size, None) for name in ("b", "a", "c") for size in (2, 1, -3)]
    found = []
    for order in (rows, rows[::-1]):
        db = database(NUMBERED)
        db.load('hidden("a").')
        db.insert("item", [(name, size, db.branch("Point")()) for name, size, _ in order])
        db.commit()
        found.append((sorted(db["id"]), sorted(db["small"])))
    assert found[0] == found[1]
    assert [row[2] for row in found[0][0]] == list(range(9))


def test_what_is_inlined_takes_part_in_the_substitution() -> None:
    text = ".decl b(x: number, y: number) b(1, 10). b(1, 20). .decl d(x: number) inline d(x) :- b(x, _)."
    db = database(f"{text} .decl a(x: number, n: number) a(x, $) :- d(x).")
    db.commit()
    assert set(db["a"]) == {(1, 0), (1, 1)}


# --- changes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["auto", "update", "bootstrap"])
def test_a_number_stays_while_the_substitution_holds_and_never_returns(strategy: str) -> None:
    db = database(NUMBERED, strategy)
    point, box = db.branch("Point")(), db.branch("Box")(3)
    db.insert("item", [("a", 1, point), ("b", 2, point), ("b", 2, box)])
    db.commit()
    assert numbers(db) == [0, 1, 2, 3, 4, 5]
    before = set(db["id"])
    db.delete("item", [("b", 2, box)])
    db.insert("item", [("c", 9, point)])
    change = db.commit()
    gone = before - set(db["id"])
    assert len(gone) == 1
    assert set(db["id"]) - before == {("c", 9, 6)}
    assert set(change["id"].deleted) == gone
    if strategy == "update":
        assert not change.report.bootstraps
    db.insert("item", [("b", 2, box)])
    db.commit()
    assert set(db["id"]) > before - gone
    assert max(numbers(db)) == 8  # twice: in `id` and in `small`
    db.insert("hidden", [("a",)])
    db.commit()
    assert {name for name, _ in db["small"]} == {"b"}
    db.delete("hidden", [("a",)])
    db.commit()
    assert ("a", 9) in set(db["small"])
    assert set(db["sizes"]) == {(4,)}
    db.check()


@pytest.mark.parametrize("strategy", ["auto", "update", "bootstrap"])
def test_the_value_of_an_aggregate_is_part_of_the_substitution(strategy: str) -> None:
    db = database(
        """
        .decl v(x: number, y: number)
        .decl mark(y: number, n: number)
        mark(y, autoinc()) :- y = min z : { v(_, z) }.
        """,
        strategy,
    )
    db.insert("v", [(1, 5), (2, 9)])
    db.commit()
    assert set(db["mark"]) == {(5, 0)}
    db.insert("v", [(3, 4)])
    db.commit()
    assert set(db["mark"]) == {(4, 1)}


def test_a_failed_epoch_uses_no_number() -> None:
    db = database(NUMBERED)
    db.insert("item", [(str(i), i, db.branch("Point")()) for i in range(5)])
    db.commit()
    used = max(numbers(db))
    db.options(max_rows=1)
    db.insert("item", [("new", i, db.branch("Point")()) for i in range(9)])
    with pytest.raises(tidelog.LimitError):
        db.commit()
    assert max(numbers(db)) == used
    db.options(max_rows=None)
    db.commit()
    assert numbers(db) == list(range(len(numbers(db))))
    db.insert("item", [("late", 0, db.branch("Point")())])
    db.rollback()
    db.insert("item", [("later", 9, db.branch("Point")())])
    db.commit()
    assert ("later", 9, len(numbers(db)) - 1) in set(db["id"])


def test_a_rule_that_comes_back_gives_new_numbers() -> None:
    db = database(".decl a(x: number, n: number) .decl b(x: number) r: a(x, $) :- b(x).")
    db.insert("b", [(1,), (2,)])
    db.commit()
    db.rules.remove("r")
    db.commit()
    assert not set(db["a"])
    db.rules.add("r: a(x, $) :- b(x), x > 1.")
    db.commit()
    assert set(db["a"]) == {(2, 2)}
    with db.transaction() as changes:  # other variables, of another type
        changes.rules.remove("r")
        changes.rules.add('.decl s(x: symbol) s("u"). r: a(strlen(x), $) :- s(x).')
    assert set(db["a"]) == {(1, 3)}
    db.check()


def test_numbers_of_wide_words() -> None:
    db = database(".decl a(x: number, n: number) .decl b(x: number) a(x, $) :- b(x).")
    db.insert("b", [(1,)])
    db.commit()
    db.engine.next_number = 2**31 - 1
    db.insert("b", [(2,), (3,)])
    db.commit()
    assert set(db["a"]) == {(1, 0), (2, 2**31 - 1), (3, 2**31)}


def test_many_variables() -> None:
    names = [f"x{i}" for i in range(12)]
    columns = ", ".join(f"{name}: number" for name in names)
    args = ", ".join(names)
    db = database(f".decl b({columns}) .decl a({columns}, n: number) a({args}, $) :- b({args}).", "update")
    rows = [(*[0] * 8, i, 0, 0, i) for i in range(6)]
    db.insert("b", rows)
    db.commit()
    db.delete("b", rows[1:3])
    db.insert("b", [(*rows[0][:-1], 7)])
    db.commit()
    assert integers(row[-1] for row in db["a"]) == [0, 3, 4, 5, 6]
    db.check()


# --- stores ----------------------------------------------------------------------------------------------------------


def test_numbers_come_back_from_the_disk(tmp_path: Path) -> None:
    """From checkpoints and from segments after them, also for substitutions that were gone for a while."""
    db = database(NUMBERED, folder=tmp_path / "store")
    assert isinstance(db, StoredDatabase)
    point, box = db.branch("Point")(), db.branch("Box")(3)
    db.insert("item", [("a", 1, point), ("b", 2, box), ("c", 2, box)])
    db.commit()
    used = set(numbers(db))
    for step in range(4):
        db.keeper.price = 1e9 if step != 2 else 0.0  # a checkpoint after the third step only
        db.delete("item", [("b", 2, box)])
        db.commit()
        db.insert("item", [("b", 2, box), (f"new {step}", step, point)])
        db.commit()
        assert numbers(db) == sorted({*numbers(db)})
    for _ in range(2):
        before, following = {name: set(db[name]) for name in db.relations}, db.engine.next_number
        db.close()
        db = database(NUMBERED, folder=tmp_path / "store")
        assert {name: set(db[name]) for name in db.relations} == before
        assert db.engine.next_number == following > max(used)
        db.check()
    db.insert("item", [("last", 0, point)])
    db.commit()
    assert ("last", 0, following) in set(db["id"])
    db.close()


def test_numbers_without_a_checkpoint_of_this_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = database(NUMBERED, folder=tmp_path / "store")
    point = db.branch("Point")()
    for name in "ba":  # numbered in this order
        db.insert("item", [(name, 1, point)])
        db.commit()
    before = {name: set(db[name]) for name in db.relations}
    db.close()
    monkeypatch.setattr("tidelog.store.checkpoint.Checkpoint.restore", lambda *_: None)
    db = database(NUMBERED, folder=tmp_path / "store")
    assert {name: set(db[name]) for name in db.relations} == before
    db.close()


# --- errors ----------------------------------------------------------------------------------------------------------


def test_counters_in_queries() -> None:
    db = database(NUMBERED)
    db.commit()
    with pytest.raises(ProgramError, match=r"E0275.*a counter cannot stand in a query"):
        db.query("item(x, _, _), n = $")


def test_reports_name_the_rule() -> None:
    db = database(NUMBERED, "update")
    db.insert("item", [("a", 1, db.branch("Point")())])
    db.commit()
    db.insert("item", [("b", 1, db.branch("Point")())])
    report = db.commit().report
    assert report.updates
    assert not report.bootstraps
    assert compiled(NUMBERED).counters[0].origin == "r1"
