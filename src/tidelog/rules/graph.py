"""The rule graph and its hyper-nodes, as in *ZodiacEdge* (Algorithm 1).

A rule r1 leads to a rule r2 when the head of r1 occurs in the body of r2, negatively when it occurs there negated or
under an aggregate. Strongly connected components of it are the paper's hyper-nodes (`rule_components`). The engine's
hyper-nodes are coarser: rules with the same head are in one node together with their relation, so that a relation is
derived in one place; they are the components of the graph of relations.

Both graphs have one node per relation between the rules, so that their size stays in proportion to the program.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from operator import is_
from types import MappingProxyType

from tidelog.rules.components import components
from tidelog.rules.core import HyperNode, RelationInfo
from tidelog.rules.cycles import check_strata
from tidelog.rules.edges import AnyRule, body_of, head_of

Nodes = Mapping[tuple[str, ...], HyperNode]
"""Hyper-nodes by their relations."""
_NONE: Nodes = MappingProxyType({})


def hyper_nodes(
    rules: Sequence[AnyRule], relations: Mapping[str, RelationInfo], before: Nodes = _NONE
) -> tuple[HyperNode, ...]:
    """Return the hyper-nodes of a program, each behind those that it reads. Among the possible orders, choose the one
    nearest to the order of the rules. Hyper-nodes of `before` that have the same rules stay the same objects. Raise
    ProgramError where a cycle has a negative edge."""
    by_head: dict[str, list[AnyRule]] = {}
    for rule in rules:
        by_head.setdefault(head_of(rule), []).append(rule)
    alone = {name: HyperNode((name,), tuple(own), False) for name, own in by_head.items()}
    alone = {name: _same(before.get(node.relations), node) for name, node in alone.items()}
    reads = {name: node.reads for name, node in alone.items()}
    groups = [group for group in components(reads) if group[0] in by_head]
    check_strata(groups, rules, relations)
    position = {id(rule): index for index, rule in enumerate(rules)}
    nodes = []
    for group in groups:
        node = alone[group[0]]
        if len(group) > 1:
            own = sorted((rule for name in group for rule in by_head[name]), key=lambda rule: position[id(rule)])
            node = HyperNode(tuple(dict.fromkeys(head_of(rule) for rule in own)), tuple(own), True)
            node = _same(before.get(node.relations), node)
        elif group[0] in node.reads and not node.recursive:
            node = HyperNode(node.relations, node.rules, True)
        nodes.append(node)
    nodes.sort(key=lambda node: position[id(node.rules[0])])
    return tuple([nodes[index] for index in in_order(node_reads(nodes))])


def _same(old: HyperNode | None, new: HyperNode) -> HyperNode:
    """Return the old hyper-node if the new one consists of the same rules, which determine whether it is recursive."""
    if old is None or len(old.rules) != len(new.rules) or not all(map(is_, old.rules, new.rules)):
        return new
    return old


def coarsened(nodes: Sequence[HyperNode], groups: Sequence[frozenset[str]]) -> tuple[HyperNode, ...]:
    """Return the hyper-nodes, with those joined whose relations lie in one of `groups`, and those that this makes
    strongly connected.

    The hyper-nodes are those of a program, in their order. An engine whose hyper-nodes are coarser than they need be
    stays right. A relation of a group that no rule derives any more stays with the others. Nodes that would be joined
    across a negative edge stay apart, and so do those that select.
    """
    derived = {name: index for index, node in enumerate(nodes) for name in node.relations}
    groups = [group for group in groups if len({derived.get(name) for name in group}) > 1]
    if not groups:
        return tuple(nodes)
    left = sorted({name for group in groups for name in group.difference(derived)})
    nodes = [*nodes, *(HyperNode((name,), (), False) for name in left)]
    owner = {name: index for index, node in enumerate(nodes) for name in node.relations}
    successors: dict[int, set[int]] = dict(enumerate(node_reads(nodes)))
    for group in groups:
        members = sorted({owner[name] for name in group if name in owner})
        for a, b in zip(members, members[1:] + members[:1], strict=True):
            successors[a].add(b)
    joined: list[HyperNode] = []
    for part in components(successors):
        members = sorted(part)
        names = tuple(name for index in members for name in nodes[index].relations)
        rules = tuple(rule for index in members for rule in nodes[index].rules)
        apart = any(nodes[index].selects for index in members)
        apart |= any(negative and name in names for rule in rules for name, negative in body_of(rule))
        if len(members) == 1 or apart:
            joined += [nodes[index] for index in members]
        else:
            recursive = any(name in names for rule in rules for name, _ in body_of(rule))
            joined.append(HyperNode(names, rules, recursive))
    joined = [node for node in joined if node.rules or node.selects]
    return tuple(joined[index] for index in in_order(node_reads(joined)))


def node_reads(nodes: Sequence[HyperNode]) -> list[set[int]]:
    """Return for each hyper-node the positions of the others that it reads."""
    owner = {name: index for index, node in enumerate(nodes) for name in node.relations}
    return [
        {owner[name] for name in node.reads if name in owner and owner[name] != index}
        for index, node in enumerate(nodes)
    ]


def rule_components(rules: Sequence[AnyRule]) -> tuple[tuple[AnyRule, ...], ...]:
    """Return the paper's hyper-nodes: strongly connected components of the rules themselves, in an order of
    evaluation."""
    successors: dict[int | str, list[int | str]] = {}
    for index, rule in enumerate(rules):
        successors[index] = list(dict.fromkeys(name for name, _ in body_of(rule)))
        successors.setdefault(head_of(rule), []).append(index)
    found = (sorted(node for node in group if isinstance(node, int)) for group in components(successors))
    return tuple(tuple(rules[index] for index in group) for group in found if group)


def in_order(reads: Sequence[set[int]]) -> list[int]:
    """Return the positions such that each comes behind those that it reads, smaller ones first where that leaves a
    choice."""
    missing = [len(needed) for needed in reads]
    readers: list[list[int]] = [[] for _ in reads]
    for index, needed in enumerate(reads):
        for each in needed:
            readers[each].append(index)
    ready = [index for index, count in enumerate(missing) if count == 0]
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers[index]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heapq.heappush(ready, reader)
    return order
