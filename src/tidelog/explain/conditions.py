"""The conditions of an instance of a rule: its literals other than tuples, with values for variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.explain.derivations import Derivations
from tidelog.explain.instances import FlatRule
from tidelog.explain.proof import Condition
from tidelog.language.syntax import Aggregate, Comparison, Literal, Negation, Record, Term, Variable, Constant
from tidelog.language.trees import outermost, rebuild
from tidelog.language.branches import Branch
from tidelog.limits.watch import Watch
from tidelog.maintain.state import EngineState


def conditions_of(
    flat: FlatRule, bound: Mapping[str, Any], derivations: Derivations, state: EngineState, watch: Watch
) -> tuple[Condition, ...]:
    """Return the conditions of an instance, in the order written."""
    return tuple(condition_of(literal, bound) for literal in flat.conditions)


def condition_of(literal: Literal, bound: Mapping[str, Any]) -> Condition:
    """Return a literal with values for the variables that are bound."""

    def change(term: Term) -> Term | None:
        if isinstance(term, Variable) and term.name in bound:
            return term_of(bound[term.name])
        return None

    text = str(rebuild(literal, change))
    if isinstance(literal, Negation):
        return Condition("negation", text)
    if any(True for _ in outermost([literal])):
        return Condition("aggregate", text)
    return Condition("comparison", text)


def term_of(value: Any) -> Term:
    """Return the term for a value."""
    if value is None:
        return Record(None)
    if isinstance(value, Branch):
        return Record(tuple(map(term_of, value)), branch=value._name)
    if isinstance(value, tuple):
        return Record(tuple(map(term_of, value)))
    return Constant(value)
