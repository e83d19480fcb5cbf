"""The values in literals of the core language: which there are, and the same literal with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tidelog.rules.core import Atom, Comparison, Computation, Literal, Pack, Unpack, Value, Variable


def values(literal: Literal) -> tuple[Value, ...]:
    """The variables and constants of a literal, from left to right."""
    match literal:
        case Atom(args=args):
            return args
        case Comparison(left=left, right=right):
            return (left, right)
        case Computation(target=target, args=args) | Pack(target=target, args=args):
            return (target, *args)
        case Unpack(source=source, targets=targets):
            return (source, *targets)


def variables_of(literal: Literal) -> Iterator[Variable]:
    """The variables of a literal, from left to right, one for each place."""
    return (value for value in values(literal) if isinstance(value, Variable))


def substituted(literal: Literal, change: Callable[[Value], Value]) -> Literal:
    """The literal with each value changed."""

    def each(given: Iterable[Value]) -> tuple[Value, ...]:
        return tuple(map(change, given))

    match literal:
        case Atom(relation=relation, args=args, negated=negated):
            return Atom(relation, each(args), negated)
        case Comparison(op=op, kind=kind, left=left, right=right):
            return Comparison(op, kind, change(left), change(right))
        case Computation(target=target, functor=functor, kind=kind, args=args):
            return Computation(change(target), functor, kind, each(args))
        case Pack(target=target, kind=kind, args=args):
            return Pack(change(target), kind, each(args))
        case Unpack(source=source, kind=kind, targets=targets):
            return Unpack(change(source), kind, each(targets))
