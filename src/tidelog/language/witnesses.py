"""Witnesses: variables that only the body of a `min` or `max` binds may be used outside of it, for each tuple that
attains the value.

    cheapest(x, p) :- p = min q : { price(x, q) }.

becomes the same rule with the value under a name, and the body a second time with that value:

    cheapest(x, p) :- p = value_1, value_1 = min q_1 : { price(x_1, q_1) }, price(x, q), q = value_1.

Other variables of the second body get new names, unless the rule grounds them: those group, as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from tidelog.language.bindings import Bindings
from tidelog.language.scopes import Scope
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Comparison,
    Constant,
    Disjunction,
    Literal,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import Replacement, outermost, rebuild, rebuild_atom, rebuild_term, variables, whole

WITNESSED = ("min", "max")
"""The aggregates whose value a tuple attains."""
_ROOT = Scope(frozenset())
_Body = tuple[Literal, ...]


def with_witnesses(rule: Rule) -> tuple[Rule, dict[str, str]]:
    """Return the rule with the bodies that ground its witnesses, and for each new name the one in the text."""
    nodes = whole(rule)
    if not any(each.op in WITNESSED for each in outermost(nodes)):
        return rule, {}
    missing = frozenset(variables(nodes, aggregates=False)) - _grounded(rule.body, None)
    if not missing:
        return rule, {}
    work = _Witnesses(rule, missing, {*variables(nodes)})
    body = work.body(rule.body)
    added: list[Literal] = []
    heads = tuple(rebuild_atom(head, partial(work.aggregate, added=added)) for head in rule.heads)
    return replace(rule, heads=heads, body=(*body, *added)), work.written


def _grounded(body: _Body, without: Aggregate | None, given: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the variables that a body grounds where all aggregates but one have values."""

    def value(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        return Anonymous() if term is without else Constant(0)

    return Bindings().grounded(tuple(rebuild(literal, value) for literal in body), given, _ROOT)


@dataclass
class _Witnesses:
    """The rewriting of one rule, in which variables are `missing`."""

    rule: Rule
    missing: frozenset[str]
    taken: set[str]
    written: dict[str, str] = field(default_factory=dict)

    def body(self, body: _Body) -> _Body:
        """Return a body with what grounds the witnesses of its aggregates."""
        found: list[Literal] = []
        for literal in body:
            if isinstance(literal, Disjunction):
                found.append(replace(literal, alternatives=tuple(map(self.body, literal.alternatives))))
                continue
            added: list[Literal] = []
            found.append(rebuild(literal, partial(self.aggregate, added=added)))
            found += added
        return tuple(found)

    def aggregate(self, term: Term, added: list[Literal]) -> Term | None:
        """Return the variable with the value of an aggregate that has witnesses, and add what grounds these; None for
        other terms."""
        if not isinstance(term, Aggregate):
            return None
        if term.op not in WITNESSED or term.target is None:
            return term
        groups = _grounded(self.rule.body, term).difference(variables([term.target]))
        witnesses = self.missing & _grounded(term.body, None, groups)
        if not witnesses:
            return term
        value = Variable(self._fresh("value"), span=term.span)
        inside = {name: self._fresh(name) for name in sorted(witnesses)}
        body = _renamed(term.body, inside)
        aggregate = replace(term, target=rebuild_term(term.target, _renaming(inside)), body=body)
        own = {name: self._fresh(name) for name in variables([term]) if name not in groups | witnesses}
        added.append(Comparison("=", value, aggregate, span=term.span))
        added += _renamed(term.body, own)
        added.append(Comparison("=", rebuild_term(term.target, _renaming(own)), value, span=term.span))
        return value

    def _fresh(self, name: str) -> str:
        new = next(new for new in (f"{name}_{number}" for number in count(1)) if new not in self.taken)
        self.taken.add(new)
        self.written[new] = name
        return new


def _renaming(names: Mapping[str, str]) -> Replacement:
    def change(term: Term) -> Term | None:
        return replace(term, name=names[term.name]) if isinstance(term, Variable) and term.name in names else None

    return change


def _renamed(body: Iterable[Literal], names: Mapping[str, str]) -> _Body:
    return tuple(rebuild(literal, _renaming(names)) for literal in body)
