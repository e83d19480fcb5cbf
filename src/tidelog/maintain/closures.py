"""Closures as graphs: their edges, and their construction from relations as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.common.looking import Look
from tidelog.rules.core import ClosureShape, EdgeSource
from tidelog.storage.catalog import Catalog
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.closure import Closure
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


def alike(one: ClosureShape, other: ClosureShape | None) -> bool:
    """Return True if the same graph can follow both."""
    return other is not None and (one.symmetric, one.irreflexive) == (other.symmetric, other.irreflexive)


def sources_of(name: str, shape: ClosureShape) -> tuple[EdgeSource, ...]:
    """Return all sources of a closure's edges, the asserted facts of its own relation among them."""
    return (*shape.sources, EdgeSource(name, "forward"))


def edges_along(source: EdgeSource, rows: AnyWords) -> AnyWords:
    """Return the edges that rows of a source stand for, shape (n, 2)."""
    if source.form == "loop":
        return numpy.repeat(rows, 2, axis=1)
    return rows if source.form == "forward" else rows[:, ::-1]


def rebuilt(shape: ClosureShape, views: Mapping[str, StoredRelation], facts: StoredRelation) -> Closure:
    """Return the closure over relations as they are, outside of an epoch."""
    graph = Closure(shape.symmetric, shape.irreflexive, facts.catalog.bits)
    graph.build(all_edges(shape, views, facts))
    return graph


def births(graph: Closure, rows: AnyWords, edges: Sequence[AnyWords], look: Look) -> AnyWords:
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
