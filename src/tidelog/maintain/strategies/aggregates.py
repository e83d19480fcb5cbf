"""Hyper-nodes of one aggregate rule: groups that gained or lost members get new values."""

from __future__ import annotations

from tidelog.engine import NodeReport
from tidelog.maintain.aggregates import update_aggregate
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.large_groups import LargeGroups
from tidelog.maintain.machine import Inputs
from tidelog.maintain.strategies.rows import evaluate
from tidelog.maintain.strategies.situation import Situation
from tidelog.maintain.user_aggregates import OwnGroups
from tidelog.rules.core import AggregateRule, HyperNode


def applies(node: HyperNode, state: EpochState) -> bool:
    """Return True if a hyper-node is that of an aggregate rule."""
    return any(isinstance(rule, AggregateRule) for rule in node.rules)


def visit(node: HyperNode, state: EpochState) -> NodeReport:
    """Skip, update or bootstrap the hyper-node of an aggregate rule."""
    return evaluate(node, state, update_groups)


def update_groups(node: HyperNode, state: EpochState, situation: Situation, inputs: Inputs) -> tuple[int, str]:
    """Update the groups that this epoch changes, or all where the rule is new; an `Update`."""
    rule, name = node.rules[0], node.relations[0]
    assert isinstance(rule, AggregateRule)
    state.open(state.views[name])
    if situation.added:
        state.large.pop(name, None)
    large = state.large.setdefault(name, LargeGroups() if rule.own is None else OwnGroups())
    state.grouped.append(large)
    update_aggregate(rule, inputs, large, everything=bool(situation.added))
    return 1, ""
