"""The meaning of a literal of the core language on Python values, given a substitution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from tidelog.language import branches
from tidelog.language.syntax import BranchType
from tidelog.rules.core import (
    Computation,
    CoreAtom,
    CoreComparison,
    CoreConstant,
    CoreLiteral,
    CoreValue,
    CoreVariable,
    Pack,
    Unpack,
)
from tidelog.semantics.functors import apply, holds
from tidelog.semantics.user_functors import values_of
from tidelog.semantics.values import Row, cast, normal

Substitution: TypeAlias = dict[str, Any]
"""The values of the variables that are bound."""


def is_bound(value: CoreValue, bound: Substitution) -> bool:
    return isinstance(value, CoreConstant) or value.name in bound


def value_of(value: CoreValue, bound: Substitution) -> Any:
    return normal(value.value, value.kind) if isinstance(value, CoreConstant) else bound[value.name]


def step(literal: CoreLiteral, source: Iterable[Row], bound: Substitution) -> Iterator[Substitution]:
    """Yield the ways to satisfy `literal`."""
    match literal:
        case CoreAtom(negated=True):
            if not any(list(unify(literal.args, row, bound)) for row in source):
                yield bound
        case CoreAtom():
            for row in source:
                yield from unify(literal.args, row, bound)
        case CoreComparison(op="=") if not (is_bound(literal.left, bound) and is_bound(literal.right, bound)):
            given, free = literal.left, literal.right
            if not is_bound(given, bound):
                given, free = free, given
            yield from unify((free,), (value_of(given, bound),), bound)
        case CoreComparison():
            if holds(literal.op, value_of(literal.left, bound), value_of(literal.right, bound)):
                yield bound
        case Computation():
            args = [value_of(arg, bound) for arg in literal.args]
            results: Iterable[Any]
            if literal.declared is not None:
                results = values_of(literal.declared, args)
            elif literal.functor == "as":
                results = cast(args[0], literal.target.kind)
            else:
                results = apply(literal.functor, literal.kind, args)
            for value in results:
                yield from unify((literal.target,), (value,), bound)
        case Pack(args=args, branch=branch):
            parts = tuple([value_of(arg, bound) for arg in args])
            yield from unify((literal.target,), (parts if branch is None else branches.value_of(branch, parts),), bound)
        case Unpack(targets=targets, branch=None):
            value = value_of(literal.source, bound)
            if value is not None:
                yield from unify(targets, value, bound)
        case Unpack(targets=targets, branch=BranchType(name=name, places=places)):
            value = value_of(literal.source, bound)
            if value._name == name:
                yield from unify([targets[place] for place in places], value, bound)


def unify(terms: Iterable[CoreValue], row: Row, bound: Substitution) -> Iterator[Substitution]:
    """Yield at most one substitution: `bound`, extended so that `terms` have the values of `row`."""
    extended = dict(bound)
    for term, value in zip(terms, row, strict=True):
        if isinstance(term, CoreVariable):
            if extended.setdefault(term.name, value) != value:
                return
        elif value_of(term, bound) != value:
            return
    yield extended
