"""Bootstraps into files: derived rows wait until there are many, and are then inserted in the order of their slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from tidelog.common.looking import Look
from tidelog.kernels import layout
from tidelog.maintain.lanes import CALLED_BATCH
from tidelog.storage.stored import StoredRelation
from tidelog.storage.waiting import WaitingRows

_LARGE = 1 / 8
"""The part of the budget from which on the rows of a relation wait,"""
_ROOM = 1 / 16
"""and the part of it that they take before, and after they are ordered."""


class Waiting:
    """The rows that wait, of the relations that a bootstrap derives."""

    def __init__(self, derived: Sequence[StoredRelation]) -> None:
        self._derived = {stored.number: stored for stored in derived}
        self._rows: dict[int, WaitingRows] = {}

    def look_at(self, stored: StoredRelation, node: NDArray[numpy.int64]) -> bool:
        """Return True if rows of a relation begin to wait, because it is large and there is a folder for files. From
        then on, threads share no work of the hyper-node whose state is `node`: they insert in no order."""
        budget = stored.catalog.room.budget
        row = stored.arity * stored.catalog.dtype.itemsize
        if budget is None or not row or stored.number in self._rows or stored.bytes() < _LARGE * budget:
            return False
        self._rows[stored.number] = WaitingRows(stored, 2 * CALLED_BATCH + int(_ROOM * budget) // row)
        node[layout.N_SHARE] = 0
        return True

    def insert(self, number: int, look: Look) -> None:
        """Insert the rows that wait for the relation of this number. An exception of `look` ends the work."""
        self._rows[number].insert(look)

    def end(self) -> None:
        """Let no rows wait any more. None does, unless the bootstrap has failed."""
        for rows in self._rows.values():
            rows.end()
