"""Equivalence relations (`eqrel`) under changes of facts and rules, alone and in recursions (congruence)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidelog
from tests.depth import cases
from tests.scripts import Script, run, scripted
from tests.suite import FIRST_SEED

DECLARATIONS = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl n(x: number)
.decl same(x: number, y: number) eqrel
.decl also(x: number, y: number) eqrel
.decl v(x: number, y: number)
.decl w(x: number, c: number)
.decl g(x: number)
"""
RULES = [
    "same(x, y) :- e(x, y).",
    "same(x, y) :- f(x, y), x < y, !n(x).",
    "same(a, b) :- same(x, y), f(x, a), f(y, b).",
    "same(x, x) :- n(x).",
    "also(x, y) :- same(x, y), n(x).",
    "also(x, y) :- e(x, _), f(_, y), n(y).",
    "v(x, y) :- e(x, y), !same(y, 1).",
    "v(x, z) :- v(x, y), same(y, z).",
    "w(x, c) :- n(x), c = count : { also(x, _) }.",
    "g(x) :- same(x, 2), !also(x, _).",
    "v(x, y) :- <(also|e)+>(x, y).",
]
ARITIES = {"e": 2, "f": 2, "n": 1, "same": 2, "also": 2}


def script_for(seed: int) -> Script:
    rng = random.Random(f"equivalences {seed}")
    rules = rng.sample(RULES, rng.randint(3, len(RULES)))
    pool = {name: [tuple(rng.randrange(6) for _ in range(arity)) for _ in range(7)] for name, arity in ARITIES.items()}
    return scripted(rng, DECLARATIONS, rules, pool)


@pytest.mark.parametrize("strategy", ["update", "auto"])
def test_scripts(strategy: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(40)):
        script = script_for(seed)
        problem = run(script, strategy)
        assert not problem, f"{problem}\n{script}"


def test_it_is_kept_as_components() -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number) .decl same(x: number, y: number) eqrel same(x, y) :- e(x, y).")
    db.insert("e", [(i, i + 1) for i in range(10_000)])
    db.commit()
    assert db.stats()["forms"]["same"] == "compressed"
    assert len(db["same"]) == 10_001**2


def test_rules_that_close_it_are_no_rules_of_the_program() -> None:
    db = tidelog.connect()
    db.load(".decl same(x: number, y: number) eqrel r: same(x, x + 1) :- x = range(0, 3).")
    db.commit()
    assert list(db.rules) == ["r"]
    assert len(db.rules) == 1
    assert "#symmetric.same" not in db.rules
    db.rules.remove("r")
    db.insert("same", [(7, 8)])
    db.commit()
    assert set(db["same"]) == {(7, 7), (7, 8), (8, 7), (8, 8)}
    db.check()


CONGRUENCE = """
.decl apply(f: symbol, x: symbol, y: symbol)
.decl equal(x: symbol, y: symbol) eqrel
congruence: equal(v, w) :- equal(x, y), apply(f, x, v), apply(f, y, w).
.decl alias(x: symbol, y: symbol) eqrel
copy: alias(x, y) :- equal(x, y), x != y.
"""


def classes(*names: str) -> set[tuple[str, str]]:
    return {(x, y) for each in names for x in each.split() for y in each.split()}


@pytest.mark.parametrize("maintain", [True, False])
def test_congruence_follows_facts_and_rules(maintain: bool) -> None:
    db = tidelog.connect()
    db.options(maintain=maintain)
    db.load(CONGRUENCE)
    db.insert("apply", [("f", "a", "fa"), ("f", "b", "fb"), ("f", "fa", "ffa"), ("f", "fb", "ffb")])
    db.insert("equal", [("a", "b")])
    db.commit()
    assert set(db["equal"]) == set(db["alias"]) == classes("a b", "fa fb", "ffa ffb")
    db.check()
    db.insert("equal", [("ffb", "a")])
    db.commit()
    assert set(db["alias"]) == classes("a b ffa ffb", "fa fb")
    db.rules.remove("congruence")
    db.commit()
    assert set(db["alias"]) == classes("a b ffb")
    db.delete("equal", [("a", "b")])
    db.commit()
    assert set(db["equal"]) == classes("a ffb")
    db.check()


def test_an_equivalence_survives_in_a_store(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store") as db:
        db.load(CONGRUENCE)
        db.insert("equal", [("a", "b"), ("c", "c")])
        db.insert("apply", [("f", "a", "p"), ("f", "b", "q")])
        db.commit()
    with tidelog.connect(tmp_path / "store") as db:
        assert set(db["equal"]) == classes("a b", "c", "p q")
        assert list(db.rules) == ["congruence", "copy"]
        db.insert("equal", [("c", "d")])
        db.rollback()
        db.delete("equal", [("a", "b")])
        db.insert("equal", [("b", "c")])
        db.commit()
        assert set(db["alias"]) == classes("b c")
        db.check()
