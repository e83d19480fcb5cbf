"""Equalities between records, one for each pair of fields, and between `nil` and others."""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Comparison,
    Disjunction,
    Literal,
    Record,
    Rule,
    Term,
    Truth,
)
from tidelog.language.trees import rebuild, rebuild_atom, rebuild_term


def equalities_apart(rule: Rule) -> Rule:
    """Return the rule with `[a, b] = [c, d]` as `a = c, b = d`, `[a, b] != [c, d]` as `a != c ; b != d`,
    `nil = nil` as true, and `nil = [a, b]` as false."""

    def change(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        target = None if term.target is None else rebuild_term(term.target, change)
        return replace(term, target=target, body=body(term.body))

    def body(literals: tuple[Literal, ...]) -> tuple[Literal, ...]:
        return tuple(part for literal in literals for part in parts(literal))

    def parts(literal: Literal) -> tuple[Literal, ...]:
        match literal:
            case Comparison("=" | "!=", Record(left, branch=None), Record(right, branch=None)) if not (left and right):
                return (Truth((left == right) == (literal.op == "="), span=literal.span),)
            case Comparison(op=op, left=Record(tuple(left), branch=None), right=Record(tuple(right), branch=None)):
                if len(left) != len(right) or op not in ("=", "!="):
                    return (literal,)
                if op == "!=":
                    differ = [parts(Comparison(op, a, b, span=literal.span)) for a, b in zip(left, right, strict=True)]
                    return differ[0] if len(differ) == 1 else (Disjunction(tuple(differ), span=literal.span),)
                pairs = [(a, b) for a, b in zip(left, right, strict=True) if not _anonymous(a, b)]
                return body(tuple(Comparison("=", a, b, span=literal.span) for a, b in pairs))
            case Disjunction(alternatives=alternatives):
                apart = tuple(body(alternative) or (Truth(True),) for alternative in alternatives)
                return (replace(literal, alternatives=apart),)
            case _:
                return (rebuild(literal, change),)

    return replace(rule, heads=tuple(rebuild_atom(head, change) for head in rule.heads), body=body(rule.body))


def _anonymous(*terms: Term) -> bool:
    return any(isinstance(term, Anonymous) for term in terms)
