"""The rule graph and its hyper-nodes, as in *ZodiacEdge* (Algorithm 1).

A rule r1 leads to a rule r2 when the head of r1 occurs in the body of r2, negatively when it occurs there negated or
under an aggregate. Strongly connected components of it are the paper's hyper-nodes (`rule_components`). The engine's
hyper-nodes are coarser: rules with the same head are in one node together with their relation, so that a relation is
derived in one place; they are the components of the graph of relations.

Both graphs have one node per relation between the rules, so that their size stays in proportion to the program.

A few rules more or less change few hyper-nodes, and mostly no order. `graph_of` returns what `hyper_nodes` would, its
reference. Only a part of the graph can merge or split: the hyper-nodes that win or lose rules, and those on ways from
the relations that these newly read back to them. The order is the one nearest to that of the rules exactly if each
hyper-node comes behind those that it reads, and behind no other that begins with a later rule, except where it reads
something in between. So it stays if this holds for the few hyper-nodes that have changed or that read others than
before.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from operator import is_
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from tidelog.common.differing import difference
from tidelog.rules.core import AnyRule, HyperNode, RelationInfo, head_of
from tidelog.rules.cycles import check_strata

Node = TypeVar("Node", bound=Hashable)


def components(successors: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Return the strongly connected components of a graph, each behind those that it leads to (Tarjan 1972).

    It does not recurse, so that long chains are no problem. Nodes without successors need no entry.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: dict[Node, None] = {}
    found: list[list[Node]] = []
    for root in successors:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_nodes[root] = None
        path = [(root, iter(successors.get(root, ())))]
        while path:
            node, rest = path[-1]
            successor = next(rest, None)
            if successor is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    found.append(_pop_component(open_nodes, node))
            elif successor not in number:
                number[successor] = low[successor] = len(number)
                open_nodes[successor] = None
                path.append((successor, iter(successors.get(successor, ()))))
            elif successor in open_nodes:
                low[node] = min(low[node], number[successor])
    return found


def _pop_component(open_nodes: dict[Node, None], last: Node) -> list[Node]:
    """Remove the nodes from the end up to `last` from `open_nodes`, and return them."""
    group = []
    while True:
        node, _ = open_nodes.popitem()
        group.append(node)
        if node == last:
            return group[::-1]


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
    alone = {name: _reuse_node(before.get(node.relations), node) for name, node in alone.items()}
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
            node = _reuse_node(before.get(node.relations), node)
        elif group[0] in node.reads and not node.recursive:
            node = HyperNode(node.relations, node.rules, True)
        nodes.append(node)
    nodes.sort(key=lambda node: position[id(node.rules[0])])
    return tuple([nodes[index] for index in in_order(node_reads(nodes))])


def _reuse_node(old: HyperNode | None, new: HyperNode) -> HyperNode:
    """Return the old hyper-node if the new one consists of the same rules, which determine whether it is recursive."""
    if old is None or len(old.rules) != len(new.rules) or not all(map(is_, old.rules, new.rules)):
        return new
    return old


def coarsen_nodes(nodes: Sequence[HyperNode], groups: Sequence[frozenset[str]]) -> tuple[HyperNode, ...]:
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
        apart |= any(negative and name in names for rule in rules for name, negative in rule.reads)
        if len(members) == 1 or apart:
            joined += [nodes[index] for index in members]
        else:
            recursive = any(name in names for rule in rules for name, _ in rule.reads)
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
        successors[index] = list(dict.fromkeys(name for name, _ in rule.reads))
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


# --- programs that change ---------------------------------------------------------------------------------------------


_FEW, _SHARE = 16, 4
"""The graph is made anew when more than a few rules have changed, and one in so many of those that are there."""
_MOST = 64
"""From so many hyper-nodes that may have changed on, all are put in order again."""
_Unit: TypeAlias = int | str
"""The position of a hyper-node that loses no rules, or else a relation."""


@dataclass(frozen=True)
class Graph:
    """Rules with their hyper-nodes, each behind those that it reads."""

    rules: tuple[AnyRule, ...] = ()
    nodes: tuple[HyperNode, ...] = ()

    @cached_property
    def by_relations(self) -> Nodes:
        """The hyper-nodes by their relations."""
        return {node.relations: node for node in self.nodes}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position of the hyper-node that derives a relation."""
        return {name: place for place, node in enumerate(self.nodes) for name in node.relations}

    @cached_property
    def relations_read(self) -> frozenset[str]:
        """The relations that rules read."""
        return frozenset([name for node in self.nodes for name in node.reads])

    def readers(self, names: Iterable[str]) -> list[int]:
        """Return the positions of the hyper-nodes that read some of the relations."""
        found = frozenset(names)
        return [i for i, node in enumerate(self.nodes) if not found.isdisjoint(node.reads)] if found else []


def graph_of(rules: Sequence[AnyRule], relations: Mapping[str, RelationInfo], last: Graph) -> Graph:
    """Return the rules with their hyper-nodes, the same objects as in `last` where these have the same rules. Raise
    ProgramError where a cycle has a negative edge."""
    rules = tuple(rules)
    change = difference(last.rules, rules)
    if last.rules and change is not None and sum(map(len, change)) <= max(_FEW, len(rules) // _SHARE):
        found = _change_graph(last, rules, *change) if any(change) else last
        if found is not None:
            return found
    return Graph(rules, hyper_nodes(rules, relations, last.by_relations))


def _change_graph(
    last: Graph, rules: tuple[AnyRule, ...], removed: Sequence[AnyRule], added: Sequence[AnyRule]
) -> Graph | None:
    """Return the graph without some rules and with others; None if a cycle has a negative edge."""
    region = _Region(last, removed, added)
    number = dict(zip(map(id, rules), count()))
    nodes = [region.node(group, number) for group in region.groups()]
    if any(negative and name in node.relations for node in nodes if node.recursive for name, negative in _reads(node)):
        return None
    graph = _replace_nodes(last, rules, nodes, region, number) if len(nodes) < _MOST else None
    if graph is None:
        left = (node for place, node in enumerate(last.nodes) if place not in region.places)
        nodes = sorted([*left, *nodes], key=lambda node: number[id(node.rules[0])])
        graph = Graph(rules, tuple([nodes[i] for i in in_order(node_reads(nodes))]))
    return graph


def _reads(node: HyperNode) -> Iterator[tuple[str, bool]]:
    return (read for rule in node.rules for read in rule.reads)


class _Region:
    """The part of a rule graph in which hyper-nodes can merge or split, once rules have gone and others were added."""

    def __init__(self, last: Graph, removed: Sequence[AnyRule], added: Sequence[AnyRule]) -> None:
        self._last = last
        self._split = {last.places[head_of(rule)] for rule in removed}
        self.rules: dict[_Unit, list[AnyRule]] = {}
        """The rules of each unit of the region."""
        lost = set(map(id, removed))
        kept = [rule for place in self._split for rule in last.nodes[place].rules if id(rule) not in lost]
        for rule in (*kept, *added):
            unit = self._unit(head_of(rule))
            if isinstance(unit, int) and unit not in self.rules:
                self.rules[unit] = [*last.nodes[unit].rules]
            self.rules.setdefault(unit, []).append(rule)
        self.changed = frozenset(self.rules)
        """The units that have other rules than before, or are relations of a hyper-node that has."""
        self._reads = {unit: {name for rule in own for name, _ in rule.reads} for unit, own in self.rules.items()}
        self.vanished = [name for i in self._split for name in last.nodes[i].relations if name not in self.rules]
        """The relations that no rule derives any more."""
        self.fresh = [unit for unit in self.rules if unit not in last.places and isinstance(unit, str)]
        """The relations that no rule derived before."""
        self.reading = last.readers((*self.vanished, *self.fresh))
        """The positions of the hyper-nodes that read such relations."""
        self._reach()
        self.places = self._split.union(unit for unit in self.rules if isinstance(unit, int))
        """The positions of the hyper-nodes of the region."""

    def _unit(self, name: str) -> _Unit:
        place = self._last.places.get(name)
        return name if place is None or place in self._split else place

    def _place(self, unit: _Unit) -> int:
        """Return the position of a unit, behind all others for a relation that no rule derived."""
        return unit if isinstance(unit, int) else self._last.places.get(unit, len(self._last.nodes))

    def _reach(self) -> None:
        """Add the units that a new edge can make a cycle of: on every new cycle, some edge leads to a later position,
        and none leads from a position before those of such edges."""
        last = self._last
        rising = [(self._place(unit), name) for unit, names in self._reads.items() for name in names]
        rising += [(i, name) for i in self.reading for name in self.fresh if name in last.nodes[i].reads]
        rising = [(i, name) for i, name in rising if name in last.places or name in self.rules]
        rising = [(i, name) for i, name in rising if self._place(self._unit(name)) > i]
        first = min((i for i, _ in rising), default=0)
        waiting, seen = [name for _, name in rising], set[_Unit]()
        while waiting:
            unit = self._unit(waiting.pop())
            if unit in seen or self._place(unit) < first:
                continue
            seen.add(unit)
            if isinstance(unit, int) and unit not in self.rules:
                node = last.nodes[unit]
                self.rules[unit], self._reads[unit] = [*node.rules], {*node.reads}
            waiting += self._reads.get(unit, ())

    def groups(self) -> list[list[_Unit]]:
        """Return the strongly connected units."""
        return components(
            {
                unit: [other for name in names if (other := self._unit(name)) in self.rules]
                for unit, names in self._reads.items()
            }
        )

    def node(self, group: Sequence[_Unit], number: Mapping[int, int]) -> HyperNode:
        """Return the hyper-node of strongly connected units; `number` has the places of rules in the program."""
        if len(group) == 1 and isinstance(group[0], int) and group[0] not in self.changed:
            return self._last.nodes[group[0]]
        own = sorted((rule for unit in group for rule in self.rules[unit]), key=lambda rule: number[id(rule)])
        relations = tuple(dict.fromkeys(map(head_of, own)))
        before = self._last.nodes[self._last.places[relations[0]]] if relations[0] in self._last.places else None
        if before is not None and len(before.rules) == len(own) and all(map(is_, before.rules, own)):
            return before
        recursive = len(relations) > 1 or any(relations[0] in self._reads[unit] for unit in group)
        return HyperNode(relations, tuple(own), recursive)


def _replace_nodes(
    last: Graph,
    rules: tuple[AnyRule, ...],
    region: Sequence[HyperNode],
    changing: _Region,
    number: Mapping[int, int],
) -> Graph | None:
    """Return the graph with the hyper-nodes of the region in the places of those before, and fresh ones behind all
    others; None if that is not their order."""
    taken: dict[int, HyperNode] = {}
    fresh = []
    for node in region:
        before = {last.places[name] for name in node.relations if name in last.places}
        if not before:
            fresh.append(node)
            continue
        place = before.pop()
        if before or place in taken or node.rules[0] is not last.nodes[place].rules[0]:
            return None
        taken[place] = node
    fresh.sort(key=lambda node: number[id(node.rules[0])])
    nodes = [*last.nodes, *(fresh[i] for i in in_order(node_reads(fresh)))]
    for place, node in taken.items():
        nodes[place] = node
    empty = changing.places - taken.keys()
    changed = [node for place, node in taken.items() if node is not last.nodes[place]]
    changed += [nodes[place] for place in changing.reading if place not in empty]
    for place in sorted(empty, reverse=True):
        del nodes[place]
    graph = Graph(rules, tuple(nodes))
    if not empty:
        placed = [*taken.items(), *enumerate(nodes[len(last.nodes) :], len(last.nodes))]
        places = {**last.places, **{name: place for place, node in placed for name in node.relations}}
        for name in changing.vanished:
            del places[name]
        vars(graph)["places"] = places
    return graph if _is_ordered(graph, [*changed, *fresh], number) else None


def _is_ordered(graph: Graph, nodes: Iterable[HyperNode], number: Mapping[int, int]) -> bool:
    """Return True if each of the hyper-nodes is in its place: it reads none behind it, and those between it and the
    last one that it reads begin with earlier rules."""
    first = [number[id(node.rules[0])] for node in graph.nodes]
    for node in nodes:
        place = graph.places[node.relations[0]]
        before = max((graph.places[name] for name in node.reads if graph.places.get(name, place) != place), default=-1)
        if before > place or max(first[before + 1 : place], default=-1) > first[place]:
            return False
    return True
