"""The variables that a body grounds, and the literals that an engine can evaluate.

The same definition as the checker's, for rules that have passed it; here it decides the body of an auxiliary rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tidelog.language.syntax import (
    Atom,
    Cast,
    Comparison,
    Disjunction,
    Functor,
    Literal,
    Record,
    Term,
    Truth,
    Variable,
)
from tidelog.language.trees import has_anonymous, variables


def grounded_variables(body: Iterable[Literal], given: Iterable[str] = ()) -> set[str]:
    """Return the variables that have a value once `body` holds, including `given`; assume that aggregates have
    theirs."""
    literals = tuple(body)
    bound = set(given)
    size = -1
    while len(bound) > size:
        size = len(bound)
        for literal in literals:
            bound.update(_bound_by(literal, bound))
    return bound


def _bound_by(literal: Literal, bound: set[str]) -> Iterator[str]:
    match literal:
        case Atom(args=args):
            for arg in args:
                yield from pattern_variables(arg)
        case Comparison(op="=", left=left, right=right):
            yield from _equal(left, right, bound)
        case Disjunction(alternatives=alternatives):
            possible = [part for part in alternatives if Truth(False) not in part]
            if possible:
                yield from set.intersection(*(grounded_variables(part, bound) for part in possible))


def _equal(left: Term, right: Term, bound: set[str]) -> Iterator[str]:
    if isinstance(left, Record) and isinstance(right, Record) and left.fields and right.fields:
        if left.branch != right.branch:
            return
        for one, other in zip(left.fields, right.fields, strict=True):
            yield from _equal(one, other, bound)
        return
    for target, source in ((left, right), (right, left)):
        if bound.issuperset(variables([source], aggregates=False)) and not has_anonymous([source], aggregates=False):
            yield from pattern_variables(target)
            if isinstance(target, Functor) and target.name == "cat":
                rest = [arg for arg in target.args if not isinstance(arg, Variable)]
                if bound.issuperset(variables(rest, aggregates=False)):
                    yield from (arg.name for arg in target.args if isinstance(arg, Variable))


def pattern_variables(term: Term) -> Iterator[str]:
    """Return the variables that get a value from the value of `term`: those at the top, in records and in casts."""
    stack = [term]
    while stack:
        match stack.pop():
            case Variable(name=name):
                yield name
            case Record(fields=fields) if fields:
                stack.extend(reversed(fields))
            case Cast(term=inner):
                stack.append(inner)


def evaluable(body: Sequence[Literal], shared: Collection[str] = ()) -> tuple[Literal, ...]:
    """Return the largest part of `body` that grounds every variable of its own, and those of its aggregates that are
    `shared` with the rule around them."""
    kept = tuple(body)
    needs = {
        id(literal): {
            *variables([literal], aggregates=False),
            *(name for name in variables([literal]) if name in shared),
        }
        for literal in body
    }
    while True:
        bound = grounded_variables(kept)
        fitting = tuple(literal for literal in kept if bound.issuperset(needs[id(literal)]))
        if len(fitting) == len(kept):
            return kept
        kept = fitting


def connected_literals(body: Sequence[Literal], names: Collection[str]) -> tuple[Literal, ...]:
    """Return the literals of `body` that are linked to `names` through shared variables."""
    reached = set(names)
    rest = {index: set(variables([literal])) for index, literal in enumerate(body)}
    kept: set[int] = set()
    while near := [index for index, own in rest.items() if own & reached]:
        kept.update(near)
        for index in near:
            reached |= rest.pop(index)
    return tuple(literal for index, literal in enumerate(body) if index in kept)
