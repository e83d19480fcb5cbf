"""Counters in the naive evaluation: a table of the numbers that the substitutions of a rule have.

The literals without a counter, as far as they can be evaluated, say which substitutions there are. Each counter of the
rule then has a number for each of them. All relations that the rule reads are complete by then (`naive.strata`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, product
from typing import Any

from tidelog.language.counters import COUNTER, counters_in
from tidelog.language.functors import several
from tidelog.language.syntax import Aggregate, Atom, Comparison, Disjunction, Functor, Literal, Rule, Term, Variable
from tidelog.language.trees import rebuild, rebuild_atom, rebuild_term, variables, whole
from tidelog.reference.substitutions import RuleScope, combinations, solve
from tidelog.rules.grounding import evaluable
from tidelog.semantics.literals import Substitution
from tidelog.semantics.values import Row


@dataclass
class Counted:
    """A rule with counters: `heads` with variables in their places; for each alternative the literals that say which
    substitutions there are, and those that need the numbers; and the numbers so far."""

    heads: tuple[Atom, ...]
    alternatives: tuple[tuple[tuple[Literal, ...], tuple[Literal, ...]], ...]
    places: tuple[str, ...]
    scope: frozenset[str]
    numbers: dict[Any, int] = field(default_factory=dict)

    def rows(self, head: Atom, tables: Mapping[str, set[Row]], numbers: Iterator[int]) -> Iterator[Row]:
        """Yield the tuples of a head; new substitutions take the next `numbers`."""
        scope = RuleScope(self.scope, tables)
        for alternative, (steady, rest) in enumerate(self.alternatives):
            names = variables(steady, aggregates=False)
            found = {tuple(each[name] for name in names): each for each in solve(steady, {}, scope)}
            for values in sorted(found, key=lambda row: tuple(map(_rank, row))):
                bound: Substitution = dict(found[values])
                for place in self.places:
                    key = alternative, place, values
                    if key not in self.numbers:
                        self.numbers[key] = next(numbers)
                    bound[place] = self.numbers[key]
                for each in solve(rest, bound, scope):
                    yield from combinations(head.args, each, scope)


def counted(rule: Rule) -> Counted | None:
    """Return a rule, whose `_` have names, with its counters apart; None for a rule without one."""
    if next(counters_in(whole(rule)), None) is None:
        return None
    fresh, places, calls = count(), list[str](), list[Comparison]()

    def number(term: Term) -> Term | None:
        if isinstance(term, Aggregate):
            return term
        if not isinstance(term, Functor):
            return None
        if term.name == COUNTER:
            places.append(f"#{next(fresh)}")
            return Variable(places[-1])
        if term.declared is None and not several(term.name, len(term.args)):
            return None
        value = Variable(f"#{next(fresh)}")
        args = tuple(rebuild_term(arg, number) for arg in term.args)
        calls.append(Comparison("=", value, Functor(term.name, args, term.kind, term.result, term.declared)))
        return value

    alternatives = []
    names = frozenset(variables(whole(rule), aggregates=False))
    heads = tuple(rebuild_atom(head, number) for head in rule.heads)
    for body in _bodies(rule.body):
        rest = [rebuild(literal, number) for literal in body] + calls
        given = set(places)
        steady = evaluable([literal for literal in rest if given.isdisjoint(variables([literal]))], names)
        alternatives.append((steady, tuple(literal for literal in rest if literal not in steady)))
    named = {variable.name for call in calls for variable in [call.left] if isinstance(variable, Variable)}
    return Counted(heads, tuple(alternatives), tuple(places), names | named | {*places})


def _bodies(body: tuple[Literal, ...]) -> Iterator[tuple[Literal, ...]]:
    """Yield the alternatives of a body."""
    choices = [
        [part for each in literal.alternatives for part in _bodies(each)]
        if isinstance(literal, Disjunction)
        else [(literal,)]
        for literal in body
    ]
    for choice in product(*choices):
        yield tuple(literal for part in choice for literal in part)


def _rank(value: Any) -> tuple[Any, ...]:
    """Return a key that orders the values of a column."""
    return (1, value) if isinstance(value, str | int | float) else (0, repr(value))
