"""How large a rule may be: join plans are searched for in time that grows faster than the number of literals."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.errors import Problem
from tidelog.language.scopes import direct_terms
from tidelog.language.syntax import (
    Aggregate,
    Cast,
    Constant,
    Disjunction,
    Functor,
    Literal,
    Record,
    Rule,
    Term,
)

PARTS, AGGREGATES = 300, 100
"""The most parts of a rule (literals, functors, records and casts; of a disjunction those of its largest alternative),
and the most aggregates in it, whose bodies may have as many parts each."""


def size_problems(rule: Rule) -> list[Problem]:
    """Return the problem of a rule that is too large."""
    aggregates: list[Aggregate] = []
    bodies = [(_conjunction(rule.body, aggregates) + _terms(rule.heads, aggregates), rule.span)]
    for aggregate in aggregates:  # grows while nested ones are found
        target = 0 if aggregate.target is None else _term(aggregate.target, aggregates)
        bodies.append((_conjunction(aggregate.body, aggregates) + target, aggregate.span))
        if len(aggregates) > AGGREGATES:
            message = f"this rule has more than {AGGREGATES} aggregates"
            return [Problem("E0114", message, aggregate.span, hint="give some of them relations of their own")]
    hint = "give some of them relations of their own"
    return [
        Problem("E0114", f"this has {parts:,} literals, functors and records, the limit is {PARTS}", span, hint=hint)
        for parts, span in bodies
        if parts > PARTS
    ]


def _conjunction(body: Iterable[Literal], found: list[Aggregate]) -> int:
    """The parts of a conjunction; its aggregates go to `found`."""
    parts = 0
    for literal in body:
        if isinstance(literal, Disjunction):
            parts += max(_conjunction(alternative, found) for alternative in literal.alternatives)
        else:
            parts += 1 + _terms((literal,), found)
    return parts


def _terms(literals: Iterable[Literal], found: list[Aggregate]) -> int:
    return sum(_term(term, found) for term in direct_terms(literals))


def _term(root: Term, found: list[Aggregate]) -> int:
    parts = 0
    waiting = [root]
    while waiting:
        match waiting.pop():
            case Functor(args=args):
                parts += max(1, len(args) - 1)
                waiting += args
            case Record(fields=tuple(fields)):
                parts += not all(isinstance(field, Constant) for field in fields)
                waiting += fields
            case Cast(term=term):
                parts += 1
                waiting.append(term)
            case Aggregate() as aggregate:
                parts += 1
                found.append(aggregate)
            case _:
                pass
    return parts
