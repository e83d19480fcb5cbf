"""Aggregates whose value nobody wants."""

from __future__ import annotations

import pytest

from tests.suite import Views, evaluate_embedded, evaluate_naive, evaluate_seminaive
from tests.texts import cases_of, python
from tidelog.errors import ProgramError
from tidelog.language import check, read

PRICES = '.decl p(s: symbol, c: number) p("a", 1). p("b", 1). p("c", 2). .decl r(s: symbol) .decl n(x: number) '


@pytest.mark.parametrize("evaluate", [evaluate_naive, evaluate_seminaive, evaluate_embedded])
@pytest.mark.parametrize(("rule", "expected"), cases_of(__file__, "they ask if there is one", str, python))
def test_they_ask_if_there_is_one(evaluate: object, rule: str, expected: Views) -> None:
    found = evaluate(PRICES + rule, {})  # type: ignore[operator]
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('r("x") :- _ < count : { p(_, _) }.', "`_` cannot be used as an operand"),
        ('r("x") :- _ = min x : { p(_, _) }.', "variable `x` of this rule is not grounded"),
    ],
)
def test_messages(rule: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        check(read(PRICES + rule))
