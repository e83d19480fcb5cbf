"""The report of an epoch, hyper-node by hyper-node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tidelog.rules.core import HyperNode
from tidelog.rules.demand import DEMAND
from tidelog.rules.edges import body_of, head_of
from tidelog.rules.projections import PROJECTION

PREPARED = (PROJECTION, DEMAND)
"""How the names of relations begin that only rewrites of the user's rules have made."""


@dataclass(frozen=True)
class NodeReport:
    """One hyper-node in one epoch.

    `relations` are those of the user's that it derives, none where it only prepares a path, an aggregate or a part of a
    body (see docs/theory.md); `rules` are the names of the user's rules, `strategy` is "skip", "update", "bootstrap" or
    "drop" and `reason` the reason for it, `impact` is the number of tuples inserted and deleted, `rounds` the rounds of
    semi-naive evaluation.
    """

    relations: tuple[str, ...]
    rules: tuple[str, ...]
    strategy: str
    reason: str
    seconds: float
    impact: int
    rounds: int = 0


@dataclass(frozen=True)
class Report:
    """One epoch: `seconds` in all, the hyper-nodes that it has `visited`, and of the seconds those spent on making room
    (`growing`). `every` makes the reports of all hyper-nodes, where there are others."""

    seconds: float
    visited: tuple[NodeReport, ...]
    growing: float = 0.0
    every: Callable[[], tuple[NodeReport, ...]] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def nodes(self) -> tuple[NodeReport, ...]:
        """All hyper-nodes, in the order of evaluation."""
        return self.visited if self.every is None else self.every()

    def __getstate__(self) -> dict[str, Any]:
        """Return everything, for copies that know no hyper-nodes."""
        return {**vars(self), "nodes": self.nodes, "every": None}

    @property
    def bootstraps(self) -> int:
        """The number of hyper-nodes that were evaluated from scratch."""
        return sum(node.strategy == "bootstrap" for node in self.visited)

    @property
    def updates(self) -> int:
        """The number of hyper-nodes that were updated."""
        return sum(node.strategy == "update" for node in self.visited)

    @property
    def impact(self) -> int:
        """The number of derived tuples that were inserted or deleted."""
        return sum(node.impact for node in self.visited)


def shown(relations: Iterable[str]) -> tuple[str, ...]:
    """Return the relations that a user knows."""
    return tuple(name for name in relations if not name.startswith("#"))


def prepares(relations: Iterable[str]) -> bool:
    """Return True if these are relations that only rewrites have made, which reports leave out."""
    return all(name.startswith(PREPARED) for name in relations)


def names_of(node: HyperNode) -> tuple[str, ...]:
    """Return the names of the user's rules in a hyper-node; if it only prepares parts, of those rules."""
    written = [rule for rule in node.rules if not head_of(rule).startswith(PREPARED)]
    return tuple(dict.fromkeys(rule.origin for rule in written or node.rules))


def with_demand(reason: str, node: HyperNode) -> str:
    """Return the reason for the strategy of a hyper-node, and True if it has relations that are derived on demand."""
    read = {name for rule in node.rules for name, _ in body_of(rule)}
    demanded = any(f"{DEMAND}{name}" in read for name in shown(node.relations))
    return f"{reason}; on demand" if demanded else reason


def skipped(node: HyperNode) -> NodeReport:
    """Return the report of a hyper-node for which nothing has changed."""
    return NodeReport(shown(node.relations), names_of(node), "skip", "nothing that it reads has changed", 0.0, 0)
