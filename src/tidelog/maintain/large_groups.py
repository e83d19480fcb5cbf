"""The states of an aggregate's large groups, which make a change of one cost as much as the change.

    Total   the number of values and their exact sum, for means and for sums of floats
    Window  the sorted values around the one that is asked for, for minimum, maximum and median

Both are values, made from all members of a group when the group is first touched; `changed` makes the next one from the
inserted and the deleted values, or returns None to request all members again. A `Window` does so when it no longer
contains the requested ranks. That takes hundreds of changes at its edge, so they share the cost. Counts and sums of
integers need no state: the value of the group suffices.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.language.aggregates import AggregateName

Values: TypeAlias = NDArray[Any]
"""Values of a group, dtype int64, uint64 or float64, no NaN."""

LARGE = 1_024
"""Smaller groups are read again for every change."""
WIDTH = 512
"""Values in a new window, at least 2; twice as many at most in one that has changed."""

_UNIT = 1126
"""All floats are whole multiples of 2**-1126: the smallest is 2**-1074, and there are 53 bits in front of a point."""
_HALF = 26


def exact(values: NDArray[numpy.float64]) -> int:
    """Return the sum of finite values in units of 2**-1126, by adding the mantissas of each exponent in two halves."""
    fractions, exponents = numpy.frexp(values)
    mantissas = numpy.ldexp(fractions, 53).astype(numpy.int64)
    sums = numpy.zeros((2, _UNIT + 1025), numpy.int64)
    numpy.add.at(sums[0], exponents + (_UNIT - 53), mantissas >> _HALF)
    numpy.add.at(sums[1], exponents + (_UNIT - 53), mantissas & ((1 << _HALF) - 1))
    places = numpy.flatnonzero(sums.any(axis=0))
    high, low = sums[:, places].tolist()
    return sum(((h << _HALF) + lo) << at for at, h, lo in zip(places.tolist(), high, low, strict=True))


@dataclass(frozen=True)
class Total:
    """The number of values, the sum of the finite ones in units of 2**-1126, and how many are infinite."""

    op: AggregateName
    size: int = 0
    units: int = 0
    positive: int = 0
    negative: int = 0

    def with_changes(self, born: Values, died: Values) -> Total:
        """Return the total after these values were inserted and deleted."""
        return self._with(born, 1)._with(died, -1)

    def _with(self, values: Values, sign: int) -> Total:
        floats = values.astype(numpy.float64)
        finite = floats[numpy.isfinite(floats)]
        positive = int((floats == inf).sum())
        return Total(
            self.op,
            self.size + sign * len(floats),
            self.units + sign * exact(finite),
            self.positive + sign * positive,
            self.negative + sign * (len(floats) - len(finite) - positive),
        )

    def value(self) -> float | None:
        """Return the correctly rounded sum, or the sum divided by the size. Return None for infinities of both signs,
        for a sum that is too large for a float, and for the mean of nothing."""
        if self.positive and self.negative:
            return None
        if self.positive or self.negative:
            return inf if self.positive else -inf
        if self.op == "mean" and not self.size:
            return None
        try:
            total = self.units / (1 << _UNIT)
        except OverflowError:
            return None
        return (total / self.size if self.op == "mean" else total) + 0.0  # -0.0 is 0.0


@dataclass(frozen=True)
class Window:
    """Sorted `values` of a group, with the number of values in front of them and behind them."""

    op: AggregateName
    below: int
    values: Values
    above: int

    @classmethod
    def of(cls, op: AggregateName, values: Values) -> Window:
        """Return the window of some values, in any order."""
        start = _start(_ranks(op, len(values))[0], len(values))
        end = min(start + WIDTH, len(values))
        parted = numpy.partition(values, [start, end - 1])
        return cls(op, start, numpy.sort(parted[start:end]), len(values) - end)

    @property
    def size(self) -> int:
        """The number of values."""
        return self.below + len(self.values) + self.above

    def with_changes(self, born: Values, died: Values) -> Window | None:
        """Return the window after these values were inserted and deleted, or None if it would not contain the requested
        ranks."""
        born_below, born_inside, born_above = self._split_values(born)
        died_below, died_inside, died_above = self._split_values(died)
        values = numpy.sort(numpy.concatenate([self.values, born_inside]))
        deleted = numpy.sort(died_inside)
        # Equal values go from neighbouring places. There may be fewer of them than go, the others being outside.
        places = numpy.searchsorted(values, deleted) + numpy.arange(len(deleted)) - numpy.searchsorted(deleted, deleted)
        if len(deleted) and (places[-1] >= len(values) or (values[places] != deleted).any()):
            return None
        values = numpy.delete(values, places)
        below, above = self.below + born_below - died_below, self.above + born_above - died_above
        low, high = _ranks(self.op, below + len(values) + above)
        if low < below or high >= below + len(values):
            return None
        if len(values) > 2 * WIDTH:
            start = _start(low - below, len(values))
            above += len(values) - start - WIDTH
            below, values = below + start, values[start : start + WIDTH].copy()
        return replace(self, below=below, values=values, above=above)

    def _split_values(self, values: Values) -> tuple[int, Values, int]:
        """Return how many values are in front of the window, the values inside, and how many are behind it. The window
        has no end where there is nothing beyond."""
        below = values < self.values[0] if self.below else numpy.zeros(len(values), bool)
        above = values > self.values[-1] if self.above else numpy.zeros(len(values), bool)
        return int(below.sum()), values[~below & ~above], int(above.sum())

    def value(self) -> Any:
        """Return the least, the greatest or the middle value; None if the middle lies between both infinities."""
        low, high = (self.values[rank - self.below] for rank in _ranks(self.op, self.size))
        if self.op != "median":
            return low
        middle = float(low) if self.size % 2 else (float(low) + float(high)) / 2
        return middle + 0.0 if middle == middle else None


GroupState: TypeAlias = Total | Window


def state_of(op: AggregateName, values: Values) -> GroupState:
    """Return the state of a group with these values."""
    return Total(op).with_changes(values, values[:0]) if op in ("sum", "mean") else Window.of(op, values)


def _ranks(op: AggregateName, size: int) -> tuple[int, int]:
    """Return the requested ranks among the sorted values."""
    if op == "median":
        return (size - 1) // 2, size // 2
    return (0, 0) if op in ("min", "any") else (size - 1, size - 1)


def _start(rank: int, size: int) -> int:
    """Return the start of a window with a rank in its middle."""
    return max(0, min(rank - (WIDTH - 1) // 2, size - WIDTH))


GroupKey: TypeAlias = tuple[int, ...]
"""The words of a group."""


@dataclass
class LargeGroups:
    """The states of the large groups of one aggregate. `keep` makes later changes undoable. `read` counts the members
    that were read, for states or because there is none."""

    states: dict[GroupKey, GroupState] = field(default_factory=dict)
    read: int = 0
    _before: dict[GroupKey, GroupState | None] = field(default_factory=dict)

    def note_state(self, group: GroupKey, state: GroupState | None) -> None:
        """Keep a state, unless the group is small."""
        self._before.setdefault(group, self.states.get(group))
        self._set(group, state if state is not None and state.size >= LARGE else None)

    def _set(self, group: GroupKey, state: GroupState | None) -> None:
        if state is None:
            self.states.pop(group, None)
        else:
            self.states[group] = state

    def keep(self) -> None:
        """Make the changes last."""
        self._before.clear()

    def take_back(self) -> None:
        """Undo the changes since `keep`. Where memory does not suffice for that, no state is kept: groups without are
        read again."""
        try:
            for group, state in self._before.items():
                self._set(group, state)
        except MemoryError:
            self.states.clear()
        self._before.clear()
