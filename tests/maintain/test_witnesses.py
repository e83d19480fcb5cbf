"""Witnesses of `min` and `max` under changes of facts and rules."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.depth import cases
from tests.scripts import Script, run, scripted
from tests.suite import FIRST_SEED
from tidelog.language import check, read, warnings

DECLARATIONS = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl n(x: number)
.decl t(x: number, y: number)
.decl u(x: number, y: number)
.decl g(x: number)
"""
RULES = [
    "t(w, m) :- m = min x : { e(x, w) }.",
    "t(x, w) :- n(x), 0 < max y : { e(x, y), f(y, w) }.",
    "t(x, z) :- t(x, y), e(y, z).",
    "u(w, v) :- n(x), 1 <= min y : { t(x, y), e(y, w), !f(w, y) }, v = max y : { f(y, w) }.",
    "u(w, max x * y : { t(x, y), e(w, y) }).",
    "g(w) :- f(_, x), x = min y : { u(w, y) ; e(w, y) }.",
    "g(x) :- n(x), 2 < max y : { e(y, w), f(w, x) }, w = x.",
]
ARITIES = {"e": 2, "f": 2, "n": 1, "t": 2}


def script_for(seed: int) -> Script:
    rng = random.Random(f"witnesses {seed}")
    rules = rng.sample(RULES, rng.randint(3, len(RULES)))
    pool = {name: [tuple(rng.randrange(5) for _ in range(arity)) for _ in range(8)] for name, arity in ARITIES.items()}
    return scripted(rng, DECLARATIONS, rules, pool)


@pytest.mark.parametrize("strategy", ["update", "auto"])
def test_scripts(strategy: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(40)):
        script = script_for(seed)
        problem = run(script, strategy)
        assert not problem, f"{problem}\n{script}"


def test_a_witness_follows_its_minimum() -> None:
    db = tidelog.connect()
    db.load(
        ".decl price(shop: symbol, p: number) .decl best(shop: symbol, p: number)"
        " r: best(s, p) :- p = min q : { price(s, q) }."
    )
    db.insert("price", [("a", 3), ("b", 2), ("c", 2)])
    db.commit()
    assert set(db["best"]) == {("b", 2), ("c", 2)}
    db.insert("price", [("a", 1)])
    assert set(db.commit()["best"].inserted) == {("a", 1)}
    db.delete("price", [("a", 1), ("b", 2)])
    db.commit()
    assert set(db["best"]) == {("c", 2)}
    assert db.rules["r"] == "r: best(s, p) :- p = min q : { price(s, q) }."
    db.check()


def test_a_witness_is_no_variable_that_occurs_once() -> None:
    text = ".decl a(x: number, y: number) .input a .decl b(x: number) b(x) :- 1 < min y : { a(x, y) }."
    assert warnings(check(read(text))) == []
