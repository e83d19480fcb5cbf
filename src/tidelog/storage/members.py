"""The members of an aggregate's groups where they are pairs of a closure, which nobody has to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.common.looking import Look, unlimited
from tidelog.storage.catalog import Catalog
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.folding import ClosureFold, folded
from tidelog.storage.memory import Stop
from tidelog.storage.stored import StoredRelation


class ClosedMembers(ClosedRelation):
    """The pairs of a closure that begin with a tuple of `asked`, a relation of one column or of none. With `backward`
    pairs are turned round, so that they end with it in the closure."""

    def __init__(self, pairs: ClosedRelation, asked: StoredRelation, backward: bool) -> None:
        super().__init__(pairs.catalog, pairs.closure)
        self.pairs = pairs
        self.asked = asked
        self.backward = backward

    def __len__(self) -> int:
        if not self.asked.arity:
            return len(self.pairs) if len(self.asked) else 0
        counts = folded(self.closure, self._nodes(), ClosureFold("count", self.backward), lambda rows: None, Stop())
        return int(counts.sum())

    @property
    def identity(self) -> int:
        return id(self)

    def _nodes(self) -> NDArray[numpy.int64]:
        """Return the nodes asked for, by their numbers."""
        nodes = self.closure.numbers_of(self.asked.words()[:, 0])
        return nodes[nodes >= 0]

    def _turned(self, rows: AnyWords) -> AnyWords:
        return numpy.ascontiguousarray(rows[:, ::-1]) if self.backward else rows

    def _among_asked(self, rows: AnyWords) -> NDArray[numpy.bool_]:
        """Return a mask of the rows whose group is asked for."""
        if not self.asked.arity:
            return numpy.full(len(rows), len(self.asked) > 0)
        found = self.asked.find(rows[:, :1])
        there: NDArray[numpy.bool_] = found >= 0
        there[there] = self.asked.marks.alive(found[there])
        return there

    def words(self, count: int | None = None) -> AnyWords:
        return numpy.concatenate([numpy.empty((0, 2), self.catalog.dtype), *self.batches()])[:count]

    def batches(self) -> Iterator[AnyWords]:
        if not self.asked.arity:
            yield from map(self._turned, self.pairs.batches() if len(self.asked) else ())
        elif self.backward:
            for (word,) in self.asked.words().tolist():
                yield self._turned(self.pairs.near({1: word}))
        else:
            yield from self.closure.batches(self.catalog.dtype, nodes=self._nodes())

    def near(self, constants: Mapping[int, int]) -> AnyWords:
        columns = {1 - column if self.backward else column: word for column, word in constants.items()}
        rows = self._turned(self.pairs.near(columns)) if columns else self.words()
        return rows[self._among_asked(rows)]

    def has(self, words: Sequence[int]) -> bool:
        row = numpy.array([words], numpy.int64)
        return bool(self._among_asked(row)[0]) and self.pairs.has(self._turned(row)[0].tolist())

    def snapshot(self) -> ClosedRelation:
        asked = self.asked.snapshot() or self.asked.copy_to(self.catalog)
        return ClosedMembers(self.pairs.snapshot(), asked, self.backward)

    def bytes(self) -> int:
        return StoredRelation.bytes(self)

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = unlimited) -> StoredRelation:
        pairs = self.pairs.copy_to(catalog)
        assert isinstance(pairs, ClosedRelation)
        return ClosedMembers(pairs, self.asked.copy_to(catalog, look=look), self.backward)
