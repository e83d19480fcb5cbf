"""Hyper-nodes of the members of groups that are pairs of a closure: they show the closure, and write no pair."""

from __future__ import annotations

from tidelog.maintain.epoch import EpochState
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.report import names_of, shown, skipped
from tidelog.maintain.strategies.situation import parted
from tidelog.rules.core import HyperNode
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.members import ClosedMembers


def applies(node: HyperNode, state: EpochState) -> bool:
    """Return True if the members of groups are pairs of a relation that is kept as a closure in this epoch."""
    if node.members is None or not isinstance(state.views[node.members.closure], ClosedRelation):
        return False
    return not parted(node, state)


def visit(node: HyperNode, state: EpochState) -> NodeReport:
    """Let the members of groups follow the closure and the groups asked for."""
    assert node.members is not None
    name, shape, before = node.relations[0], node.members, state.views[node.relations[0]]
    pairs, asked = state.views[shape.closure], state.views[shape.outer]
    assert isinstance(pairs, ClosedRelation)
    state.kept.append(node)
    known = isinstance(before, ClosedMembers)
    if not isinstance(before, ClosedMembers) or before.pairs is not pairs or before.asked is not asked:
        state.views[name] = ClosedMembers(pairs, asked, shape.backward)
    changed = [each for each in (shape.closure, shape.outer) if each in state.deltas]
    if known and not changed:
        return skipped(node)
    strategy, reason = ("update", f"{', '.join(shown(changed)) or 'an aggregate or a path'} changed")
    if not known:
        strategy, reason = "bootstrap", "its members are read from a closure"
    strategy = strategy if state.choice.strategy == "auto" else state.choice.strategy
    return NodeReport(shown([name]), names_of(node), strategy, reason, 0.0, 0, 1)
