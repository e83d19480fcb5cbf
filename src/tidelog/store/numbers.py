"""The numbers of counters as of the last epoch on the disk.

A checkpoint has them in its views. The segments after it have the changes: for each epoch the rows of the relations of
counters that were inserted and deleted. They are no facts: the epoch that brings a database back takes them from here
(`EngineState.recorded`), so that each substitution has the number again that it had.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy

from tidelog.common.arrays import Words
from tidelog.errors import DataError
from tidelog.io import encode
from tidelog.language.syntax import Column, RelationType
from tidelog.rules.core import CoreProgram, RelationInfo
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa


class RecordedNumbers:
    """The last number of each substitution, by relation. The dictionary keeps their words as long as this is there."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._numbers: dict[str, dict[tuple[int, ...], int]] = {}
        self._columns: dict[str, tuple[Column, ...]] = {}
        dictionary.hold(self)

    def take(self, core: CoreProgram, name: str, asserts: bool, table: pa.Table) -> None:
        """Take the numbers of an epoch that a relation gained or lost. Leave out those of a former rule of the same
        name, over variables of other types."""
        relation = numbered_relation(core, name)
        if table.column_names == [column.name for column in relation.columns]:
            try:
                words = encode(table, relation, self._dictionary)
            except DataError:
                return
            self.change(core.relations[name], asserts, words)

    def change(self, relation: RelationInfo, asserts: bool, words: Words) -> None:
        """Take rows that a relation gained or lost."""
        known = self._numbers.setdefault(relation.name, {})
        self._columns[relation.name] = relation.columns
        for *key, number in words.tolist():
            if asserts:
                known[tuple(key)] = number
            elif known.get(tuple(key)) == number:
                del known[tuple(key)]

    def rows(self) -> dict[str, Words]:
        """Return the numbers as rows of the relations of counters."""
        return {
            name: numpy.array([(*key, number) for key, number in known.items()], numpy.int64).reshape(
                len(known), len(self._columns[name])
            )
            for name, known in self._numbers.items()
        }

    def held(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the words that the dictionary must not give back."""
        for name, rows in self.rows().items():
            yield self._columns[name], rows


def numbered_relation(core: CoreProgram, name: str) -> RelationType:
    """Return the relation of a counter as one with facts, whose columns have names that differ."""
    columns = core.relations[name].columns
    return RelationType(name, tuple(Column(f"c{i}", each.kind, each.kind) for i, each in enumerate(columns)))
