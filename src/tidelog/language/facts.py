"""Facts: which rules state nothing but a tuple of constants."""

from __future__ import annotations

from tidelog.language.branches import constructed
from tidelog.language.syntax import Constant, Fact, Record, Rule, Term, Value


def fact(rule: Rule) -> Fact | None:
    """Return the fact that an unnamed rule states, if it is made of constants only and selects nothing."""
    if rule.body or rule.name is not None or len(rule.heads) != 1:
        return None
    head = rule.heads[0]
    if head.selects:
        return None
    values = []
    for term in head.args:
        if not is_constant(term):
            return None
        values.append(constant_value(term))
    return Fact(head.relation, tuple(values), span=head.span)


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
