"""Values that nobody asks for are not enumerated: derivations are counted where all combinations would be millions."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.recount import mistakes, state_of
from tests.suite import loaded
from tidelog.database.database import Database
from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.rules.outline import describe

DECLARED = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number)
.decl d(x: number, y: number)
.decl one(x: number)
.decl two(x: number, y: number)
.decl yes()
"""
STAR = [(x, 10_000 * x + y) for x in range(10) for y in range(1_000)]
COMPLETE = [(x, y) for x in range(100) for y in range(100)]


def database(rules: str, **facts: list[tuple[int, int]]) -> Database:
    """A database that gives up what would take hours."""
    return loaded(DECLARED + rules, {name: list(rows) for name, rows in facts.items()}, timeout=600)


def work(db: Database) -> int:
    """The derivations of rules: all but the facts and the tuple that plans begin with."""
    facts = sum(len(db[name]) for name in "abcd")
    return int(db.stats()["derivations"]) - facts - 1


@pytest.mark.parametrize(
    ("rule", "found", "derivations"),
    [
        # each of 10 values leads to 1,000: 10 * 1,000 ** 3 combinations
        ("one(x) :- a(x, _), a(x, _), a(x, _).", {(x,) for x in range(10)}, 10_000 + 10),
        ("one(x) :- a(x, _), b(x, _), c(x, _).", {(x,) for x in range(10)}, 30_000),
        ("yes() :- a(x, _), b(x, _), c(x, _).", {()}, 30_000),
        ("yes() :- a(_, _), b(_, _), c(_, _).", {()}, 30_000),
        ("two(x, y) :- a(x, y), b(x, u), c(x, v), d(x, w).", set(STAR), 30_000 + 10_000),
    ],
)
def test_independent_values_are_not_multiplied(rule: str, found: set[tuple[int, ...]], derivations: int) -> None:
    db = database(rule, a=STAR, b=STAR, c=STAR, d=STAR)
    assert {row for name in ("one", "two", "yes") for row in db[name]} == found
    assert work(db) <= derivations


@pytest.mark.parametrize(
    ("rule", "derivations"),
    [
        # complete graphs of 100 nodes: 100 ** 5 combinations, then 100 ** 6, and 100 ** 4
        ("one(x) :- a(x, y), b(y, z), c(z, u), d(u, _).", 40_000),
        ("one(x) :- a(x, y), b(y, z), c(x, u), d(u, v).", 40_000),
        ("one(x) :- a(x, x), b(u, v), c(v, _).", 20_000 + 100),
    ],
)
def test_chains_cost_what_their_relations_have(rule: str, derivations: int) -> None:
    db = database(rule, a=COMPLETE, b=COMPLETE, c=COMPLETE, d=COMPLETE)
    assert set(db["one"]) == {(x,) for x in range(100)}
    assert work(db) <= derivations


def test_a_condition_of_several_atoms_is_looked_for_once_and_where_it_is_asked_for() -> None:
    ring = [(x, (x + 1) % 30) for x in range(30)]
    square = [(x, y) for x in range(30) for y in range(30)]
    rule = "two(x, w) :- a(x, w), b(x, u), c(u, v), d(v, x)."
    asked = [(3, w) for w in range(1_000)]
    db = database(rule, a=asked, b=square, c=square, d=square)
    assert set(db["two"]) == set(asked)
    # 900 pairs (u, v) for the one x of `a`; for all x they would be 27,000, with all w 900,000
    assert work(db) <= 1_000 + 900 + 1_000
    db = database("one(x) :- a(x, x), b(u, v), c(v, w), d(w, u).", a=[(1, 1), (2, 2)], b=ring, c=ring, d=ring)
    assert set(db["one"]) == set()


def test_of_a_closure_only_what_is_asked_for_is_looked_at() -> None:
    chain = [(x, x + 1) for x in range(2_000)]
    db = database("two(x, n) :- a(x, n), b+(x, _).", a=[(1_990, n) for n in range(5)], b=chain)
    assert set(db["two"]) == {(1_990, n) for n in range(5)}
    assert work(db) <= 5 + 10 + 5  # there are two million pairs


def test_of_a_recursion_only_what_other_relations_have_is_looked_at() -> None:
    """The recursion has 5,050 pairs, of which the rule that reads their first values asks for ten."""
    chain = [(x, x + 1) for x in range(100)]
    rules = "two(x, y) :- a(x, y). two(x, z) :- two(x, y), a(y, z), !c(x, z). c2: two(u, x) :- b(u, x), two(x, _)."
    db = database(rules, a=chain, b=[(500, 99)])
    assert len(db["two"]) == 5_050 + 2
    assert (500, 99) in db["two"]
    assert work(db) <= 5_050 + 2 + 10
    db.delete("a", [(99, 100)])
    db.commit()
    assert (500, 99) not in db["two"]
    db.check()


@pytest.mark.parametrize(
    "rule",
    [
        "one(x) :- a(x, _).",
        "one(x) :- a(x, _), !b(x, x), x < 9.",
        "two(x, y) :- a(x, y), b(x, y).",
        "two(x, z) :- a(x, y), b(y, z).",
        "two(x, z) :- a(x, y), two(y, z).",
        "two(x, y) :- b(x, _), y = count : { a(x, _) }.",
        "yes() :- a(_, _).",
    ],
)
def test_where_nothing_multiplies_a_rule_stays_as_it_is(rule: str) -> None:
    checked = check(read(f"{DECLARED}{rule}\n"))
    assert compile_program(checked) == compile_program(checked, as_written=True)


def test_equal_parts_are_one_relation_in_the_whole_program() -> None:
    rules = "r1: two(x, w) :- a(x, w), b(x, _). r2: two(y, v) :- c(y, v), b(y, _)."
    core = compile_program(check(read(f"{DECLARED}{rules}\n")))
    assert [name for name in core.relations if name.startswith("#")] == ["#projection.b(x0, _)"]
    db = database(rules, a=[(1, 2)], b=[(1, 1), (1, 2)], c=[(1, 3)])
    assert set(db["two"]) == {(1, 2), (1, 3)}
    with db.transaction() as tx:
        tx.rules.remove("r1")
    assert set(db["two"]) == {(1, 3)}
    assert tx.change is not None
    # the relation outlives the rule that it was made for first, and nothing is evaluated for it
    assert [node.strategy for node in tx.change.report.nodes] == ["update"]


def test_what_is_shown_is_the_program_as_it_is_written() -> None:
    rule = "twice: one(x) :- a(x, _), a(x, _), b(x, _)."
    db = database(rule + " more: two(x, x) :- one(x).", a=STAR, b=STAR)
    assert db.hyper_nodes == (("twice",), ("more",))
    assert db.rules["twice"] == rule
    db.insert("b", [(77, 1)])
    db.insert("a", [(77, 1)])
    report = db.commit().report
    assert [(node.relations, node.rules) for node in report.nodes] == [
        (("one",), ("twice",)),
        (("two",), ("more",)),
    ]
    assert [node.reason for node in report.nodes] == ["a, b changed", "one changed"]
    written = describe(compile_program(db.workspace.committed.checked, as_written=True))
    assert "2 rules, 2 hyper-nodes" in written
    assert "#" not in written


def test_certificates_cover_what_was_projected(tmp_path: Path) -> None:
    db = database("one(x) :- a(x, _), a(x, _), b(x, _). yes() :- a(x, _), one(x), c(_, _).", a=STAR, b=STAR, c=[(1, 1)])
    db.check()
    db.save_certificate(tmp_path / "certificate")
    tidelog.check_certificate(tmp_path / "certificate")


def test_counts_are_those_of_derivations_through_what_was_projected() -> None:
    db = database("one(x) :- a(x, y), b(y, _).", a=[(1, 1), (1, 2), (2, 1)], b=[(1, 7), (1, 8), (2, 7)])
    assert {row: count for row, (_, count) in db.births("one").items()} == {(1,): 2, (2,): 1}
    db.delete("b", [(1, 7)])
    assert db.commit().report.impact == 0
    db.delete("b", [(1, 8)])
    db.commit()
    assert {row: count for row, (_, count) in db.births("one").items()} == {(1,): 1}


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
def test_rules_that_make_a_relation_recursive_or_a_closure_change_what_is_projected(strategy: str) -> None:
    db = tidelog.connect()
    db.options(strategy=strategy)
    rules = "r: two(x, y) :- d(x, y), c(x, _), a(x, _). s: one(x) :- two(x, _), b(x, _)."
    db.rules.add(DECLARED + rules)
    facts = {name: {(x, y) for x in range(4) for y in range(x, 4)} for name in "abcd"}
    for name, rows in facts.items():
        db.insert(name, sorted(rows))
    db.commit()
    changes = [
        ("+", "t1: c(x, y) :- two(x, z), d(z, y)."),  # c becomes recursive with two
        ("+", "t2: a(x, y) :- b(x, y). t3: a(x, z) :- a(x, y), b(y, z)."),  # a becomes a closure
        ("-", "t1"),
        ("-", "t3"),
    ]
    for sign, text in changes:
        with db.transaction() as tx:
            if sign == "+":
                tx.rules.add(text)
            else:
                tx.rules.remove(text)
        assert mistakes(db, state_of(db), facts) == ""
        assert set(db["two"]) == {(x, y) for x in range(4) for y in range(x, 4)}
        assert set(db["one"]) == {(x,) for x in range(4)}
