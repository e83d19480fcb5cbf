"""The naive evaluator by itself; what programs mean in full is in tests/programs."""

from __future__ import annotations

import pytest

from tests.suite import checked
from tidelog.errors import InternalError
from tidelog.language.syntax import Aggregate, Atom, CheckedProgram, Negation, RelationType, Rule
from tidelog.reference import naive

CLOSURE = """
.decl e(x: number, y: number)
.decl p(x: number, y: number)
.decl unreached(x: number, y: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), p(y, z).
unreached(x, y) :- e(x, _), e(_, y), !p(x, y).
"""


def test_facts_given_and_stated_and_derived_come_together() -> None:
    found = naive.evaluate(checked(CLOSURE + "e(1, 2). p(7, 8)."), {"e": [(2, 3), (5, 6)], "p": [(3, 7)]})
    assert found == {
        "e": {(1, 2), (2, 3), (5, 6)},
        "p": {(1, 2), (2, 3), (5, 6), (7, 8), (3, 7), (1, 3), (1, 7), (1, 8), (2, 7), (2, 8), (3, 8)},
        "unreached": {(1, 6), (2, 2), (2, 6), (5, 2), (5, 3)},
    }


def test_floats_are_floats_and_zero_has_no_sign() -> None:
    text = ".type P = [x: float, y: symbol]\n.decl f(x: float)\n.decl p(r: P)"
    found = naive.evaluate(checked(text), {"f": [(1,), (-0.0,)], "p": [((-0.0, "a"),), (None,)]})
    assert sorted(map(repr, found["f"])) == ["(0.0,)", "(1.0,)"]
    assert sorted(map(repr, found["p"])) == ["((0.0, 'a'),)", "(None,)"]


def test_strata_put_what_is_negated_or_aggregated_below() -> None:
    text = """
    .decl a(x: number)
    .decl b(x: number)
    .decl c(x: number)
    .decl d(x: number)
    b(x) :- a(x), !a(x + 1).
    c(x) :- b(x), x < count : { b(_) }.
    c(x) :- d(x).
    d(x + 1) :- c(x), x < 3.
    """
    assert naive.strata(checked(text)) == [{"a"}, {"b"}, {"c", "d"}]


def test_what_depends_on_its_own_negation_is_no_program() -> None:
    atom = Atom("p", ())
    for literal in (Negation(atom), Atom("q", (Aggregate("count", None, (atom,)),))):
        program = CheckedProgram(
            relations={name: RelationType(name, ()) for name in "pq"}, rules=(Rule("r", (atom,), (literal,)),)
        )
        with pytest.raises(InternalError):
            naive.evaluate(program, {})
