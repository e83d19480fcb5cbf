"""What is kept of the rows of a relation beside their words: counts, births, supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray


class MarkedRows(Protocol):
    """A relation as far as its marks go: each by row, dead rows among them, and the numbers of the live rows."""

    @property
    def counted(self) -> bool: ...
    @property
    def keeps_supports(self) -> bool: ...
    @property
    def keeps_births(self) -> bool: ...
    def live(self) -> NDArray[numpy.int64]: ...
    def counts(self) -> NDArray[numpy.int32]: ...
    def births(self) -> NDArray[numpy.signedinteger[Any]]: ...
    def supports(self) -> NDArray[numpy.int32]: ...


@dataclass(frozen=True)
class Marks:
    """The marks of the live rows of a relation, in their order. `counts` is None where nothing is counted, `supports`
    where they are not kept; `births` are kept `by_row` where an update has given them out, else as runs."""

    counts: NDArray[numpy.int32] | None
    births: NDArray[numpy.signedinteger[Any]]
    supports: NDArray[numpy.int32] | None
    by_row: bool

    @classmethod
    def of(cls, stored: MarkedRows) -> Marks:
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
