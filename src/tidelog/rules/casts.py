"""Casts between record types of equal layout: the fields of one record make another one.

    s(as(x, S)) :- r(x).  ->  s(#v1) :- r(x), (x = nil, #v1 = nil ; x = [#v2, #v3], #v1 = [#v2, #v3]).

Records of different types have numbers of their own, so that a record of one type is not the same word under another.
All other casts keep the word, and stay (`nesting`).
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Cast,
    Comparison,
    Disjunction,
    Kind,
    Literal,
    Record,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import rebuild, rebuild_atom, rebuild_term, walk, whole
from tidelog.rules.bench import Bench
from tidelog.rules.kinds import kind_of


def casts(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """Return the rule with equations in place of casts between record types."""
    if not any(isinstance(node, Cast) and node.kind in bench.records for node in walk(whole(rule), aggregates=False)):
        return (rule,)
    work = _Casts(rule, bench)
    heads = tuple([rebuild_atom(head, work.term) for head in rule.heads])
    added, work.added = work.added, []
    return (replace(rule, heads=heads, body=(*work.body(rule.body), *added)),)


class _Casts:
    """The rewriting of one rule, with the literals that it `added` for a literal or the heads."""

    def __init__(self, rule: Rule, bench: Bench) -> None:
        self.rule = rule
        self.bench = bench
        self.added: list[Literal] = []

    def body(self, body: tuple[Literal, ...]) -> tuple[Literal, ...]:
        found: list[Literal] = []
        for literal in body:
            if isinstance(literal, Disjunction):
                found.append(replace(literal, alternatives=tuple(map(self.body, literal.alternatives))))
                continue
            outside, self.added = self.added, []
            found += [rebuild(literal, self.term), *self.added]
            self.added = outside
        return tuple(found)

    def term(self, term: Term) -> Term | None:
        """Return the variable for a cast between record types; None for other terms."""
        if isinstance(term, Aggregate):
            return term
        if not isinstance(term, Cast) or isinstance(term.term, Anonymous):
            return None
        if term.kind is None or term.kind not in self.bench.records:
            return None
        source = kind_of(term.term, self.rule, self.bench)
        if source == term.kind:
            return None
        given, made = rebuild_term(term.term, self.term), self.bench.variable("v", term.kind)
        self.added.append(self.equal(given, source, made, term.kind))
        return made

    def equal(self, one: Term, kind: Kind, other: Variable, other_kind: Kind) -> Literal:
        """Return the literal that holds for records of two types with equal fields, and for `nil` of both."""
        first, second, inner = list[Term](), list[Term](), list[Literal]()
        columns = zip(self.bench.records[kind].fields, self.bench.records[other_kind].fields, strict=True)
        for column, other_column in columns:
            field = self.bench.variable("v", column.kind)
            first.append(field)
            if column.kind == other_column.kind:
                second.append(field)
            else:
                second.append(made := self.bench.variable("v", other_column.kind))
                inner.append(self.equal(field, column.kind, made, other_column.kind))
        nothing = (_are(one, Record(None, kind), kind), _are(other, Record(None, other_kind), other_kind))
        both = (_are(one, Record(tuple(first), kind), kind), _are(other, Record(tuple(second), other_kind), other_kind))
        return Disjunction((nothing, (*both, *inner)))


def _are(one: Term, other: Term, kind: Kind) -> Comparison:
    return Comparison("=", one, other, kind)
