"""The references that maintain views, against naive evaluation, over random change scripts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchmarks import zodiac
from papers.dred import DRed
from papers.elastic import Elastic
from papers.zodiacedge import ZodiacEdge
from tests.depth import cases
from tests.papers.change_scripts import Groups, Script, after, generated_scripts, hand_scripts
from tests.suite import FIRST_SEED, Facts, checked, compiled, difference
from tidelog.reference import naive, seminaive
from tidelog.rules.core import AggregateRule, CoreProgram, CoreRule
from tidelog.rules.graph import hyper_nodes, rule_components

Reference = Callable[[CoreProgram, Facts], Any]


def elastic_with_switch(core: CoreProgram, facts: Facts) -> Elastic:
    return Elastic(core, facts, switch=0.3)


REFERENCES: list[Reference] = [Elastic, elastic_with_switch, DRed, ZodiacEdge]


def problem(script: Script) -> str:
    """Return the error after some epoch; the numbers of Update are those of Bootstrap (Theorem 3.5)."""
    core, facts = compiled(script.text), script.facts
    engines = [reference(core, placed(core, facts)) for reference in REFERENCES]
    for insert, delete in [({}, {}), *script.epochs]:
        facts = after(facts, insert, delete)
        expected = naive.evaluate(checked(script.text), facts)
        fresh = Elastic(core, placed(core, facts))
        for engine in engines:
            engine.epoch(placed(core, insert), placed(core, delete))
            found = {name: engine.views.get(name, set()) for name in expected}
            if found != expected:
                return f"{type(engine).__name__}: {difference(found, expected)}\n{script}"
            if isinstance(engine, Elastic):
                for name in expected:
                    if engine.numbers(name) != fresh.numbers(name):
                        return f"numbers of {name}: {engine.numbers(name)}, not {fresh.numbers(name)}\n{script}"
    return ""


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.deep) for part in (1, 2, 3))])
def test_views_after_each_epoch_of_hand_programs(part: int) -> None:
    scripts = list(hand_scripts(240))[part * 60 : (part + 1) * 60]
    assert [found for found in map(problem, scripts) if found] == []


def test_views_after_each_epoch_of_generated_programs() -> None:
    assert [found for found in map(problem, generated_scripts(cases(80))) if found] == []


def test_insertion_and_deletion_of_the_same_facts_leave_everything_as_it_was() -> None:
    for script in hand_scripts(cases(120)):
        core = compiled(script.text)
        for insert, _ in script.epochs:
            new = {name: rows - script.facts.get(name, set()) for name, rows in insert.items()}
            for reference in REFERENCES:
                engine = reference(core, script.facts)
                before = {name: set(rows) for name, rows in engine.views.items() if rows}
                engine.epoch(new, {})
                engine.epoch({}, new)
                assert {name: rows for name, rows in engine.views.items() if rows} == before


@pytest.mark.parametrize("reference", [Elastic, DRed, ZodiacEdge])
def test_rule_set_3_after_the_deletion_of_one_edge(reference: Reference) -> None:
    core, facts = compiled(zodiac.RS3), zodiac.facts(8)
    engine = reference(core, facts)
    for edge in ((4, 5), (7, 8)):
        engine.epoch({}, {"p1": {edge}})
        expected = naive.evaluate(checked(zodiac.RS3), {**facts, "p1": set(facts["p1"]) - {edge}})
        assert difference({name: engine.views.get(name, set()) for name in expected}, expected) == ""
        engine.epoch({"p1": {edge}}, {})


# --- rules that come and go ------------------------------------------------------------------------------------------

AnyRule = CoreRule | AggregateRule


def test_views_and_hyper_nodes_while_rules_come_and_go() -> None:
    for number, script in enumerate([*hand_scripts(cases(240)), *generated_scripts(cases(80))]):
        rng = random.Random(FIRST_SEED + number)
        core, facts = compiled(script.text), script.facts
        rules = [rule for node in core.nodes for rule in node.rules]
        names = sorted({rule.origin for rule in rules})
        present = {name for name in names if rng.random() < 0.6}
        engine = ZodiacEdge(part_of(core, present), placed(core, facts))
        for insert, delete in script.epochs:
            if rng.random() < 0.5:
                engine.epoch(placed(core, insert), placed(core, delete))
                facts = after(facts, insert, delete)
            changed = {name for name in names if rng.random() < 0.3}
            for step in rng.sample(("add", "remove"), 2):
                if step == "add":
                    engine.add_rules(of(rules, changed - present))
                else:
                    engine.remove_rules(rule.name for rule in of(rules, changed & present))
            present ^= changed
            assert difference(views(engine, core), expected(part_of(core, present), facts)) == "", str(script)
            assert engine.hyper_nodes == {names_of(group) for group in rule_components(of(rules, present))}


def test_a_rule_added_and_removed_leaves_everything_as_it_was() -> None:
    for script in hand_scripts(cases(180)):
        core = compiled(script.text)
        rules = [rule for node in core.nodes for rule in node.rules]
        for name in {rule.origin for rule in rules}:
            engine = ZodiacEdge(part_of(core, {rule.origin for rule in rules} - {name}), script.facts)
            before = (views(engine, core), engine.hyper_nodes)
            engine.add_rules(of(rules, {name}))
            assert views(engine, core) == expected(core, script.facts)
            engine.remove_rules(rule.name for rule in of(rules, {name}))
            assert (views(engine, core), engine.hyper_nodes) == before


def of(rules: list[AnyRule], origins: set[str]) -> list[AnyRule]:
    return [rule for rule in rules if rule.origin in origins]


def names_of(rules: tuple[AnyRule, ...]) -> frozenset[str]:
    return frozenset(rule.name for rule in rules)


def part_of(core: CoreProgram, origins: set[str]) -> CoreProgram:
    """The program with the rules of some origins only."""
    rules = of([rule for node in core.nodes for rule in node.rules], origins)
    return replace(core, nodes=hyper_nodes(rules, core.relations))


def placed(core: CoreProgram, facts: Facts) -> Facts:
    """The facts where the core program has them: those of relations with groups in a recursion apart."""
    return {core.candidates.get(name, name): rows for name, rows in facts.items()}


def views(engine: ZodiacEdge, core: CoreProgram) -> Groups:
    return {name: engine.views.get(name, set()) for name in core.relations}


def expected(core: CoreProgram, facts: Facts) -> Groups:
    return {name: set(table) for name, table in seminaive.evaluate(core, facts).items()}
