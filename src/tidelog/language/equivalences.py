"""Equivalence relations: `.decl same(x: node, y: node) eqrel` is closed by two rules that no text has.

    same(x, y) :- same(y, x).
    same(x, z) :- same(x, y), same(y, z).

So every value that occurs is equivalent to itself. All engines evaluate these rules like others; a hyper-node of an
equivalence relation that does not depend on itself is a symmetric closure (`rules/closures.py`), kept as components.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.errors import Problem
from tidelog.language.declarations import Scheme
from tidelog.language.syntax import Atom, RelationType, Rule, Variable

EQREL = "eqrel"


def equivalence_problems(scheme: Scheme) -> Iterator[Problem]:
    """Yield the problems of equivalence relations that are no relations over one type (E0225)."""
    for relation in _relations(scheme):
        types = [column.type for column in relation.columns]
        if len(types) != 2:
            message = f"the equivalence relation `{relation.name}` needs two attributes, found {len(types)}"
            hint = f"declare it as `.decl {relation.name}(x: t, y: t) eqrel`"
            yield Problem("E0225", message, relation.span, hint=hint)
        elif not (scheme.flows(types[0], types[1]) and scheme.flows(types[1], types[0])):
            message = f"the attributes of `{relation.name}` have the types `{types[0]}` and `{types[1]}`"
            hint = "an equivalence relation needs attributes of one type"
            yield Problem("E0225", message, relation.span, hint=hint)


def equivalence_rules(scheme: Scheme) -> tuple[Rule, ...]:
    """Return the rules that close the equivalence relations of a program."""
    return tuple(rule for relation in _relations(scheme) for rule in _closing(relation))


def _relations(scheme: Scheme) -> Iterator[RelationType]:
    return (relation for relation in scheme.relations.values() if EQREL in relation.qualifiers)


def _closing(relation: RelationType) -> tuple[Rule, Rule]:
    """Return the rule of symmetry and that of transitivity. Their place is the declaration."""
    name, span = relation.name, relation.span
    x, y, z = (Variable(each, span=span) for each in "xyz")
    kinds = dict.fromkeys("xyz", relation.columns[0].kind)

    def pair(left: Variable, right: Variable) -> Atom:
        return Atom(name, (left, right), span=span)

    symmetric = Rule(f"#symmetric.{name}", (pair(x, y),), (pair(y, x),), kinds, span=span)
    transitive = Rule(f"#transitive.{name}", (pair(x, z),), (pair(x, y), pair(y, z)), kinds, span=span)
    return symmetric, transitive
