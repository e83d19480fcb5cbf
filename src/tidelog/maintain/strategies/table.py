"""The table of strategies, which decides how a hyper-node is brought up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tidelog.maintain.epoch import EpochState
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.strategies import aggregates, closures, counters, members, mirrors, rules
from tidelog.rules.core import HyperNode

Applies: TypeAlias = Callable[[HyperNode, EpochState], bool]
Visit: TypeAlias = Callable[[HyperNode, EpochState], NodeReport]

STRATEGIES: tuple[tuple[Applies, Visit], ...] = (
    (mirrors.applies, mirrors.visit),
    (closures.applies, closures.visit),
    (members.applies, members.visit),
    (counters.applies, counters.visit),
    (aggregates.applies, aggregates.visit),
    (rules.applies, rules.visit),
)
"""The first strategy that applies to a hyper-node in the state of an epoch is taken."""


def visit(node: HyperNode, state: EpochState) -> NodeReport:
    """Bring a hyper-node up to date by the strategy of its kind, and report it."""
    return next(visit for applies, visit in STRATEGIES if applies(node, state))(node, state)
