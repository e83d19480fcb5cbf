"""The limits of a statement: the depth of its brackets, signs and terms, and the size of a rule.

Later stages recurse over trees, so their depth is bounded. The search for join plans takes time that grows faster than
the number of literals, so the size of rules is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from lark import Token

from tidelog.common.source import Span
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
from tidelog.language.token_types import CLOSING, OPENING
from tidelog.language.trees import Tree, parts, walk

LIMIT = 150
"""Deepest nesting of a statement; a walk that takes five frames a level stays within Python's limit."""

_SIGNS = frozenset(("NOT", "MINUS", "PREFIX", "CARET", "POSTFIX"))


def too_deep_tokens(tokens: list[Token]) -> frozenset[int]:
    """Return positions of the tokens that open a level beyond LIMIT, by brackets or by signs in a row."""
    found: set[int] = set()
    depth = run = 0
    for i, token in enumerate(tokens):
        kind = token.type
        if kind in OPENING:
            depth += 1
            if depth > LIMIT:
                found.add(i)
        elif kind in CLOSING:
            depth = max(0, depth - 1)  # a dot may stand between the braces of a component
        elif kind == "DOT":
            depth = 0
        elif kind in _SIGNS:
            run += 1
            if run > LIMIT:
                found.add(i)
            continue
        run = 0
    return frozenset(found)


def too_deep_node(root: Any) -> Span | None:
    """Return the span of a node more than LIMIT levels below `root` (a node or a tuple of nodes), if there is one."""
    waiting: list[tuple[Any, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, tuple):
            waiting += [(part, depth) for part in node]
        elif is_dataclass(node) and not isinstance(node, Span):
            if depth > LIMIT:
                span: Span | None = getattr(node, "span", None)
                return span
            waiting += [(getattr(node, f.name), depth + 1) for f in fields(node) if f.name not in ("span", "kinds")]
    return None


PARTS, AGGREGATES = 300, 100
"""The most parts of a rule (literals, functors, records and casts; of a disjunction those of its largest alternative),
and the most aggregates in it, whose bodies may have as many parts each."""


def size_problems(rule: Rule) -> list[Problem]:
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
