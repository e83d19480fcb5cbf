"""Disjunctions: the alternatives of a body, and those that give a variable other types.

As in Soufflé, each alternative is a rule of its own. With `.decl byte(v: unsigned)` and `.decl word(v: number)`,
`a(as(v, number)) :- (byte(v) ; word(v)).` becomes
`a(head_1) :- (byte(v), head_1 = as(v, number) ; word(v_1), head_1 = as(v_1, number)).` So it stays one rule, in which
each name has one type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count, product
from math import prod

from tidelog.errors import Problem
from tidelog.language.declarations import Scheme
from tidelog.language.kinds import infer
from tidelog.language.syntax import Comparison, Disjunction, Kind, Literal, Rule, Term, Truth, Variable
from tidelog.language.trees import Replacement, is_simple, rebuild, variables, whole

_MOST = 1_000
"""The most literals of all alternatives together that are typed apart."""

Body = tuple[Literal, ...]


def combinations(body: Body) -> int:
    """Return the number of alternatives of a conjunction."""
    return prod(
        sum(combinations(alternative) for alternative in literal.alternatives)
        for literal in body
        if isinstance(literal, Disjunction)
    )


def alternatives(body: Body) -> list[Body]:
    """Return the alternatives of a body, its disjunctive normal form. `true` disappears, and alternatives with `false`
    are dropped."""
    choices: list[list[Body]] = []
    for literal in body:
        match literal:
            case Truth(value=value):
                choices.append([()] if value else [])
            case Disjunction(alternatives=each):
                choices.append([flat for alternative in each for flat in alternatives(alternative)])
            case _:
                choices.append([(literal,)])
    return [tuple([literal for part in choice for literal in part]) for choice in product(*choices)]


def typed_apart(rule: Rule, scheme: Scheme) -> tuple[Rule, dict[str, str], list[Problem]] | None:
    """Return the rule with a variable for each type that a name has in the alternatives of its body, and for each new
    name the one in the text; or the problems that alternatives have by themselves. Return None if there is only one
    alternative, or if there are too many."""
    number = combinations(rule.body)
    if number < 2 or number * len(rule.body) > _MOST:
        return None
    rules = [replace(rule, body=body) for body in alternatives(rule.body)]
    passed = [infer(each, scheme) for each in rules]
    if problems := [problem for _, found in passed for problem in found]:
        return rule, {}, problems
    names = _Names({*variables(whole(rule))})
    kinds: dict[str, Kind] = {}
    apart: list[dict[str, str]] = []
    for checked, _ in passed:
        own = variables(whole(checked), aggregates=False)
        other = [name for name in own if kinds.setdefault(name, checked.kinds[name]) != checked.kinds[name]]
        apart.append({name: names.fresh(name) for name in other})
    values = _Values(names, frozenset(name for renamed in apart for name in renamed))
    heads = tuple([replace(head, args=tuple(map(values.outside, head.args))) for head in rule.heads])
    bodies = [
        tuple([rebuild(literal, _change(renamed)) for literal in (*each.body, *values.equations)])
        for each, renamed in zip(rules, apart, strict=True)
    ]
    return replace(rule, heads=heads, body=(Disjunction(tuple(bodies), span=rule.span),)), names.written, []


@dataclass
class _Names:
    """New names beside those that are `taken`."""

    taken: set[str]
    written: dict[str, str] = field(default_factory=dict)

    def fresh(self, name: str, shown: str | None = None) -> str:
        """Return a new name like another one; messages show that, or `shown`."""
        new = next(new for new in (f"{name}_{number}" for number in count(1)) if new not in self.taken)
        self.taken.add(new)
        self.written[new] = name if shown is None else shown
        return new


@dataclass
class _Values:
    """The arguments of heads with a variable that is `apart`: each alternative gives their values by itself."""

    names: _Names
    apart: frozenset[str]
    equations: list[Comparison] = field(default_factory=list)

    def outside(self, term: Term) -> Term:
        """Return an argument, or the variable that stands for it."""
        if self.apart.isdisjoint(variables([term])):
            return term
        variable = Variable(self.names.fresh("head", str(term)), span=term.span)
        self.equations.append(Comparison("=", variable, term, span=term.span))
        return variable


def _change(renamed: Mapping[str, str]) -> Replacement:
    """Return what renames variables, and copies all other ends of a tree: `infer` gives each a type of its own."""

    def change(term: Term) -> Term | None:
        if isinstance(term, Variable):
            return replace(term, name=renamed.get(term.name, term.name))
        return replace(term) if is_simple(term) else None

    return change
