"""Grids for dense relations of pairs while a bootstrap derives them: a bit for each pair of values.

Where a relation has a good part of all pairs of its values, most derivations repeat pairs, and each costs a look into
a table that is larger than any cache. The bits of all pairs are not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from tidelog.kernels import layout
from tidelog.kernels.calling import expect
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

_LEAST = 100_000
"""Rows of a relation from which on a grid pays,"""
_REPEATED = 2
"""with so many derivations for each of them,"""
_BITS, _MOST_BITS = 32, 1 << 29
"""and at most as many bits for each derivation so far, and for all."""


class Grids:
    """The grids of the relations that a bootstrap derives. Where derivations are counted none has a grid."""

    def __init__(self, derived: Sequence[StoredRelation]) -> None:
        self._pairs = [stored for stored in derived if stored.arity == 2 and not stored.marks.has_counts]
        self._before = [stored.fields[layout.R_EMITTED] for stored in self._pairs]
        self._next = [_REPEATED * _LEAST] * len(self._pairs)
        """The derivations of each relation at which it is looked at."""
        self._grids: dict[tuple[int, int, int], Block] = {}
        """All that have been made, by relation, height and breadth: threads may still use an earlier one."""

    def look(self) -> None:
        """Give those relations grids that have become dense."""
        for i, stored in enumerate(self._pairs):
            derivations = stored.fields[layout.R_EMITTED] - self._before[i]
            is_large = stored.rows >= _LEAST and derivations >= self._next[i]
            if is_large and derivations >= _REPEATED * stored.rows:
                self._next[i] = 2 * derivations
                self._make(stored, derivations)

    def _make(self, stored: StoredRelation, derivations: int) -> None:
        """Give a relation a grid of all values so far, unless it has one, or that is too large for so many derivations
        or for the memory that is left."""
        least, most = stored.extremes()
        height, breadth = (int(word) + 1 for word in most)
        if least.min() < 0 or height * breadth > min(_BITS * derivations, _MOST_BITS):
            return
        key = stored.number, height, breadth
        if key not in self._grids and stored.catalog.room.fits(height * breadth // 8):
            block = self._grids[key] = make_grid(stored, height, breadth)
            stored.fields[layout.R_GRID] = block.address

    def end(self) -> None:
        """Take the grids away."""
        for stored in self._pairs:
            stored.fields[layout.R_GRID] = 0


def make_grid(stored: StoredRelation, height: int, breadth: int) -> Block:
    """Return a grid with all pairs of a relation, which are in its rectangle."""
    from tidelog.kernels.grids import fill_grid

    expect(stored.rows)
    block = Block(8 * (layout.G_BITS + height * breadth // 64 + 1), room=stored.catalog.room)
    block.view(numpy.int64, layout.G_BITS)[:] = height, breadth
    fill_grid(stored.catalog.table, stored.number, block.address, stored.catalog.tag)
    return block
