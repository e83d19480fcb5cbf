"""`_`, which means any value outside of negated atoms, and "no value at all" inside of them.

Outside, each `_` is a variable of its own, so it gets a name (`anonymous`): a derivation counts per value of `_`, and
an aggregate ranges over them. A negated atom with `_`, such as `!a(x, _)` or `!a([x, _])`, needs a relation of its own
(`negations`). Engines then only ever ask whether one tuple is absent, and the change of a negated relation is a change
of its tuples.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import (
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
    Variable,
)
from tidelog.language.trees import has_anonymous, is_simple, rebuild_atom, variables
from tidelog.rules.rewrite_state import RewriteState, kind_of


def anonymous(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule with names for every `_` of positive atoms and of equations."""
    return (replace(rule, body=name_wildcards(rule.body, state)),)


def name_wildcards(body: tuple[Literal, ...], state: RewriteState) -> tuple[Literal, ...]:
    """Return the body with names for every `_`, except inside aggregates, which get rules of their own later."""
    return tuple([_name_literal(literal, state) for literal in body])


def _name_literal(literal: Literal, state: RewriteState) -> Literal:
    match literal:
        case Atom(relation=relation, args=args):
            typed = zip(args, state.columns(relation), strict=True)
            return replace(literal, args=tuple([name_wildcards_in(arg, column.kind, state) for arg, column in typed]))
        case Comparison(left=left, right=right, kind=kind):
            return replace(
                literal, left=name_wildcards_in(left, kind, state), right=name_wildcards_in(right, kind, state)
            )
        case Disjunction(alternatives=alternatives):
            return replace(
                literal, alternatives=tuple([name_wildcards(alternative, state) for alternative in alternatives])
            )
    return literal


def name_wildcards_in(term: Term, kind: Kind | None, state: RewriteState) -> Term:
    """Return a term whose value has `kind`, with names for its `_`."""
    match term:
        case Anonymous() if kind is not None:
            return state.variable("_", kind)
        case Record(fields=fields, kind=own, branch=branch) if fields and (own or kind):
            typed = zip(fields, state.records[own or kind or ""].parts(branch), strict=True)
            return replace(term, fields=tuple([name_wildcards_in(part, column.kind, state) for part, column in typed]))
        case Cast(term=inner, kind=cast):
            return replace(term, term=name_wildcards_in(inner, cast, state))
    return term


def negations(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule with each `!a(x, _)` replaced by `!#matching(x)`, where `#matching(x) :- a(x, _)`."""
    body: list[Literal] = []
    for literal in rule.body:
        if isinstance(literal, Negation) and has_anonymous(literal.atom.args):
            body += _project_negation(literal, rule, state)
        else:
            body.append(literal)
    return (replace(rule, body=tuple(body)),)


def _project_negation(negation: Negation, rule: Rule, state: RewriteState) -> list[Literal]:
    """Return the negation of an auxiliary relation without `_`, behind equations for its computed arguments. The state
    gets the rule of the relation."""
    computed: list[Literal] = []

    def lift(term: Term) -> Term | None:
        """Return the term with computed values taken from outside the negation."""
        if is_simple(term) or isinstance(term, Record | Cast | Anonymous):
            return None
        kind = kind_of(term, rule, state)
        variable = state.variable("value", kind)
        computed.append(Comparison("=", variable, term, kind=kind, span=negation.span))
        return variable

    atom = rebuild_atom(negation.atom, lift)
    names = variables([atom])
    name = f"#matching.{state.origin}.{state.number('matching')}"
    state.relation(name, [(variable, state.kind(variable, rule)) for variable in names])
    head = Atom(name, tuple(Variable(variable) for variable in names), span=negation.span)
    state.pending.append(replace(rule, name=name, heads=(head,), body=(atom,)))
    return [*computed, replace(negation, atom=head)]
