"""The verbs of a store that bring triples in and out, graph by graph: `Store` has the rest."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace as replaced
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy

from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError, flag, wrong_argument
from tidelog.io.relation import Relation, WordRows
from tidelog.limits.watch import changing_within_memory, reading_within_memory
from tidelog.rdf import output, reader
from tidelog.rdf.data import COLUMNS, Triples
from tidelog.rdf.documents import Labels
from tidelog.rdf.formats import INFERRED
from tidelog.rdf.prefix_table import PrefixTable, prefix_table
from tidelog.rdf.quads import DEFAULT, QUAD_COLUMNS, PendingQuads, Quads, without
from tidelog.rdf.replacing import names_of
from tidelog.rdf.terms import OWL, TYPE, term
from tidelog.rdf.transaction import StoreTransaction
from tidelog.rdf.verbs import TripleVerbs

if TYPE_CHECKING:
    import rdflib


StoredQuad: TypeAlias = tuple[str, str, str, str]
"""The symbols of subject, predicate, object and graph; the empty text is the default graph."""


class GraphVerbs(TripleVerbs):
    """Verbs over triples and their graphs."""

    _prefixes: PrefixTable
    _document_prefixes: dict[str, str]
    """The prefixes of the documents that were inserted. Texts are written with them, but rules and queries do not see
    them: `x:` of a document would give another meaning to a column or label x of a program."""
    _triples: Triples
    _quads: Quads
    _labels: Labels
    _pending: list[PendingQuads]

    @property
    def prefixes(self) -> PrefixTable:
        """Return the prefixes for rule text, SPARQL and Turtle; those that programs declare are added. Set one by
        `store.prefixes["ex"] = "http://example.org/"`."""
        return self._prefixes

    @prefixes.setter
    def prefixes(self, given: Mapping[str, str]) -> None:
        self._prefixes = prefix_table(given)

    def insert(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None:
        """Assert triples, to take effect with the next `commit`.

        Take a text, a path (anything path-like, or one line that ends like `.ttl` or `.nt.gz`), a graph or dataset of
        rdflib or pyoxigraph, a data frame with the columns subject, predicate, object and maybe graph, or an iterable
        of triples or quads of terms. `format` is turtle, ntriples, nquads, trig, jsonld or rdfxml; by default the
        ending of a path, and turtle for texts. Relative IRIs begin with `base`, by default the IRI of a file. `to_text`
        and `write` use the prefixes of texts. Triples without a graph of their own go to `graph`, an IRI or a blank
        node, or else to the default graph. Blank nodes of a text are new ones; those of a file are the same each time,
        as long as its content is. Raise DataError with the place (E0460 to E0465, E0410, E0411), UsageError (E0660),
        SetupError (E0790), and then change nothing.
        """
        self._change(data, format, base, graph, asserts=True)

    def delete(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None:
        """Retract triples like `insert`; those not asserted change nothing.

        Retract triples without a graph of their own from `graph`, where the empty text is the default graph, or else
        from all graphs. A text must not have blank nodes (E0463).
        """
        self._change(data, format, base, graph, asserts=False)

    def replace(self, data: Any, name: str, format: str | None = None, *, base: str | None = None) -> None:
        """Make the triples of a source those of the graph `name`, in place of the ones that are there: the next version
        of an ontology, or the same file again.

        Blank nodes whose triples are the same keep their names, so that only the difference changes with the next
        `commit`. Graphs within the source do not count. Raise as `insert`, and UsageError (E0606) if changes of the
        graph wait already.
        """
        with self._changing(), changing_within_memory:
            graph = graph_name(name)
            if not graph:
                raise wrong_argument("the name of the graph", "an IRI", name)
            columns = replaced(reader.read(data, format, base, self._labels), graphs=None)
            added = self._quads.pending(True, columns, graph)
            assert added.graphs is not None
            word = self._triples.dictionary.encode(graph, "symbol")
            if any(each.graphs is not None and (each.graphs == word).any() for each in self._pending):
                hint = "commit these changes first"
                raise UsageError(Problem("E0606", f"changes of the graph {graph} wait already", hint=hint))
            old = self._quads.rows()
            old = old[old[:, 3] == word][:, :3]
            new = self._renamed(old, numpy.unique(added.words, axis=0))
            for asserts, rows in ((False, without(old, new)), (True, without(new, old))):
                if len(rows):
                    self._pending.append(PendingQuads(asserts, rows, numpy.full(len(rows), word, numpy.int64)))

    def _renamed(self, old: Words, new: Words) -> Words:
        """Return the triples of a new version with the names that blank nodes have in the old one."""
        words = numpy.unique(numpy.concatenate([old[:, 0], old[:, 2], new[:, 0], new[:, 2]]))
        texts = self._triples.dictionary.strings(words)
        blank = {int(word) for word, text in zip(words, texts, strict=True) if text.startswith("_:")}
        names = names_of(old, new, blank)
        if not names:
            return new
        found = new.copy()
        for column in (0, 2):
            found[:, column] = [names.get(word, word) for word in new[:, column].tolist()]
        return found

    def missing_imports(self) -> tuple[str, ...]:
        """Return the ontologies that the triples import by owl:imports, and that no triple says to be an owl:Ontology.
        tidelog fetches nothing: load them with `insert` or `replace`."""
        with self._using(), reading_within_memory:
            imported = {str(value) for _, _, value in self.triples(None, f"{OWL}imports", None)}
            there = {str(subject) for subject, _, _ in self.triples(None, TYPE, f"{OWL}Ontology")}
            return tuple(sorted(imported - there))

    def _change(self, data: Any, format: str | None, base: str | None, graph: object, *, asserts: bool) -> None:
        with self._changing(), changing_within_memory:
            name = graph_name(graph)
            columns = reader.read(data, format, base, self._labels if asserts else None, by_file=True)
            self._pending.append(self._quads.pending(asserts, columns, name))
            if asserts:
                self._document_prefixes = {**columns.prefixes, **self._document_prefixes}

    @property
    def _all_prefixes(self) -> dict[str, str]:
        """Return the prefixes to write with: those of the store come before those of documents."""
        return {**self._document_prefixes, **self.prefixes}

    def asserted(self, quads: Iterable[StoredQuad]) -> set[StoredQuad]:
        """Return those of some quads, of symbols with the empty text for the default graph, that are asserted."""
        with self._using(), reading_within_memory:
            find = self._triples.dictionary.find
            try:
                given = [(s, p, o, g) for s, p, o, g in quads]
                is_text = all(isinstance(part, str) for quad in given for part in quad)
            except (TypeError, ValueError, NotImplementedError):
                is_text = False
            if not is_text:
                raise wrong_argument("the quads", "tuples of four symbols", quads)
            words = [tuple(find(part, "symbol") for part in quad) for quad in given]
            known = [i for i, row in enumerate(words) if None not in row[:3]]
            triples = numpy.array([words[i][:3] for i in known], numpy.int64).reshape(-1, 3)
            triples = numpy.unique(triples[self._quads.asserted(triples)], axis=0)
            there = set(map(tuple, self._quads.of(triples).tolist()))
            return {given[i] for i in known if words[i] in there}

    def graphs(self) -> tuple[str, ...]:
        """Return the names of the graphs that have triples, sorted, without the default graph and the inferred
        triples."""
        with self._using(), reading_within_memory:
            return self._quads.graphs()

    def quads(self, subject: Any = None, predicate: Any = None, object: Any = None, graph: Any = None) -> Relation:
        """Return the asserted triples with these terms, any for None, and their graphs. The name of the default graph
        is the empty text. Raise DataError (E0465) for what is no term."""
        with self._using(), reading_within_memory:
            terms = [None if part is None else term(part) for part in (subject, predicate, object)]
            triples = self._triples.matching(*terms, asserted=True)
            rows = self._quads.matching(triples, graph_name(graph))
            return Relation("quads", WordRows(QUAD_COLUMNS, self._triples.dictionary, rows))

    @abstractmethod
    def triples(
        self, subject: Any = None, predicate: Any = None, object: Any = None, *, inferred: bool = True
    ) -> Relation:
        """Return the triples with these terms."""

    @abstractmethod
    def inferred(self) -> Relation:
        """Return the triples that follow and were not asserted."""

    def to_rdflib(self, *, inferred: bool = True) -> rdflib.Graph:
        """Return an rdflib graph of the triples of all graphs. Raise SetupError (E0790) if rdflib is not installed, and
        DataError (E0464) for a term of RDF 1.2."""
        with self._using(), reading_within_memory:
            return output.to_rdflib(self.triples(inferred=inferred), self._all_prefixes)

    def to_text(self, format: str = "turtle", *, inferred: bool = False, graph: str | None = None) -> str:
        """Return the triples as turtle, ntriples, nquads, trig or jsonld.

        The last three have the graphs, and with `inferred` the graph `urn:tidelog:inferred` of what follows. With
        `graph`, return the triples of this graph alone: the empty text is the default graph, without what follows.
        """
        with self._using(), reading_within_memory:
            if graph is None:
                return self._written(format, flag("inferred", inferred)).decode()
            return output.text(self._of_graph(graph_name(graph)), None, format, self._all_prefixes).decode()

    def _of_graph(self, graph: str | None) -> Relation:
        """Return the triples of one graph."""
        if graph == INFERRED:
            return self.inferred()
        rows = self._quads.matching(self._triples.matching(None, None, None, asserted=True), graph)
        return Relation("triples", WordRows(COLUMNS, self._triples.dictionary, rows[:, :3]))

    def write(self, path: str | os.PathLike[str], format: str | None = None, *, inferred: bool = False) -> None:
        """Write `to_text` to a file, in the format of its ending, packed for `.gz`. Raise DataError (E0412)."""
        with self._using(), reading_within_memory:
            output.write(path, self._written(output.format_for(path, format), flag("inferred", inferred)))

    def _written(self, format: str, inferred: bool) -> bytes:
        asserted = self.quads() if output.has_graphs(format) else self.triples(inferred=False)
        return output.text(asserted, self.inferred() if inferred else None, format, self._all_prefixes)


def changed(block: StoreTransaction, changes: Mapping[StoredQuad, bool]) -> None:
    """Insert the quads with True and delete those with False in a transaction."""
    block.insert([quad for quad, is_there in changes.items() if is_there])
    graphs: dict[str, list[tuple[str, str, str]]] = {}
    for *triple, graph in (quad for quad, is_there in changes.items() if not is_there):
        subject, predicate, value = triple
        graphs.setdefault(graph, []).append((subject, predicate, value))
    for graph, triples in graphs.items():
        block.delete(triples, graph=graph)


def graph_name(graph: object) -> str | None:
    """Return the symbol of a graph, None for none. Raise DataError (E0465) for a literal."""
    if graph is None or (isinstance(graph, str) and graph == DEFAULT):
        return graph
    name = term(graph)
    reader.check_graph(name)
    return name
