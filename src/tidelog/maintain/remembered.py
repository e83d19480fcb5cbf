"""The results of a functor in Python, remembered by its arguments.

A derivation that goes has to go with the value with which it came, also where the function would return another one by
now. So a function is called once for the same arguments, as long as rules call its functor. An epoch that fails leaves
none of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.language.syntax import Column, FunctorType

BatchResults: TypeAlias = tuple[Words | None, Words]
"""How many values each row of arguments has, or None if each has one, and all values, one after the other, as words."""


class Memory:
    """The results of one functor: `counts` and the `values` from `starts` on, for each row of `keys`. As long as each
    row has one value, there are neither counts nor starts: the value of row i is number i."""

    def __init__(self, declared: FunctorType) -> None:
        self._columns = declared.parameters
        self._result = (declared.result,)
        self._keys = numpy.empty((0, len(declared.parameters)), numpy.int64)
        self._slots = numpy.zeros(1, numpy.int32)
        self._counts = numpy.empty(0, numpy.int64)
        self._starts = numpy.empty(0, numpy.int64)
        self._values = numpy.zeros(1, numpy.int64)
        self._used = self._valued = 0
        self._kept = (0, 0)
        self._single = True

    def __len__(self) -> int:
        return self._used

    def find(self, columns: list[Words], size: int, make: Callable[[Words], BatchResults]) -> BatchResults:
        """Return for each row of arguments its number of values, None if each has one, and where these start in
        `values`; `make` gives the results for arguments that are new. An exception of it changes nothing."""
        from tidelog.kernels.remembered import number_rows

        rows = numpy.stack(columns, axis=1) if columns else numpy.empty((size, 0), numpy.int64)
        self._reserve(self._used + size)
        numbers = numpy.empty(size, numpy.int64)
        before = self._used
        used = number_rows(rows, self._keys, self._slots, before, numbers)
        if used > before:
            try:
                self._add(before, used, *make(self._keys[before:used]))
            except BaseException:
                self._shrink(before, self._valued)
                raise
        return (None, numbers) if self._single else (self._counts[numbers], self._starts[numbers])

    def values(self, places: Words) -> Words:
        """Return the values at these places."""
        found: Words = self._values[places]
        return found

    def _reserve(self, rows: int) -> None:
        if rows > len(self._keys):
            room = max(3 * rows, 1_024)
            self._keys = _grown(self._keys, room)
            if not self._single:
                self._counts, self._starts = _grown(self._counts, room), _grown(self._starts, room)
            self._slots = numpy.zeros(1 << (room + room // 2).bit_length(), numpy.int32)
            self._fill()

    def _add(self, before: int, used: int, counts: Words | None, values: Words) -> None:
        end = self._valued + len(values)
        if end > len(self._values):
            self._values = _grown(self._values, 2 * end)
        self._values[self._valued : end] = values
        if self._single and counts is not None:
            self._single = False
            self._counts, self._starts = numpy.ones(len(self._keys), numpy.int64), numpy.arange(len(self._keys))
        if not self._single:
            each = numpy.ones(used - before, numpy.int64) if counts is None else counts
            self._counts[before:used] = each
            self._starts[before:used] = self._valued + numpy.cumsum(each) - each
        self._used, self._valued = used, end

    def _shrink(self, used: int, valued: int) -> None:
        self._used, self._valued = used, valued
        self._slots[:] = 0
        self._fill()

    def _fill(self) -> None:
        from tidelog.kernels.remembered import fill_slots

        fill_slots(self._keys, self._slots, self._used)

    # --- what lasts ----------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Make what was added last."""
        self._kept = (self._used, self._valued)

    def take_back(self) -> None:
        """Undo what was added since `keep`."""
        if self._kept != (self._used, self._valued):
            self._shrink(*self._kept)

    def held(self) -> Iterator[tuple[tuple[Column, ...], NDArray[numpy.int64]]]:
        """Yield the words of arguments and values, which the dictionary must not give back."""
        yield self._columns, self._keys[: self._used]
        yield self._result, self._values[: self._valued, None]

    def saved(self) -> tuple[Words, Words, Words]:
        """Return the arguments, the numbers of their values, and the values."""
        counts = numpy.ones(self._used, numpy.int64) if self._single else self._counts[: self._used]
        return self._keys[: self._used], counts, self._values[: self._valued]

    def restore(self, keys: Words, counts: Words, values: Words) -> None:
        """Take results that were `saved`, into an empty memory."""
        self._reserve(len(keys))
        self._keys[: len(keys)] = keys
        self._add(0, len(keys), None if (counts == 1).all() else counts, values)
        self._fill()
        self.keep()

    def bytes(self) -> int:
        """Return the memory in bytes."""
        return sum(each.nbytes for each in (self._keys, self._slots, self._counts, self._starts, self._values))


def _grown(array: NDArray[numpy.int64], room: int) -> NDArray[numpy.int64]:
    grown = numpy.zeros((room, *array.shape[1:]), numpy.int64)
    grown[: len(array)] = array
    return grown
