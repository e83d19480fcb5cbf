"""Syntax trees rebuilt with other terms in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Disjunction,
    Functor,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Truth,
)


def rebuild_term(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """The term with `change` applied from the top: where it answers None, the parts are rebuilt instead."""
    changed = change(term)
    if changed is not None:
        return changed
    match term:
        case Functor(args=args):
            return replace(term, args=tuple([rebuild_term(arg, change) for arg in args]))
        case Record(fields=fields) if fields is not None:
            return replace(term, fields=tuple([rebuild_term(field, change) for field in fields]))
        case Cast(term=inner):
            return replace(term, term=rebuild_term(inner, change))
        case Aggregate(target=target, body=body):
            target = None if target is None else rebuild_term(target, change)
            return replace(term, target=target, body=tuple([rebuild(literal, change) for literal in body]))
    return term


def rebuild(literal: Literal, change: Callable[[Term], Term | None]) -> Literal:
    """The literal with each of its terms rebuilt."""
    match literal:
        case Atom():
            return rebuild_atom(literal, change)
        case Negation(atom=atom):
            return replace(literal, atom=rebuild_atom(atom, change))
        case Comparison(left=left, right=right):
            return replace(literal, left=rebuild_term(left, change), right=rebuild_term(right, change))
        case Disjunction(alternatives=alternatives):
            rebuilt = tuple([tuple([rebuild(part, change) for part in alternative]) for alternative in alternatives])
            return replace(literal, alternatives=rebuilt)
    return literal


def rebuild_atom(atom: Atom, change: Callable[[Term], Term | None]) -> Atom:
    """The atom with each of its arguments rebuilt."""
    return replace(atom, args=tuple([rebuild_term(arg, change) for arg in atom.args]))


def equalities_apart(rule: Rule) -> Rule:
    """The rule with `[a, b] = [c, d]` as `a = c, b = d`."""

    def change(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        target = None if term.target is None else rebuild_term(term.target, change)
        return replace(term, target=target, body=body(term.body))

    def body(literals: tuple[Literal, ...]) -> tuple[Literal, ...]:
        return tuple(part for literal in literals for part in parts(literal))

    def parts(literal: Literal) -> tuple[Literal, ...]:
        match literal:
            case Comparison("=", Record(fields=tuple(left)), Record(fields=tuple(right))) if len(left) == len(right):
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
