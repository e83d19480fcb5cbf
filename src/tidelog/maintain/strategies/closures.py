"""Hyper-nodes kept as closures: graphs that follow the changes of their edges, or are built anew."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.maintain import undoing
from tidelog.maintain.closures import alike, edges_along, rows_only_in, sources_of
from tidelog.maintain.deltas import Delta
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.report import names_of, shown, skipped
from tidelog.maintain.strategies.pairs import forget, own
from tidelog.maintain.strategies.situation import budget, estimate, parted, situation_of
from tidelog.rules.core import ClosureShape, HyperNode
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.closure import Closure


def can_be_kept(node: HyperNode, state: EpochState) -> bool:
    """Return True if a hyper-node may be evaluated as a closure."""
    return (
        node.closure is not None
        and state.choice.closures
        and not (node.closure.linear and len(state.asserted[node.relations[0]]))
    )


def applies(node: HyperNode, state: EpochState) -> bool:
    """Return True if a hyper-node is a closure in this epoch. One that was evaluated otherwise, and has tuples, is not
    a closure before it is bootstrapped."""
    if not can_be_kept(node, state):
        return False
    name = node.relations[0]
    known = name in state.closures or not len(state.views[name])
    return known and not parted(node, state)


def visit(node: HyperNode, state: EpochState) -> NodeReport:
    """Skip, update or bootstrap a hyper-node that is kept as a closure."""
    started, name = time.perf_counter(), node.relations[0]
    situation = situation_of(node, state)
    reason = situation.reason
    state.kept.append(node)
    if name not in state.closures:
        own(state, name)
        forget(state, name)
    elif reason is None:
        return skipped(node)
    strategy, first = estimate(node, state, situation.old)
    if name in state.closures and not alike(state.closures[name][0], node.closure):
        strategy, reason, impact = "bootstrap", "its closure could not be kept", build(node, state)
    elif strategy == "bootstrap" and not (name in state.closures and len(state.views[name])):
        # An empty closure is not rebuilt by `follow`: to compare would look at each pair of nodes in a component.
        impact = build(node, state)
    else:
        seconds = 0.0 if strategy == "bootstrap" else float("inf")
        if state.choice.strategy == "auto" and strategy == "update":
            seconds, first = budget(node, state), "an update was given up"
        strategy, impact = follow(node, state, seconds)
    reason = reason or "it is evaluated as a closure from now on"
    if strategy == "bootstrap" and first:
        reason = f"{reason}; {first}"
    state.watch.derived += impact if strategy == "update" else len(state.views[name])
    return NodeReport(shown([name]), names_of(node), strategy, reason, time.perf_counter() - started, impact, 1)


def follow(node: HyperNode, state: EpochState, seconds: float) -> tuple[str, int]:
    """Let a closure follow the changes of its edges, by a rebuild once an update has taken so many seconds; returns
    the strategy that it took and the impact."""
    name = node.relations[0]
    assert node.closure is not None
    if name not in state.closures:
        graph = Closure(node.closure.symmetric, node.closure.irreflexive, state.engine.catalog.bits)
        shape = replace(node.closure, sources=())
        state.views[name] = ClosedRelation(state.engine.catalog, graph)
    else:
        shape, graph = state.closures[name]
        undoing.make_closures_ready()
        state.engine.readers.begin_closure(graph)
        state.followed.append(name)
    gone, came = edge_changes(state, name, shape, node.closure)
    state.closures[name] = node.closure, graph
    started = time.thread_time()
    with state.watch.telling(graph.nodes + len(came)):
        died, born, rebuilt = graph.change(gone, came, seconds, state.watch.look, state.watch.stop)
    if name not in state.followed:
        graph.keep()  # It goes as a whole where the epoch is taken back.
    if rebuilt:
        state.costs[name] = time.thread_time() - started
        state.wasted += seconds
    state.watch.look(len(graph) if rebuilt else len(died) + len(born))
    if len(died) or len(born):
        state.deltas[name] = Delta(born, died)
    return "bootstrap" if rebuilt else "update", len(died) + len(born)


def build(node: HyperNode, state: EpochState) -> int:
    """Evaluate a closure from all of its edges; return the impact."""
    name = node.relations[0]
    assert node.closure is not None
    started = time.thread_time()
    graph = Closure(node.closure.symmetric, node.closure.irreflexive, state.engine.catalog.bits)
    found = edges(state, name, node.closure)
    with state.watch.telling(sum(map(len, found))):
        graph.build(found, state.watch.look, state.watch.stop)
    state.costs[name] = time.thread_time() - started
    state.watch.look(len(graph))
    state.closures[name] = node.closure, graph
    new, old = ClosedRelation(state.engine.catalog, graph), state.views[name]
    state.views[name] = new
    if not len(old):
        state.note_new(name)
        return len(new)
    delta = Delta(rows_only_in(new, old, state.watch.look), rows_only_in(old, new, state.watch.look))
    if len(delta):
        state.deltas[name] = delta
    return len(delta)


def edges(state: EpochState, name: str, shape: ClosureShape) -> list[AnyWords]:
    """Return all edges of a closure, as they are now."""
    return [edges_along(source, state.history(source.relation, name).now()) for source in sources_of(name, shape)]


def edge_changes(state: EpochState, name: str, before: ClosureShape, shape: ClosureShape) -> tuple[AnyWords, AnyWords]:
    """Return the edges that a closure has lost and gained when its rules changed from one shape to another."""
    old, new = sources_of(name, before), sources_of(name, shape)
    gone, came = [], []
    for source in dict.fromkeys((*old, *new)):
        history = state.history(source.relation, name)
        if source in old and source in new:
            gone.append(edges_along(source, history.deleted))
            came.append(edges_along(source, history.inserted))
        elif source in new:
            came.append(edges_along(source, history.now()))
        elif source.relation in state.reshaped:
            gone.append(edges_along(source, state.engine.views[source.relation].words()))
        else:
            gone.append(edges_along(source, history.before()))
    return numpy.concatenate(gone), numpy.concatenate(came)
