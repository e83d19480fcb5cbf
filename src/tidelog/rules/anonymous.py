"""Each `_` outside of negated atoms is a variable of its own, so it gets a name.

A derivation counts per value of `_`, and an aggregate ranges over them. In a negated atom `_` stays: there it says
"for no value", which `negations` and `translation` see to.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Disjunction,
    Kind,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
)
from tidelog.rules.bench import Bench
from tidelog.rules.trees import rebuild_atom, rebuild_term


def anonymous(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """The rule with every `_` of positive atoms and of equations named, inside of aggregates as well."""
    heads = tuple([rebuild_atom(head, partial(_aggregate, bench=bench)) for head in rule.heads])
    return (replace(rule, heads=heads, body=tuple([_named(literal, bench) for literal in rule.body])),)


def _named(literal: Literal, bench: Bench) -> Literal:
    match literal:
        case Atom(relation=relation, args=args):
            typed = zip(args, bench.columns(relation), strict=True)
            return replace(literal, args=tuple([_term(arg, column.kind, bench) for arg, column in typed]))
        case Negation(atom=atom):
            return replace(literal, atom=rebuild_atom(atom, partial(_aggregate, bench=bench)))
        case Comparison(left=left, right=right, kind=kind):
            return replace(literal, left=_term(left, kind, bench), right=_term(right, kind, bench))
        case Disjunction(alternatives=alternatives):
            named = tuple([tuple([_named(part, bench) for part in alternative]) for alternative in alternatives])
            return replace(literal, alternatives=named)
    return literal


def _term(term: Term, kind: Kind | None, bench: Bench) -> Term:
    """Names the `_` of a term whose value has `kind`."""
    match term:
        case Anonymous() if kind is not None:
            return bench.variable("_", kind)
        case Record(fields=fields, kind=record) if fields and (record or kind):
            kinds = [column.kind for column in bench.records[record or kind or ""].fields]
            return replace(term, fields=tuple([_term(part, k, bench) for part, k in zip(fields, kinds, strict=True)]))
        case Cast(term=inner, kind=cast):
            return replace(term, term=_term(inner, cast, bench))
    return rebuild_term(term, partial(_aggregate, bench=bench))


def _aggregate(term: Term, bench: Bench) -> Term | None:
    if isinstance(term, Aggregate):
        return replace(term, body=tuple([_named(literal, bench) for literal in term.body]))
    return None
