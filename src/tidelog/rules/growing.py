"""The rule graph of a program that grows: rules added at its end change few hyper-nodes, and mostly no order.

`graph_of` returns what `hyper_nodes` would, but goes through the new rules only, where each of them reads what stands
before the relation that it derives. Otherwise it begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import is_

from tidelog.rules.core import HyperNode, RelationInfo
from tidelog.rules.edges import AnyRule, body_of, head_of
from tidelog.rules.graph import Nodes, hyper_nodes, in_order, node_reads


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


def graph_of(rules: Sequence[AnyRule], relations: Mapping[str, RelationInfo], last: Graph) -> Graph:
    """Return the rules with their hyper-nodes, the same objects as in `last` where these have the same rules. Raise
    ProgramError where a cycle has a negative edge."""
    known = len(last.rules)
    if known and len(rules) >= known and all(map(is_, rules, last.rules)):
        nodes = _grown(last, rules[known:], relations)
        if nodes is not None:
            return _following(last, Graph(tuple(rules), nodes))
    return Graph(tuple(rules), hyper_nodes(rules, relations, last.by_relations))


def _following(last: Graph, graph: Graph) -> Graph:
    """Return a graph to which rules were added since the last one, with the places and reads that follow from those
    there, where the old hyper-nodes have kept their places."""
    old, new = graph.nodes[: len(last.nodes)], graph.nodes[len(last.nodes) :]
    changed = [(node, before) for node, before in zip(old, last.nodes, strict=True) if node is not before]
    if all(node.relations == before.relations for node, before in changed):
        fresh = {name: len(old) + i for i, node in enumerate(new) for name in node.relations}
        vars(graph)["places"] = {**last.places, **fresh} if fresh else last.places
        vars(graph)["read"] = last.read.union(*(node.reads for node in (*(node for node, _ in changed), *new)))
    return graph


def _grown(
    last: Graph, added: Sequence[AnyRule], relations: Mapping[str, RelationInfo]
) -> tuple[HyperNode, ...] | None:
    """Return the hyper-nodes with the rules added; None if more of them may change than those that get rules."""
    fresh: list[AnyRule] = []
    joining: dict[int, list[AnyRule]] = {}
    for rule in added:
        place = last.places.get(head_of(rule))
        if place is not None:
            joining.setdefault(place, []).append(rule)
        elif head_of(rule) in last.read:
            return None
        else:
            fresh.append(rule)
    new = hyper_nodes(fresh, relations)
    behind = _highest(new, last.places)
    if any(not _fits(rule, place, last.places, behind) for place, rules in joining.items() for rule in rules):
        return None
    nodes = list(last.nodes)
    for place, rules in joining.items():
        node = nodes[place]
        recursive = node.recursive or any(name in node.relations for rule in rules for name, _ in body_of(rule))
        nodes[place] = HyperNode(node.relations, (*node.rules, *rules), recursive)
    if not any(name in behind for rules in joining.values() for rule in rules for name, _ in body_of(rule)):
        return (*nodes, *new)
    number = {id(rule): index for index, rule in enumerate((*last.rules, *added))}
    nodes = sorted([*nodes, *new], key=lambda node: number[id(node.rules[0])])
    return tuple([nodes[index] for index in in_order(node_reads(nodes))])


def _highest(new: Iterable[HyperNode], places: Mapping[str, int]) -> dict[str, int]:
    """Return for each relation of the new hyper-nodes the last position among the old ones that it depends on."""
    highest: dict[str, int] = {}
    for node in new:
        place = max((places.get(name, highest.get(name, -1)) for name in node.reads), default=-1)
        highest |= dict.fromkeys(node.relations, place)
    return highest


def _fits(rule: AnyRule, place: int, places: Mapping[str, int], behind: Mapping[str, int]) -> bool:
    """Return True if a rule of the hyper-node at `place` reads only what can stand before it, or the node itself, and
    that without negation."""
    for name, negative in body_of(rule):
        other = places.get(name, -1)
        if other > place or (negative and other == place) or behind.get(name, -1) >= place:
            return False
    return True
