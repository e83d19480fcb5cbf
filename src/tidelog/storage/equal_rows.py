"""Equal rows of words: how many there are, and each row once."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words

_BLOCK = 1 << 14
"""Rows that are hashed at a time: what is computed of them stays in the cache."""


def equal_rows(words: Words) -> int:
    """Return the number of rows that are equal to an earlier one."""
    if words.shape[1] == 0:
        return max(0, len(words) - 1)
    keys = _keys(words)
    keys.sort()
    if not (keys[1:] == keys[:-1]).any():
        return 0
    return len(words) - len(distinct(words))


def distinct(words: Words) -> Words:
    """Return the rows of `words`, each once."""
    if words.shape[1] == 0:
        return words[:1]
    keys = _keys(words)
    order = numpy.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    if not same.any():
        return words
    # Rows with equal keys are nearly always equal; those few are compared.
    doubtful = numpy.zeros(len(words), dtype=numpy.bool_)
    doubtful[order[1:][same]] = doubtful[order[:-1][same]] = True
    return numpy.concatenate([words[~doubtful], numpy.unique(words[doubtful], axis=0)])


def _keys(words: Words) -> NDArray[numpy.uint64]:
    """Return a hash of each row; equal rows have equal ones."""
    keys = numpy.zeros(len(words), dtype=numpy.uint64)
    for start in range(0, len(words), _BLOCK):
        block = keys[start : start + _BLOCK]
        for column in words[start : start + _BLOCK].T:
            block ^= column.astype(numpy.uint64)
            block *= numpy.uint64(0x9E3779B97F4A7C15)
            block ^= block >> numpy.uint64(29)
    return keys
