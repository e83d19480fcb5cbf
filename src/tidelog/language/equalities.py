"""Equalities between records, one for each pair of fields, and between `nil` and others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
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
    Variable,
)
from tidelog.language.trees import occurrences, rebuild, rebuild_atom, rebuild_term, walk, whole

_LARGEST = 2_000
"""A conjunction with more nodes keeps its variables: records in records double with each of them."""


def equalities_apart(rule: Rule) -> Rule:
    """Return the rule with `[a, b] = [c, d]` as `a = c, b = d`, `[a, b] != [c, d]` as `a != c ; b != d`,
    `nil = nil` as true, and `nil = [a, b]` as false. A variable that only stands for a record gives way to it:
    `r = [a, b], r = [c, d]` becomes `[a, b] = [c, d]` first."""
    uses = Counter(variable.name for variable in occurrences(whole(rule)))

    def change(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        target = None if term.target is None else rebuild_term(term.target, change)
        return replace(term, target=target, body=body(term.body))

    def body(literals: tuple[Literal, ...]) -> tuple[Literal, ...]:
        return tuple(part for literal in _written_out(literals, uses) for part in parts(literal))

    def parts(literal: Literal) -> tuple[Literal, ...]:
        match literal:
            case Comparison("=", Anonymous(), Record(branch=None)) | Comparison("=", Record(branch=None), Anonymous()):
                return (Truth(True, span=literal.span),)
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


def _written_out(literals: tuple[Literal, ...], uses: Counter[str]) -> tuple[Literal, ...]:
    """Return a conjunction in which records stand in place of the variables that are equal to them. These are variables
    that the rule, with so many `uses` of each, has in equalities and inequalities of the conjunction only."""
    here = Counter(name for literal in literals for name in _compared(literal))
    names = {name for name, number in here.items() if 1 < number == uses[name]}
    found = list(literals)
    while names and (equation := next(_equations(found, names), None)) is not None:
        literal, name, record = equation

        def change(term: Term, name: str = name, record: Record = record) -> Term | None:
            return record if isinstance(term, Variable) and term.name == name else None

        found = [rebuild(other, change) for other in found if other is not literal]
        names.remove(name)
        if sum(1 for _ in walk(found)) > _LARGEST:
            return literals
    return tuple(found)


def _compared(literal: Literal) -> Iterator[str]:
    """Yield the variables that are operands of a literal `=` or `!=`, or fields of records there."""
    match literal:
        case Comparison(op="=" | "!=", left=left, right=right):
            yield from _fields((left, right))


def _fields(terms: Iterable[Term]) -> Iterator[str]:
    waiting = [*terms]
    while waiting:
        match waiting.pop():
            case Variable(name=name):
                yield name
            case Record(fields=tuple(fields)):
                waiting.extend(fields)


def _equations(literals: list[Literal], names: set[str]) -> Iterator[tuple[Literal, str, Record]]:
    """Yield the equations of one of the variables with a record that does not contain it."""
    for literal in literals:
        match literal:
            case Comparison("=", Variable(name), Record(branch=None) as record) | Comparison(
                "=", Record(branch=None) as record, Variable(name)
            ) if name in names and name not in {each.name for each in occurrences([record])}:
                yield literal, name, record


def _anonymous(*terms: Term) -> bool:
    return any(isinstance(term, Anonymous) for term in terms)
