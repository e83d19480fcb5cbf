"""The declaration that the hint for an undeclared relation proposes."""

from __future__ import annotations

import re

import pytest

from tests.texts import cases_of
from tidelog.errors import ProgramError
from tidelog.language import check, read

DECLARED = """\
.type Person <: symbol
.type P = [a: number, b: P]
.decl edge(x: symbol, y: number)
.decl knows(p: Person, q: Person)
.decl rec(r: P)
"""
CASES = dict(cases_of(__file__, "cases"))


@pytest.mark.parametrize("rule", CASES)
def test_it_has_the_types_that_the_rule_gives(rule: str) -> None:
    with pytest.raises(ProgramError) as caught:
        check(read(DECLARED + rule))
    hint = caught.value.problems[0].hint
    assert hint is not None
    declaration = re.search(r"`(\.decl .*)`", hint)
    assert declaration is not None
    assert declaration[1] == f".decl {CASES[rule]}"
    assert ("with a type for each …" in hint) == ("…" in declaration[1])
    if "…" not in declaration[1]:
        check(read(f"{DECLARED}{declaration[1]}\n{rule}"))
