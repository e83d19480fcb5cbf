"""Facts: which rules state nothing but a tuple of constants.

A program may state very many. `plain_fact` checks the usual ones by a look at their constants; all others, and those
with a mistake, take the checks of rules.
"""

from __future__ import annotations

from tidelog.language.branches import constructed
from tidelog.language.declarations import Scheme
from tidelog.language.syntax import Atom, Constant, Fact, Kind, Record, Rule, Term, Value

_RANGES = {"number": (-(2**63), 2**63 - 1), "unsigned": (0, 2**64 - 1), "float": (-(2**63), 2**64 - 1)}
"""Integers that may stand for values of a kind."""


def fact(rule: Rule) -> Fact | None:
    """Return the fact that an unnamed rule states, if it is made of constants only and selects nothing."""
    if not states_fact(rule):
        return None
    head = rule.heads[0]
    return Fact(head.relation, tuple(map(constant_value, head.args)), span=head.span)


def states_fact(rule: Rule) -> bool:
    """Return True if a rule states a fact."""
    if rule.body or rule.name is not None or len(rule.heads) != 1 or rule.heads[0].selects:
        return False
    return all(map(is_constant, rule.heads[0].args))


def plain_fact(rule: Rule, scheme: Scheme) -> Rule | None:
    """Return the fact that an unnamed rule states, with the kinds of its constants, if these plainly fit the columns of
    its relation; None for all other rules."""
    if rule.body or rule.name is not None or rule.plan or len(rule.heads) != 1:
        return None
    head = rule.heads[0]
    relation = scheme.relations.get(head.relation)
    if relation is None or head.selects or len(head.args) != len(relation.columns):
        return None
    args = []
    for term, column in zip(head.args, relation.columns, strict=True):
        fitting = _fitting(term, column.kind) if isinstance(term, Constant) else None
        if fitting is None:
            return None
        args.append(fitting)
    return Rule(None, (Atom(head.relation, tuple(args), head.location, span=head.span),), span=rule.span)


def _fitting(term: Constant, kind: Kind) -> Constant | None:
    """Return a constant as one of a kind, None if it is or may be none."""
    value = term.value
    if term.kind is None and kind in _RANGES and isinstance(value, int):
        least, most = _RANGES[kind]
        fits = least <= value <= most
        return Constant(float(value) if kind == "float" else value, kind, span=term.span) if fits else None
    return Constant(value, kind, span=term.span) if term.kind == kind else None


def is_constant(term: Term) -> bool:
    """Return True for a constant, and for a record or branch that is made of constants only."""
    match term:
        case Constant() | Record(fields=None):
            return True
        case Record(fields=tuple(parts)):
            return all(map(is_constant, parts))
        case _:
            return False


def constant_value(term: Term) -> Value:
    """Return the value of a term made of constants only."""
    match term:
        case Constant(value=value, kind=kind):
            return float(value) if kind == "float" else value
        case Record(fields=tuple(parts), branch=branch):
            values = tuple(map(constant_value, parts))
            return values if branch is None else constructed(branch, values)
        case _:
            return None
