"""The relations of a hyper-node that an update has begun to change: of hundreds, mostly few."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy
from numpy.typing import NDArray

from tidelog.storage.stored import StoredRelation


class OpenRelations:
    """Those of the relations `derived` that are open; a kernel that is about to change another one has `opening` called
    with it. `external` are relations of other hyper-nodes that have changed."""

    def __init__(
        self,
        derived: Iterable[StoredRelation],
        external: Iterable[StoredRelation],
        opening: Callable[[StoredRelation], object],
    ) -> None:
        self.stored = [stored for stored in derived if stored.changing]
        self._numbers = [stored.number for stored in (*external, *self.stored)]
        self._opening = opening

    def add(self, stored: StoredRelation) -> bool:
        """Open a relation; return False if it is open."""
        if stored.changing:
            return False
        self._opening(stored)
        self.stored.append(stored)
        self._numbers.append(stored.number)
        return True

    @property
    def numbers(self) -> NDArray[numpy.int64]:
        """The numbers of the relations with lists, those of other hyper-nodes among them."""
        return numpy.array(self._numbers, numpy.int64)
