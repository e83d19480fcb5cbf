"""The positions of rows among others, by hash."""

from __future__ import annotations

import numpy

from tidelog.common.arrays import Words
from tidelog.kernels.calling import expect


def positions(rows: Words, wanted: Words) -> Words:
    """Return for each row of `wanted` its position in `rows`, which are distinct, or -1; both are int64 of shape
    (n, arity)."""
    from tidelog.kernels.remembered import fill_slots, number_rows

    count = len(rows)
    expect(count + len(wanted))
    keys = numpy.concatenate([rows, wanted])
    slots = numpy.zeros(1 << (2 * len(keys) + 1).bit_length(), numpy.int32)
    fill_slots(keys, slots, count)
    numbers = numpy.empty(len(wanted), numpy.int64)
    number_rows(numpy.ascontiguousarray(wanted), keys, slots, count, numbers)
    return numpy.where(numbers < count, numbers, -1)
