"""Facts: which rules state nothing but a tuple of constants."""

from __future__ import annotations

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
        if not _constant(term):
            return None
        values.append(_value(term))
    return Fact(head.relation, tuple(values), span=head.span)


def _constant(term: Term) -> bool:
    match term:
        case Constant() | Record(fields=None):
            return True
        case Record(fields=tuple(parts)):
            return all(map(_constant, parts))
        case _:
            return False


def _value(term: Term) -> Value:
    match term:
        case Constant(value=value):
            return value
        case Record(fields=tuple(parts)):
            return tuple(map(_value, parts))
        case _:
            return None
