"""The hints about minima in recursions: a program that does what they say has an end, and the right tuples."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.errors import ProgramError

NETWORK = """
.decl adj(a: symbol, b: symbol, c: unsigned)
adj("r1", "r2", 1). adj("r2", "r3", 1). adj("r1", "r3", 5). adj("r3", "r1", 1).
.decl route(n: symbol, p: symbol, c: unsigned){route}
.decl best(n: symbol, p: symbol, c: unsigned){best}
route("r3", "net", 0).
route(n, p, c + w) :- best(m, p, c), adj(n, m, w).
"""
PLAIN = "best(n, p, c) :- route(n, p, c).\n"
AGGREGATE = "best(n, p, c) :- route(n, p, _), c = min k : { route(n, p, k) }.\n"


def test_a_warning_names_the_relation_that_has_to_select_as_well() -> None:
    from tidelog.language import check, read
    from tidelog.rules import compile_program
    from tidelog.rules.lints import warnings

    def hints(route: str) -> list[str | None]:
        checked = check(read(NETWORK.format(route=route, best=" min(c)") + PLAIN))
        return [each.hint for each in warnings(checked, compile_program(checked)) if each.code == "E0298"]

    assert hints("") == ["let `route` select as well: write `min(c)` behind its declaration"]
    assert hints(" min(c)") == []


def test_the_way_out_of_an_aggregate_through_recursion() -> None:
    db = tidelog.connect()
    with pytest.raises(ProgramError) as caught:
        db.load(NETWORK.format(route="", best="") + AGGREGATE)
    assert "`min(…)` of the value behind the declarations of `best` and `route`" in str(caught.value)
    db.load(NETWORK.format(route=" min(c)", best=" min(c)") + PLAIN)
    db.commit()
    assert set(db["best"]) == {("r1", "net", 2), ("r2", "net", 1), ("r3", "net", 0)}
