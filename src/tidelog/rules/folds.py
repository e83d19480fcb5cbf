"""Aggregates over closures, recognised by their shape: an engine folds components, not pairs.

In `c = min y : { con(x, y) }` with a closure `con` the members of a group are pairs of the closure (see aggregates.py):

    #inner.r.min1(x, y) :- #outer.r.min1(x), con(x, y).

Nodes of one component reach the same nodes, so that they share a value. The aggregates are those whose value for a node
follows from values of the components that it reaches: count, and sum of integers, because these components are
disjoint; min, max, and any. Groups are the first nodes, the second ones, or for a count all pairs together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace

from tidelog.rules.core import AggregateRule, CoreAtom, CoreRule, CoreVariable, HyperNode, MembersShape

_INTEGERS = ("number", "unsigned")
_FOLDED = {"sum": _INTEGERS, "min": _INTEGERS, "max": _INTEGERS, "any": (*_INTEGERS, "symbol")}
"""The kinds of values that aggregates fold by components; a count has no value."""


def with_folds(nodes: tuple[HyperNode, ...]) -> tuple[HyperNode, ...]:
    """Return the hyper-nodes with marks on the members of groups that are pairs of a closure, and on their
    aggregates."""
    closed = {name for node in nodes if node.closure or node.mirrors for name in node.relations}
    aggregates = {rule.inner: rule for node in nodes for rule in node.aggregates} if closed else {}
    if not aggregates:
        return nodes
    readers = Counter(name for node in nodes for name in node.reads if name in aggregates)
    found: dict[str, str] = {}
    marked = []
    for node in nodes:
        name, rule = node.relations[0], node.rules[0] if len(node.rules) == 1 else None
        if readers[name] == 1 and isinstance(rule, CoreRule):
            members = _members(rule, aggregates[name], closed)
            if members is not None:
                found[name] = members.closure
                node = replace(node, members=members)
        elif isinstance(rule, AggregateRule) and rule.inner in found:
            node = replace(node, folds=found[rule.inner])
        marked.append(node)
    return tuple(marked)


def _members(rule: CoreRule, aggregate: AggregateRule, closed: Set[str]) -> MembersShape | None:
    """Return the shape of the members of groups, if they are pairs of one of the closures `closed`."""
    if aggregate.op != "count" and aggregate.kind not in _FOLDED.get(aggregate.op, ()):
        return None
    atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom) and not literal.negated]
    if len(atoms) != 2 or len(rule.body) != 2:
        return None
    outer, pair = sorted(atoms, key=lambda atom: atom.relation != aggregate.outer)
    head = rule.head.args
    if outer.relation != aggregate.outer or outer.args != head[: aggregate.groups] or pair.relation not in closed:
        return None
    if len(head) != 2 or not all(isinstance(arg, CoreVariable) for arg in head) or pair.args not in (head, head[::-1]):
        return None
    if aggregate.groups != 1 and (aggregate.groups or aggregate.op != "count"):
        return None
    return MembersShape(pair.relation, outer.relation, pair.args != head)
