"""The edges of the rule graph: the relation that a rule derives and those that it reads."""

from __future__ import annotations

from typing import TypeAlias

from tidelog.rules.core import AggregateRule, CoreRule

AnyRule: TypeAlias = CoreRule | AggregateRule


def head_of(rule: AnyRule) -> str:
    """Return the relation that a rule derives."""
    return rule.head if isinstance(rule, AggregateRule) else rule.head.relation


def body_of(rule: AnyRule) -> tuple[tuple[str, bool], ...]:
    """Return the relations that a rule reads, each with True if it reads the relation negatively."""
    return rule.reads
