"""Each `_` outside of negated atoms is a variable of its own, so it gets a name.

A derivation counts per value of `_`, and an aggregate ranges over them. In a negated atom `_` stays: there it means
"for no value", which `negations` and `translation` handle.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import Anonymous, Atom, Cast, Comparison, Disjunction, Kind, Literal, Record, Rule, Term
from tidelog.rules.bench import Bench


def anonymous(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """Return the rule with names for every `_` of positive atoms and of equations."""
    return (replace(rule, body=named(rule.body, bench)),)


def named(body: tuple[Literal, ...], bench: Bench) -> tuple[Literal, ...]:
    """Return the body with names for every `_`, except inside aggregates, which get rules of their own later."""
    return tuple([_named(literal, bench) for literal in body])


def _named(literal: Literal, bench: Bench) -> Literal:
    match literal:
        case Atom(relation=relation, args=args):
            typed = zip(args, bench.columns(relation), strict=True)
            return replace(literal, args=tuple([named_term(arg, column.kind, bench) for arg, column in typed]))
        case Comparison(left=left, right=right, kind=kind):
            return replace(literal, left=named_term(left, kind, bench), right=named_term(right, kind, bench))
        case Disjunction(alternatives=alternatives):
            return replace(literal, alternatives=tuple([named(alternative, bench) for alternative in alternatives]))
    return literal


def named_term(term: Term, kind: Kind | None, bench: Bench) -> Term:
    """Return a term whose value has `kind`, with names for its `_`."""
    match term:
        case Anonymous() if kind is not None:
            return bench.variable("_", kind)
        case Record(fields=fields, kind=own, branch=branch) if fields and (own or kind):
            typed = zip(fields, bench.records[own or kind or ""].parts(branch), strict=True)
            return replace(term, fields=tuple([named_term(part, column.kind, bench) for part, column in typed]))
        case Cast(term=inner, kind=cast):
            return replace(term, term=named_term(inner, cast, bench))
    return term
