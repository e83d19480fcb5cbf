"""The visible quads of a store with inferences per graph, see `closures`: changes, and a mirror for SPARQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import Column
from tidelog.rdf import output
from tidelog.rdf.change import StoreChange
from tidelog.rdf.closures import GraphClosures
from tidelog.rdf.data import Triples
from tidelog.rdf.quads import QUAD_COLUMNS, Quads
from tidelog.rdf.sparql.mirror import Mirror, read
from tidelog.rdf.terms import XSD


class GraphwiseChange(StoreChange):
    """The net change of the visible quads of a store with inferences per graph."""

    def __init__(self, change: StoreChange, quads: tuple[Words, Words]) -> None:
        self._quads = quads
        super().__init__(change._changes, change._triples, [], [])

    def held(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the words of the quads."""
        yield from super().held()
        for words in self._quads:
            yield QUAD_COLUMNS, words

    @property
    def inserted_quads(self) -> Relation:
        """Return the quads that have become visible: subject, predicate, object and graph."""
        return Relation("inserted", WordRows(QUAD_COLUMNS, self._triples.dictionary, self._quads[0]))

    @property
    def deleted_quads(self) -> Relation:
        """Return the quads that are not visible any more."""
        return Relation("deleted", WordRows(QUAD_COLUMNS, self._triples.dictionary, self._quads[1]))

    @property
    def _net(self) -> tuple[Words, Words]:
        came, went = (numpy.unique(words[:, :3], axis=0) for words in self._quads)
        return came, went


class ClosedMirror(Mirror):
    """The visible quads of a store in pyoxigraph, with the triples that follow in the graphs in which they do."""

    def __init__(self, triples: Triples, quads: Quads, closures: GraphClosures) -> None:
        super().__init__(triples, quads)
        self._closures = closures

    def _make(self) -> None:
        quads = self._closures.visible((None, None, None))
        self._fill(self._lines(quads), len(quads))

    def _lines(self, quads: Words) -> Iterator[Any]:
        return read(output.nquads(Relation("quads", WordRows(QUAD_COLUMNS, self._triples.dictionary, quads))))

    def _follow(self, store: Any) -> None:
        """Look up which of the noted quads are visible now."""
        rows = numpy.unique(numpy.concatenate(self._rows), axis=0)
        there = self._closures.is_visible(rows)
        for quad in self._lines(rows[~there]):
            store.remove(quad)
        # pyoxigraph takes some literals for the same: those that are left have to come again.
        gone = zip(*(self._triples.dictionary.strings(column) for column in rows[~there].T), strict=True)
        more = [self._closures.visible((s, p, None), g) for s, p, o, g in gone if f'"^^<{XSD}' in o]
        store.extend(self._lines(numpy.concatenate([rows[there], *more])))
        self._forget_empty(store, rows)
        self._noted, self._rows = [], []
