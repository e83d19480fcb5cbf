"""The projections of all rules of a program, kept from one program to the next.

A rule is projected again only if it sees others of the relations that it reads than before: closures, those that are
recursive with its head, and those of these that select.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tidelog.common.differing import beginning
from tidelog.common.looking import Look
from tidelog.language.syntax import Column
from tidelog.rules.core import AggregateRule, CoreRule, HyperNode, RelationInfo
from tidelog.rules.edges import AnyRule, body_of
from tidelog.rules.projections import Orders, projections

_Seen: TypeAlias = tuple[frozenset[str], frozenset[str], Orders]
"""Of the relations that a rule reads, the closures, those that are recursive with its head, and those of these that
select."""
_NOTHING: _Seen = frozenset(), frozenset(), frozenset()
_NO_RELATIONS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Projected:
    """Rules after projections, with the relations that these add.

    `rules` are those before, `closed`, `recursions` and `orders` the closures, the relations of each recursion and the
    selections that they see. `seen` has for each, by its identity, the rule, what of these its projection has seen, and
    what has become of it. A pickle has the same without identities, which differ after loading.
    """

    rules: tuple[AnyRule, ...] = ()
    closed: frozenset[str] = frozenset()
    recursions: frozenset[tuple[str, ...]] = frozenset()
    orders: Orders = frozenset()
    projected: Sequence[AnyRule] = ()
    added: Mapping[str, RelationInfo] = field(default_factory=dict)
    seen: Mapping[int, tuple[CoreRule, _Seen, tuple[CoreRule, ...]]] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "seen": [*self.seen.values()]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "seen": {id(each[0]): each for each in state["seen"]}})

    def beginning(self, rules: Sequence[AnyRule]) -> Projected | None:
        """Return the part of it for the rules with which `rules` begin, if these are all those that are left. None
        where others stand between them, or where the projection of a rule that has gone may have added a relation."""
        gone, added = beginning(self.rules, rules)
        if not gone:
            return self
        if len(gone) == len(self.rules):
            return None
        entries = [(rule, self.seen.get(id(rule))) for rule in gone]
        parts = [(rule,) if entry is None else entry[2] for rule, entry in entries]
        if any(len(each) > 1 for each in parts):
            return None
        kept = len(rules) - len(added)
        seen, lost = {**self.seen}, {id(part) for each in parts for part in each}
        for rule in gone:
            seen.pop(id(rule), None)
        projected = [rule for rule in self.projected if id(rule) not in lost]
        state = self.closed, self.recursions, self.orders, projected, self.added, seen
        return Projected(tuple(rules[:kept]), *state)


def with_projections(
    rules: Sequence[AnyRule],
    nodes: Sequence[HyperNode],
    chosen: frozenset[str],
    orders: Orders,
    last: Projected,
    look: Look,
) -> Projected:
    """Return the rules after projections; `nodes` are the hyper-nodes of the rules before. Rules of a recursion with a
    relation that is `chosen` stay: a derivation by way of a projection comes a round later, after other choices.
    `orders` are the selections that need not read dominated tuples. Call `look` for each rule that is projected."""
    closed = frozenset([name for node in nodes if node.closure or node.mirrors for name in node.relations])
    recursions = frozenset([node.relations for node in nodes if node.recursive])
    own: dict[str, frozenset[str]] = {}
    for group in recursions:
        own |= dict.fromkeys(group, frozenset(group))
    projected: list[AnyRule] = []
    added: dict[str, RelationInfo] = {}
    seen: dict[int, tuple[CoreRule, _Seen, tuple[CoreRule, ...]]] = {}
    done = 0
    same = closed == last.closed and recursions == last.recursions and orders == last.orders
    begun = last.beginning(rules) if same else None
    if begun is not None:
        projected, added, seen, done = [*begun.projected], {**begun.added}, {**begun.seen}, len(begun.rules)
    for rule in rules[done:]:
        if isinstance(rule, AggregateRule) or not chosen.isdisjoint(own.get(rule.head.relation, ())):
            projected.append(rule)
            continue
        sight = _NOTHING
        if closed or rule.head.relation in own:
            reads = frozenset([name for name, _ in body_of(rule)])
            inside = reads & own.get(rule.head.relation, _NO_RELATIONS)
            sight = reads & closed, inside, frozenset([each for each in orders if each[0] in inside])
        entry = last.seen.get(id(rule))
        if entry is None or entry[1] != sight:
            look()
            entry = rule, sight, projections(rule, *sight)
        seen[id(rule)] = entry
        *auxiliary, rest = entry[2]
        for each in auxiliary:
            name = each.head.relation
            if name not in added:
                columns = tuple(Column(f"c{i}", arg.kind, arg.kind) for i, arg in enumerate(each.head.args))
                added[name] = RelationInfo(name, columns, auxiliary=True)
                projected.append(each)
        projected.append(rest)
    return Projected(tuple(rules), closed, recursions, orders, projected, added, seen)
