"""Equations that take texts to pieces follow changes, and give what the reference gives."""

from __future__ import annotations

import random
from itertools import product

import pytest

import tidelog
from tests.depth import cases
from tests.suite import FIRST_SEED, evaluate_naive
from tidelog.errors import ProgramError

TEXT = """
.decl t(x: symbol)
.decl p(x: symbol)
.decl r(a: symbol, b: symbol)
.decl s(a: symbol)
.decl n(x: symbol, k: number)
r(a, b) :- t(x), cat(a, "b", b) = x.
r(a, b) :- t(x), p(y), x = cat(a, y, b), a != b.
s(a) :- t(x), cat(a, a) = x.
s(b) :- r(_, y), cat("a", b) = y, !p(b).
n(x, k) :- t(x), k = count : { cat(_a, _b) = x, p(_b) }.
"""
WORDS = ["".join(letters) for size in range(4) for letters in product("ab", repeat=size)]


def test_pieces_follow_changes() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(3)):
        rng = random.Random(seed)
        db = tidelog.connect()
        db.load(TEXT)
        facts: dict[str, set[tuple[str]]] = {"t": {("ab",)}, "p": {("b",)}}
        for name, rows in facts.items():
            db.insert(name, list(rows))
        db.commit()
        db.options(strategy="update")
        for _ in range(6):
            for name, rows in facts.items():
                came, went = ({(rng.choice(WORDS),) for _ in range(3)} for _ in range(2))
                db.insert(name, list(came))
                db.delete(name, list(went))
                facts[name] = (rows | came) - went
            report = db.commit().report
            assert (report.bootstraps, report.updates > 1) == (0, True)
            expected = evaluate_naive(TEXT, facts)
            assert {name: set(db[name]) for name in "rsn"} == {name: set(expected[name]) for name in "rsn"}
        db.check()


@pytest.mark.parametrize("equation", ["cat(to_string(m), x) = y", "cat(a, x) = cat(b, y)", "cat(a, 1) = x"])
def test_what_is_not_solved_is_an_error(equation: str) -> None:
    db = tidelog.connect()
    with pytest.raises(ProgramError):
        db.load(f".decl t(x: symbol) .decl h(x: symbol) h(x) :- t(x), {equation}.")
