"""The change that a commit of a store made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import Column
from tidelog.maintain.protocol import Report
from tidelog.rdf.data import COLUMNS, Triples
from tidelog.rdf.names import INCONSISTENCY
from tidelog.workspace.change import Change, RelationChange
from tidelog.workspace.copies import Uncopied


class StoreChange(Uncopied):
    """The net change of the triples, asserted and inferred together, with its reports."""

    def __init__(self, changes: Sequence[Change], triples: Triples, added: list[str], removed: list[str]) -> None:
        self._changes = changes
        self._triples = triples
        self.rules_added = tuple(added)
        """Names of the rules that the ontology asked for."""
        self.rules_removed = tuple(removed)
        """Names of the rules that it no longer asks for."""
        self.errors: tuple[BaseException, ...] = ()
        """The errors that subscribers raised when they were called with this change."""
        triples.dictionary.hold(self)

    def held(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the words of the triples if somebody has asked for these."""
        for words in vars(self).get("_net", ()):
            yield COLUMNS, words

    def __getitem__(self, relation: str) -> RelationChange:
        """Return the net change of a view, or of another relation of a program. Raise UsageError (E0601) if there is no
        such relation."""
        inserted, deleted = self._changes[0][relation].inserted, self._changes[0][relation].deleted
        for change in self._changes[1:]:
            more, less = change[relation].inserted, change[relation].deleted
            inserted, deleted = (inserted - less) | (more - deleted), (deleted - more) | (less - inserted)
        return RelationChange(inserted, deleted)

    def knows(self, relation: str) -> bool:
        """Return True if there was a relation after this commit: for modules of this package."""
        return self._changes[-1].knows(relation)

    @property
    def reports(self) -> tuple[Report, ...]:
        """Return the report of each epoch: one, or several if the data changed the schema."""
        return tuple(change.report for change in self._changes)

    @property
    def bootstraps(self) -> int:
        """Return the number of hyper-nodes that were bootstrapped."""
        return sum(report.bootstraps for report in self.reports)

    @property
    def inserted(self) -> Relation:
        """Return the inserted triples."""
        return self._relation("inserted", 0)

    @property
    def deleted(self) -> Relation:
        """Return the deleted triples."""
        return self._relation("deleted", 1)

    def words(self) -> tuple[Words, Words]:
        """Return the inserted and the deleted triples as words: for modules of this package."""
        with self._triples.turns.using:
            return self._net

    def rows_of(self, relation: str) -> Words:
        """Return the rows of a relation that were inserted or deleted as words: for modules of this package."""
        parts = [
            self._words(rows)
            for change in self._changes
            if relation in change
            for rows in (change[relation].inserted, change[relation].deleted)
        ]
        return numpy.concatenate(parts) if parts else numpy.empty((0, 4), numpy.int64)

    @property
    def inconsistencies(self) -> frozenset[tuple[str, ...]]:
        """Return the inconsistencies that this commit added, as `Store.inconsistencies` has them."""
        came: set[tuple[Any, ...]] = set()
        for change in self._changes:
            if INCONSISTENCY in change:
                came = (came | set(change[INCONSISTENCY].inserted)) - set(change[INCONSISTENCY].deleted)
        return frozenset(came)

    @cached_property
    def _net(self) -> tuple[Words, Words]:
        came, went = self._of(0)
        for i in range(1, len(self._changes)):
            more, less = self._of(i)
            came, went = (
                _union(_without(came, less), _without(more, went)),
                _union(_without(went, more), _without(less, came)),
            )
        return came, went

    def _of(self, i: int) -> tuple[Words, Words]:
        change = self._changes[i]
        came = self._triples.of_relations((name, self._words(change[name].inserted)) for name in change)
        went = self._triples.of_relations((name, self._words(change[name].deleted)) for name in change)
        return came, went

    def _words(self, rows: Relation) -> Words:
        words = rows.words_in(self._triples.dictionary)
        assert words is not None
        return words

    def _relation(self, name: str, which: int) -> Relation:
        with self._triples.turns.using:  # Predicates and classes may get words.
            return Relation(name, WordRows(COLUMNS, self._triples.dictionary, self._net[which]))

    def __repr__(self) -> str:
        seconds = sum(report.seconds for report in self.reports)
        came, went = len(self.inserted), len(self.deleted)
        rules = f"rules +{len(self.rules_added)} -{len(self.rules_removed)}"
        wrong = f"; inconsistencies +{len(self.inconsistencies)}" if self.inconsistencies else ""
        return f"<StoreChange: triples +{came} -{went}; {rules}; {seconds:.3f} s{wrong}>"


def _union(one: Words, other: Words) -> Words:
    return numpy.concatenate([one, other])


def _without(one: Words, other: Words) -> Words:
    """Return the rows of one array that the other lacks."""
    if not len(one) or not len(other):
        return one
    there = set(map(tuple, other.tolist()))
    return one[[tuple(row) not in there for row in one.tolist()]]
