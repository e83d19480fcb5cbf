"""The changes of a store: that of a commit, and a block of changes that are committed together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy

from tidelog.common.arrays import Words
from tidelog.database.transaction import ChangeBlock, Committing, NamedRules
from tidelog.io.relation import Relation
from tidelog.language.syntax import Column
from tidelog.maintain.protocol import Report
from tidelog.rdf.data import COLUMNS, Triples
from tidelog.rdf.names import INCONSISTENCY
from tidelog.rdf.quads import without
from tidelog.workspace.change import Change, RelationChange
from tidelog.workspace.objects import OF_BLOCKS, EarlierNames, Uncopied


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

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
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
        inserted: set[tuple[Any, ...]] = set()
        for change in self._changes:
            if INCONSISTENCY in change:
                inserted = (inserted | set(change[INCONSISTENCY].inserted)) - set(change[INCONSISTENCY].deleted)
        return frozenset(inserted)

    @cached_property
    def _net(self) -> tuple[Words, Words]:
        inserted, deleted = self._of(0)
        for i in range(1, len(self._changes)):
            more, less = self._of(i)
            inserted, deleted = (
                numpy.concatenate([without(inserted, less), without(more, deleted)]),
                numpy.concatenate([without(deleted, more), without(less, inserted)]),
            )
        return inserted, deleted

    def _of(self, i: int) -> tuple[Words, Words]:
        change = self._changes[i]
        inserted = self._triples.of_relations((name, self._words(change[name].inserted)) for name in change)
        deleted = self._triples.of_relations((name, self._words(change[name].deleted)) for name in change)
        return inserted, deleted

    def _words(self, rows: Relation) -> Words:
        words = rows.words_in(self._triples.dictionary)
        assert words is not None
        return words

    def _relation(self, name: str, which: int) -> Relation:
        with self._triples.turns.using:  # Predicates and classes may get words.
            return self._triples.relation(name, self._net[which])

    def __repr__(self) -> str:
        seconds = sum(report.seconds for report in self.reports)
        inserted, deleted = len(self.inserted), len(self.deleted)
        rules = f"rules +{len(self.rules_added)} -{len(self.rules_removed)}"
        wrong = f"; inconsistencies +{len(self.inconsistencies)}" if self.inconsistencies else ""
        return f"<StoreChange: triples +{inserted} -{deleted}; {rules}; {seconds:.3f} s{wrong}>"


class ChangingStore(Committing[StoreChange], Protocol):
    """A store as a transaction needs it."""

    def load(self, program: str | os.PathLike[str]) -> None: ...
    def load_n3(self, rules: str | os.PathLike[str], name: str | None = None) -> tuple[str, ...]: ...
    @property
    def rules(self) -> NamedRules: ...
    def view(self, name: str, text: str, /) -> None: ...
    def drop_view(self, name: str, /) -> None: ...
    def shapes(
        self,
        data: Any,
        name: str = ...,
        format: str | None = None,
        *,
        base: str | None = None,
        inferred: bool = True,
        strict: bool = False,
    ) -> None: ...
    def insert(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None: ...
    def delete(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None: ...
    def replace(self, data: Any, name: str, format: str | None = None, *, base: str | None = None) -> None: ...


class StoreTransaction(EarlierNames, ChangeBlock[StoreChange]):
    """The changes of one `with` block over a store. All methods raise UsageError (E0626) outside of the block or in
    another thread."""

    _earlier_names = OF_BLOCKS

    def __init__(self, store: ChangingStore, commit: Callable[[], StoreChange] | None = None) -> None:
        super().__init__(store, commit)
        self._store = store

    @property
    def _open_store(self) -> ChangingStore:
        """Return the store. Raise UsageError (E0626) outside of the block or in another thread."""
        self._check()
        return self._store

    def load(self, program: str | os.PathLike[str]) -> None:
        """Add rules, see `Store.load`."""
        self._open_store.load(program)

    def load_n3(self, rules: str | os.PathLike[str], name: str | None = None) -> tuple[str, ...]:
        """Add rules in N3, see `Store.load_n3`."""
        return self._open_store.load_n3(rules, name)

    @property
    def rules(self) -> NamedRules:
        """`add`, `replace` and `remove` rules, see `Store.rules`."""
        return self._open_store.rules

    def view(self, name: str, text: str, /) -> None:
        """Add a view in SPARQL, see `Store.view`."""
        self._open_store.view(name, text)

    def drop_view(self, name: str, /) -> None:
        """Remove a view, see `Store.drop_view`."""
        self._open_store.drop_view(name)

    def shapes(
        self,
        data: Any,
        name: str = "shapes",
        format: str | None = None,
        *,
        base: str | None = None,
        inferred: bool = True,
        strict: bool = False,
    ) -> None:
        """Validate by shapes of SHACL, see `Store.shapes`."""
        self._open_store.shapes(data, name, format, base=base, inferred=inferred, strict=strict)

    def insert(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None:
        """Assert triples, see `Store.insert`."""
        self._open_store.insert(data, format, base=base, graph=graph)

    def delete(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None:
        """Retract triples, see `Store.delete`."""
        self._open_store.delete(data, format, base=base, graph=graph)

    def replace(self, data: Any, name: str, format: str | None = None, *, base: str | None = None) -> None:
        """Make the triples of a source those of a graph, see `Store.replace`."""
        self._open_store.replace(data, name, format, base=base)
