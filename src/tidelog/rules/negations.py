"""Negated atoms with `_`, such as `!a(x, _)` or `!a([x, _])`: each needs a relation of its own, because `_` means "no
value at all".

Engines then only ever ask whether one tuple is absent, and the change of a negated relation is a change of its tuples.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import Anonymous, Atom, Cast, Comparison, Literal, Negation, Record, Rule, Term, Variable
from tidelog.language.trees import is_simple, rebuild_atom, variables, walk
from tidelog.rules.bench import Bench
from tidelog.rules.kinds import kind_of


def negations(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """Return the rule with each `!a(x, _)` replaced by `!#matching(x)`, where `#matching(x) :- a(x, _)`."""
    body: list[Literal] = []
    for literal in rule.body:
        if isinstance(literal, Negation) and _has_hole(literal.atom):
            body += _matching(literal, rule, bench)
        else:
            body.append(literal)
    return (replace(rule, body=tuple(body)),)


def _has_hole(atom: Atom) -> bool:
    return any(isinstance(part, Anonymous) for part in walk(atom.args))


def _matching(negation: Negation, rule: Rule, bench: Bench) -> list[Literal]:
    computed: list[Literal] = []

    def lift(term: Term) -> Term | None:
        """Return the term with computed values taken from outside the negation."""
        if is_simple(term) or isinstance(term, Record | Cast | Anonymous):
            return None
        kind = kind_of(term, rule, bench)
        variable = bench.variable("value", kind)
        computed.append(Comparison("=", variable, term, kind=kind, span=negation.span))
        return variable

    atom = rebuild_atom(negation.atom, lift)
    names = variables([atom])
    name = f"#matching.{bench.origin}.{bench.number('matching')}"
    bench.relation(name, [(variable, bench.kind(variable, rule)) for variable in names])
    head = Atom(name, tuple(Variable(variable) for variable in names), span=negation.span)
    bench.pending.append(replace(rule, name=name, heads=(head,), body=(atom,)))
    return [*computed, replace(negation, atom=head)]
