"""The planner's statistics of relations: sizes, and the number of different values in their columns."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy

from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.stored import StoredRelation

_SAMPLE = 2_000
_GUESS = 1_000


class LiveStatistics:
    """Statistics of stored relations, whose sizes are those of now.

    Relations in `growing` are still being derived: while they are small they are taken to be as large as the largest
    other relation, because orders that suit the first round only would not last.
    """

    def __init__(self, relations: Mapping[str, StoredRelation], growing: frozenset[str]) -> None:
        self._relations = relations
        self._growing = growing
        self._distinct: dict[tuple[str, tuple[int, ...]], float] = {}
        self._sizes = {name: len(stored) for name, stored in relations.items()}
        self._expected = max([_GUESS, *(size for name, size in self._sizes.items() if name not in growing)])

    def size(self, relation: str) -> float:
        """Return the number of rows, at least 1."""
        rows = self._sizes[relation]
        return float(max(rows, self._expected if self._is_guessed(relation) else 1))

    def _is_guessed(self, relation: str) -> bool:
        return relation in self._growing and self._sizes[relation] < _GUESS

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        """Return the number of different values of these columns together, at least 1: that of an index if there is
        one, otherwise an estimate from a sample."""
        key = relation, columns
        if key not in self._distinct:
            self._distinct[key] = max(1.0, min(self.size(relation), self._estimate(relation, columns)))
        return self._distinct[key]

    def has_index(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Return True if there is an index by these columns that is not far behind, or none is needed."""
        stored = self._relations[relation]
        index = stored.indexes.get(columns)
        if isinstance(stored, ClosedRelation):
            return True
        return index is not None and index.rows_entered * 2 >= stored.rows

    def is_compressed(self, relation: str) -> bool:
        """Return True if a relation is a closure whose pairs are not written."""
        return isinstance(self._relations[relation], ClosedRelation)

    def _estimate(self, relation: str, columns: tuple[int, ...]) -> float:
        stored = self._relations[relation]
        if self._is_guessed(relation):
            return float(self.size(relation) ** (0.6 + 0.4 * (len(columns) - 1) / max(1, stored.arity - 1)))
        if isinstance(stored, ClosedRelation):
            return float(stored.closure.nodes) ** len(columns)
        index = stored.indexes.get(columns)
        if index is not None and index.rows_entered == stored.rows:
            return float(len(index))
        if len(columns) > 1:
            product = 1.0
            for column in columns:
                product *= self.distinct(relation, (column,))
            return product
        return _distinct_values(stored, columns[0])


def _distinct_values(stored: StoredRelation, column: int) -> float:
    """Return the guaranteed-error estimate: a value met once in the sample stands for sqrt(rows / sample) values."""
    rows = stored.rows
    if rows == 0:
        return 1.0
    numbers = numpy.arange(0, rows, max(1, rows // _SAMPLE))
    _, met = numpy.unique(stored.take(numbers)[:, column], return_counts=True)
    once = int((met == 1).sum())
    return sqrt(rows / len(numbers)) * once + (len(met) - once)
