"""The declaration that the hint for an undeclared relation proposes."""

from __future__ import annotations

import re

import pytest

from tidelog.errors import ProgramError
from tidelog.language import check, read

DECLARED = """\
.type Person <: symbol
.type P = [a: number, b: P]
.decl edge(x: symbol, y: number)
.decl knows(p: Person, q: Person)
.decl rec(r: P)
"""
CASES = {
    "path(x, y) :- edge(x, y).": "path(x: symbol, y: number)",
    'far(z, f) :- edge(x, y), z = y + 1, f = cat(x, "a").': "far(z: number, f: symbol)",
    "k(p, p, q) :- knows(p, q).": "k(p: Person, x2: Person, q: Person)",
    'fact(1, "a", 2.5, -1).': "fact(x1: number, x2: symbol, x3: float, x4: number)",
    "r(p, a) :- rec(p), p = [a, _].": "r(p: P, a: number)",
    "mine(x2, 5) :- edge(x2, _).": "mine(x2: symbol, x3: number)",
    "size(m, n) :- m = mean y : edge(_, y), n = count : { rec(_) }.": "size(m: float, n: number)",
    "edge(x, 3) :- edge(x, y), !missing(x, y, _).": "missing(x: symbol, y: number, x3: …)",
    "edge(x, 3) :- edge(x, y), (zero(y) ; y = 0).": "zero(y: number)",
    "mixed(p) :- knows(p, _), edge(p, _).": "mixed(p: symbol)",
    "loop(x) :- loop(x).": "loop(x: …)",
    "none() :- edge(_, _).": "none()",
}


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
