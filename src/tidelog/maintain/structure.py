"""The structure of a program: its hyper-nodes and their readers, computed when the rules change, for all epochs until
then."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.report import NodeLabels, prepares, skipped
from tidelog.rules.core import AggregateRule, CoreProgram, HyperNode
from tidelog.rules.edges import body_of


class Structure:
    """The hyper-nodes as they are maintained, which may be coarser than the `parts` that `program` has, by their
    positions."""

    def __init__(
        self,
        program: CoreProgram,
        nodes: tuple[HyperNode, ...],
        parts: tuple[HyperNode, ...],
        last: Structure | None = None,
    ) -> None:
        self.program = program
        self.nodes = nodes
        self.parts = parts
        self._labels: dict[int, NodeLabels] = {}
        """By the identity of the hyper-node."""
        self._known: tuple[tuple[HyperNode, ...], Mapping[str, tuple[str, ...]]] = (), {}
        """Other hyper-nodes, and the first relations of those that read each relation: those of the structure before,
        not that itself, which would keep all before it alive."""
        if last is not None:
            self._known = (last.nodes, last._reading) if "_reading" in vars(last) else last._known

    @cached_property
    def derived(self) -> Mapping[str, int]:
        """The position of the hyper-node of each derived relation."""
        return {name: i for i, node in enumerate(self.nodes) for name in node.relations}

    def readers(self, name: str) -> tuple[int, ...]:
        """Return the positions of the hyper-nodes that read a relation."""
        return tuple(sorted([self.derived[first] for first in self._reading.get(name, ())]))

    @cached_property
    def _reading(self) -> Mapping[str, tuple[str, ...]]:
        """The first relations of the hyper-nodes that read each relation that is read."""
        nodes, known = self._known
        before, now = ({node.relations[0]: node for node in each} for each in (nodes, self.nodes))
        found = {**known}
        for first in [first for first, node in before.items() if now.get(first) is not node]:
            left = now[first].reads if first in now else ()
            for name in set(before[first].reads).difference(left):
                found[name] = tuple([each for each in found[name] if each != first])
        for first in [first for first, node in now.items() if before.get(first) is not node]:
            there = before[first].reads if first in before else ()
            for name in set(now[first].reads).difference(there):
                found[name] = (*found.get(name, ()), first)
        self._known = (), {}
        return found

    @cached_property
    def folded(self) -> frozenset[str]:
        """The relations that aggregates fold, which read rows."""
        rules = (rule for node in self.nodes for rule in node.aggregates)
        return frozenset(name for rule in rules for name, _ in body_of(rule))

    @cached_property
    def own(self) -> Mapping[str, AggregateRule]:
        """The rules of aggregates in Python, by the relations that they derive."""
        rules = (rule for node in self.nodes for rule in node.aggregates)
        return {rule.head: rule for rule in rules if rule.own is not None}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position among the parts of the hyper-node of each derived relation."""
        return {name: i for i, node in enumerate(self.parts) for name in node.relations}

    @cached_property
    def idle(self) -> tuple[NodeReport, ...]:
        """The report of an epoch without changes."""
        return self.reports((), {})

    @cached_property
    def shown(self) -> Mapping[int, NodeReport]:
        """The report of each hyper-node of the program as it is written, by its position, while it is skipped."""
        return {i: skipped(node) for i, node in enumerate(self.nodes) if not prepares(node.relations)}

    def labels_of(self, node: HyperNode) -> NodeLabels:
        """Return the names that reports about one of the hyper-nodes have."""
        found = self._labels.get(id(node))
        if found is None:
            found = self._labels[id(node)] = NodeLabels(node)
        return found

    def node_of(self, name: str) -> HyperNode | None:
        """Return the hyper-node of a relation, if rules derive it."""
        position = self.derived.get(name)
        return None if position is None else self.nodes[position]

    def reports(self, first: tuple[NodeReport, ...], visited: Mapping[int, NodeReport]) -> tuple[NodeReport, ...]:
        """Return the reports of all hyper-nodes in their order, those of the visited ones among them, behind the
        `first`."""
        return (*first, *(visited.get(i, idle) for i, idle in self.shown.items()))
