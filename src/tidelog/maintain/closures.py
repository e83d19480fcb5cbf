"""Hyper-nodes that are closures: which are kept as such, how they follow an epoch, and when their pairs are written.

The pairs of a closure stay unwritten (`ClosedRelation`) also where rules join them; what an epoch changes is shown to
those that follow it (`show`). They are written only for a relation that is no closure any more (`own`). A relation that
only shows the closure of a path under another name shares its graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import proxy

import numpy

from tidelog.arrays import AnyWords
from tidelog.looking import Look
from tidelog.maintain import undoing
from tidelog.maintain.deltas import Delta, rows_of
from tidelog.maintain.overlay import Overlay
from tidelog.maintain.report import NodeReport, shown
from tidelog.rules.closures import copied
from tidelog.rules.core import ClosureShape, CoreRule, EdgeSource, HyperNode
from tidelog.rules.edges import body_of
from tidelog.storage.catalog import Catalog
from tidelog.storage.closure import ClosedRelation, Closure
from tidelog.storage.stored import StoredRelation

if TYPE_CHECKING:
    from tidelog.maintain.epoch import Attempt


@dataclass(frozen=True)
class History:
    """The rows of a relation, as they are now, and what this epoch has added and removed."""

    now: Callable[[], AnyWords]
    inserted: AnyWords
    deleted: AnyWords

    def before(self) -> AnyWords:
        """The rows as the epoch found them."""
        now, fresh = self.now(), StoredRelation(Catalog(64), self.inserted.shape[1])
        fresh.insert(self.inserted)
        return numpy.concatenate([now[fresh.find(now) < 0] if len(fresh) else now, self.deleted])


class Closures:
    """The closures of the hyper-nodes in one epoch. `kept` maps their relations to shape and graph."""

    def __init__(self, epoch: Attempt) -> None:
        # Without a cycle: an epoch that outlives itself keeps changes alive, which then have to be copied.
        self.epoch: Attempt = proxy(epoch)
        self.kept = Overlay(epoch.engine.closures)
        self.mirrors = Overlay(epoch.engine.mirrors)
        self.changed: list[str] = []
        """Closures that have been changed in place."""
        self.written: set[str] = set()
        """Relations for which the pairs of a closure had to be written."""

    # --- who is kept as what -----------------------------------------------------------------------------------------

    def can_be_kept(self, node: HyperNode) -> bool:
        """Whether a hyper-node may be evaluated as a closure."""
        return (
            node.closure is not None
            and self.epoch.choice.closures
            and not (node.closure.linear and len(self.epoch.asserted[node.relations[0]]))
        )

    def is_kept(self, node: HyperNode) -> bool:
        """Whether a hyper-node is a closure in this epoch. One that has been evaluated otherwise, and has tuples, is
        none before it is bootstrapped."""
        name = node.relations[0]
        known = name in self.kept or not len(self.epoch.views[name])
        return known and self.can_be_kept(node) and not self.epoch.parted(node)

    def can_mirror(self, node: HyperNode) -> bool:
        """Whether the relation of a node can share the graph of the closure that it shows."""
        name, views = node.relations[0], self.epoch.engine.views
        fresh = name not in views or (not len(views[name]) and name not in self.epoch.engine.mirrors)
        same = self.epoch.engine.mirrors.get(name) == node.mirrors
        own = len(self.epoch.asserted[name]) or name in self.epoch.structure.folded or self.epoch.parted(node)
        return (fresh or same) and not own

    def is_mirror(self, node: HyperNode) -> bool:
        """Whether the relation of a node shares the graph of a closure in this epoch."""
        return node.mirrors in self.kept and self.can_mirror(node)

    # --- visiting hyper-nodes ----------------------------------------------------------------------------------------

    def visit(
        self,
        node: HyperNode,
        names: tuple[str, ...],
        reason: str | None,
        reads: Mapping[str, None],
        old: list[HyperNode],
    ) -> NodeReport:
        """Skip, update or bootstrap a hyper-node that is kept as a closure."""
        started, name, epoch = time.perf_counter(), node.relations[0], self.epoch
        epoch.kept.append(node)
        if name not in self.kept:
            self.own(name)
            self.forget(name)
        elif reason is None:
            return NodeReport(shown([name]), names, "skip", "nothing that it reads has changed", 0.0, 0)
        strategy, first = epoch.estimate(node, reads, old)
        if name in self.kept and not _alike(self.kept[name][0], node.closure):
            strategy, reason, impact = "bootstrap", "its closure could not be kept", self.build(node)
        elif strategy == "bootstrap" and name not in self.kept:
            impact = self.build(node)
        else:
            seconds = 0.0 if strategy == "bootstrap" else float("inf")
            if epoch.choice.strategy == "auto" and strategy == "update":
                seconds, first = epoch.budget(node), "an update was given up"
            strategy, impact = self.follow(node, seconds)
        reason = reason or "it is evaluated as a closure from now on"
        if strategy == "bootstrap" and first:
            reason = f"{reason}; {first}"
        epoch.watch.derived += impact if strategy == "update" else len(epoch.views[name])
        return NodeReport(shown([name]), names, strategy, reason, time.perf_counter() - started, impact, 1)

    def visit_mirror(self, node: HyperNode, names: tuple[str, ...]) -> NodeReport:
        """Let a relation that shows a closure under its own name follow it."""
        name, epoch = node.relations[0], self.epoch
        epoch.kept.append(node)
        fresh = self.mirror(node)
        impact = len(epoch.deltas.get(name, ()))
        if not impact and not fresh:
            return NodeReport(shown([name]), names, "skip", "nothing that it reads has changed", 0.0, 0)
        strategy, reason = ("bootstrap", "new") if fresh else ("update", "its path changed")
        strategy = strategy if epoch.choice.strategy == "auto" else epoch.choice.strategy
        return NodeReport(shown([name]), names, strategy, reason, 0.0, impact, 1)

    # --- following an epoch ------------------------------------------------------------------------------------------

    def follow(self, node: HyperNode, seconds: float) -> tuple[str, int]:
        """Let a closure follow the changes of its edges, by a rebuild once an update has taken so many seconds; returns
        the strategy that it took and the impact."""
        name, epoch = node.relations[0], self.epoch
        assert node.closure is not None
        if name not in self.kept:
            graph = Closure(node.closure.symmetric, node.closure.irreflexive, epoch.engine.catalog.bits)
            shape = replace(node.closure, sources=())
            epoch.views[name] = ClosedRelation(epoch.engine.catalog, graph)
        else:
            shape, graph = self.kept[name]
            undoing.make_closures_ready()
            self.changed.append(name)
        gone, came = self.edge_changes(name, shape, node.closure)
        self.kept[name] = node.closure, graph
        started = time.thread_time()
        with epoch.watch.telling(graph.nodes + len(came)):
            died, born, rebuilt = graph.change(gone, came, seconds, epoch.watch.look, epoch.watch.stop)
        if name not in self.changed:
            graph.keep()  # It goes as a whole where the epoch is taken back.
        if rebuilt:
            epoch.costs[name] = time.thread_time() - started
            epoch.wasted += seconds
        epoch.watch.look(len(graph) if rebuilt else len(died) + len(born))
        epoch.watch.look_at(name, len(graph))
        if len(died) or len(born):
            epoch.deltas[name] = Delta(born, died)
        return "bootstrap" if rebuilt else "update", len(died) + len(born)

    def build(self, node: HyperNode) -> int:
        """Evaluate a closure from all of its edges; returns the impact."""
        name, epoch = node.relations[0], self.epoch
        assert node.closure is not None
        started = time.thread_time()
        graph = Closure(node.closure.symmetric, node.closure.irreflexive, epoch.engine.catalog.bits)
        edges = self.edges(name, node.closure)
        with epoch.watch.telling(sum(map(len, edges))):
            graph.build(edges, epoch.watch.look, epoch.watch.stop)
        epoch.costs[name] = time.thread_time() - started
        epoch.watch.look(len(graph))
        epoch.watch.look_at(name, len(graph))
        self.kept[name] = node.closure, graph
        new, old = ClosedRelation(epoch.engine.catalog, graph), epoch.views[name]
        epoch.views[name] = new
        if not len(old):
            epoch.note_new(name)
            return len(new)
        delta = Delta(_only(new, old, epoch.watch.look), _only(old, new, epoch.watch.look))
        if len(delta):
            epoch.deltas[name] = delta
        return len(delta)

    def mirror(self, node: HyperNode) -> bool:
        """Share the graph of the closure that a relation shows; whether it showed another before."""
        name, source, epoch = node.relations[0], str(node.mirrors), self.epoch
        graph, view = self.kept[source][1], epoch.views[name]
        epoch.watch.look_at(name, len(graph))
        if not isinstance(view, ClosedRelation) or view.closure is not graph:
            epoch.views[name] = ClosedRelation(epoch.engine.catalog, graph)
        known = self.mirrors.get(name) == source
        self.mirrors[name] = source
        if not known and len(epoch.views[source]):
            none = numpy.empty((0, 2), numpy.int64)
            epoch.deltas[name] = Delta(epoch.engine.whole(epoch.views[source]), none)
        elif source in epoch.deltas:
            epoch.deltas[name] = epoch.deltas[source]
        return not known

    def changes(self, relations: Iterable[str]) -> int:
        """The number of pairs that this epoch has changed in the closures among these relations."""
        deltas = self.epoch.deltas
        changed = [name for name in relations if name in deltas and isinstance(self.epoch.views[name], ClosedRelation)]
        return sum(len(deltas[name]) for name in changed)

    def show(self, relations: Mapping[str, StoredRelation], rules: Sequence[CoreRule]) -> None:
        """Let an update see what this epoch has changed in the closures among `relations` that these rules read."""
        for name in dict.fromkeys(name for rule in rules for name, _ in body_of(rule)):
            view = relations[name]
            if isinstance(view, ClosedRelation) and not view.changing:
                changed = name
                if self.epoch.views.get(name) is not view:  # Only dropped rules read it; its graph may live on.
                    changed = next((other for other in self.changed if self.kept[other][1] is view.closure), "")
                if changed in self.epoch.deltas:
                    delta = self.epoch.deltas[changed]
                    self.epoch.opened[id(view)] = view
                    view.show(rows_of(delta.deleted), rows_of(delta.inserted))

    def is_reduced(self, node: HyperNode) -> bool:
        """Whether a closure has lost its recursive rules and is left with rules that copy its edges, which it has."""
        copies = all(isinstance(rule, CoreRule) and copied(rule) for rule in node.rules)
        return node.relations[0] in self.kept and not node.recursive and copies

    def part_with(self, node: HyperNode, *, changed: bool) -> bool:
        """Give the relations of a node that is evaluated by its rules rows of their own; whether it has to be evaluated
        anew: counts are not known for what was a closure, nor for what showed one when its rules have `changed`."""
        anew = False
        for name in node.relations:
            anew |= name in self.kept or (name in self.mirrors and changed)
            self.own(name)
            self.forget(name)
        return anew

    def told(self, relations: Sequence[str], reason: str) -> str:
        """The reason for what happened to these relations, and that pairs had to be written for them."""
        return reason if self.written.isdisjoint(relations) else f"{reason}; the pairs of its closure were written"

    def forget(self, name: str) -> None:
        """Let a relation be no closure and no mirror."""
        self.kept.pop(name, None)
        self.mirrors.pop(name, None)

    def own(self, name: str) -> StoredRelation:
        """Give a relation rows of its own, as the epoch found them."""
        view = self.epoch.views[name]
        if isinstance(view, ClosedRelation) and len(view):
            self.written.add(name)
        if name in self.mirrors:
            own = StoredRelation(self.epoch.engine.catalog, view.arity)
            own.insert(self.history(self.mirrors[name]).before())
            own.settle()
            self.epoch.views[name] = own
        elif isinstance(view, ClosedRelation):
            self.epoch.views[name] = view.write(self.epoch.watch.look)
        return self.epoch.views[name]

    # --- edges -------------------------------------------------------------------------------------------------------

    def edges(self, name: str, shape: ClosureShape) -> list[AnyWords]:
        """All edges of a closure, as they are now."""
        return [_edges(source, self.history(source.relation, name).now()) for source in _sources(name, shape)]

    def edge_changes(self, name: str, before: ClosureShape, shape: ClosureShape) -> tuple[AnyWords, AnyWords]:
        """The edges that a closure has lost and gained, its rules having changed from one shape to another."""
        old, new = _sources(name, before), _sources(name, shape)
        gone, came = [], []
        for source in dict.fromkeys((*old, *new)):
            history = self.history(source.relation, name)
            if source in old and source in new:
                gone.append(_edges(source, history.deleted))
                came.append(_edges(source, history.inserted))
            elif source in new:
                came.append(_edges(source, history.now()))
            elif source.relation in self.epoch.reshaped:
                gone.append(_edges(source, self.epoch.engine.views[source.relation].words()))
            else:
                gone.append(_edges(source, history.before()))
        return numpy.concatenate(gone), numpy.concatenate(came)

    def history(self, relation: str, closure: str = "") -> History:
        """What has happened to a relation in this epoch; to the asserted facts of the `closure` itself."""
        epoch = self.epoch
        if relation == closure:
            stored = epoch.asserted[relation]
            none = stored.words(0)
            came, went = epoch.facts.get(relation, (none, none))
            return History(stored.words, came, went)
        stored = epoch.views[relation] if relation in epoch.views else epoch.engine.views[relation]
        none = numpy.empty((0, stored.arity), numpy.int64)
        delta = epoch.deltas.get(relation, Delta(none, none))
        return History(stored.words, rows_of(delta.inserted), rows_of(delta.deleted))


def _only(one: StoredRelation, other: StoredRelation, look: Look) -> AnyWords:
    """The rows that `one` has and not `other`, one of which is a closure. What `look` raises ends the work."""
    rows = [numpy.empty((0, 2), numpy.int64)]
    for batch in one.batches():
        look()
        there = other.closure.holds(batch) if isinstance(other, ClosedRelation) else other.find(batch) >= 0
        rows.append(batch[~there])
    return numpy.concatenate(rows)


def _alike(one: ClosureShape, other: ClosureShape | None) -> bool:
    """Whether the same graph can follow both."""
    return other is not None and (one.symmetric, one.irreflexive) == (other.symmetric, other.irreflexive)


def _sources(name: str, shape: ClosureShape) -> tuple[EdgeSource, ...]:
    return (*shape.sources, EdgeSource(name, "forward"))


def _edges(source: EdgeSource, rows: AnyWords) -> AnyWords:
    """The edges that rows of a source stand for, shape (n, 2)."""
    if source.form == "loop":
        return numpy.repeat(rows, 2, axis=1)
    return rows if source.form == "forward" else rows[:, ::-1]


def rebuilt(shape: ClosureShape, views: Mapping[str, StoredRelation], facts: StoredRelation) -> Closure:
    """The closure over relations as they are, outside of an epoch."""
    graph = Closure(shape.symmetric, shape.irreflexive, facts.catalog.bits)
    graph.build(all_edges(shape, views, facts))
    return graph


def births(graph: Closure, rows: AnyWords, edges: Sequence[AnyWords], look: Look) -> AnyWords:
    """Numbers for the pairs of a closure, int64, such that each follows from pairs with smaller ones: twice the length
    of a shortest way, and one less for an edge, so that it comes before the same edge turned round. What `look` raises
    ends the work."""
    numbers = 2 * graph.lengths(rows, look)
    short = numpy.flatnonzero(numbers == 2)
    along = StoredRelation(Catalog(graph.bits), 2)
    for words in edges:
        along.insert(numpy.ascontiguousarray(words, numpy.int64))
    numbers[short[along.find(rows[short].astype(numpy.int64)) >= 0]] = 1
    return numbers


def all_edges(shape: ClosureShape, views: Mapping[str, StoredRelation], facts: StoredRelation) -> list[AnyWords]:
    """The edges of a closure over relations as they are, outside of an epoch."""
    return [*(_edges(source, views[source.relation].words()) for source in shape.sources), facts.words()]
