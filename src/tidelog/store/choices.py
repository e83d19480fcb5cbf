"""The tuples that relations with choice-domains show, as of the last epoch on the disk.

Facts alone do not say which tuples are shown: that depends on the tuples that were shown before. A checkpoint has the
shown tuples in its views. The segments after it have the changes: for each epoch the tuples that were inserted and
deleted. They are no facts. The epoch that brings a database back chooses these tuples first (`EngineState.recorded`),
so that it shows them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy

from tidelog.common.arrays import Words
from tidelog.io import encode
from tidelog.language.syntax import Column, RelationType
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.stored import StoredRelation

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = "#shown."
"""How the names of the files with shown tuples begin, so that they are no facts of the relation."""


class RecordedChoices:
    """The changes of shown tuples, by relation. The dictionary keeps their words as long as this is there."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._changes: dict[str, list[tuple[bool, Words]]] = {}
        dictionary.hold(self)

    def take(self, relation: RelationType, asserts: bool, table: pa.Table) -> None:
        """Take the tuples of an epoch that came into view, or went. Raise DataError if the table does not fit."""
        self.change(relation, asserts, encode(table, relation, self._dictionary))

    def change(self, relation: RelationType, asserts: bool, words: Words) -> None:
        """Take tuples that came into view, or went."""
        self._columns[relation.name] = relation.columns
        self._changes.setdefault(relation.name, []).append((asserts, words))

    def rows(self, before: Mapping[str, StoredRelation]) -> dict[str, Words]:
        """Return the tuples of the relations that have changed, from the views `before` the changes."""
        found = {}
        for name, changes in self._changes.items():
            if name in before:
                changes = [(True, before[name].words().astype(numpy.int64)), *changes]
            # The last change of a tuple says whether it is shown.
            words = numpy.concatenate([words for _, words in changes])[::-1]
            came = numpy.concatenate([numpy.full(len(words), asserts) for asserts, words in changes])[::-1]
            last = numpy.unique(words, axis=0, return_index=True)[1]
            found[name] = numpy.ascontiguousarray(words[last[came[last]]])
        return found

    def held(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the words that the dictionary must not give back."""
        for name, changes in self._changes.items():
            for _, words in changes:
                yield self._columns[name], words
