"""Hyper-nodes: which rules belong together, and in which order they are evaluated."""

from __future__ import annotations

import random

from benchmarks.zodiac import RS2
from tidelog.language import check, read
from tidelog.language.syntax import Atom, CheckedProgram, Column, RelationType, Rule, Variable
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram
from tidelog.rules.graph import components, rule_components


def core(text: str) -> CoreProgram:
    return compile_program(check(read(text)), as_written=True)


def test_rule_set_2_of_zodiacedge_has_8_hyper_nodes_of_relations() -> None:
    nodes = core(RS2).nodes
    assert [node.relations for node in nodes] == [
        ("p11",),
        ("p12",),
        ("p13", "p14"),
        ("p20", "p21", "p22"),
        ("p25",),
        ("p26",),
        ("p30",),
        ("p31",),
    ]
    assert [node.recursive for node in nodes] == [True, True, True, True, False, False, False, False]


def test_rule_set_2_of_zodiacedge_has_14_hyper_nodes_of_rules() -> None:
    found = rule_components([rule for node in core(RS2).nodes for rule in node.rules])
    assert len(found) == 14
    assert sorted([rule.name for rule in part] for part in found if len(part) > 1) == [
        ["r12", "r13", "r14"],
        ["r2", "r3"],
        ["r7", "r8"],
    ]


def test_nodes_come_behind_what_they_read_and_else_in_the_order_of_the_rules() -> None:
    nodes = core(
        ".decl e(x: number) .decl a(x: number) .decl b(x: number) .decl c(x: number) .decl d(x: number)\n"
        "a(x) :- d(x).\nb(x) :- e(x).\nc(x) :- a(x), b(x).\nd(x) :- e(x).\n"
    ).nodes
    assert [node.relations for node in nodes] == [("b",), ("d",), ("a",), ("c",)]


def test_negation_and_aggregation_of_lower_relations_keep_nodes_apart() -> None:
    nodes = core(
        ".decl e(x: number) .decl p(x: number) .decl q(x: number)\n"
        "p(x) :- e(x).\nq(x) :- e(x), !p(x), count : { p(_) } > x.\nq(x) :- q(x).\n"
    ).nodes
    assert nodes[0].relations == ("p",)
    assert nodes[-1].relations == ("q",)
    assert nodes[-1].recursive


def test_a_fact_with_a_name_has_a_node_and_a_given_relation_has_none() -> None:
    program = core(".decl a(x: number) .decl e(x: number)\na(1).\nr: a(2).\n")
    assert [node.relations for node in program.nodes] == [("a",)]


def test_a_long_chain_and_a_large_cycle_of_rules() -> None:
    size = 3_000
    columns = (Column("x", "number", "number"),)
    relations = {f"p{i}": RelationType(f"p{i}", columns) for i in range(size + 1)}
    rules = [
        Rule(f"r{i}", (Atom(f"p{i + 1}", (Variable("x"),)),), (Atom(f"p{i}", (Variable("x"),)),), {"x": "number"})
        for i in range(size)
    ]
    chain = compile_program(CheckedProgram(relations, {}, tuple(rules)))
    assert [node.relations[0] for node in chain.nodes] == [f"p{i + 1}" for i in range(size)]
    closing = Rule("back", (Atom("p0", (Variable("x"),)),), (Atom(f"p{size}", (Variable("x"),)),), {"x": "number"})
    cycle = compile_program(CheckedProgram(relations, {}, (*rules, closing)))
    assert [len(node.rules) for node in cycle.nodes] == [size + 1]


def test_components_are_those_of_mutual_reachability() -> None:
    rng = random.Random(5)
    for _ in range(200):
        size = rng.randrange(1, 9)
        graph = {i: [rng.randrange(size) for _ in range(rng.randrange(3))] for i in range(size)}
        reach = {i: {i} for i in graph}
        for _ in graph:
            reach = {i: seen.union(*(graph[j] for j in seen)) for i, seen in reach.items()}
        found = components(graph)
        assert {frozenset(group) for group in found} == {
            frozenset(j for j in graph if i in reach[j] and j in reach[i]) for i in graph
        }
        position = {node: index for index, group in enumerate(found) for node in group}
        assert all(position[j] <= position[i] for i in graph for j in graph[i])


def test_rules_with_many_definitions_of_one_relation_stay_linear() -> None:
    text = ".decl p(x: number, y: number)\n" + "".join(f"r{i}: p(x, {i}) :- p(x, _).\n" for i in range(1_000))
    (node,) = core(text).nodes
    assert len(node.rules) == 1_000
    assert len(rule_components(node.rules)) == 1
    assert {name for rule in node.rules for name, _ in rule.reads} == {"p"}
