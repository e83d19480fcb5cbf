"""The edges of the rule graph: what a rule derives and what it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tidelog.rules.core import AggregateRule, Atom, Rule

AnyRule: TypeAlias = Rule | AggregateRule


def head_of(rule: AnyRule) -> str:
    """The relation that a rule derives."""
    return rule.head if isinstance(rule, AggregateRule) else rule.head.relation


def body_of(rule: AnyRule) -> Iterator[tuple[str, bool]]:
    """The relations that a rule reads, each with whether it reads it negatively."""
    if isinstance(rule, AggregateRule):
        yield rule.outer, True
        yield rule.inner, True
    else:
        for literal in rule.body:
            if isinstance(literal, Atom):
                yield literal.relation, literal.negated
