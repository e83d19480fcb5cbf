"""The conditions of an instance of a rule: its literals other than tuples, with values for variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.explain.instances import FlatRule
from tidelog.explain.search import ProofSearch
from tidelog.explain.steps import Condition
from tidelog.language.branches import Branch
from tidelog.language.syntax import Anonymous, Constant, Literal, Negation, Record, Term, Variable
from tidelog.language.trees import outermost, rebuild


def conditions_of(flat: FlatRule, bound: Mapping[str, Any], search: ProofSearch) -> tuple[Condition, ...]:
    """Return the conditions of an instance, in the order written."""
    return tuple(condition_of(literal, bound) for literal in flat.conditions)


def condition_of(literal: Literal, bound: Mapping[str, Any]) -> Condition:
    """Return a literal with values for the variables that are bound."""
    text = str(with_values(literal, bound))
    if isinstance(literal, Negation):
        return Condition("negation", text)
    if any(True for _ in outermost([literal])):
        return Condition("aggregate", text)
    return Condition("comparison", text)


def with_values(literal: Literal, bound: Mapping[str, Any]) -> Literal:
    """Return a literal with values in the place of the variables that are bound, and `_` for those of a rewrite."""

    def change(term: Term) -> Term | None:
        if isinstance(term, Variable):
            return term_of(bound[term.name]) if term.name in bound else Anonymous() if "#" in term.name else None
        return None

    return rebuild(literal, change)


def term_of(value: Any) -> Term:
    """Return the term for a value."""
    if value is None:
        return Record(None)
    if isinstance(value, Branch):
        return Record(tuple(map(term_of, value)), branch=value._name)
    if isinstance(value, tuple):
        return Record(tuple(map(term_of, value)))
    return Constant(value)
