"""The parts of recursive rules that may get relations of their own, and the programs that have these."""

from __future__ import annotations

import pytest

from tests.suite import compiled
from tidelog.rules.core import CoreProgram, CoreRule
from tidelog.rules.early_projections import early_projections, with_early_projections

DECLARED = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl k(x: number, y: number, z: number)
.decl t(x: number, y: number)
.decl u(x: number, y: number)
t(x, y) :- e(x, y).
"""


def parts(rule: str) -> set[str]:
    """The rules of the parts of a rule behind `t(x, y) :- e(x, y)`, their relation written as `part`."""
    program = compiled(DECLARED + rule)
    found = set()
    for node in program.nodes:
        for each in node.rules:
            assert isinstance(each, CoreRule)
            for early in early_projections(each, node.derives):
                assert early.rest.head == each.head
                assert early.relation in dict(early.rest.reads)
                text = str(early.part).replace(early.relation, "part")
                found.add(text.removeprefix("part: "))
    return found


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("t(y, w) :- f(y, x), t(x, z), t(z, w).", {
            "part(x0, x2) :- f(x0, y1), t(y1, x2).",
            "part(x0, x2) :- t(x0, y1), t(y1, x2).",
        }),
        ("t(x, y) :- f(a, x), t(a, b), f(b, y).", {
            "part(x1, x2) :- f(y0, x1), t(y0, x2).",
            "part(x0, x2) :- t(x0, y1), f(y1, x2).",
        }),
        ("t(x, z) :- t(x, y), t(y, w), w > 3, f(w, z).", {
            "part(x0, x2) :- t(x0, y1), t(y1, x2), x2 > 3.",
            "part(x0, x2) :- t(x0, y1), y1 > 3, f(y1, x2).",
        }),
        ("t(x, z) :- t(x, y), !f(y, y), t(y, w), f(w, z).", {
            "part(x0, x2) :- t(x0, y1), !f(y1, y1), t(y1, x2).",
            "part(x0, x2) :- !f(x0, x0), t(x0, y1), f(y1, x2).",
        }),
    ],
)  # fmt: skip
def test_each_variable_that_dies_has_its_part(rule: str, expected: set[str]) -> None:
    assert parts(rule) == expected


@pytest.mark.parametrize(
    "rule",
    [
        "t(x, z) :- t(x, y), f(y, z).",  # nothing is left to join with
        "t(x, z) :- t(x, y), t(z, y), f(x, z).",  # nothing but a test
        "t(x, y) :- f(x, y), k(x, y, z), t(y, z).",  # each variable is in most atoms
        "t(x, z) :- e(x, y), f(y, w), f(w, z).",  # complete relations only, in a rule that is not recursive
        "t(x, z) :- t(x, y), w = y + 1, f(w, v), f(v, z), z != w.",  # the part would have to compute w
    ],
)
def test_rules_without_parts(rule: str) -> None:
    assert {each for each in parts(rule) if "t(" in each.split(":-")[1]} == set()


RULES = """
t(y, w) :- f(y, x), t(x, z), t(z, w).
t(w, y) :- f(y, x), t(x, z), u(z, w).
u(x, y) :- t(y, x).
"""


def names_of(program: CoreProgram) -> set[str]:
    return {name for name in program.relations if name.startswith("#")}


def test_rules_share_the_relations_of_equal_parts() -> None:
    source = compiled(DECLARED + RULES)
    rules = [rule for rule in source.nodes[-1].rules if isinstance(rule, CoreRule)]
    found = [[early.relation for early in early_projections(rule, {"t", "u"})] for rule in rules]
    (one,) = {name for names in found for name in names if sum(name in each for each in found) == 2}
    program = with_early_projections(source, frozenset([one])).program
    assert names_of(program) == {one}
    assert sum(one in dict(rule.reads) for rule in program.nodes[-1].rules) == 2
    assert program.relations[one].auxiliary
    assert len(program.nodes) == len(source.nodes)
    assert set(program.nodes[-1].relations) == {*source.nodes[-1].relations, one}


def test_programs_without_the_names_stay_the_same_object() -> None:
    source = compiled(DECLARED + RULES)
    assert with_early_projections(source, frozenset()).program is source
    assert with_early_projections(source, frozenset(["#projection.other"])).program is source


def test_hyper_nodes_that_have_not_changed_stay_the_same_objects() -> None:
    source = compiled(DECLARED + RULES)
    first = with_early_projections(source, None)
    again = with_early_projections(source, None, first)
    assert again.program.nodes == first.program.nodes
    assert all(a is b for a, b in zip(again.program.nodes, first.program.nodes, strict=True))
    assert all(again.program.relations[name] is info for name, info in first.program.relations.items())
