"""Plain rules: one head, and a body of positive atoms and `!=`, all of them over variables and constants.

A program made by a program may have very many. `plain_rule` checks the usual ones by a look at their terms; all others,
and those with a mistake, take the checks of rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.language.declarations import BROKEN, Scheme
from tidelog.language.sizes import PARTS
from tidelog.language.syntax import Atom, Comparison, Constant, Kind, Literal, Rule, Term, Variable


def plain_rule(rule: Rule, scheme: Scheme) -> Rule | None:
    """Return a rule with its kinds if it is plain and plainly right; None for all other rules. Types that a program
    declares need a closer look."""
    if len(rule.heads) != 1 or not 0 < len(rule.body) <= PARTS or rule.subsumes or rule.plan or scheme.types:
        return None
    look = _Look(scheme)
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
class _Look:
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
        """Return a literal with its kind."""
        if type(literal) is Comparison:
            return Comparison(literal.op, literal.left, literal.right, self._kind(literal.left), span=literal.span)
        return literal
