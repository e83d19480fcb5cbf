"""Several heads are several rules with the same body."""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import Rule
from tidelog.rules.bench import Bench


def heads(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """Return one rule for each head."""
    return tuple(replace(rule, heads=(head,)) for head in rule.heads)
