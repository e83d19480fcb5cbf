"""Walking and rebuilding syntax trees, for the rewrites.

Nothing here knows what a rule means; see `grounding` for what binds a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tidelog.language.syntax import (
    Aggregate,
    Atom,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Variable,
)

Node: TypeAlias = Term | Literal


def walk(nodes: Iterable[Node], *, aggregates: bool = True) -> Iterator[Node]:
    """Every node of the trees, each before its parts, from left to right; inside of aggregates only if wanted."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(_parts(node, aggregates)[::-1])


def _parts(node: Node, aggregates: bool) -> tuple[Node, ...]:
    match node:
        case Functor(args=args) | Atom(args=args):
            return args
        case Record(fields=fields):
            return fields or ()
        case Cast(term=term):
            return (term,)
        case Negation(atom=atom):
            return (atom,)
        case Comparison(left=left, right=right):
            return (left, right)
        case Disjunction(alternatives=alternatives):
            return tuple(literal for alternative in alternatives for literal in alternative)
        case Aggregate(target=target, body=body) if aggregates:
            return body if target is None else (target, *body)
    return ()


def variables(nodes: Iterable[Node], *, aggregates: bool = True) -> tuple[str, ...]:
    """The names of the variables of the trees, each once, in the order of their first occurrence."""
    names = (node.name for node in walk(nodes, aggregates=aggregates) if isinstance(node, Variable))
    return tuple(dict.fromkeys(names))


def whole(rule: Rule) -> tuple[Node, ...]:
    """The heads and the body of a rule as trees."""
    return (*rule.heads, *rule.body)


def is_simple(term: Term) -> bool:
    """Whether a term is a variable or a constant (`nil` included)."""
    return isinstance(term, Variable | Constant) or (isinstance(term, Record) and term.fields is None)
