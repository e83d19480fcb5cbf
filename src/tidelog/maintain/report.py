"""The parts of a report about one hyper-node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.maintain.protocol import NodeReport
from tidelog.rules.core import HyperNode, Obstacle
from tidelog.rules.demand import DEMAND
from tidelog.rules.edges import head_of
from tidelog.rules.projections import PROJECTION
from tidelog.rules.selections import ALL, BEATEN, BEATS, BEST, KEYS, RANKED
from tidelog.storage.stored import StoredRelation

PREPARED = (PROJECTION, DEMAND, KEYS, BEST, RANKED, BEATS, BEATEN)
"""How the names of relations begin that only rewrites of the user's rules have made."""


def shown(relations: Iterable[str]) -> tuple[str, ...]:
    """Return the relations that a user knows; candidates are those of the relation that selects from them."""
    known = dict.fromkeys(name.removeprefix(ALL) for name in relations)
    return tuple(name for name in known if not name.startswith("#"))


def sizes_of(derived: Mapping[str, StoredRelation]) -> Mapping[str, int]:
    """Return the rows of the relations that a user knows."""
    rows: dict[str, int] = {}
    for name, stored in derived.items():
        for known in shown((name,)):
            rows[known] = max(stored.rows, rows.get(known, 0))
    return rows


def prepares(relations: Iterable[str]) -> bool:
    """Return True if these are relations that only rewrites have made, which reports leave out."""
    return all(name.startswith(PREPARED) for name in relations)


def names_of(node: HyperNode) -> tuple[str, ...]:
    """Return the names of the user's rules in a hyper-node; if it only prepares parts, of those rules."""
    written = [rule for rule in node.rules if not head_of(rule).startswith(PREPARED)]
    return tuple(dict.fromkeys(rule.origin for rule in written or node.rules))


class NodeLabels:
    """The names that reports about a hyper-node have: those of the relations `shown`, and of the user's rules."""

    def __init__(self, node: HyperNode) -> None:
        self.shown = shown(node.relations)
        self.names = names_of(node)
        self._is_demanded = any(f"{DEMAND}{name}" in node.reads_set for name in node.relations)
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
        whys = (unsettled.get(name) or obstacles[name] for name in own if name in unsettled or name in obstacles)
        why = next(whys, None)
        return reason if why is None else f"{reason}; dominated tuples are read: {why}"


def skipped(node: HyperNode) -> NodeReport:
    """Return the report of a hyper-node for which nothing has changed."""
    return NodeReport(shown(node.relations), names_of(node), "skip", "nothing that it reads has changed", 0.0, 0)
