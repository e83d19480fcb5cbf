"""The deltas of an epoch: rows that a relation gained and lost, copied only when a caller reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.maintain.protocol import RowChange
from tidelog.storage.catalog import Catalog
from tidelog.storage.changed_pairs import ChangedPairs
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.stored import StoredRelation


class Whole:
    """All rows of a relation as they are now, copied only when a caller reads them or the relation is about to
    change."""

    def __init__(self, stored: StoredRelation) -> None:
        self._stored: StoredRelation | None = stored
        self._count = len(stored)
        self._words: AnyWords | None = None
        self._lock = threading.RLock()
        """Held while the rows are copied, which other threads may ask for, so that `keep` waits for them."""

    def __len__(self) -> int:
        return self._count

    def keep(self) -> None:
        """Make the rows independent of the relation from now on."""
        with self._lock:
            if self._stored is not None and (snapshot := self._stored.snapshot()) is not None:
                self._stored = snapshot
            else:
                self.words()

    def words_in_use(self) -> AnyWords:
        """Return rows with all words of these rows. For a closure whose rows are not read, return its nodes, each with
        itself."""
        with self._lock:
            if isinstance(self._stored, ClosedRelation):
                nodes = self._stored.closure.words_of_nodes()
                return numpy.stack([nodes, nodes], axis=1)
            return self._stored.words() if self._stored is not None else self.words()

    def words(self) -> AnyWords:
        """Return the rows."""
        with self._lock:
            if self._stored is not None:
                self._words, self._stored = self._stored.words(), None
            assert self._words is not None
            return self._words


Unwritten: TypeAlias = Whole | ChangedPairs
"""Rows that are still to be copied or written; `words_in_use` returns rows with all of their words."""

AnyRows: TypeAlias = AnyWords | Unwritten
"""Rows of words, or where these come from."""

Deltas: TypeAlias = Mapping[str, RowChange[AnyRows]]
"""The net changes of relations."""


class Delta(RowChange[AnyRows]):
    """The net change of a relation: inserted rows and deleted rows."""

    def __len__(self) -> int:
        return len(self.inserted) + len(self.deleted)


@dataclass(frozen=True)
class History:
    """The rows of a relation as they are now, and the rows that this epoch has inserted and deleted."""

    now: Callable[[], AnyWords]
    inserted: AnyWords
    deleted: AnyWords

    def before(self) -> AnyWords:
        """Return the rows as the epoch found them."""
        now, fresh = self.now(), StoredRelation(Catalog(64), self.inserted.shape[1])
        fresh.insert(self.inserted)
        return numpy.concatenate([now[fresh.find(now) < 0] if len(fresh) else now, self.deleted])


def rows_of(words: AnyRows) -> AnyWords:
    """Return the rows, in whichever form they are."""
    return words if isinstance(words, numpy.ndarray) else words.words()


def held_rows(words: AnyRows) -> AnyWords:
    """Return rows with all words of these rows, which need not be written for that."""
    return words if isinstance(words, numpy.ndarray) else words.words_in_use()


def ends_of(rows: AnyRows, column: int) -> AnyWords:
    """Return the words of one column of these rows, maybe each only once."""
    return rows.ends(column) if isinstance(rows, ChangedPairs) else rows_of(rows)[:, column]
