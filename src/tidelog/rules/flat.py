"""Rules that no rewrite changes, which large programs made by programs have by the thousand."""

from __future__ import annotations

from tidelog.language.syntax import Atom, Comparison, Constant, Literal, Rule, Variable

_SIMPLE = frozenset((Variable, Constant))


def is_flat(rule: Rule) -> bool:
    """Return True if a rule has one head, and only atoms without paths and tests, no equations, of variables and
    constants: each rewrite returns it as it is."""
    return len(rule.heads) == 1 and not rule.subsumes and all(map(_is_flat, (*rule.heads, *rule.body)))


def _is_flat(literal: Literal) -> bool:
    if type(literal) is Atom:
        return literal.path is None and _SIMPLE.issuperset(map(type, literal.args))
    if type(literal) is Comparison:
        return literal.op != "=" and type(literal.left) in _SIMPLE and type(literal.right) in _SIMPLE
    return False
