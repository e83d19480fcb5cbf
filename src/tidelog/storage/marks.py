"""What is kept of the rows of a relation beside their words: counts, births, supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tidelog.storage.stored import StoredRelation


@dataclass(frozen=True)
class Marks:
    """The marks of the live rows of a relation, in their order. `counts` is None where nothing is counted, `supports`
    where they are not kept; `births` are kept `by_row` where an update has given them out, else as runs."""

    counts: NDArray[numpy.int32] | None
    births: NDArray[numpy.signedinteger[Any]]
    supports: NDArray[numpy.int32] | None
    by_row: bool

    @classmethod
    def of(cls, stored: StoredRelation) -> Marks:
        """The marks of a relation between two epochs."""
        live = stored.live()
        counts = stored.counts()[live] if stored.counted else None
        supports = stored.supports()[live] if stored.keeps_supports else None
        return cls(counts, stored.births()[live], supports, stored.keeps_births)

    def runs(self) -> list[tuple[int, int]]:
        """The births as runs: (first row, birth) of neighbours born in the same round."""
        if not self.births.any():
            return []
        firsts = numpy.concatenate([[0], 1 + numpy.flatnonzero(numpy.diff(self.births))])
        return list(zip(firsts.tolist(), self.births[firsts].tolist(), strict=True))
