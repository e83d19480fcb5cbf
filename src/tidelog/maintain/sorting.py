"""The order of rows, computed in parts, so that limits and Ctrl-C can end it in between.

One call of NumPy that sorts a hundred million rows takes half a minute, and nothing can end it. So rows are first dealt
out by their first column, to parts of which each is sorted in a call of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.looking import Look

_AT_ONCE = 1 << 21
"""Rows that one call sorts; about half a second."""
_SAMPLE, _PARTS = 4_096, 100
"""Values of a column that are drawn to find where to part it, and the parts."""


def order_of(columns: Sequence[NDArray[Any]], look: Look) -> NDArray[numpy.intp]:
    """Return the stable order of rows by one or more columns without NaN, the first one first. An exception of `look`
    ends the work; the function calls it at least once for as many rows as one call sorts."""
    look()
    first, *rest = columns
    if len(first) <= _AT_ONCE:
        return numpy.lexsort(columns[::-1])
    parts = _parts(first, look)
    order = numpy.empty(len(first), numpy.intp)
    end = 0
    for part, pieces in enumerate(parts):
        rows = numpy.concatenate(pieces) if pieces else numpy.empty(0, numpy.intp)
        pieces.clear()
        # All rows of a part with an odd number are equal in the first column.
        keys = rest if part % 2 else columns
        if len(rows) > 1 and keys:
            rows = rows[order_of([column[rows] for column in keys], look)]
        order[end : end + len(rows)] = rows
        end += len(rows)
    return order


def _parts(values: NDArray[Any], look: Look) -> list[list[NDArray[numpy.intp]]]:
    """Yield the rows dealt out to parts in the order of their values: below the first limit, equal to it, between it
    and the second, and so on."""
    drawn = numpy.sort(values[numpy.random.default_rng(len(values)).integers(len(values), size=_SAMPLE)])
    limits = numpy.unique(drawn[:: _SAMPLE // _PARTS])
    parts: list[list[NDArray[numpy.intp]]] = [[] for _ in range(2 * len(limits) + 1)]
    for start in range(0, len(values), _AT_ONCE):
        look()
        some = values[start : start + _AT_ONCE]
        part = (limits.searchsorted(some) + limits.searchsorted(some, "right")).astype(numpy.uint8)
        order = numpy.argsort(part, kind="stable")
        ends = numpy.cumsum(numpy.bincount(part, minlength=len(parts)))
        for number, pieces in enumerate(numpy.split(order + start, ends[:-1])):
            if len(pieces):
                parts[number].append(pieces)
    return parts
