"""The state of an engine between two epochs: facts, views, hyper-nodes, and the state that maintains them.

A closure is a graph. Its edges come from relations and its own facts; births of its pairs follow from lengths of ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakSet

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.common.looking import Look, ignore_limits
from tidelog.maintain.deltas import Whole
from tidelog.maintain.early import EarlyChoice
from tidelog.maintain.large_groups import LargeGroups
from tidelog.maintain.structure import Structure, prepares, rule_names
from tidelog.maintain.update_plans import Maintained
from tidelog.maintain.user_aggregates import OwnGroups
from tidelog.rules.core import ClosureShape, CoreProgram, EdgeSource, HyperNode
from tidelog.rules.early_projections import EarlyProgram
from tidelog.storage.catalog import Catalog
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.closure import Closure
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.readers import Readers
from tidelog.storage.stored import StoredRelation


def rows_only_in(one: StoredRelation, other: StoredRelation, look: Look) -> AnyWords:
    """Return the rows of `one` that are not in `other`; one of the two is a closure. An exception of `look` ends the
    work."""
    rows = [numpy.empty((0, 2), numpy.int64)]
    for batch in one.batches():
        look()
        there = other.closure.holds(batch) if isinstance(other, ClosedRelation) else other.find(batch) >= 0
        rows.append(batch[~there])
    return numpy.concatenate(rows)


def can_take_over(one: ClosureShape, other: ClosureShape | None) -> bool:
    """Return True if the graph of one shape can follow the other one."""
    return other is not None and (one.symmetric, one.irreflexive) == (other.symmetric, other.irreflexive)


def sources_of(name: str, shape: ClosureShape) -> tuple[EdgeSource, ...]:
    """Return all sources of a closure's edges, the asserted facts of its own relation among them."""
    return (*shape.sources, EdgeSource(name, "forward"))


def edges_along(source: EdgeSource, rows: AnyWords) -> AnyWords:
    """Return the edges that rows of a source stand for, shape (n, 2)."""
    if source.form == "loop":
        return numpy.repeat(rows, 2, axis=1)
    return rows if source.form == "forward" else rows[:, ::-1]


def closure_over(shape: ClosureShape, views: Mapping[str, StoredRelation], facts: StoredRelation) -> Closure:
    """Return the closure over relations as they are, outside of an epoch."""
    graph = Closure(shape.symmetric, shape.irreflexive, facts.catalog.bits)
    graph.build(all_edges(shape, views, facts))
    return graph


def closure_births(graph: Closure, rows: AnyWords, edges: Sequence[AnyWords], look: Look) -> AnyWords:
    """Return numbers for the pairs of a closure, int64, such that each pair follows from pairs with smaller ones. A
    number is twice the length of a shortest way, and one less for an edge, so that it comes before the same edge turned
    round. An exception of `look` ends the work."""
    numbers = 2 * graph.lengths(rows, look)
    short = numpy.flatnonzero(numbers == 2)
    along = StoredRelation(Catalog(graph.bits), 2)
    for words in edges:
        along.insert(numpy.ascontiguousarray(words, numpy.int64))
    numbers[short[along.find(rows[short].astype(numpy.int64)) >= 0]] = 1
    return numbers


def all_edges(shape: ClosureShape, views: Mapping[str, StoredRelation], facts: StoredRelation) -> list[AnyWords]:
    """Return the edges of a closure over relations as they are, outside of an epoch."""
    return [*(edges_along(source, views[source.relation].words()) for source in shape.sources), facts.words()]


class StateVersion:
    """The identity of a state: another object after each epoch, so that answers about a state end with it."""


@dataclass
class EngineState:
    """The state of an embedded database between two epochs.

    `views` maps every relation to its rows; `asserted` holds the facts apart for relations that are also derived (for
    all others they are the view itself). `nodes` are the hyper-nodes as they are maintained, which may be coarser than
    those of `program`; `costs` are the seconds of their last bootstraps, of this thread's own time, so that other work
    on the machine does not count; `large` are groups of aggregates.
    """

    dictionary: Dictionary
    program: CoreProgram
    catalog: Catalog = field(default_factory=Catalog)
    asserted: dict[str, StoredRelation] = field(default_factory=dict)
    views: dict[str, StoredRelation] = field(default_factory=dict)
    nodes: tuple[HyperNode, ...] = ()
    maintained: dict[frozenset[str], Maintained] = field(default_factory=dict)
    closures: dict[str, tuple[ClosureShape, Closure]] = field(default_factory=dict)
    mirrors: dict[str, str] = field(default_factory=dict)
    large: dict[str, LargeGroups | OwnGroups] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    round: int = 0
    bootstraps: int = 0
    updates: int = 0
    wholes: WeakSet[Whole] = field(default_factory=WeakSet)
    unsettled: dict[str, str] = field(default_factory=dict)
    """Relations that select from all of their candidates, although their rules are monotone, and why."""
    early: EarlyProgram | None = None
    """The program of the last epoch, with its early projections."""
    early_choice: EarlyChoice = field(default_factory=EarlyChoice)
    next_number: int = 0
    """The number that the next substitution of a rule with a counter gets; all before it have been used."""
    recorded: dict[str, Words] = field(default_factory=dict)
    """For the epoch that brings the last one on the disk back: the rows of counters with the numbers that it had given,
    and the tuples that it showed of relations with choice-domains."""
    epoch_number: int = 0
    """The number of the epoch that is being made, as its user counts them."""
    version: StateVersion = field(default_factory=StateVersion)
    readers: Readers = field(default_factory=Readers)
    """The readers of the last epoch in other threads."""
    compressing: bool = True
    """True if the last epoch evaluated closures as such."""
    spent: float = field(init=False)
    """The sum of `costs`."""
    _structure: Structure | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.spent = sum(self.costs.values())

    @property
    def source_program(self) -> CoreProgram:
        """The program as it was given, without early projections."""
        return self.program if self.early is None else self.early.source

    @property
    def structure(self) -> Structure:
        """Return the facts about the hyper-nodes that need no data."""
        found = self._structure
        if found is None or found.program is not self.program or found.nodes is not self.nodes:
            self._structure = found = Structure(
                self.program, self.nodes, self.program.nodes_to_evaluate(self.unsettled)
            )
        return found

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """The names of the rules of each hyper-node of the program as it is written, in the order of evaluation."""
        return tuple(rule_names(node) for node in self.nodes if node.rules and not prepares(node.relations))

    def whole(self, stored: StoredRelation) -> Whole:
        """Return the rows of a relation for a change that may be read after the relation has changed again."""
        whole = Whole(stored)
        self.wholes.add(whole)
        return whole

    def births(self, name: str, look: Look = ignore_limits) -> NDArray[numpy.int64]:
        """Return the birth of each row of the view of a relation, in the order of its `words()`; births of relations of
        one hyper-node can be compared. Closures have no births in storage; theirs are from the lengths of ways, which
        may take long. Call `look` meanwhile; it may raise."""
        stored = self.views[name]
        if name in self.closures and isinstance(stored, ClosedRelation):
            edges = all_edges(self.closures[name][0], self.views, self.asserted[name])
            return closure_births(stored.closure, stored.words(), edges, look)
        if isinstance(stored, ClosedRelation):
            return numpy.zeros(len(stored), numpy.int64)
        births: NDArray[numpy.int64] = stored.marks.births()
        return births[stored.live()] if stored.dead else births

    def counts(self, name: str) -> NDArray[numpy.int32]:
        """Return the count of each row of the view of a relation; 0 throughout for what shows a closure, which does not
        count."""
        stored = self.views[name]
        if isinstance(stored, ClosedRelation):
            return numpy.zeros(len(stored), numpy.int32)
        return stored.marks.counts()[stored.live()]

    def widen(self, look: Look = ignore_limits) -> None:
        """Switch to words of 64 bits. MemoryError, or an exception of `look`, leaves everything as it is."""
        catalog = Catalog(64, self.catalog.room)
        copies = {id(stored): stored.copy_to(catalog, look=look) for stored in self.views.values()}
        views = {name: copies[id(stored)] for name, stored in self.views.items()}
        asserted = {
            name: views[name] if stored is self.views.get(name) else stored.copy_to(catalog, look=look)
            for name, stored in self.asserted.items()
        }
        nodes = [(graph, graph.wide_nodes(look)) for _, graph in self.closures.values()]
        for graph, wide in nodes:
            graph.widen(wide)
        with self.readers.lock:
            self.catalog, self.views, self.asserted = catalog, views, asserted
        self.maintained.clear()

    def take_back_closure(self, name: str) -> None:
        """Undo the changes of an epoch to a closure."""
        shape, graph = self.closures[name]
        views = {source.relation: self.views[source.relation] for source in shape.sources}
        graph.take_back(partial(all_edges, shape, views, self.asserted[name]))
