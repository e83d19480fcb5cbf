"""The triples of a store as relations of its database: split on the way in, joined on the way out.

Everything here is a column of words. Triples are int64 of shape (n, 3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.database.database import Database
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import Column
from tidelog.rdf.names import REST, TRIPLE, Names, is_internal
from tidelog.rdf.tables import Triple
from tidelog.rdf.terms import NESTED, TYPE, is_iri

if TYPE_CHECKING:
    from tidelog.rdf.lines import TripleColumns
    from tidelog.storage.stored import StoredRelation


QUAD_COLUMNS = tuple(Column(name, "symbol", "symbol") for name in ("subject", "predicate", "object", "graph"))
COLUMNS = QUAD_COLUMNS[:3]
_NO_SUBJECT = ('"', NESTED)
_NO_SUBJECTS = f"^(?:{'|'.join(map(re.escape, _NO_SUBJECT))})"
_FEW = 4096  # up to so many terms are looked at one by one


class Triples:
    """Reader and writer of the relations of properties and classes of a database."""

    def __init__(self, database: Database, names: Names) -> None:
        self._database = database
        self._names = names
        self.dictionary = database.workspace.dictionary
        """The dictionary of the words of the triples."""
        self.turns = database.turns
        self.ill: dict[str, str] = {}
        """Literals that are not of their datatype, with that: all that were read."""
        self._nodes: tuple[int, Words] = -1, numpy.empty(0, numpy.int64)
        # For each of the first symbols whether it is a literal, and the dictionary's stamp then.
        self._literals: tuple[NDArray[numpy.bool_], tuple[int, int]] = numpy.empty(0, bool), self.dictionary.stamp

    # --- in ------------------------------------------------------------------------------------------------------

    def encode(self, columns: TripleColumns) -> Words:
        """Return the words of triples that have been read, int64 of shape (n, 3); note ill-typed literals in `ill`."""
        self.ill |= columns.ill
        words = numpy.empty((len(columns), 3), numpy.int64)
        found = self.dictionary.encode_texts([columns.subjects, columns.predicates, columns.objects])
        for i, column in enumerate(found):
            words[:, i] = column
        return words

    def split(self, words: Words) -> Iterator[tuple[str, str, Words]]:
        """Yield triples by property, with `?o` for the object, and those of rdf:type by class; rows as in the
        relation."""
        for predicate, places in groups(words[:, 1]):
            iri, rows = self.text(predicate), words[places]
            if iri != TYPE:
                yield iri, "?o", numpy.ascontiguousarray(rows[:, [0, 2]])
                continue
            for class_, members in groups(rows[:, 2]):
                yield TYPE, self.text(class_), numpy.ascontiguousarray(rows[members][:, [0]])

    def decode(self, named: Triple, rows: Words) -> Iterator[Triple]:
        """Return the triples of rows of the relation whose pattern is `named`."""
        texts = [self.dictionary.strings(column) for column in rows.T]
        if named.predicate == TYPE:
            return (Triple(subject, TYPE, named.object) for subject in texts[0])
        return (Triple(subject, named.predicate, value) for subject, value in zip(*texts, strict=True))

    def change_facts(self, facts: Iterable[tuple[str, bool, Words]]) -> None:
        """Assert or retract rows of relations with the next commit of the database."""
        for name, asserts, rows in facts:
            if asserts:
                self._database.insert_words(name, rows)
            else:
                columns = self._database.program.relations[name].columns
                self._database.delete(name, Relation(name, WordRows(columns, self.dictionary, rows)))

    def learn(self) -> bool:
        """Declare relations for classes and properties that only rules have derived; return True if there are any."""
        before = len(self._names.properties) + len(self._names.classes)
        rest = self.stored_relation(self._names.property(REST), asserted=False)
        if rest is not None and len(rest):
            for word in numpy.unique(rest.words()[:, 1]):
                self._names.class_(self.text(int(word)))
        triples = self.stored_relation(TRIPLE, asserted=False) if self._names.has_triples else None
        if triples is not None and len(triples):
            for predicate, value, _ in self.split(triples.words().astype(numpy.int64)):
                self._names.relation(Triple("?s", predicate, value))
        return len(self._names.properties) + len(self._names.classes) > before

    # --- out -----------------------------------------------------------------------------------------------------

    def holds(self, subject: str, predicate: str, value: str) -> bool:
        row = (subject,) if predicate == TYPE else (subject, value)
        words = [self.dictionary.find(text, "symbol") for text in row]
        if None in words or subject.startswith(_NO_SUBJECT):
            return False
        found = (self.stored_relation(name, asserted=False) for _, name, _ in self._relations(predicate, value))
        return any(stored is not None and stored.has(words) for stored in found)  # type: ignore[arg-type]

    def match_terms(self, subject: str | None, predicate: str | None, value: str | None, *, asserted: bool) -> Words:
        """Return the triples with these terms, any for None, int64 of shape (n, 3)."""
        if value in self._names.classes:
            self.dictionary.encode(value, "symbol")  # that only rules have named so far
        find = self.dictionary.find
        wanted = {i: find(text, "symbol") for i, text in enumerate((subject, value)) if text is not None}
        if None in wanted.values():
            return numpy.empty((0, 3), numpy.int64)
        words: dict[int, int] = {i: word for i, word in wanted.items() if word is not None}
        parts = [
            self._to_triples(words_of(stored, words, arity), which)
            for which, name, arity in self._relations(predicate, value)
            if (stored := self.stored_relation(name, asserted=asserted)) is not None
        ]
        return self._valid(parts)

    def types(self, *, asserted: bool) -> Words:
        """Return the terms with a type and their types, as pairs; literals are included."""
        parts = [
            self.with_class(stored.words().astype(numpy.int64), iri)
            for (_, iri), name, _ in self._relations(TYPE, None)
            if (stored := self.stored_relation(name, asserted=asserted)) is not None
        ]
        return numpy.concatenate([numpy.empty((0, 2), numpy.int64), *parts])

    def asserted_pairs(self) -> Iterator[tuple[str, Words]]:
        """Yield the asserted triples as pairs of subject and object, for the relation that has them by their property,
        see `Names.asserted_relation`."""
        for (predicate, class_), name, _ in [*self._relations(None, None)]:
            stored = self.stored_relation(name, asserted=True)
            if stored is not None and len(stored):
                rows = stored.words().astype(numpy.int64)
                yield self._names.asserted_relation(predicate), self.with_class(rows, class_) if class_ else rows

    def nodes(self, epoch: int, constants: Iterable[str]) -> Words:
        """Return the subjects and objects of all triples as of an epoch, and constants, each as a pair with itself."""
        if self._nodes[0] != epoch:
            parts = [numpy.empty(0, numpy.int64)]
            for (_, class_), name, _ in [*self._relations(None, None)]:
                stored = self.stored_relation(name, asserted=False)
                if stored is not None and len(stored):
                    parts.append(stored.words().astype(numpy.int64).reshape(-1))
                    parts += [numpy.array([self.dictionary.encode(class_, "symbol")])] if class_ else []
            self._nodes = epoch, numpy.unique(numpy.concatenate(parts))
        more = [self.dictionary.encode(text, "symbol") for text in constants]
        return numpy.column_stack([numpy.union1d(self._nodes[1], numpy.array(more, numpy.int64))] * 2)

    def with_class(self, rows: Words, iri: str) -> Words:
        """Return the members of a class with the class, as pairs."""
        return numpy.column_stack([rows[:, 0], numpy.full(len(rows), self.dictionary.encode(iri, "symbol"))])

    def inferred_triples(self) -> Words:
        """Return the triples that follow and were not asserted, int64 of shape (n, 3)."""
        parts = []
        for which, name, _ in self._relations(None, None):
            view, facts = self.stored_relation(name, asserted=False), self.stored_relation(name, asserted=True)
            if view is not None and view is not facts:
                rows = view.words().astype(numpy.int64)
                parts.append(self._to_triples(rows[facts.find(rows) < 0] if facts is not None else rows, which))
        return self._valid(parts)

    def of_relations(self, rows: Iterable[tuple[str, Words]]) -> Words:
        """Return rows of relations as triples; leave out relations that are neither properties nor classes."""
        kinds = {name: which for which, name, _ in self._relations(None, None)}
        return self._valid([self._to_triples(words, kinds[name]) for name, words in rows if name in kinds])

    def count(self, name: str) -> int:
        """Return the number of rows of a relation."""
        stored = self.stored_relation(name, asserted=False)
        return len(stored) if stored is not None else 0

    def total(self) -> int:
        """Return the number of triples, those with a literal as subject included."""
        return sum(self.count(name) for _, name, _ in self._relations(None, None))

    def _relations(self, predicate: str | None, value: str | None) -> Iterator[tuple[tuple[str, str], str, int]]:
        """Yield the relations that may hold triples with these terms: predicate and class of each, its name and arity.

        Leave out properties without an IRI, such as an anonymous inverse: these serve rules only, and RDF has no such
        triples.
        """
        properties = self._names.properties
        for iri in properties if predicate is None else [predicate]:
            if iri in properties and not is_internal(iri) and iri != TYPE and is_iri(iri):
                yield (iri, ""), properties[iri], 2
        if predicate in (None, TYPE):
            for iri, name in self._names.classes.items():
                if value in (None, iri):
                    yield (TYPE, iri), name, 1

    def stored_relation(self, name: str, *, asserted: bool) -> StoredRelation | None:
        """Return the rows of a relation as the engine keeps them, or of its asserted facts, to be read only; None for
        one that no epoch has seen yet."""
        engine = self._database.engine
        return (engine.asserted if asserted else engine.views).get(name)

    def _to_triples(self, rows: Words, which: tuple[str, str]) -> Words:
        encode = self.dictionary.encode
        words = numpy.empty((len(rows), 3), numpy.int64)
        words[:, 0] = rows[:, 0]
        words[:, 1] = encode(which[0], "symbol")
        words[:, 2] = encode(which[1], "symbol") if which[1] else rows[:, -1]
        return words

    def _valid(self, parts: list[Words]) -> Words:
        """Return the given triples as one array, without those whose subject is a literal or a triple: RDF has none."""
        words = numpy.concatenate([numpy.empty((0, 3), numpy.int64), *parts])
        valid: Words = words[~self.are_literals(words[:, 0])]
        return valid

    def are_literals(self, words: Words) -> NDArray[numpy.bool_]:
        """Return for each of these symbols whether it is a literal, or a triple as a term."""
        import pyarrow.compute as pc

        stamp = self.dictionary.stamp
        flags, then = self._literals
        known, end = len(flags) if then == stamp else 0, len(self.dictionary)
        if known < end:
            if len(words) <= max(_FEW, (end - known) // 4):
                texts = self.dictionary.strings(words)
                return numpy.fromiter((text.startswith(_NO_SUBJECT) for text in texts), bool, len(texts))
            present = self.dictionary.present("symbol", known, end)  # Words that were given back have no text.
            fresh = numpy.zeros(end - known, bool)
            texts = self.dictionary.decode_column(present, "symbol")
            fresh[present - known] = pc.match_substring_regex(texts, _NO_SUBJECTS)
            flags = numpy.concatenate([flags[:known], fresh])
            self._literals = flags, stamp
        found: NDArray[numpy.bool_] = flags[words]
        return found

    def relation(self, name: str, rows: Words) -> Relation:
        """Return triples, int64 of shape (n, 3), or quads, of shape (n, 4), as a relation."""
        return Relation(name, WordRows(QUAD_COLUMNS[: rows.shape[1]], self.dictionary, rows))

    def text(self, word: int) -> str:
        """Return the symbol of a word."""
        return str(self.dictionary.decode(word, "symbol"))


def words_of(stored: StoredRelation, wanted: dict[int, int], arity: int) -> Words:
    """Return the rows of a relation of pairs that have these words in these columns; for single terms, only column 0
    counts."""
    constants = {i: word for i, word in wanted.items() if i < arity}
    rows = stored.near(constants).astype(numpy.int64)
    for i, word in constants.items():
        rows = rows[rows[:, i] == word]
    return rows


def groups(words: Words) -> Iterator[tuple[int, Words]]:
    """Yield each word with its places."""
    order = numpy.argsort(words, kind="stable")
    ordered = words[order]
    for places in numpy.split(order, numpy.flatnonzero(ordered[1:] != ordered[:-1]) + 1):
        if len(places):  # There is one part without places if there are no words.
            yield int(words[places[0]]), places
