"""Hyper-nodes kept as graphs: closures, relations that show one under another name, and members of groups in one.

A closure follows the changes of its edges, or is built anew. Its pairs stay unwritten (`ClosedRelation`), also where
rules join them. Updates of other hyper-nodes see what an epoch changes in them (`show_changed_pairs`). They are written
only for a relation that is no closure any more (`write_pairs`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.maintain.deltas import Delta, rows_of
from tidelog.maintain.epoch import EpochState, load_closure_undo_kernels
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.state import all_edges, can_take_over, edges_along, rows_only_in, sources_of
from tidelog.maintain.strategies.situation import budget, estimate, is_broken_up, situation_of
from tidelog.maintain.structure import report_of, skip_report, user_relations
from tidelog.rules.core import ClosureShape, CoreRule, HyperNode
from tidelog.storage.closed_relation import ClosedMembers, ClosedRelation
from tidelog.storage.closure import Closure
from tidelog.storage.stored import StoredRelation


def can_be_kept(node: HyperNode, state: EpochState) -> bool:
    """Return True if a hyper-node may be evaluated as a closure."""
    return (
        node.closure is not None
        and state.choice.closures
        and not (node.closure.linear and len(state.asserted[node.relations[0]]))
    )


def is_closure(node: HyperNode, state: EpochState) -> bool:
    """Return True if a hyper-node is a closure in this epoch. One that was evaluated otherwise, and has tuples, is not
    a closure before it is bootstrapped."""
    if not can_be_kept(node, state):
        return False
    name = node.relations[0]
    known = name in state.closures or not len(state.views[name])
    return known and not is_broken_up(node, state)


def visit_closure(node: HyperNode, state: EpochState) -> NodeReport:
    """Skip, update or bootstrap a hyper-node that is kept as a closure."""
    started, name = time.perf_counter(), node.relations[0]
    situation = situation_of(node, state)
    reason = situation.reason
    state.kept.append(node)
    if name not in state.closures:
        write_pairs(state, name)
        forget_closure(state, name)
    elif reason is None:
        return skip_report(node)
    strategy, first = estimate(node, state, situation)
    if name in state.closures and not can_take_over(state.closures[name][0], node.closure):
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
    return report_of(node, strategy, reason, impact, time.perf_counter() - started)


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
        load_closure_undo_kernels()
        state.engine.readers.begin_closure(graph)
        state.followed.append(name)
    removed, inserted = edge_changes(state, name, shape, node.closure)
    state.closures[name] = node.closure, graph
    started = time.thread_time()
    with state.watch.stop_kernels(graph.nodes + len(inserted)):
        died, born, rebuilt = graph.change(removed, inserted, seconds, state.watch.look, state.watch.stop)
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
    found = all_edges(node.closure, state.views, state.asserted[name])
    with state.watch.stop_kernels(sum(map(len, found))):
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


def edge_changes(state: EpochState, name: str, before: ClosureShape, shape: ClosureShape) -> tuple[AnyWords, AnyWords]:
    """Return the edges that a closure has lost and gained when its rules changed from one shape to another."""
    old, new = sources_of(name, before), sources_of(name, shape)
    removed, inserted = [], []
    for source in dict.fromkeys((*old, *new)):
        history = state.history(source.relation, name)
        if source in old and source in new:
            removed.append(edges_along(source, history.deleted))
            inserted.append(edges_along(source, history.inserted))
        elif source in new:
            inserted.append(edges_along(source, history.now()))
        elif source.relation in state.reshaped:
            removed.append(edges_along(source, state.engine.views[source.relation].words()))
        else:
            removed.append(edges_along(source, history.before()))
    return numpy.concatenate(removed), numpy.concatenate(inserted)


def shares_closure(node: HyperNode, state: EpochState) -> bool:
    """Return True if the relation of a node shares the graph of the closure that it shows in this epoch."""
    if node.mirrors not in state.closures:
        return False
    name, views = node.relations[0], state.engine.views
    fresh = name not in views or (not len(views[name]) and name not in state.engine.mirrors)
    same = state.engine.mirrors.get(name) == node.mirrors
    own = len(state.asserted[name]) or name in state.structure.folded_relations or is_broken_up(node, state)
    return (fresh or same) and not own


def visit_mirror(node: HyperNode, state: EpochState) -> NodeReport:
    """Let a relation that shows a closure under its own name follow it."""
    name = node.relations[0]
    state.kept.append(node)
    fresh = share_closure(node, state)
    impact = len(state.deltas.get(name, ()))
    if not impact and not fresh:
        return skip_report(node)
    strategy, reason = ("bootstrap", "new") if fresh else ("update", "its path changed")
    return report_of(node, state.choice.name_of(strategy), reason, impact)


def share_closure(node: HyperNode, state: EpochState) -> bool:
    """Share the graph of the closure that a relation shows; return True if it did not before."""
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


def reads_closure(node: HyperNode, state: EpochState) -> bool:
    """Return True if the members of groups are pairs of a relation that is kept as a closure in this epoch."""
    if node.members is None or not isinstance(state.views[node.members.closure], ClosedRelation):
        return False
    return not is_broken_up(node, state)


def visit_members(node: HyperNode, state: EpochState) -> NodeReport:
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
        return skip_report(node)
    strategy, reason = "update", f"{', '.join(user_relations(changed)) or 'an aggregate or a path'} changed"
    if not known:
        strategy, reason = "bootstrap", "its members are read from a closure"
    return report_of(node, state.choice.name_of(strategy), reason, 0)


def show_changed_pairs(state: EpochState, relations: Mapping[str, StoredRelation], rules: Iterable[CoreRule]) -> None:
    """Let an update see the changes of this epoch in the closures among `relations` that these rules read."""
    if not [view for view in relations.values() if isinstance(view, ClosedRelation)]:
        return
    for name in dict.fromkeys(name for rule in rules for name, _ in rule.reads):
        view = relations[name]
        if isinstance(view, ClosedRelation) and not view.changing:
            changed = name
            if state.views.get(name) is not view:  # Only dropped rules read it; its graph may live on.
                changed = next((other for other in state.followed if state.closures[other][1] is view.closure), "")
            if changed in state.deltas:
                delta = state.deltas[changed]
                state.opened[id(view)] = view
                view.show(rows_of(delta.deleted), rows_of(delta.inserted))


def take_own_rows(node: HyperNode, state: EpochState, *, changed: bool) -> bool:
    """Give the relations of a node that is evaluated by its rules rows of their own; whether it has to be evaluated
    anew: counts are unknown for former closures, and for relations that showed one when its rules have `changed`."""
    anew = False
    if state.closures.lacks(node.derives) and state.mirrors.lacks(node.derives):
        views = state.views.several(node.relations)
        if not any(isinstance(view, ClosedRelation) for view in views):
            return False
    for name in node.relations:
        anew |= name in state.closures or (name in state.mirrors and changed)
        write_pairs(state, name)
        forget_closure(state, name)
    return anew


def reason_with_writing(state: EpochState, relations: Sequence[str], reason: str) -> str:
    """Return the reason for the strategy of these relations, and add that pairs had to be written for them."""
    return reason if state.written.isdisjoint(relations) else f"{reason}; the pairs of its closure were written"


def forget_closure(state: EpochState, name: str) -> None:
    """Let a relation be no closure and no mirror."""
    state.closures.pop(name, None)
    state.mirrors.pop(name, None)


def write_pairs(state: EpochState, name: str) -> StoredRelation:
    """Give a relation rows of its own, as the epoch found them."""
    view = state.views[name]
    if isinstance(view, ClosedRelation) and len(view):
        state.written.add(name)
    if isinstance(view, ClosedMembers):
        state.views[name] = _store(state, members_before(state, name))
    elif name in state.mirrors:
        state.views[name] = _store(state, state.history(state.mirrors[name]).before())
    elif isinstance(view, ClosedRelation):
        state.views[name] = view.write(state.watch.look)
    return state.views[name]


def members_before(state: EpochState, name: str) -> AnyWords:
    """Return the members of groups that were pairs of a closure, as the epoch found them."""
    node = state.engine.structure.node_of(name)
    assert node is not None
    assert node.members is not None
    shape = node.members
    rows, asked = (state.history(each).before() for each in (shape.closure, shape.outer))
    if shape.backward:
        rows = rows[:, ::-1]
    if not asked.shape[1]:
        return rows[: len(rows) if len(asked) else 0]
    return rows[numpy.isin(rows[:, 0], asked[:, 0])]


def _store(state: EpochState, rows: AnyWords) -> StoredRelation:
    """Return a relation of its own with these rows, of which each has one derivation."""
    stored = StoredRelation(state.engine.catalog, rows.shape[1])
    stored.insert(numpy.ascontiguousarray(rows))
    stored.settle()
    return stored
