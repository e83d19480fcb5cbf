"""Since which epoch the rows of a relation are there.

Facts that come in an epoch are appended, so that neighbours share their epoch: runs of rows say it, 16 bytes for each
epoch that brought rows. An epoch is negative where the rows came in that one or before, and 0 where nobody knows.
"""

from __future__ import annotations

from array import array

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords


class RowEpochs:
    """The runs of the rows of a relation: the first row of each, and its epoch."""

    def __init__(self, runs: AnyWords | None = None) -> None:
        """`runs` have the first row and the epoch of each, shape (n, 2)."""
        self._firsts, self._epochs = array("q"), array("q")
        if runs is not None:
            self._firsts.frombytes(runs[:, 0].astype(numpy.int64).tobytes())
            self._epochs.frombytes(runs[:, 1].astype(numpy.int64).tobytes())

    @classmethod
    def of_rows(cls, epochs: NDArray[numpy.int64]) -> RowEpochs:
        """Return the epochs of rows, one by one."""
        firsts = numpy.flatnonzero(numpy.diff(epochs, prepend=epochs[:1] - 1))
        return cls(numpy.column_stack([firsts, epochs[firsts]]))

    def note(self, first: int, epoch: int) -> None:
        """Note that the rows from `first` on have come in an epoch."""
        self._firsts.append(first)
        self._epochs.append(epoch)

    def take_back(self) -> None:
        """Forget the last run."""
        self._firsts.pop()
        self._epochs.pop()

    def of(self, numbers: AnyWords) -> NDArray[numpy.int64]:
        """Return the epochs of rows by their numbers."""
        starts, epochs = self.runs().T
        known: NDArray[numpy.int64] = numpy.append(epochs, 0)
        return known[numpy.searchsorted(starts, numbers, side="right") - 1]

    def among(self, live: AnyWords) -> RowEpochs:
        """Return the epochs of the live rows, which are all that there are, in their order."""
        starts, epochs = self.runs().T
        firsts = numpy.searchsorted(live, starts)
        kept = firsts < numpy.append(firsts[1:], len(live))
        return RowEpochs(numpy.column_stack([firsts[kept], epochs[kept]]))

    def runs(self) -> NDArray[numpy.int64]:
        """Return the runs, shape (n, 2). Another thread may note one meanwhile, or take it back."""
        epochs = numpy.frombuffer(self._epochs.tobytes(), numpy.int64)
        firsts = numpy.frombuffer(self._firsts.tobytes(), numpy.int64)
        count = min(len(firsts), len(epochs))
        return numpy.column_stack([firsts[:count], epochs[:count]])
