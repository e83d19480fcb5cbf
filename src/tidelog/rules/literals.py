"""The values in literals of the core language, and their substitution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tidelog.language.functors import several
from tidelog.rules.core import Computation, CoreAtom, CoreComparison, CoreLiteral, CoreValue, CoreVariable, Pack, Unpack


def variables_of(literal: CoreLiteral) -> Iterator[CoreVariable]:
    """Return the variables of a literal, from left to right, one for each place."""
    return (value for value in literal.values if isinstance(value, CoreVariable))


def substituted(literal: CoreLiteral, change: Callable[[CoreValue], CoreValue]) -> CoreLiteral:
    """Return the literal with each value changed."""

    def each(given: Iterable[CoreValue]) -> tuple[CoreValue, ...]:
        return tuple(map(change, given))

    match literal:
        case CoreAtom(relation=relation, args=args, negated=negated, span=span):
            return CoreAtom(relation, each(args), negated, span)
        case CoreComparison(op=op, kind=kind, left=left, right=right, span=span):
            return CoreComparison(op, kind, change(left), change(right), span)
        case Computation(target=target, functor=functor, kind=kind, args=args, declared=declared, span=span):
            return Computation(change(target), functor, kind, each(args), declared, span)
        case Pack(target=target, kind=kind, args=args, branch=branch, span=span):
            return Pack(change(target), kind, each(args), branch, span)
        case Unpack(source=source, kind=kind, targets=targets, branch=branch, span=span):
            return Unpack(change(source), kind, each(targets), branch, span)


def is_several(literal: CoreLiteral) -> bool:
    """Return True if a literal may compute several values of a functor. A rule does not know which function there will
    be for a functor in Python."""
    if not isinstance(literal, Computation):
        return False
    return literal.declared is not None or several(literal.functor, len(literal.args))
