"""Split rules that need two partitionings: the join of two atoms becomes a relation, which another column places.

A rule such as h(a, d) :- p(a, b), q(b, c), r(c, d) has no site that all its atoms share. It becomes
#join(a, c) :- p(a, b), q(b, c), at the site of b, and h(a, d) :- #join(a, c), r(c, d), at that of c.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from tidelog.language.syntax import Column
from tidelog.rules.core import (
    CoreAtom,
    CoreRule,
    CoreVariable,
    RelationInfo,
)
from tidelog.rules.literals import variables_of


def in_two(rule: CoreRule, name: str) -> tuple[RelationInfo, CoreRule, CoreRule] | None:
    """Return a rule in two: an auxiliary relation `name`, its rule, and the rule that is left; None where no two atoms
    share a variable, or nothing but these is there. Of several pairs, the one that leaves the fewest columns."""
    atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom)]
    positive = [atom for atom in atoms if not atom.negated]
    if len(atoms) < 3:
        return None
    pairs = [pair for pair in combinations(positive, 2) if set(variables_of(pair[0])) & set(variables_of(pair[1]))]
    if not pairs:
        return None
    first, second = min(pairs, key=lambda pair: len(_needed(rule, pair)))
    columns = _needed(rule, (first, second))
    info = RelationInfo(name, tuple(Column(each.name, each.kind, each.kind) for each in columns), True)
    join = CoreAtom(name, columns)
    rest = [literal for literal in rule.body if literal is not first and literal is not second]
    return info, CoreRule(name, rule.origin, join, (first, second), rule.span), replace(rule, body=(join, *rest))


def _needed(rule: CoreRule, pair: tuple[CoreAtom, CoreAtom]) -> tuple[CoreVariable, ...]:
    """Return the variables of two atoms of a body that the rest of the rule uses."""
    used = set(variables_of(rule.head))
    for literal in rule.body:
        if literal is not pair[0] and literal is not pair[1]:
            used |= set(variables_of(literal))
    return tuple(dict.fromkeys(each for atom in pair for each in variables_of(atom) if each in used))
