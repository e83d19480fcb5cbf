"""Which occurrence of a variable means which variable.

A variable belongs to the rule when it occurs in it outside of aggregates. Else it is local to the outermost aggregate
in which it occurs directly (not only inside of a nested one), and two aggregates with the same name in them have two
variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidelog.language.syntax import (
    Aggregate,
    Atom,
    Cast,
    Comparison,
    Disjunction,
    Functor,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
)


@dataclass(frozen=True, eq=False)
class Scope:
    """The names that belong to a rule or to an aggregate; `outer` is the scope around it."""

    names: frozenset[str]
    outer: Scope | None = None

    def owner(self, name: str) -> Scope | None:
        """The scope that `name` belongs to when it is used here."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def inside(self, aggregate: Aggregate) -> Scope:
        """The scope of an aggregate that stands here."""
        direct = {v.name for v in direct_variables(aggregate.body, aggregate.target)}
        return Scope(frozenset(name for name in direct if self.owner(name) is None), self)


def scope_of(rule: Rule) -> Scope:
    return Scope(frozenset(v.name for v in direct_variables((*rule.heads, *rule.body))))


def direct_variables(literals: Iterable[Literal], target: Term | None = None) -> Iterator[Variable]:
    """The occurrences of variables outside of aggregates, in the order written."""
    for term in direct_terms(literals, target):
        yield from term_variables(term)


def term_variables(term: Term) -> Iterator[Variable]:
    """The occurrences of variables in a term, outside of aggregates."""
    waiting = [term]
    while waiting:
        match waiting.pop():
            case Variable() as variable:
                yield variable
            case Functor(args=parts) | Record(fields=tuple(parts)):
                waiting += reversed(parts)
            case Cast(term=part):
                waiting.append(part)
            case _:
                pass


def aggregates(term: Term) -> Iterator[Aggregate]:
    """The aggregates of a term that stand in no other aggregate."""
    waiting = [term]
    while waiting:
        match waiting.pop():
            case Aggregate() as aggregate:
                yield aggregate
            case Functor(args=parts) | Record(fields=tuple(parts)):
                waiting += reversed(parts)
            case Cast(term=part):
                waiting.append(part)
            case _:
                pass


def all_variables(rule: Rule) -> Iterator[Variable]:
    """The occurrences of variables in a rule, those inside of aggregates behind the others."""
    waiting: list[tuple[tuple[Literal, ...], Term | None]] = [((*rule.heads, *rule.body), None)]
    while waiting:
        literals, target = waiting.pop(0)
        yield from direct_variables(literals, target)
        for term in direct_terms(literals, target):
            waiting += ((aggregate.body, aggregate.target) for aggregate in aggregates(term))


def direct_terms(literals: Iterable[Literal], target: Term | None = None) -> Iterator[Term]:
    """The terms of literals, those of atoms and comparisons inside of disjunctions included."""
    if target is not None:
        yield target
    for literal in literals:
        match literal:
            case Atom(args=args) | Negation(atom=Atom(args=args)):
                yield from args
            case Comparison():
                yield literal.left
                yield literal.right
            case Disjunction():
                for alternative in literal.alternatives:
                    yield from direct_terms(alternative)
            case Truth():
                pass
