"""Proofs that somebody has altered: every way to alter one step that leaves no proof.

    for name, forged in forgeries(proof):       # each has to be rejected by `forged.check(db)`

Heights are put right again after each alteration, so that the alteration itself has to be found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from tidelog.explain.proof import Proof
from tidelog.explain.steps import BoundRule, Condition, ProofStep, Walk
from tidelog.explain.walks import ASSERTED

Steps = tuple[ProofStep, ...]


def forgeries(proof: Proof) -> Iterator[tuple[str, Proof]]:
    """Yield altered proofs with the name of the alteration."""
    steps = proof.steps
    for number, step in enumerate(steps):
        for name, changed in _of_others(steps, number):
            yield name, with_step(steps, number, changed)
        for name, changed in _of_tuple(step):
            yield name, with_step(steps, number, changed)
        for name, changed in _of_premises(steps, number):
            yield name, with_step(steps, number, changed)
        for name, changed in _of_rule(step):
            yield name, with_step(steps, number, changed)
        for i, condition in enumerate(step.conditions):
            for name, other in _of_condition(condition):
                conditions = (*step.conditions[:i], *other, *step.conditions[i + 1 :])
                yield name, with_step(steps, number, replace(step, conditions=conditions))
        yield "another height", Proof((*steps[:number], replace(step, height=step.height + 1), *steps[number + 1 :]))
        yield "a candidate, or none", with_step(steps, number, replace(step, is_candidate=not step.is_candidate))


def with_step(steps: Steps, number: int, step: ProofStep) -> Proof:
    """Return a proof with another step, and heights that fit."""
    made = [*steps[:number], step, *steps[number + 1 :]]
    for i, each in enumerate(made):
        below = [made[premise].height for premise in each.premises if premise < i]
        made[i] = replace(each, height=1 + max(below, default=0) if each.sort in ("rule", "walk") else 0)
    return Proof(tuple(made))


def other_value(value: Any) -> Any:
    """Return another value of the type, which no test has; `nil` and branches without fields stay."""
    if isinstance(value, int | float):
        return value + 1000
    if isinstance(value, str):
        return f"{value}~"
    if not value:
        return value
    first = other_value(value[0])
    return type(value)(first, *value[1:]) if hasattr(value, "_fields") else (first, *value[1:])


def _of_others(steps: Steps, number: int) -> Iterator[tuple[str, ProofStep]]:
    step = steps[number]
    for other in steps:
        if _shown(other) != _shown(step) and other.relation in (step.relation, steps[-1].relation):
            if _is_turned(steps, step, other):
                continue
            moved = replace(step, relation=other.relation, values=other.values, is_candidate=other.is_candidate)
            yield "the tuple of another step", moved


def _is_turned(steps: Steps, step: ProofStep, other: ProofStep) -> bool:
    """Return True if the only edge of a walk gives the tuple of another step as well: its ends turned around, where
    walks go along such edges both ways."""
    walk = step.instance
    if not isinstance(walk, Walk) or len(step.premises) != 1 or _shown(other) != (step.relation, step.values[::-1]):
        return False
    automaton, relation = walk.automaton, steps[step.premises[0]].relation
    begins = {0} | automaton.silent.get(0, frozenset())
    forms = {
        edge.form
        for edge in automaton.edges
        if edge.relation.removeprefix(ASSERTED) == relation
        and edge.source in begins
        and automaton.ends & ({edge.target} | automaton.silent.get(edge.target, frozenset()))
    }
    return forms >= {"forward", "backward"}


def _of_tuple(step: ProofStep) -> Iterator[tuple[str, ProofStep]]:
    for i, value in enumerate(step.values):
        values = (*step.values[:i], other_value(value), *step.values[i + 1 :])
        if values != step.values:
            yield "another value", replace(step, values=values)
        if step.better is not None:
            yield "no better tuple", replace(step, better=step.values)
    yield "another relation", replace(step, relation=f"{step.relation}_")


def _of_premises(steps: Steps, number: int) -> Iterator[tuple[str, ProofStep]]:
    step = steps[number]
    premises = step.premises
    for i, premise in enumerate(premises):
        before, behind = premises[:i], premises[i + 1 :]
        yield "a premise less", replace(step, premises=(*before, *behind))
        if step.sort != "walk" or len({*steps[premise].values}) > 1:
            yield "a premise twice", replace(step, premises=(*before, premise, premise, *behind))
        yield "a cycle", replace(step, premises=(*before, number, *behind))
        yield "a later premise", replace(step, premises=(*before, len(steps), *behind))
        for other in range(number):
            if _shown(steps[other]) != _shown(steps[premise]) and not _is_edge_as(step, steps[other], steps[premise]):
                yield "another premise", replace(step, premises=(*before, other, *behind))
        for j in range(i):
            if _shown(steps[premises[j]]) != _shown(steps[premise]):
                swapped = [*premises]
                swapped[i], swapped[j] = swapped[j], swapped[i]
                yield "premises swapped", replace(step, premises=tuple(swapped))


def _is_edge_as(step: ProofStep, other: ProofStep, edge: ProofStep) -> bool:
    """Return True if a walk may go along one tuple as well as along another one: between the same nodes, by relations
    that both have edges for it."""
    if not isinstance(step.instance, Walk) or {*other.values} != {*edge.values}:
        return False
    return other.relation in {each.relation.removeprefix(ASSERTED) for each in step.instance.automaton.edges}


def _shown(step: ProofStep) -> tuple[str, Any]:
    return step.relation, step.values


def _of_rule(step: ProofStep) -> Iterator[tuple[str, ProofStep]]:
    if step.sort == "fact":
        yield "a rule for a fact", replace(step, sort="rule", rule="r1")
        yield "a walk for a fact", replace(step, sort="walk")
        yield "a condition of a fact", replace(step, conditions=(Condition("comparison", "1 = 1"),))
        return
    bare = ProofStep(step.relation, step.values, "fact", is_candidate=step.is_candidate, better=step.better)
    yield "a fact for a rule", bare
    yield "nothing to show it by", replace(step, instance=None)
    instance = step.instance
    if not isinstance(instance, BoundRule):
        yield "a rule for a walk", replace(step, sort="rule", rule="r1")
        if isinstance(instance, Walk) and all(edge.form == "forward" for edge in instance.automaton.edges):
            turned = tuple(edge._replace(form="backward") for edge in instance.automaton.edges)
            back = replace(instance, automaton=replace(instance.automaton, edges=turned))
            if step.values[0] != step.values[1]:
                ends, premises = step.values[::-1], step.premises[::-1]
                yield "a walk backwards", replace(step, values=ends, premises=premises, instance=back)
        if isinstance(instance, Walk) and step.relation.startswith("<"):  # Rules check the walks of a closure.
            anywhere = replace(instance.automaton, ends=frozenset(range(99)))
            yield "another automaton", replace(step, instance=replace(instance, automaton=anywhere))
        return
    yield "a walk for a rule", replace(step, sort="walk")
    yield "another name of the rule", replace(step, rule=f"{step.rule}_")
    yield "another text of the rule", replace(step, text=f"{step.text} ")
    flat = instance.flat
    other_rule = replace(flat, rule=replace(flat.rule, name="somebody's", body=()))
    by_other = replace(instance, flat=other_rule)
    yield "a rule of nobody", replace(step, rule="somebody's", text=str(other_rule.rule), instance=by_other)
    for name, value in instance.values.items():
        values = {**instance.values, name: other_value(value)}
        other = replace(instance, values=values)
        if values != instance.values:
            yield "another value of a variable", replace(step, instance=other, variables=other.source_values)
    for name, value in step.variables.items():
        if other_value(value) != value:
            yield "another value shown", replace(step, variables={**step.variables, name: other_value(value)})


def _of_condition(condition: Condition) -> Iterator[tuple[str, tuple[Condition, ...]]]:
    yield "a condition less", ()
    yield "a condition twice", (condition, condition)
    yield "another condition", (replace(condition, text=f"{condition.text} "),)
    sort: Literal["comparison", "negation"] = "negation" if condition.sort != "negation" else "comparison"
    yield "another sort of condition", (replace(condition, sort=sort),)
    if condition.absent is not None:
        name, values = condition.absent
        yield "another absent tuple", (replace(condition, absent=(f"{name}_", values)),)
    if condition.members is None:
        yield "members of no group", (replace(condition, members=1),)
    else:
        yield "more members", (replace(condition, members=condition.members + 1),)
        if condition.first:
            first = (f"{condition.first[0]} ", *condition.first[1:])
            yield "another member", (replace(condition, first=first),)
    if condition.witness:
        yield "no witness", (replace(condition, witness=()),)
