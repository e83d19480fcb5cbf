"""Walks by the rules of a closure: whether these derive a pair from the edges of a walk.

Each edge gives the pair of its ends, and the pairs so far lead one edge further. Rules that extend walks at their
beginning take the edges from the last one to the first. At each edge the rules see only the tuples around it, so that
long walks take no more than their length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tidelog.explain.instances import FlatRule
from tidelog.language.syntax import Rule, Value
from tidelog.language.trees import variables, whole
from tidelog.reference.substitutions import RuleScope, combinations, name_wildcards, solve

Pair = tuple[Value, ...]


def is_derived(relation: str, pair: Pair, edges: Sequence[tuple[str, Pair]], rules: Iterable[FlatRule]) -> bool:
    """Return True if rules derive a pair of a relation from edges, tuples of relations with one value or two, that make
    a walk."""
    named = [name_wildcards(Rule(flat.rule.name, (flat.head.atom,), flat.body[1:])) for flat in rules]
    start, end = pair
    for fixed, ordered in ((start, edges), (end, edges[::-1])):
        known: set[Pair] = set()
        node = fixed
        for name, values in ordered:
            other = values[-1] if values[0] == node else values[0]
            tables: dict[str, set[Pair]] = defaultdict(set, {name: {values}})
            tables[relation] |= {each for each in known if {*each} <= {fixed, node}}
            known |= _closed(relation, tables, named)
            node = other
        if pair in known:
            return True
    return False


def _closed(relation: str, tables: dict[str, set[Pair]], rules: Sequence[Rule]) -> set[Pair]:
    """Return all pairs that rules derive, one from the other."""
    size = -1
    while len(tables[relation]) > size:
        size = len(tables[relation])
        for rule in rules:
            scope = RuleScope(frozenset(variables(whole(rule), aggregates=False)), tables)
            rows = [
                row for found in solve(rule.body, {}, scope) for row in combinations(rule.heads[0].args, found, scope)
            ]
            tables[relation] |= {tuple(row) for row in rows}
    return tables[relation]
