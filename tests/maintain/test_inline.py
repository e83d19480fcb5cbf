"""Inline relations under changes of facts and rules: rules that use them follow the rules that they stand for."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.depth import cases
from tests.scripts import Script, run, scripted
from tests.suite import FIRST_SEED
from tidelog.errors import ProgramError, UsageError

DECLARATIONS = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl n(x: number)
.decl i(x: number, y: number) inline
.decl j(x: number, y: number) inline
.decl k(x: number) inline
.decl t(x: number, y: number)
.decl u(x: number, y: number)
.decl w(x: number, c: number)
.decl g(x: number)
"""
RULES = [
    "i(x, y) :- x < y, !n(x).",
    "i(x, y) :- e(x, z), f(z, y).",
    "i(x, x) :- n(x).",
    "j(y, x) :- i(x, y).",
    "j(x, 2) :- f(x, _).",
    "j(x, y), u(x, y) :- e(x, y), f(y, x).",
    "k(x) :- x = 1 ; n(x), e(x, _).",
    "k(x) :- f(x, x + 1).",
    "t(x, y) :- e(x, y), i(x, y).",
    "t(x, z) :- t(x, y), j(y, z), n(z).",
    "u(x, y) :- f(x, y), !k(x).",
    "u(x, y) :- e(x, _), e(_, y), j(x, y), k(y).",
    "w(x, c) :- n(x), c = count : { e(x, y), j(x, y) }.",
    "w(x, m) :- n(x), m = max y : { n(y), i(x, y) }.",
    "g(x) :- n(x), !k(x), !t(x, _).",
]
ARITIES = {"e": 2, "f": 2, "n": 1, "t": 2}


def script_for(seed: int) -> Script:
    rng = random.Random(f"inline {seed}")
    rules = rng.sample(RULES, rng.randint(6, len(RULES)))
    pool = {name: [tuple(rng.randrange(5) for _ in range(arity)) for _ in range(8)] for name, arity in ARITIES.items()}
    return scripted(rng, DECLARATIONS, rules, pool)


@pytest.mark.parametrize("strategy", ["update", "auto"])
def test_scripts(strategy: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(60)):
        script = script_for(seed)
        problem = run(script, strategy)
        assert not problem, f"{problem}\n{script}"


PROGRAM = """
.decl e(x: number, y: number)
.decl near(x: number, y: number) inline
near(x, y) :- y - x < 2, x < y.
.decl a(x: number, y: number)
use: a(x, y) :- e(x, y), near(x, y).
"""


def test_a_rule_of_an_inline_relation_comes_and_goes() -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    db.insert("e", [(1, 2), (1, 9), (4, 4)])
    db.commit()
    assert set(db["a"]) == {(1, 2)}
    db.options(strategy="update")
    db.rules.add("same: near(x, x) :- e(x, _).")
    assert list(db.commit()["a"].inserted) == [(4, 4)]
    assert list(db.rules) == ["r1", "use", "same"]
    assert db.rules["use"] == "use: a(x, y) :- e(x, y), near(x, y)."
    db.check()
    db.rules.remove("r1")
    assert list(db.commit()["a"].deleted) == [(1, 2)]
    db.rules.remove("same")
    db.commit()
    assert not set(db["a"])
    db.check()


def test_a_rule_that_its_readers_cannot_use_changes_nothing() -> None:
    db = tidelog.connect()
    db.load(PROGRAM + ".decl b(x: number) b(x) :- e(x, y), !near(x, y).")
    db.insert("e", [(1, 2), (1, 9)])
    db.commit()
    with pytest.raises(ProgramError, match="E0242"):
        db.rules.add("near(x, z) :- e(x, y), e(y, z).")
    db.commit()
    assert set(db["b"]) == {(1,)}
    assert list(db.rules) == ["r1", "use", "r2"]


def test_an_inline_relation_has_no_facts() -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    with pytest.raises(UsageError, match="E0611") as raised:
        db.insert("near", [(1, 2)])
    assert "the inline relation near has no tuples" in str(raised.value)


def test_inline_rules_survive_in_a_store(tmp_path: object) -> None:
    with tidelog.connect(f"{tmp_path}/store") as db:
        db.load(PROGRAM + "near(7, 7).")
        db.insert("e", [(1, 2), (7, 7)])
        db.commit()
    with tidelog.connect(f"{tmp_path}/store") as db:
        assert set(db["a"]) == {(1, 2), (7, 7)}
        db.rules.remove("r1")
        db.commit()
        assert set(db["a"]) == {(7, 7)}
        db.check()
