"""Hyper-nodes, impacted hyper-nodes and execution plans of small rule sets, and the paper's rule sets 2 and 3."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import zodiac
from benchmarks.zodiac import RS2, RS3
from papers.zodiacedge import ZodiacEdge
from tests.suite import Facts, checked, difference
from tidelog.errors import ProgramError, UsageError
from tidelog.reference import naive
from tidelog.rules import compile_program
from tidelog.rules.core import AggregateRule, CoreProgram, CoreRule
from tidelog.rules.graph import hyper_nodes

# The shape of Figures 2 and 3 of the paper: four hyper-nodes, hn1 -> hn2 -> hn4, hn3 -> hn4, and hn2 -> hn3 negative.
NAMES = ("e", "f", "p1", "p2", "p3", "p4", "p5", "p6", "p7")
PAPER = (
    "\n".join(f".decl {name}(x: number, y: number)" for name in NAMES)
    + """
r1: p1(x, y) :- e(x, y).
r2: p2(x, z) :- p1(x, y), p3(y, z).
r3: p3(x, y) :- p4(x, y).
r4: p4(x, y) :- p2(y, x).
r5: p5(x, y) :- f(x, y), !p2(x, y).
r6: p6(x, y) :- p5(x, y), p7(x, _).
r7: p7(x, y) :- p2(x, y).
r9: p7(x, y) :- p6(y, x).
r8: p2(x, z) :- p3(x, y), p2(y, z).
"""
)
FACTS: Facts = {"e": {(1, 2)}, "f": {(1, 2), (1, 3), (4, 4)}, "p3": {(2, 3)}}


def compiled(text: str) -> CoreProgram:
    return compile_program(checked(text), as_written=True)


def sets(*names: str) -> set[frozenset[str]]:
    """Hyper-nodes, each as its rules with blanks between."""
    return {frozenset(name.split()) for name in names}


def rules_of(core: CoreProgram, *names: str) -> list[CoreRule | AggregateRule]:
    """The core rules of some rules of a program."""
    return [rule for node in core.nodes for rule in node.rules if rule.origin in names]


def without(text: str, *names: str) -> CoreProgram:
    core = compiled(text)
    kept = [rule for node in core.nodes for rule in node.rules if rule.origin not in names]
    return replace(core, nodes=hyper_nodes(kept, core.relations))


def right(engine: ZodiacEdge, text: str, facts: Facts) -> bool:
    expected = naive.evaluate(checked(text), facts)
    return difference({name: engine.views.get(name, set()) for name in expected}, expected) == ""


def lines_without(text: str, *names: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(tuple(f"{name}:" for name in names)))


# --- the graph -------------------------------------------------------------------------------------------------------


def test_edges_are_positive_or_negative() -> None:
    graph = ZodiacEdge(compiled(lines_without(PAPER, "r8")), {}).graph
    assert graph.negative == {("r2", "r5")}
    assert graph.positive == {
        *(("r1", "r2"), ("r2", "r4"), ("r4", "r3"), ("r3", "r2")),
        *(("r2", "r7"), ("r5", "r6"), ("r7", "r6"), ("r6", "r9"), ("r9", "r6")),
    }


def test_hyper_nodes_are_components_of_rules() -> None:
    engine = ZodiacEdge(compiled(lines_without(PAPER, "r8")), FACTS)
    assert engine.hyper_nodes == sets("r1", "r2 r3 r4", "r5", "r7", "r6 r9")
    assert right(engine, lines_without(PAPER, "r8"), FACTS)


def test_rule_sets_2_and_3_have_14_hyper_nodes() -> None:
    expected = sets(
        "r1", "r2 r3", "r4", "r5", "r6", "r7 r8", "r9", "r10", "r11", "r12 r13 r14", "r15", "r16", "r17", "r18"
    )
    assert len(expected) == 14
    assert ZodiacEdge(compiled(RS2), {}).hyper_nodes == expected
    engine = ZodiacEdge(compiled(RS3), {})
    auxiliary = frozenset({"#matching.r10.1"})
    assert engine.hyper_nodes == expected | {auxiliary}, "`!p13(y, _)` has a rule of its own"
    assert engine.graph.negative == {("#matching.r10.1", "r10")}


# --- rules that come -------------------------------------------------------------------------------------------------


def test_a_rule_that_joins_a_hyper_node_merges_it() -> None:
    engine = ZodiacEdge(without(PAPER, "r8"), FACTS)
    engine.add_rules(rules_of(compiled(PAPER), "r8"))
    assert engine.hyper_nodes == sets("r1", "r2 r3 r4 r8", "r5", "r7", "r6 r9")
    assert engine.impacted == [frozenset({"r2", "r3", "r4", "r8"})]
    assert set(engine.plan) == sets("r2 r3 r4 r8", "r5", "r7", "r6 r9")
    assert engine.plan[0] == frozenset({"r2", "r3", "r4", "r8"})
    assert engine.plan[-1] == frozenset({"r6", "r9"})
    assert right(engine, PAPER, FACTS)


def test_a_rule_that_closes_a_cycle_merges_all_hyper_nodes_on_it() -> None:
    engine = ZodiacEdge(without(PAPER, "r4", "r8"), FACTS)
    assert engine.hyper_nodes == sets("r1", "r2", "r3", "r5", "r7", "r6 r9")
    engine.add_rules(rules_of(compiled(PAPER), "r4"))
    assert engine.hyper_nodes == sets("r1", "r2 r3 r4", "r5", "r7", "r6 r9")
    assert engine.impacted == [frozenset({"r2", "r3", "r4"})]
    assert right(engine, lines_without(PAPER, "r8"), FACTS)


def test_a_leaf_rule_impacts_itself_alone() -> None:
    engine = ZodiacEdge(without(RS2, "r18"), zodiac.facts(4))
    start = engine.visited
    engine.add_rules(rules_of(compiled(RS2), "r18"))
    assert engine.impacted == engine.plan == [frozenset({"r18"})]
    joined = [(left, right) for left in engine.views["p25"] for right in engine.views["p26"] if left[1] == right[0]]
    assert engine.visited - start == len(joined)


@pytest.mark.parametrize("names", [("r1",), ("r3",), ("r4",), ("r6",), ("r10",), ("r10", "r15", "r17"), ("r12", "r7")])
@pytest.mark.parametrize("text", [pytest.param(RS2, marks=pytest.mark.deep, id="RS2"), pytest.param(RS3, id="RS3")])
def test_rules_of_the_wind_farm_come_and_go(text: str, names: tuple[str, ...]) -> None:
    facts = zodiac.facts(5)
    engine = ZodiacEdge(without(text, *names), facts)
    assert right(engine, lines_without(text, *names), facts)
    engine.add_rules(rules_of(compiled(text), *names))
    assert right(engine, text, facts)
    engine.remove_rules(rule.name for rule in rules_of(compiled(text), *names))
    assert right(engine, lines_without(text, *names), facts)


def test_a_rule_through_its_own_negation_is_rejected_and_leaves_no_trace() -> None:
    engine = ZodiacEdge(without(PAPER, "r8"), FACTS)
    before = (engine.views, engine.hyper_nodes, engine.visited, dict(engine.graph.rules))
    more = compiled(PAPER.split("r1:")[0] + "bad: p1(x, y) :- p5(x, y). good: p7(x, y) :- e(x, y).")
    with pytest.raises(ProgramError) as caught:
        engine.add_rules(rules_of(more, "bad", "good"))
    assert [each.code for each in caught.value.problems] == ["E0301"]
    assert (engine.views, engine.hyper_nodes, engine.visited, engine.graph.rules) == before


def test_names_of_rules_are_checked() -> None:
    engine = ZodiacEdge(compiled(PAPER), FACTS)
    with pytest.raises(ProgramError, match="there already: r8"):
        engine.add_rules(rules_of(compiled(PAPER), "r8"))
    with pytest.raises(UsageError, match="no such rule: r10"):
        engine.remove_rules(["r1", "r10"])
    assert right(engine, PAPER, FACTS)


def test_rules_bring_their_relations() -> None:
    engine = ZodiacEdge(without(PAPER, "r8"), FACTS)
    more = compiled(PAPER + ".decl top(x: number)\n.decl seed(x: number)\nnew: top(x) :- seed(x), !p7(x, _).")
    engine.add_rules(rules_of(more, "r8", "new"), more.relations)
    engine.epoch({"seed": {(1,), (9,)}}, {})
    assert engine.views["top"] == {(9,)}


# --- rules that go ---------------------------------------------------------------------------------------------------


def test_a_rule_that_goes_splits_its_hyper_node() -> None:
    # The paper's example: without r4, hn2 falls into three, which are impacted with the successors of hn2.
    engine = ZodiacEdge(compiled(PAPER), FACTS)
    engine.remove_rules(["r4"])
    assert engine.hyper_nodes == sets("r1", "r2", "r3", "r8", "r5", "r7", "r6 r9")
    assert set(engine.impacted) == sets("r2", "r3", "r8", "r5", "r7")
    assert set(engine.plan) == sets("r2", "r3", "r8", "r5", "r7", "r6 r9")
    assert right(engine, lines_without(PAPER, "r4"), FACTS)


def test_leaf_hyper_nodes_are_dropped_without_reasoning() -> None:
    engine = ZodiacEdge(compiled(PAPER), FACTS)
    start = engine.visited
    engine.remove_rules(["r5", "r6", "r7", "r9"])
    assert engine.hyper_nodes == sets("r1", "r2 r3 r4 r8")
    assert engine.plan == []
    assert engine.visited == start
    assert right(engine, lines_without(PAPER, "r5", "r6", "r7", "r9"), FACTS)


def test_successors_of_impacted_hyper_nodes_are_untouched_when_nothing_changes_for_them() -> None:
    # e is in p1 twice: without either rule the other still derives it.
    text = PAPER + "again: p1(x, y) :- e(x, y), x < 9.\n"
    engine = ZodiacEdge(compiled(text), FACTS)
    start = engine.visited
    engine.remove_rules(["again"])
    assert engine.impacted == [frozenset({"r2", "r3", "r4", "r8"})], "the successors reason anew, as Algorithm 3 has it"
    anew = engine.visited - start
    fresh = ZodiacEdge(without(PAPER, "r1", "r5", "r6", "r7", "r9"), {**FACTS, "p1": FACTS["e"]})
    assert anew == fresh.visited, "and those behind them are not looked at"


# --- facts -----------------------------------------------------------------------------------------------------------


def test_facts_impact_the_hyper_nodes_that_read_them() -> None:
    engine = ZodiacEdge(compiled(PAPER), FACTS)
    engine.epoch({"f": {(5, 5)}}, {})
    assert engine.impacted == [frozenset({"r5"})]
    assert engine.plan == [frozenset({"r5"}), frozenset({"r6", "r9"})]
    engine.epoch({"f": {(5, 5)}}, {"e": {(7, 7)}})
    assert engine.impacted == engine.plan == [], "nothing changed"


def test_a_fact_that_two_hyper_nodes_derive_stays_until_both_lose_it() -> None:
    text = ".decl a(x: number)\n.decl b(x: number)\n.decl c(x: number)\n.decl d(x: number)\n"
    engine = ZodiacEdge(compiled(text + "c(x) :- a(x). c(x) :- b(x). d(x) :- c(x)."), {"a": {(1,)}, "b": {(1,)}})
    assert len(engine.nodes) == 3
    engine.epoch({}, {"a": {(1,)}})
    assert engine.views["d"] == {(1,)}
    engine.epoch({}, {"b": {(1,)}})
    assert engine.views["d"] == set()


def test_facts_of_symmetric_rules_do_not_hold_each_other_up() -> None:
    engine = ZodiacEdge(compiled(RS2), {"p1": {(1, 2)}})
    assert engine.views["p11"] == {(1, 2), (2, 1)}
    engine.epoch({}, {"p1": {(1, 2)}})
    assert not any(engine.views.get(name) for name in zodiac.VIEWS)


@pytest.mark.parametrize(
    ("edge", "expected"), [((25, 26), 16_678), pytest.param((49, 50), 19_125, marks=pytest.mark.deep)]
)
def test_deletions_that_the_published_code_gets_wrong(edge: tuple[int, int], expected: int) -> None:
    engine = ZodiacEdge(compiled(RS3), zodiac.facts(50))
    assert sum(len(engine.views[name]) for name in zodiac.VIEWS) == zodiac.DERIVED["RS3"][50]
    engine.epoch({}, {"p1": {edge}})
    assert sum(len(engine.views[name]) for name in zodiac.VIEWS) == expected
