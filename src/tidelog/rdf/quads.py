"""Named graphs: which graphs have an asserted triple.

Rules see the union of all graphs, so a triple is asserted if at least one graph has it. A triple of the default graph
alone needs nothing more. For all others the relation GRAPH has a row for each graph, with the empty text as the name of
the default graph. It is there from the first named graph on.

`PendingQuads` is a change that waits for a commit, of triples in graphs. `resolve` turns changes into changes of
triples and of GRAPH, in proportion to the changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.database.database import Database
from tidelog.language.syntax import Column, Program
from tidelog.rdf.data import COLUMNS, QUAD_COLUMNS, Triples, groups
from tidelog.rdf.lines import TripleColumns
from tidelog.rdf.names import GRAPH, Names, declaration
from tidelog.rdf.terms import TYPE

DEFAULT = ""
"""The name of the default graph."""
Flags = NDArray[numpy.bool_]
FactCalls = list[tuple[str, bool, Words]]
"""Relations, whether to assert or to retract, and rows."""


@dataclass(frozen=True)
class PendingQuads:
    """Triples to assert or to retract, int64 of shape (n, 3), and their graphs, int64 of shape (n,). Without `graphs`,
    they are asserted in the default graph, and retracted from all graphs."""

    asserts: bool
    words: Words
    graphs: Words | None = None

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the words that the dictionary has to keep."""
        yield COLUMNS, self.words
        if self.graphs is not None:
            yield QUAD_COLUMNS[3:], self.graphs.reshape(-1, 1)


class Quads:
    """The graphs of the asserted triples of a store."""

    def __init__(self, database: Database, names: Names, triples: Triples) -> None:
        self._database = database
        self._names = names
        self._triples = triples

    def encode_change(self, asserts: bool, columns: TripleColumns, graph: str | None) -> PendingQuads:
        """Return the change of triples that have been read. `graph` is that of triples without one of their own."""
        words = self._triples.encode(columns)
        is_plain = columns.graphs is None and not graph
        if is_plain and (asserts or graph is None or GRAPH not in self._database.relations):
            return PendingQuads(asserts, words)
        self.declare()
        encode = self._triples.dictionary.encode
        if columns.graphs is None:
            return PendingQuads(asserts, words, numpy.full(len(words), encode(graph or DEFAULT, "symbol"), numpy.int64))
        (graphs,) = self._triples.dictionary.encode_texts([columns.graphs])
        if graph:
            graphs = numpy.where(graphs == encode(DEFAULT, "symbol"), encode(graph, "symbol"), graphs)
        return PendingQuads(asserts, words, graphs.astype(numpy.int64))

    def declare(self) -> None:
        """Make sure that there is the relation GRAPH."""
        if GRAPH not in self._database.relations:
            self._database.load(Program(declarations=(declaration(GRAPH, "spog"),)))

    # --- in ------------------------------------------------------------------------------------------------------

    def resolve(self, pending: Sequence[PendingQuads]) -> tuple[list[PendingQuads], FactCalls]:
        """Return changes as changes of triples, without graphs, and the rows of GRAPH to assert and to retract.

        Of several changes of one triple in one graph, the last one counts.
        """
        if not pending or (not self._triples.count(GRAPH) and all(each.graphs is None for each in pending)):
            return list(pending), []
        triples, of_change = _distinct_rows(numpy.concatenate([each.words for each in pending]))
        known = self.rows_of(triples)
        default = self._triples.dictionary.encode(DEFAULT, "symbol")
        numbers = _places(triples, known[:, :3])
        alone = numpy.flatnonzero(self.are_asserted(triples) & ~numpy.isin(numpy.arange(len(triples)), numbers))
        # Each event is a triple, a graph, a turn, and whether the triple is there afterwards.
        graphs = numpy.concatenate([known[:, 3], numpy.full(len(alone), default)])
        events = _Events(numpy.concatenate([numbers, alone]), graphs)
        start = 0
        for turn, change in enumerate(pending, 1):
            which = of_change[start : start + len(change.words)]
            start += len(change.words)
            if change.graphs is not None:
                events.add(which, change.graphs, turn, change.asserts)
            elif change.asserts:
                events.add(which, numpy.full(len(which), default), turn, True)
            else:
                events.end(which, turn)
        which, graphs, there = events.last()
        return self._changes(triples, known, which[there], graphs[there], default)

    def _changes(
        self, triples: Words, known: Words, which: Words, graphs: Words, default: int
    ) -> tuple[list[PendingQuads], FactCalls]:
        """Return the changes after which triples are in these graphs, and in no other. `known` are their rows now."""
        alive = numpy.zeros(len(triples), bool)
        alive[which] = True
        named = numpy.zeros(len(triples), bool)
        named[which[graphs != default]] = True
        wanted = numpy.column_stack([triples[which], graphs])[named[which]]
        changes = [PendingQuads(True, triples[alive]), PendingQuads(False, triples[~alive])]
        facts = [(GRAPH, False, without(known, wanted)), (GRAPH, True, without(wanted, known))]
        return [each for each in changes if len(each.words)], [fact for fact in facts if len(fact[2])]

    # --- out -----------------------------------------------------------------------------------------------------

    def rows(self) -> Words:
        """Return the rows of GRAPH, int64 of shape (n, 4)."""
        stored = self._triples.stored_relation(GRAPH, asserted=True)
        return stored.words().astype(numpy.int64) if stored is not None else numpy.empty((0, 4), numpy.int64)

    def rows_of(self, triples: Words) -> Words:
        """Return the rows of GRAPH of distinct triples."""
        stored = self._triples.stored_relation(GRAPH, asserted=True)
        if stored is None or not len(stored) or not len(triples):
            return numpy.empty((0, 4), numpy.int64)
        return stored.rows_with((0, 1, 2), triples).astype(numpy.int64)

    def select_graph(self, triples: Words, graph: str | None) -> Words:
        """Return distinct asserted triples with their graphs, int64 of shape (n, 4): those of one graph, or all."""
        rows = self.with_graphs(triples)
        return rows if graph is None else rows[rows[:, 3] == self._triples.dictionary.encode(graph, "symbol")]

    def graphs(self) -> tuple[str, ...]:
        """Return the names of the named graphs, sorted."""
        names = numpy.unique(self.rows()[:, 3])
        return tuple(sorted(name for name in self._triples.dictionary.strings(names) if name != DEFAULT))

    def with_graphs(self, triples: Words) -> Words:
        """Return distinct asserted triples with their graphs, int64 of shape (n, 4)."""
        rows = self.rows_of(triples)
        alone = numpy.ones(len(triples), bool)
        alone[_places(triples, rows[:, :3])] = False
        default = self._triples.dictionary.encode(DEFAULT, "symbol")
        return numpy.concatenate([rows, numpy.column_stack([triples[alone], numpy.full(int(alone.sum()), default)])])

    def are_asserted(self, triples: Words) -> Flags:
        """Return for each triple whether it is asserted."""
        return self._are_stored(triples, asserted=True)

    def are_visible(self, triples: Words) -> Flags:
        """Return for each triple whether it is asserted or follows."""
        return self._are_stored(triples, asserted=False)

    def siblings(self, triples: Words) -> Words:
        """Return the triples, asserted or inferred, with the subject and the predicate of some triples."""
        parts = [triples[:0]]
        for predicate, numbers in groups(triples[:, 1]):
            name = self._names.properties.get(self._triples.text(predicate))
            stored = None if name is None else self._triples.stored_relation(name, asserted=False)
            if stored is not None:
                rows = stored.rows_with((0,), numpy.unique(triples[numbers, 0]).reshape(-1, 1)).astype(numpy.int64)
                parts.append(numpy.column_stack([rows[:, 0], numpy.full(len(rows), predicate), rows[:, 1]]))
        return numpy.concatenate(parts)

    def _are_stored(self, triples: Words, *, asserted: bool) -> Flags:
        found = numpy.zeros(len(triples), bool)
        for predicate, numbers in groups(triples[:, 1]):
            iri = self._triples.text(predicate)
            if iri != TYPE:
                self._look(found, self._names.properties.get(iri), triples[:, [0, 2]], numbers, asserted)
                continue
            for class_, members in groups(triples[numbers, 2]):
                name = self._names.classes.get(self._triples.text(class_))
                self._look(found, name, triples[:, [0]], numbers[members], asserted)
        return found

    def _look(self, found: Flags, name: str | None, rows: Words, numbers: Words, asserted: bool) -> None:
        stored = None if name is None else self._triples.stored_relation(name, asserted=asserted)
        if stored is None:
            return
        wanted = numpy.ascontiguousarray(rows[numbers])
        if stored.form == "compressed":  # a closure, which has no rows to find
            found[numbers] = [stored.has(row) for row in wanted.tolist()]
        else:
            found[numbers] = stored.find(wanted) >= 0


class _Events:
    """Changes of triples, given by their numbers, in graphs. Turn 0 has those that are there before."""

    def __init__(self, triples: Words, graphs: Words) -> None:
        self._parts: list[Words] = []
        self.add(triples, graphs, 0, True)

    def add(self, triples: Words, graphs: Words, turn: int, there: bool) -> None:
        """Let triples be there, or not, in one graph each."""
        events = numpy.empty((len(triples), 4), numpy.int64)
        events[:, 0], events[:, 1], events[:, 2], events[:, 3] = triples, graphs, turn, there
        self._parts.append(events)

    def end(self, triples: Words, turn: int) -> None:
        """Let triples not be there in any graph."""
        before = numpy.unique(numpy.concatenate(self._parts)[:, :2], axis=0)
        before = before[numpy.isin(before[:, 0], triples)]
        self.add(before[:, 0], before[:, 1], turn, False)

    def last(self) -> tuple[Words, Words, Flags]:
        """Return the triples and graphs with an event, and whether each is there in the end."""
        events = numpy.concatenate(self._parts)
        events = events[numpy.lexsort((events[:, 2], events[:, 1], events[:, 0]))]
        ends = numpy.ones(len(events), bool)
        ends[:-1] = (events[1:, :2] != events[:-1, :2]).any(axis=1)
        events = events[ends]
        return events[:, 0], events[:, 1], events[:, 3] == 1


def _distinct_rows(rows: Words) -> tuple[Words, Words]:
    """Return the distinct rows, and for each row the number of its own."""
    distinct, numbers = numpy.unique(rows, axis=0, return_inverse=True)
    return numpy.ascontiguousarray(distinct), numbers.reshape(-1)


def _places(distinct: Words, rows: Words) -> Words:
    """Return for each row its number among distinct rows, which include it."""
    _, numbers = _distinct_rows(numpy.concatenate([distinct, rows]))
    place_of = numpy.zeros(len(distinct), numpy.int64)
    place_of[numbers[: len(distinct)]] = numpy.arange(len(distinct))
    return place_of[numbers[len(distinct) :]]


def is_among(rows: Words, others: Words) -> Flags:
    """Return for each row whether it is one of others."""
    _, numbers = _distinct_rows(numpy.concatenate([rows, others]))
    return numpy.isin(numbers[: len(rows)], numbers[len(rows) :])


def without(rows: Words, others: Words) -> Words:
    """Return the rows that others lack."""
    return rows[~is_among(rows, others)]
