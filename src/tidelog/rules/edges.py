"""The edges of the rule graph: what a rule derives and what it reads."""

from __future__ import annotations

from typing import TypeAlias

from tidelog.rules.core import AggregateRule, CoreRule

AnyRule: TypeAlias = CoreRule | AggregateRule


def head_of(rule: AnyRule) -> str:
    """The relation that a rule derives."""
    return rule.head if isinstance(rule, AggregateRule) else rule.head.relation


def body_of(rule: AnyRule) -> tuple[tuple[str, bool], ...]:
    """The relations that a rule reads, each with whether it reads it negatively."""
    return rule.reads
