"""Subsumption rules of relations of an instance: `a.b(x) <= a.b(y) :- …`."""

from __future__ import annotations

import pytest

from tidelog.language import read


@pytest.mark.parametrize("before", ["", "n(1).", "n(x) :- m(x, y), y <= x.", ".decl n(x: number)"])
def test_both_heads_are_qualified(before: str) -> None:
    *_, rule = read(f"{before} least: a.b.r(x, y) <= a.b.r(x, z) :- z <= y.").rules
    assert rule.subsumes
    assert [head.relation for head in rule.heads] == ["a.b.r", "a.b.r"]
    assert [str(each) for each in read(f"{rule}\n").rules] == [str(rule)]


def test_a_variable_ends_a_body_before_the_next_clause() -> None:
    first, second = read("p(x) :- q(x, y), (x) <= y.r(1).").rules
    assert str(first).endswith("x <= y.")
    assert [head.relation for head in second.heads] == ["r"]
