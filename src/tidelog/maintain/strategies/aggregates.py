"""Hyper-nodes of one aggregate rule: groups that gained or lost members get new values."""

from __future__ import annotations

import numpy

from tidelog.common.arrays import Words
from tidelog.maintain.aggregates import update_aggregate
from tidelog.maintain.component_folds import update_folded
from tidelog.maintain.deltas import Delta, ends_of
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.large_groups import LargeGroups
from tidelog.maintain.machine import Inputs
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.strategies.rows import evaluate
from tidelog.maintain.strategies.situation import Situation
from tidelog.maintain.user_aggregates import OwnGroups
from tidelog.rules.core import AggregateRule, HyperNode
from tidelog.storage.members import ClosedMembers


def applies(node: HyperNode, state: EpochState) -> bool:
    """Return True if a hyper-node is that of an aggregate rule."""
    return bool(node.aggregates)


def visit(node: HyperNode, state: EpochState) -> NodeReport:
    """Skip, update or bootstrap the hyper-node of an aggregate rule."""
    return evaluate(node, state, update_groups)


def update_groups(node: HyperNode, state: EpochState, situation: Situation, inputs: Inputs) -> tuple[int, str]:
    """Update the groups that this epoch changes, or all where the rule is new; an `Update`."""
    rule, name = node.rules[0], node.relations[0]
    assert isinstance(rule, AggregateRule)
    state.open(state.views[name])
    everything = bool(situation.added)
    if everything:
        state.large.pop(name, None)
    if isinstance(inputs.relations[rule.inner], ClosedMembers):
        update_folded(rule, inputs, None if everything else changed_groups(node, state))
        return 1, ""
    large = state.large.setdefault(name, LargeGroups() if rule.own is None else OwnGroups())
    state.grouped.append(large)
    update_aggregate(rule, inputs, large, everything=everything)
    return 1, ""


def changed_groups(node: HyperNode, state: EpochState) -> Words:
    """Return the groups, not all distinct, whose pairs have changed in the closure that an aggregate folds."""
    rule = node.rules[0]
    assert isinstance(rule, AggregateRule)
    assert node.folds is not None
    members = state.views[rule.inner]
    assert isinstance(members, ClosedMembers)
    none = numpy.empty((0, 2), numpy.int64)
    delta = state.deltas.get(node.folds, Delta(none, none))
    column = 1 if members.backward else 0
    ends = numpy.concatenate([ends_of(rows, column) for rows in (delta.deleted, delta.inserted)])
    return ends.reshape(-1, 1)[:, : rule.groups].astype(numpy.int64)
