"""Where a word lives: its bucket, and the partition that has the bucket.

Partitions compute buckets in two ways that have to agree: over columns of words (`buckets`), for what they send, and as
literals of a rule (`mine`), for relations of which each partition has all rows but is to use its own only.
"""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from tidelog.rules.core import Atom, Computation, Constant, Literal, Value, Variable

BUCKETS = 1024
"""More than there are partitions."""
MINE = "#mine"
"""The relation of the buckets that a partition has."""
FIRST = "#first"
"""The relation without columns that holds in the first partition only."""

_FOLDS = (32, 15)

Words = NDArray[numpy.int64]


def buckets(column: Words) -> Words:
    """The bucket of each word of a column."""
    folded = column.astype(numpy.int64)
    for distance in _FOLDS:
        folded = folded ^ (folded >> distance)
    return folded & (BUCKETS - 1)


def owners(column: Words, partitions: int) -> Words:
    """The partition of each word of a column."""
    return buckets(column) % partitions


def owned(partition: int, partitions: int) -> Words:
    """The buckets of a partition, shape (n, 1)."""
    return numpy.arange(partition, BUCKETS, partitions, dtype=numpy.int64).reshape(-1, 1)


def mine(value: Value) -> tuple[Literal, ...]:
    """Literals that hold for the words, bound elsewhere, of the partition that evaluates the rule."""
    literals: list[Literal] = []
    for step, distance in enumerate(_FOLDS):
        shifted, folded = Variable(f"#shifted{step}", "number"), Variable(f"#folded{step}", "number")
        literals.append(Computation(shifted, "bshr", "number", (value, Constant(distance, "number"))))
        literals.append(Computation(folded, "bxor", "number", (value, shifted)))
        value = folded
    bucket = Variable("#bucket", "number")
    literals.append(Computation(bucket, "band", "number", (value, Constant(BUCKETS - 1, "number"))))
    return (*literals, Atom(MINE, (bucket,)))
