"""Rows of words as arrays: equal ones, the positions of some among others, and long ones in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, cast

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.kernels.calling import expect

NumbersT = TypeVar("NumbersT", bound=NDArray[numpy.signedinteger[Any]])
_BLOCK = 1 << 14
"""Rows that are hashed at a time: what is computed of them stays in the cache."""
AT_ONCE = 1 << 20
"""Rows of a part."""
_COMPARED = 64
"""So many words Python compares as fast as NumPy."""


def equal_rows(words: Words) -> int:
    """Return the number of rows that are equal to an earlier one."""
    if words.shape[1] == 0 or len(words) < 2:
        return max(0, len(words) - 1)
    keys = row_hashes(words)
    keys.sort()
    if not (keys[1:] == keys[:-1]).any():
        return 0
    return len(words) - len(distinct(words))


def distinct(words: Words) -> Words:
    """Return the rows of `words`, each once."""
    if words.shape[1] == 0:
        return words[:1]
    keys = row_hashes(words)
    order = numpy.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    if not same.any():
        return words
    if (words[order[1:][same]] == words[order[:-1][same]]).all():
        firsts: Words = words[numpy.sort(order[numpy.concatenate([[True], ~same])])]
        return firsts
    # Different rows have equal keys.
    doubtful = numpy.zeros(len(words), dtype=numpy.bool_)
    doubtful[order[1:][same]] = doubtful[order[:-1][same]] = True
    return numpy.concatenate([words[~doubtful], numpy.unique(words[doubtful], axis=0)])


def narrow(words: NDArray[numpy.signedinteger[Any]]) -> bool:
    """Return True if all words fit into 32 bits."""
    if words.size < _COMPARED:
        found = words.ravel().tolist()
        return not found or (min(found) >= -(2**31) and max(found) < 2**31)
    return bool(words.min() >= -(2**31) and words.max() < 2**31)


def distinct_numbers(numbers: NumbersT) -> NumbersT:
    """Return different numbers in order, as `numpy.unique` does, which loads masked arrays first."""
    if len(numbers) < 2:
        return numbers
    ordered = numpy.sort(numbers)
    ordered = ordered[numpy.concatenate([[True], ordered[1:] != ordered[:-1]])]
    return cast(NumbersT, ordered)


def row_hashes(words: Words) -> NDArray[numpy.uint64]:
    """Return a hash of each row; equal rows have equal ones."""
    keys = numpy.zeros(len(words), dtype=numpy.uint64)
    for start in range(0, len(words), _BLOCK):
        block = keys[start : start + _BLOCK]
        for column in words[start : start + _BLOCK].T:
            block ^= column.astype(numpy.uint64)
            block *= numpy.uint64(0x9E3779B97F4A7C15)
            block ^= block >> numpy.uint64(29)
    return keys


def positions(rows: Words, wanted: Words) -> Words:
    """Return for each row of `wanted` its position in `rows`, which are distinct, or -1; both are int64 of shape
    (n, arity)."""
    from tidelog.kernels.remembered import fill_slots, number_rows

    count = len(rows)
    expect(count + len(wanted))
    wanted = numpy.ascontiguousarray(wanted)
    keys = numpy.ascontiguousarray(numpy.concatenate([rows, wanted]))
    slots = numpy.zeros(1 << (2 * len(keys) + 1).bit_length(), numpy.int32)
    fill_slots(keys, slots, count)
    numbers = numpy.empty(len(wanted), numpy.int64)
    number_rows(wanted, keys, slots, count, numbers)
    return numpy.where(numbers < count, numbers, -1)


def in_parts(rows: NDArray[numpy.int64], look: Look) -> Iterator[NDArray[numpy.int64]]:
    """Yield the rows in parts, at least one."""
    for start in range(0, max(1, len(rows)), AT_ONCE):
        look()
        yield rows[start : start + AT_ONCE]
