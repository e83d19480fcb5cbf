"""The rule graph of a program that changes: a few rules more or less change few hyper-nodes, and mostly no order.

`graph_of` returns what `hyper_nodes` would, its reference. Only a part of the graph can merge or split: the hyper-nodes
that win or lose rules, and those on ways from the relations that these newly read back to them. The order is the one
nearest to that of the rules exactly if each hyper-node comes behind those that it reads, and behind no other that
begins with a later rule, except where it reads something in between. So it stays if this holds for the few hyper-nodes
that have changed or that read others than before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from operator import is_
from typing import TypeAlias

from tidelog.common.differing import difference
from tidelog.rules.components import components
from tidelog.rules.core import HyperNode, RelationInfo
from tidelog.rules.edges import AnyRule, body_of, head_of
from tidelog.rules.graph import Nodes, hyper_nodes, in_order, node_reads

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
    def read(self) -> frozenset[str]:
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
        found = _changed(last, rules, *change) if any(change) else last
        if found is not None:
            return found
    return Graph(rules, hyper_nodes(rules, relations, last.by_relations))


def _changed(
    last: Graph, rules: tuple[AnyRule, ...], gone: Sequence[AnyRule], added: Sequence[AnyRule]
) -> Graph | None:
    """Return the graph without some rules and with others; None if a cycle has a negative edge."""
    region = _Region(last, gone, added)
    number = dict(zip(map(id, rules), count()))
    nodes = [region.node(group, number) for group in region.groups()]
    if any(negative and name in node.relations for node in nodes if node.recursive for name, negative in _reads(node)):
        return None
    graph = _in_place(last, rules, nodes, region, number) if len(nodes) < _MOST else None
    if graph is None:
        left = (node for place, node in enumerate(last.nodes) if place not in region.places)
        nodes = sorted([*left, *nodes], key=lambda node: number[id(node.rules[0])])
        graph = Graph(rules, tuple([nodes[i] for i in in_order(node_reads(nodes))]))
    return graph


def _reads(node: HyperNode) -> Iterator[tuple[str, bool]]:
    return (read for rule in node.rules for read in body_of(rule))


class _Region:
    """The part of a rule graph in which hyper-nodes can merge or split, once rules have gone and others were added."""

    def __init__(self, last: Graph, gone: Sequence[AnyRule], added: Sequence[AnyRule]) -> None:
        self._last = last
        self._split = {last.places[head_of(rule)] for rule in gone}
        self.rules: dict[_Unit, list[AnyRule]] = {}
        """The rules of each unit of the region."""
        lost = set(map(id, gone))
        kept = [rule for place in self._split for rule in last.nodes[place].rules if id(rule) not in lost]
        for rule in (*kept, *added):
            unit = self._unit(head_of(rule))
            if isinstance(unit, int) and unit not in self.rules:
                self.rules[unit] = [*last.nodes[unit].rules]
            self.rules.setdefault(unit, []).append(rule)
        self.changed = frozenset(self.rules)
        """The units that have other rules than before, or are relations of a hyper-node that has."""
        self._reads = {unit: {name for rule in own for name, _ in body_of(rule)} for unit, own in self.rules.items()}
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


def _in_place(
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
