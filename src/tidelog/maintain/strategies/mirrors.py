"""Hyper-nodes that show a closure under another name: their relations share its graph."""

from __future__ import annotations

import numpy

from tidelog.maintain.deltas import Delta
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.report import names_of, shown, skipped
from tidelog.maintain.strategies.situation import parted
from tidelog.rules.core import HyperNode
from tidelog.storage.closed_relation import ClosedRelation


def can_mirror(node: HyperNode, state: EpochState) -> bool:
    """Return True if the relation of a node can share the graph of the closure that it shows."""
    name, views = node.relations[0], state.engine.views
    fresh = name not in views or (not len(views[name]) and name not in state.engine.mirrors)
    same = state.engine.mirrors.get(name) == node.mirrors
    own = len(state.asserted[name]) or name in state.structure.folded or parted(node, state)
    return (fresh or same) and not own


def applies(node: HyperNode, state: EpochState) -> bool:
    """Return True if the relation of a node shares the graph of a closure in this epoch."""
    return node.mirrors in state.closures and can_mirror(node, state)


def visit(node: HyperNode, state: EpochState) -> NodeReport:
    """Let a relation that shows a closure under its own name follow it."""
    name = node.relations[0]
    state.kept.append(node)
    fresh = mirror(node, state)
    impact = len(state.deltas.get(name, ()))
    if not impact and not fresh:
        return skipped(node)
    strategy, reason = ("bootstrap", "new") if fresh else ("update", "its path changed")
    strategy = strategy if state.choice.strategy == "auto" else state.choice.strategy
    return NodeReport(shown([name]), names_of(node), strategy, reason, 0.0, impact, 1)


def mirror(node: HyperNode, state: EpochState) -> bool:
    """Share the graph of the closure that a relation shows; whether it showed another before."""
    name, source = node.relations[0], str(node.mirrors)
    graph, view = state.closures[source][1], state.views[name]
    if not isinstance(view, ClosedRelation) or view.closure is not graph:
        state.views[name] = ClosedRelation(state.engine.catalog, graph)
    state.closures.pop(name, None)  # It may have been an empty closure of its own.
    known = state.mirrors.get(name) == source
    state.mirrors[name] = source
    if not known:
        if len(state.views[source]):
            none = numpy.empty((0, 2), numpy.int64)
            state.deltas[name] = Delta(state.engine.whole(state.views[source]), none)
    elif source in state.deltas:
        state.deltas[name] = state.deltas[source]
    return not known
