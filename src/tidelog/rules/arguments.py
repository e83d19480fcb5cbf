"""`argmin` and `argmax`: the value that goes with the least or the greatest.

x = argmin(n, c) : { b(n, c) }  ->  #v = min c : { b(n, c) }, x = any n : { b(n, c), #v = c }

The variable stands in the body around the aggregate, which it then groups.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import Aggregate, Comparison, Literal, Record, Rule, Term
from tidelog.language.trees import rebuild, rebuild_atom, rebuild_term, walk, whole
from tidelog.rules.bench import Bench

_EXTREMES = {"argmin": "min", "argmax": "max"}


def arguments(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """Return the rule with other aggregates in place of `argmin` and `argmax`."""
    if not any(isinstance(node, Aggregate) and node.op in _EXTREMES for node in walk(whole(rule))):
        return (rule,)
    rewriting = _Rewriting(bench)
    heads = tuple([rebuild_atom(head, rewriting.term) for head in rule.heads])
    body = tuple([rebuild(literal, rewriting.term) for literal in rule.body])
    return (replace(rule, heads=heads, body=(*body, *rewriting.added)),)


class _Rewriting:
    """The literals that a body gets for the aggregates in it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.added: list[Literal] = []

    def term(self, term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        inside = _Rewriting(self.bench)
        target = term.target and rebuild_term(term.target, inside.term)
        body = (*[rebuild(literal, inside.term) for literal in term.body], *inside.added)
        if term.op not in _EXTREMES:
            return replace(term, target=target, body=body)
        assert isinstance(target, Record)
        assert target.fields is not None
        value, rank = target.fields
        kind = target.kind or "number"
        best = self.bench.variable("v", kind)
        least = Aggregate(_EXTREMES[term.op], rank, body, kind, kind, span=term.span)  # type: ignore[arg-type]
        self.added.append(Comparison("=", best, least, kind=kind, span=term.span))
        tied = Comparison("=", best, rank, kind=kind, span=term.span)
        return Aggregate("any", value, (*body, tied), term.kind, term.result, span=term.span)
