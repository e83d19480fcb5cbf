"""The structure of a program, and the parts of reports that follow from it.

The hyper-nodes and their readers are computed when the rules change, for all epochs until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from tidelog.maintain.protocol import NodeReport
from tidelog.rules.core import AggregateRule, CoreProgram, HyperNode, Obstacle, head_of
from tidelog.rules.demand import DEMAND
from tidelog.rules.projections import PROJECTION
from tidelog.rules.selections import ALL, BEATEN, BEATS, BEST, KEYS, RANKED
from tidelog.storage.stored import StoredRelation

PREPARED = (PROJECTION, DEMAND, KEYS, BEST, RANKED, BEATS, BEATEN)
"""How the names of relations begin that only rewrites of the user's rules have made."""
_MOST_NAMED = 3
"""Relations of a hyper-node that progress names."""


def user_relations(relations: Iterable[str]) -> tuple[str, ...]:
    """Return the relations that a user knows; candidates are those of the relation that selects from them."""
    known = dict.fromkeys(name.removeprefix(ALL) for name in relations)
    return tuple(name for name in known if not name.startswith("#"))


def sizes_of(derived: Mapping[str, StoredRelation]) -> Mapping[str, int]:
    """Return the rows of the relations that a user knows."""
    rows: dict[str, int] = {}
    for name, stored in derived.items():
        for known in user_relations((name,)):
            rows[known] = max(stored.rows, rows.get(known, 0))
    return rows


def prepares(relations: Iterable[str]) -> bool:
    """Return True if these are relations that only rewrites have made, which reports leave out."""
    return all(name.startswith(PREPARED) for name in relations)


def rule_names(node: HyperNode) -> tuple[str, ...]:
    """Return the names of the user's rules in a hyper-node; if it only prepares parts, of those rules."""
    written = [rule for rule in node.rules if not head_of(rule).startswith(PREPARED)]
    return tuple(dict.fromkeys(rule.origin for rule in written or node.rules))


class NodeLabels:
    """The names that reports about a hyper-node have: those of the relations `shown`, and of rules."""

    def __init__(self, node: HyperNode) -> None:
        self.shown = user_relations(node.relations)
        self.names = rule_names(node)
        self.prepares = prepares(node.relations)
        self._is_demanded = any(f"{DEMAND}{name}" in node.reads_set for name in node.relations)
        self.changes: dict[frozenset[str], str] = {}
        """How reports say which inputs have changed, as far as they have said it."""
        more = len(self.shown) - _MOST_NAMED
        self.step = ", ".join([*self.shown[:_MOST_NAMED], *([f"{more} others"] if more > 0 else [])])
        """How progress names the hyper-node."""
        self._selecting = tuple(name.removeprefix(ALL) for name in node.relations if name.startswith(ALL))

    def with_demand(self, reason: str) -> str:
        """Return the reason for the strategy, and whether some relations are derived on demand."""
        return f"{reason}; on demand" if self._is_demanded else reason

    def with_mode(
        self, reason: str, node: HyperNode, obstacles: Mapping[str, Obstacle], unsettled: Mapping[str, str]
    ) -> str:
        """Return the reason for the strategy, and how relations select; `unsettled`, or else `obstacles`, say why some
        read dominated tuples."""
        if node.chooses:
            return f"{reason}; one tuple of each key is chosen"
        if node.selects:
            return f"{reason}; dominated tuples are dropped"
        own = self._selecting
        if not own:
            return reason
        whys = (unsettled.get(name) or obstacles[name] for name in own if name in unsettled or name in obstacles)
        why = next(whys, None)
        return reason if why is None else f"{reason}; dominated tuples are read: {why}"


def skip_report(node: HyperNode) -> NodeReport:
    """Return the report of a hyper-node for which nothing has changed."""
    return NodeReport(
        user_relations(node.relations), rule_names(node), "skip", "nothing that it reads has changed", 0.0, 0
    )


def report_of(node: HyperNode, strategy: str, reason: str, impact: int, seconds: float = 0.0) -> NodeReport:
    """Return the report of a hyper-node that was brought up to date in one round."""
    return NodeReport(user_relations(node.relations), rule_names(node), strategy, reason, seconds, impact, 1)


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
            self._known = (last.nodes, last._readers) if "_readers" in vars(last) else last._known

    @cached_property
    def node_positions(self) -> Mapping[str, int]:
        """The position of the hyper-node of each derived relation."""
        return {name: i for i, node in enumerate(self.nodes) for name in node.relations}

    def readers(self, name: str) -> tuple[int, ...]:
        """Return the positions of the hyper-nodes that read a relation."""
        return tuple(sorted([self.node_positions[first] for first in self._readers.get(name, ())]))

    @cached_property
    def _readers(self) -> Mapping[str, tuple[str, ...]]:
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
    def folded_relations(self) -> frozenset[str]:
        """The relations that aggregates fold, which read rows."""
        rules = (rule for node in self.nodes for rule in node.aggregates)
        return frozenset(name for rule in rules for name, _ in rule.reads)

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
    def skip_reports(self) -> Mapping[int, NodeReport]:
        """The report of each hyper-node of the program as it is written, by its position, while it is skipped."""
        return {i: skip_report(node) for i, node in enumerate(self.nodes) if not prepares(node.relations)}

    def labels_of(self, node: HyperNode) -> NodeLabels:
        """Return the names that reports about one of the hyper-nodes have."""
        found = self._labels.get(id(node))
        if found is None:
            found = self._labels[id(node)] = NodeLabels(node)
        return found

    def node_of(self, name: str) -> HyperNode | None:
        """Return the hyper-node of a relation, if rules derive it."""
        position = self.node_positions.get(name)
        return None if position is None else self.nodes[position]

    def reports(self, first: tuple[NodeReport, ...], visited: Mapping[int, NodeReport]) -> tuple[NodeReport, ...]:
        """Return the reports of all hyper-nodes in their order, those of the visited ones among them, behind the
        `first`."""
        return (*first, *(visited.get(i, idle) for i, idle in self.skip_reports.items()))
