"""Plain statements: facts of constants, and rules of one head and a body of positive atoms and `!=`, all of them over
variables and constants.

A program made by a program may have very many. `plain_fact` and `plain_rule` check the usual ones by a look at their
terms; all others, and those with a mistake, take the checks of rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.language.branches import make_branch
from tidelog.language.declarations import BROKEN, Scheme
from tidelog.language.sizes import PARTS
from tidelog.language.syntax import Atom, Comparison, Constant, Fact, Kind, Literal, Record, Rule, Term, Value, Variable
from tidelog.language.trees import is_constant

_RANGES = {"number": (-(2**63), 2**63 - 1), "unsigned": (0, 2**64 - 1), "float": (-(2**63), 2**64 - 1)}
"""Integers that may stand for values of a kind."""


def fact(rule: Rule) -> Fact | None:
    """Return the fact that an unnamed rule states, if it is made of constants only and selects nothing."""
    if not states_fact(rule):
        return None
    head = rule.heads[0]
    return Fact(head.relation, tuple(map(constant_value, head.args)), span=head.span)


def states_fact(rule: Rule) -> bool:
    if rule.body or rule.name is not None or len(rule.heads) != 1 or rule.heads[0].selects:
        return False
    return all(map(is_constant, rule.heads[0].args))


def plain_fact(rule: Rule, scheme: Scheme) -> Rule | None:
    """Return the fact that an unnamed rule states, with the kinds of its constants, if these plainly fit the columns of
    its relation; None for all other rules."""
    if rule.body or rule.name is not None or rule.plan or len(rule.heads) != 1:
        return None
    head = rule.heads[0]
    relation = scheme.relations.get(head.relation)
    if relation is None or head.selects or len(head.args) != len(relation.columns):
        return None
    args = []
    for term, column in zip(head.args, relation.columns, strict=True):
        fitting = _convert_constant(term, column.kind) if isinstance(term, Constant) else None
        if fitting is None:
            return None
        args.append(fitting)
    return Rule(None, (Atom(head.relation, tuple(args), head.location, span=head.span),), span=rule.span)


def _convert_constant(term: Constant, kind: Kind) -> Constant | None:
    """Return a constant with its value in a kind; None if it has or may have no value there."""
    value = term.value
    if term.kind is None and kind in _RANGES and isinstance(value, int):
        least, most = _RANGES[kind]
        fits = least <= value <= most
        return Constant(float(value) if kind == "float" else value, kind, span=term.span) if fits else None
    return Constant(value, kind, span=term.span) if term.kind == kind else None


def constant_value(term: Term) -> Value:
    match term:
        case Constant(value=value, kind=kind):
            return float(value) if kind == "float" else value
        case Record(fields=tuple(parts), branch=branch):
            values = tuple(map(constant_value, parts))
            return values if branch is None else make_branch(branch, values)
        case _:
            return None


# --- rules ------------------------------------------------------------------------------------------------------------


def plain_rule(rule: Rule, scheme: Scheme) -> Rule | None:
    """Return a rule with its kinds if it is plain and plainly right; None for all other rules. Types that a program
    declares need a closer look."""
    if len(rule.heads) != 1 or not 0 < len(rule.body) <= PARTS or rule.subsumes or rule.plan or scheme.types:
        return None
    look = _PlainRule(scheme)
    if not look.atom(rule.heads[0]) or rule.heads[0].selects:
        return None
    needed = set(look.kinds)
    if not all(map(look.literal, rule.body)):
        return None
    needed |= look.compared
    grounded = {term.name for each in rule.body if type(each) is Atom for term in each.args if type(term) is Variable}
    if not needed <= grounded:
        return None
    body = tuple([look.with_kind(literal) for literal in rule.body])
    return Rule(rule.name, rule.heads, body, look.kinds, span=rule.span)


@dataclass
class _PlainRule:
    """A look at one rule: the kinds of its variables so far, and those of them that tests compare."""

    scheme: Scheme
    kinds: dict[str, Kind] = field(default_factory=dict)
    compared: set[str] = field(default_factory=set)

    def literal(self, literal: Literal) -> bool:
        """Return True if a literal is plain and plainly right."""
        if type(literal) is Atom:
            return self.atom(literal)
        if type(literal) is not Comparison or literal.op != "!=":
            return False
        left = self._kind(literal.left)
        return left is not None and left == self._kind(literal.right)

    def atom(self, atom: Atom) -> bool:
        """Return True if an atom is plain and plainly right, and note the kinds of its variables."""
        relation = self.scheme.relations.get(atom.relation)
        if atom.path is not None or relation is None or len(atom.args) != len(relation.columns):
            return False
        for term, column in zip(atom.args, relation.columns, strict=True):
            kind = column.kind
            if type(term) is Variable:
                if kind == BROKEN or self.kinds.setdefault(term.name, kind) != kind:
                    return False
            elif type(term) is not Constant or term.kind != kind:
                return False
        return True

    def _kind(self, term: Term) -> Kind | None:
        """Return the kind of a side of a test, if that is known so far."""
        if type(term) is Variable:
            self.compared.add(term.name)
            return self.kinds.get(term.name)
        return term.kind if type(term) is Constant else None

    def with_kind(self, literal: Literal) -> Literal:
        if type(literal) is Comparison:
            return Comparison(literal.op, literal.left, literal.right, self._kind(literal.left), span=literal.span)
        return literal
