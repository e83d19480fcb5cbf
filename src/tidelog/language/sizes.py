"""The size limits of a rule: the search for join plans takes time that grows faster than the number of literals."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.errors import Problem
from tidelog.language.syntax import (
    Aggregate,
    Atom,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Negation,
    Record,
    Rule,
    Truth,
)
from tidelog.language.trees import Tree, parts, walk

PARTS, AGGREGATES = 300, 100
"""The most parts of a rule (literals, functors, records and casts; of a disjunction those of its largest alternative),
and the most aggregates in it, whose bodies may have as many parts each."""


def size_problems(rule: Rule) -> list[Problem]:
    """Return the problem of a rule that is too large."""
    aggregates: list[Aggregate] = []
    bodies = [(_size((*rule.heads, *rule.body), aggregates) - len(rule.heads), rule.span)]
    for aggregate in aggregates:  # grows while nested ones are found
        bodies.append((_size(parts(aggregate), aggregates), aggregate.span))
        if len(aggregates) > AGGREGATES:
            message = f"this rule has more than {AGGREGATES} aggregates, the limit"
            return [Problem("E0114", message, aggregate.span, hint="move some of them into other rules")]
    hint = "move some of them into other rules"
    return [
        Problem("E0114", f"this has {size:,} literals, functors and records, the limit is {PARTS}", span, hint=hint)
        for size, span in bodies
        if size > PARTS
    ]


def _size(nodes: Iterable[Tree], found: list[Aggregate]) -> int:
    """Return the number of parts of a conjunction or of terms; the aggregates outside of others go to `found`."""
    size = 0
    for node in nodes:
        if isinstance(node, Disjunction):
            size += max(_size(alternative, found) for alternative in node.alternatives)
            continue
        for part in walk([node], aggregates=False):
            size += _weight(part, part is node)
            if isinstance(part, Aggregate):
                found.append(part)
    return size


def _weight(node: Tree, is_root: bool) -> int:
    match node:
        case Functor(args=args):
            return max(1, len(args) - 1)
        case Record(fields=tuple(fields)):
            return not all(isinstance(field, Constant) for field in fields)
        case Cast() | Aggregate():
            return 1
        case Atom() | Negation() | Comparison() | Truth():
            return is_root
        case _:
            return 0
