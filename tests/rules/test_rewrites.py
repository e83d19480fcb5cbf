"""The result of each rewrite: `rewrites/*.dl` with the core rules, in the order of evaluation, beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.rules.core import (
    AggregateRule,
    Computation,
    CoreConstant,
    CoreProgram,
    CoreRule,
    CoreVariable,
    Pack,
    Unpack,
)

CASES = sorted((Path(__file__).parent / "rewrites").glob("*.dl"))


def core(text: str) -> CoreProgram:
    return compile_program(check(read(text)))


def rules(text: str) -> list[CoreRule]:
    return [rule for node in core(text).nodes for rule in node.rules if isinstance(rule, CoreRule)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_rules_are_as_written_beside_the_program(case: Path) -> None:
    found = [str(rule) for node in core(case.read_text()).nodes for rule in node.rules]
    assert found == case.with_suffix(".txt").read_text().splitlines()


def test_names_are_unique_and_origins_are_the_users() -> None:
    text = (Path(__file__).parent / "rewrites" / "aggregates.dl").read_text()
    found = [rule for node in core(text).nodes for rule in node.rules]
    assert len({rule.name for rule in found}) == len(found)
    assert {rule.origin for rule in found} == {
        "grouped",
        "alone",
        "computed",
        "greatest",
        "unlinked",
        "twice",
        "ranging",
    }


def test_a_rule_keeps_its_auxiliary_relations_when_others_come() -> None:
    rule = "r: k(n) :- n = count : { e(_) }.\n"
    before = core(".decl e(x: number) .decl k(x: number)\n" + rule)
    after = core(".decl e(x: number) .decl k(x: number)\nq: k(n) :- n = max x : { e(x) }.\n" + rule)
    assert set(before.relations) == {"e", "k", "#outer.r.count1", "#inner.r.count1", "#aggregate.r.count1"}
    assert set(before.relations) < set(after.relations)


def test_kinds_of_fresh_variables() -> None:
    (rule,) = rules('.decl s(x: symbol) .decl f(x: float)\nf(to_float(cat(x, "1"))) :- s(x), strlen(x) > 2.')
    computations = [literal for literal in rule.body if isinstance(literal, Computation)]
    assert [(each.functor, each.target.kind) for each in computations] == [
        ("strlen", "number"),
        ("cat", "symbol"),
        ("to_float", "float"),
    ]


def test_locals_of_one_name_have_their_own_kinds() -> None:
    program = core(
        ".decl n(x: number) .decl s(x: symbol) .decl h(x: number, y: number)\nr: h(count : { n(x) }, count : { s(x) })."
    )
    assert program.relations["#inner.r.count1"].columns[0].kind == "number"
    assert program.relations["#inner.r.count2"].columns[0].kind == "symbol"


@pytest.mark.parametrize(
    ("op", "kind", "result"),
    [
        ("mean", "number", "float"),
        ("avg", "number", "float"),
        ("median", "number", "float"),
        ("sum", "number", "number"),
    ],
)
def test_kinds_of_aggregates(op: str, kind: str, result: str) -> None:
    program = core(f".decl a(x: number) .decl h(x: {result})\nr: h(v) :- v = {op} x : {{ a(x) }}.")
    (rule,) = [rule for node in program.nodes for rule in node.rules if isinstance(rule, AggregateRule)]
    assert (rule.op, rule.kind) == (op.replace("avg", "mean"), kind)
    assert program.relations[rule.head].columns[-1].kind == result


def test_records_are_taken_apart_where_they_are_bound_and_built_elsewhere() -> None:
    taken, built = rules(
        ".type P = [a: number, b: number]\n.decl p(x: P) .decl q(x: P) .decl n(x: number)\n"
        "n(x) :- p([x, 1]).\nq([x, 1]) :- n(x)."
    )
    assert taken.body[1:] == (
        Unpack(CoreVariable("#v1", "P"), "P", (CoreVariable("x", "number"), CoreConstant(1, "number"))),
    )
    assert built.body[1:] == (
        Pack(CoreVariable("#v1", "P"), "P", (CoreVariable("x", "number"), CoreConstant(1, "number"))),
    )


def test_facts_are_kept_apart_from_rules() -> None:
    program = core(".decl a(x: number)\na(1).\na(2).\nnamed: a(3).")
    assert [fact.values for fact in program.facts] == [(1,), (2,)]
    assert [str(rule) for node in program.nodes for rule in node.rules] == ["named: a(3)."]


def test_thousands_of_combinations_become_auxiliary_relations() -> None:
    choices = ", ".join(f"(a(x, {i}) ; b(x, {i}))" for i in range(20))
    declared = ".decl a(x: number, y: number) .decl b(x: number, y: number) .decl h(x: number)\n"
    found = rules(f"{declared}r: h(x) :- {choices}.")
    assert len(found) == 41
    assert str(found[0]) == "#either.r.1#1: #either.r.1(x) :- a(x, 0)."
    assert str(found[-1]) == f"r: h(x) :- {', '.join(f'#either.r.{i}(x)' for i in range(1, 21))}."


def test_alternatives_that_only_compare_are_given_what_binds_their_variables() -> None:
    choices = ", ".join(f"(x > {i} ; x < {-i})" for i in range(11))
    found = rules(f".decl a(x: number) .decl h(x: number)\nr: h(x) :- a(x), {choices}.")
    assert str(found[0]) == "#either.r.1#1: #either.r.1(x) :- a(x), x > 0."
    assert len(found) == 23
