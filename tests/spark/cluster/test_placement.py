"""Where relations and rules are placed, and what is sent for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.suite import checked, compiled
from tidelog.rules import compile_program
from tidelog.rules.core import CoreRule
from tidelog.spark.cluster.placement.buckets import owners
from tidelog.spark.cluster.placement.place import PlacementLimits, place_program
from tidelog.spark.cluster.placement.plan import ClusterPlan, Placement
from tidelog.spark.cluster.placement.rewrites import split_join
from tidelog.storage.dictionary import Dictionary

EDGES = ".decl e(x: number, y: number)\n.decl t(x: number, y: number)\nt(x, y) :- e(x, y).\n"
LINEAR = EDGES + "t(x, z) :- t(x, y), e(y, z)."
NON_LINEAR = EDGES + "t(x, z) :- t(x, y), t(y, z)."
APART = PlacementLimits(replicate=0, closures=0, gather=0)


def planned(
    text: str, limits: PlacementLimits, rows: int = 1_000, facts: Placement = 0, partitions: int = 4
) -> ClusterPlan:
    """The plan of a program over facts of so many rows each."""
    core = compiled(text)
    derived = {name for node in core.nodes for name in node.relations}
    given = [name for name in core.relations if name not in derived]
    return place_program(
        core, dict.fromkeys(given, facts), dict.fromkeys(given, rows), partitions, limits, Dictionary(core.records)
    )


def rules(plan: ClusterPlan) -> set[str]:
    return {text(rule) for node in plan.program.nodes for rule in node.rules if isinstance(rule, CoreRule)}


def text(rule: CoreRule) -> str:
    """A rule without its name."""
    return str(rule).removeprefix(f"{rule.name}: ")


def sent(plan: ClusterPlan) -> set[tuple[str, str, Placement]]:
    return {
        (each.source, each.target, each.place)
        for each in plan.exports
        if "facts" not in each.source or "e@" in each.source
    }


def test_a_linear_recursion_stays_within_partitions() -> None:
    plan = planned(LINEAR, APART)
    assert dict(plan.nodes) == {("t",): "split"}
    assert plan.homes == {"e": 0, "t": 0}
    assert rules(plan) == {
        "t@home.0(x, y) :- e@facts(x, y).",
        "t@home.0(x, z) :- t@home.0(x, y), e@all(y, z).",
    }
    assert sent(plan) == {("e@facts", "e@all", "all")}
    assert plan.cycles == ()


@pytest.mark.smoke
def test_a_non_linear_recursion_is_gathered_or_exchanged() -> None:
    gathered = planned(NON_LINEAR, PlacementLimits(replicate=0, closures=0))
    assert dict(gathered.nodes) == {("t",): "gathered"}
    assert sent(gathered) == {("e@facts", "e@one", "one")}
    exchanged = planned(NON_LINEAR, APART)
    assert dict(exchanged.nodes) == {("t",): "exchanged"}
    (cycle,) = exchanged.cycles
    assert not any(cycle.reads.values())
    assert {name for name in cycle.relations if name.startswith("t@home")} == {exchanged.views["t"]}


def test_a_closure_of_few_edges_is_everywhere() -> None:
    plan = planned(NON_LINEAR, PlacementLimits(replicate=0))
    assert dict(plan.nodes) == {("t",): "everywhere"}
    assert plan.program.nodes[-1].closure is not None


@pytest.mark.parametrize(
    ("gigabytes", "way"), [(24, "everywhere"), (8, "exchanged, its pairs written"), (0, "exchanged, its pairs written")]
)
def test_a_closure_is_everywhere_where_partitions_have_the_memory(gigabytes: int, way: str) -> None:
    """100 million edges with 50 million nodes take 19 GB in each of 1,000 partitions."""
    plan = planned(NON_LINEAR, PlacementLimits(memory=gigabytes * 10**9), rows=100_000_000, partitions=1_000)
    assert dict(plan.nodes) == {("t",): way}
    assert planned(NON_LINEAR, PlacementLimits(), rows=19_000_000).homes["t"] == "all"


def test_a_closure_that_is_everywhere_stays_there_up_to_twice_the_limit() -> None:
    core, names = compiled(NON_LINEAR), Dictionary({})
    before = planned(NON_LINEAR, PlacementLimits(closures=100), rows=50)
    ways = []
    for rows, pairs in [(199, 70), (201, 70), (199, 0)]:
        sizes = {"e": rows} | ({"t": pairs} if pairs else {})
        plan = place_program(core, {"e": 0}, sizes, 4, PlacementLimits(closures=100), names, before)
        ways.append(plan.homes["t"] == "all")
    assert ways == [True, False, False]


def test_small_facts_need_no_messages() -> None:
    """What is everywhere is used where it is; each partition derives what lives there."""
    text = EDGES + ".decl back(x: number, y: number)\nback(y, x) :- e(x, y), e(y, z), z != x."
    plan = planned(text, APART, facts="all")
    assert sent(plan) == set()
    assert all("#mine(" in rule for rule in rules(plan))


def test_levels_follow_the_exports() -> None:
    text = """
    .decl e(x: number, y: number)
    .decl a(x: number, y: number)
    .decl b(x: number, n: number)
    .decl c(x: number)
    a(y, x) :- e(x, y).
    b(x, n) :- a(x, _), n = count : { a(x, _) }.
    c(n) :- b(_, n), !a(n, _).
    """
    plan = planned(text, APART)
    levels = {each.source: each.level for each in plan.exports if "facts" not in each.source}
    assert list(levels.values()) == sorted(levels.values())
    assert all(each.cycle is None for each in plan.exports)


def test_values_are_made_in_one_place() -> None:
    text = """
    .decl e(x: symbol, y: symbol)
    .decl s(x: symbol)
    s(cat(x, y)) :- e(x, y), e(y, x).
    """
    plan = planned(text, APART)
    assert plan.dictionary
    assert any("cat" in str(rule) for node in plan.program.nodes for rule in node.rules)
    assert not any("cat" in str(rule) for node in plan.others.nodes for rule in node.rules)


@pytest.mark.parametrize(
    ("rule", "join", "rest"),
    [
        (
            "h(a, d) :- p(a, b), q(b, c), r(c, d).",
            "#join(a, c) :- p(a, b), q(b, c).",
            "h(a, d) :- #join(a, c), r(c, d).",
        ),
        (
            "h(a, c) :- p(a, b), q(b, c), !r(a, c).",
            "#join(a, c) :- p(a, b), q(b, c).",
            "h(a, c) :- #join(a, c), !r(a, c).",
        ),
        ("h(a, c) :- p(a, b), q(b, c).", None, None),
        ("h(a, c) :- p(a, a), q(b, b), r(c, c).", None, None),
    ],
)
def test_rules_in_two(rule: str, join: str | None, rest: str | None) -> None:
    declarations = "".join(f".decl {name}(x: number, y: number)\n" for name in "hpqr")
    (node,) = compile_program(checked(declarations + rule), as_written=True).nodes
    (whole,) = node.rules
    assert isinstance(whole, CoreRule)
    halves = split_join(whole, "#join")
    assert (None if halves is None else text(halves[1])) == join
    assert (None if halves is None else text(halves[2])) == rest


def test_every_word_lives_somewhere() -> None:
    words: Any = np.concatenate(
        [np.arange(-5_000, 5_000), np.array([2**62, -(2**62)]), np.random.rand(99).view(np.int64)]
    )
    for partitions in (1, 3, 16, 5_000):
        found = owners(words, partitions)
        assert (found.min(), found.max()) == (0, partitions - 1)
        share = np.bincount(owners(np.arange(1_000_000), partitions))
        assert share.max() < 1.1 * share.min()
