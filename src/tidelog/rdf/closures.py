"""Graph closures: for each named graph a store in memory of its triples and those of the default graph.

A named graph is closed together with the default graph, which has the ontology and data that all graphs share. What
follows from the default graph alone is there, and in no named graph. So a triple is *visible* in a named graph if it is
asserted there, or if it is in the closure of the graph and not in that of the default graph.

`GraphClosures` follows the asserted quads of a store. All words here are those of that store, not of the closures.

`GraphwiseChange` and `ClosedMirror` show the visible quads: as changes, and as a mirror for SPARQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.io.relation import Relation
from tidelog.language.syntax import Column
from tidelog.rdf import output
from tidelog.rdf.change import StoreChange
from tidelog.rdf.data import QUAD_COLUMNS, Triples
from tidelog.rdf.lines import TripleColumns
from tidelog.rdf.quads import DEFAULT, Flags, Quads, is_among, without
from tidelog.rdf.sparql.mirror import Mirror, parse_quads
from tidelog.rdf.terms import XSD
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.rdf.store import Store


NO_TRIPLES = numpy.empty((0, 3), numpy.int64)
NO_QUADS = numpy.empty((0, 4), numpy.int64)


@dataclass(frozen=True)
class ClosureChange:
    """The change of one closure: triples that it may have gained or lost, int64 of shape (n, 3)."""

    gained: Words
    lost: Words


_NOTHING = ClosureChange(NO_TRIPLES, NO_TRIPLES)


class GraphClosures:
    """The closures of the graphs of a store, by name."""

    def __init__(self, triples: Triples, quads: Quads, new_store: Callable[[], Store]) -> None:
        """`new_store` returns an empty store with the rules of each closure."""
        self._triples = triples
        self._quads = quads
        self._new_store = new_store
        self.stores: dict[str, Store] = {}

    # --- following ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make the closures of all graphs that are there."""
        self.align(dict.fromkeys((DEFAULT, *self._quads.graphs()), NO_TRIPLES))

    def asserted_by_graph(self, triples: Words) -> dict[str, Words]:
        """Return those of distinct triples that are asserted, by graph."""
        quads = self._quads.with_graphs(triples[self._quads.are_asserted(triples)])
        names = numpy.unique(quads[:, 3])
        texts = zip(names.tolist(), self._triples.dictionary.strings(names), strict=True)
        return {text: quads[quads[:, 3] == word][:, :3] for word, text in texts}

    def graphs_to_align(self, before: dict[str, Words], after: dict[str, Words]) -> dict[str, Words]:
        """Return the graphs whose closures depend on a change of asserted triples, each with its changed triples."""
        found: dict[str, Words] = {}
        for graph in {**before, **after}:
            then, now = before.get(graph, NO_TRIPLES), after.get(graph, NO_TRIPLES)
            changed = numpy.concatenate([without(then, now), without(now, then)])
            if len(changed):
                found[graph] = changed
        shared = found.get(DEFAULT)
        if shared is not None:  # All other graphs are closed with the default graph.
            for graph in {*self.stores, *found}:
                found[graph] = numpy.unique(numpy.concatenate([shared, found.get(graph, NO_TRIPLES)]), axis=0)
        return found

    def align(self, touched: dict[str, Words]) -> dict[str, ClosureChange]:
        """Bring closures to the asserted triples of now, of which `touched` may have changed; return the changes."""
        there = {DEFAULT, *self._quads.graphs()} if touched else set()
        return {graph: self._align(graph, triples, graph in there) for graph, triples in touched.items()}

    def _align(self, graph: str, triples: Words, is_there: bool) -> ClosureChange:
        store = self.stores.get(graph)
        if not is_there:
            if store is None:
                return _NOTHING
            lost = self._closure_triples(store, (None, None, None))
            self._end(graph)
            return ClosureChange(NO_TRIPLES, lost)
        if store is None:
            store = self._new_store()
            try:
                asserted = self._asserted_in(graph, self._triples.match_terms(None, None, None, asserted=True))
                self._commit(store, numpy.unique(asserted, axis=0), NO_TRIPLES)
            except BaseException:
                store.close()
                raise
            self.stores[graph] = store
            return ClosureChange(self._closure_triples(store, (None, None, None)), NO_TRIPLES)
        there = is_among(triples, self._asserted_in(graph, triples[self._quads.are_asserted(triples)]))
        try:
            change = self._commit(store, triples[there], triples[~there])
        except BaseException:
            store.rollback()
            raise
        dictionary = store._triples.dictionary
        gained, lost = (translate_words(rows, dictionary, self._triples.dictionary) for rows in change.words())
        return ClosureChange(gained, lost)

    def restore(self, touched: dict[str, Words]) -> None:
        """Bring closures back to the asserted triples, after the store has gone back to them. One that cannot go back
        is made anew."""
        for graph, triples in touched.items():
            try:
                self.align({graph: triples})
            except Exception:
                self._end(graph)
                self.align({graph: NO_TRIPLES})

    def close(self) -> None:
        """Give the memory of all closures back."""
        for graph in [*self.stores]:
            self._end(graph)

    def _end(self, graph: str) -> None:
        if graph in self.stores:
            self.stores.pop(graph).close()

    def _commit(self, store: Store, more: Words, less: Words) -> StoreChange:
        for asserts, rows in ((False, less), (True, more)):
            if len(rows):
                columns = self._columns(rows)
                store._pending.append(store._quads.encode_change(asserts, columns, None))
        return store.commit()

    def _columns(self, rows: Words) -> TripleColumns:
        subjects, predicates, objects = text_columns(rows, self._triples.dictionary)
        return TripleColumns(subjects, predicates, objects, ill=self._triples.ill)

    def _asserted_in(self, graph: str, triples: Words) -> Words:
        """Return those of asserted triples that are in a graph or the default graph."""
        quads = self._quads.with_graphs(triples)
        return quads[numpy.isin(quads[:, 3], self._words([graph, DEFAULT]))][:, :3]

    def _words(self, graphs: Iterable[str]) -> NDArray[numpy.int64]:
        return numpy.array([self._triples.dictionary.encode(graph, "symbol") for graph in graphs], numpy.int64)

    # --- reading -----------------------------------------------------------------------------------------------------

    def visible(self, terms: Sequence[str | None], graph: str | None = None) -> Words:
        """Return the quads with these terms, any for None, that are visible in one graph or in all."""
        asserted = self._quads.select_graph(self._triples.match_terms(*terms, asserted=True), graph)
        shared = self._closure_triples(self.stores[DEFAULT], terms)
        parts = [asserted]
        for name in self.stores if graph is None else [graph] if graph in self.stores else []:
            found = shared if name == DEFAULT else without(self._closure_triples(self.stores[name], terms), shared)
            parts.append(self._quads_in(found, name))
        return numpy.unique(numpy.concatenate(parts), axis=0)

    def is_visible(self, quads: Words) -> Flags:
        """Return for each of distinct quads whether it is visible."""
        found = numpy.zeros(len(quads), bool)
        names = numpy.unique(quads[:, 3])
        for word, graph in zip(names.tolist(), self._triples.dictionary.strings(names), strict=True):
            places = numpy.flatnonzero(quads[:, 3] == word)
            rows = numpy.ascontiguousarray(quads[places, :3])
            closed = self._closed_twice(graph, rows, _NOTHING)[1]
            if graph != DEFAULT:
                closed &= ~self._closed_twice(DEFAULT, rows, _NOTHING)[1]
            found[places] = closed | is_among(rows, self.asserted_by_graph(rows).get(graph, NO_TRIPLES))
        return found

    def _quads_in(self, triples: Words, graph: str) -> Words:
        return numpy.column_stack([triples, numpy.full(len(triples), self._words([graph])[0])])

    def _closure_triples(self, store: Store, terms: Sequence[str | None]) -> Words:
        words = store._triples.match_terms(*terms, asserted=False)
        return translate_words(words, store._triples.dictionary, self._triples.dictionary)

    def net(
        self, changes: dict[str, ClosureChange], before: dict[str, Words], after: dict[str, Words]
    ) -> tuple[Words, Words]:
        """Return the quads that have become visible, and those that are not any more. `before` and `after` are the
        asserted ones of the triples that a commit has touched."""
        named = [*before.values(), *after.values()]
        closed = [each for change in changes.values() for each in (change.gained, change.lost)]
        rows = numpy.unique(numpy.concatenate([*named, *closed, NO_TRIPLES]), axis=0)
        changed = is_among(rows, numpy.concatenate([*named, NO_TRIPLES]))
        asserted = self.asserted_by_graph(rows)
        shared = self._closed_twice(DEFAULT, rows, changes.get(DEFAULT, _NOTHING))
        gained, lost = [NO_QUADS], [NO_QUADS]
        for graph in {*self.stores, *changes}:
            now = is_among(rows, asserted.get(graph, NO_TRIPLES))
            then = (now & ~changed) | is_among(rows, before.get(graph, NO_TRIPLES))
            both = self._closed_twice(graph, rows, changes.get(graph, _NOTHING))
            hidden = shared if graph != DEFAULT else (numpy.zeros(len(rows), bool),) * 2
            then, now = then | (both[0] & ~hidden[0]), now | (both[1] & ~hidden[1])
            gained.append(self._quads_in(rows[now & ~then], graph))
            lost.append(self._quads_in(rows[then & ~now], graph))
        return numpy.concatenate(gained), numpy.concatenate(lost)

    def _closed_twice(self, graph: str, rows: Words, change: ClosureChange) -> tuple[Flags, Flags]:
        """Return for each triple whether it was in a closure before its change, and whether it is now."""
        store = self.stores.get(graph)
        now = numpy.zeros(len(rows), bool)
        if store is not None and len(rows):
            now = store._quads.are_visible(translate_words(rows, self._triples.dictionary, store._triples.dictionary))
        return (now & ~is_among(rows, change.gained)) | is_among(rows, change.lost), now


def text_columns(rows: Words, dictionary: Dictionary) -> Iterator[pa.Array]:
    """Yield the columns of some rows as Arrow dictionaries of texts."""
    import pyarrow as pa

    for column in rows.T:
        words, places = numpy.unique(column, return_inverse=True)
        texts = dictionary.decode_column(words, "symbol").cast(pa.string())
        yield pa.DictionaryArray.from_arrays(pa.array(places.reshape(-1).astype(numpy.int32)), texts)


def translate_words(rows: Words, one: Dictionary, other: Dictionary) -> Words:
    """Return the words that the symbols of some rows have in another dictionary."""
    if not len(rows):
        return rows
    return numpy.column_stack(other.encode_texts([*text_columns(rows, one)])).astype(numpy.int64)


# --- what is visible -------------------------------------------------------------------------------------------------


class GraphwiseChange(StoreChange):
    """The net change of the visible quads of a store with inferences per graph."""

    def __init__(self, change: StoreChange, quads: tuple[Words, Words]) -> None:
        self._quads = quads
        super().__init__(change._changes, change._triples, [], [])

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        yield from super().words_in_use()
        for words in self._quads:
            yield QUAD_COLUMNS, words

    @property
    def inserted_quads(self) -> Relation:
        """Return the quads that have become visible: subject, predicate, object and graph."""
        return self._triples.relation("inserted", self._quads[0])

    @property
    def deleted_quads(self) -> Relation:
        """Return the quads that are not visible any more."""
        return self._triples.relation("deleted", self._quads[1])

    @property
    def _net(self) -> tuple[Words, Words]:
        inserted, deleted = (numpy.unique(words[:, :3], axis=0) for words in self._quads)
        return inserted, deleted


class ClosedMirror(Mirror):
    """The visible quads of a store in pyoxigraph, with the triples that follow in the graphs in which they do."""

    def __init__(self, triples: Triples, quads: Quads, closures: GraphClosures) -> None:
        super().__init__(triples, quads)
        self._closures = closures

    def _make(self) -> None:
        quads = self._closures.visible((None, None, None))
        self._fill(self._lines(quads), len(quads))

    def _lines(self, quads: Words) -> Iterator[Any]:
        return parse_quads(output.nquads(self._triples.relation("quads", quads)))

    def _follow(self, store: Any) -> None:
        """Look up which of the noted quads are visible now."""
        rows = numpy.unique(numpy.concatenate(self._rows), axis=0)
        there = self._closures.is_visible(rows)
        for quad in self._lines(rows[~there]):
            store.remove(quad)
        # pyoxigraph takes some literals for the same: those that are left have to come again.
        removed = zip(*(self._triples.dictionary.strings(column) for column in rows[~there].T), strict=True)
        more = [self._closures.visible((s, p, None), g) for s, p, o, g in removed if f'"^^<{XSD}' in o]
        store.extend(self._lines(numpy.concatenate([rows[there], *more])))
        self._forget_empty(store, rows)
        self._noted, self._rows = [], []
