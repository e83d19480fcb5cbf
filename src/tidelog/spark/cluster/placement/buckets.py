"""Place words and rows: the partition of a word, and that of a row by all of its words.

Partitions are computed in two ways that have to agree: over columns of words (`owners`), for what partitions send, and
as literals of a rule (`mine`), for relations of which each partition has all rows but is to use its own only. The
number of partitions is a fact of each partition and no part of the program, so any number does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy

from tidelog.common.arrays import Words
from tidelog.rules.core import Computation, CoreAtom, CoreConstant, CoreLiteral, CoreValue, CoreVariable
from tidelog.spark.cluster.placement.plan import Follow, Placement, Spread

PARTITIONS = "#partitions"
"""The relation of the number of partitions."""
MINE = "#mine"
"""The relation of the number of this partition."""
FIRST = "#first"
"""The relation without columns that holds in the first partition only."""
OWN = (PARTITIONS, MINE, FIRST)
"""The relations whose facts each partition has of itself."""

EVERYBODY = -1
"""Stands for all partitions."""

_FOLDS = (32, 15)
_MASK = 2**31 - 1
_MIX = numpy.int64(-7046029254386353131)
"""An odd number whose bits look random."""


def owners(column: Words, partitions: int) -> Words:
    """Return the partition of each word of a column."""
    folded = column.astype(numpy.int64)
    for distance in _FOLDS:
        folded = folded ^ (folded >> distance)
    return (folded & _MASK) % partitions


def row_owners(rows: Words, partitions: int) -> Words:
    """Return the partition of each row by all its words: as many rows in one as in another, whatever words they
    have."""
    mixed = numpy.zeros(len(rows), numpy.int64)
    for column in rows.T:
        mixed = (mixed ^ (mixed >> 29) ^ column) * _MIX
    return owners(mixed, partitions)


def homes_of(place: Placement, rows: Words, skewed_keys: Sequence[int], partitions: int) -> Words:
    """Return the partition of each row at a place, EVERYBODY for rows that are everywhere."""
    if place in ("all", "one") or not rows.shape[1]:
        return numpy.full(len(rows), EVERYBODY if place == "all" else 0, numpy.int64)
    if place == "rows":
        return row_owners(rows, partitions)
    if isinstance(place, int):
        return owners(rows[:, place], partitions)
    assert isinstance(place, (Spread, Follow))
    found = owners(rows[:, place.column], partitions)
    apart = numpy.isin(rows[:, place.column], numpy.array(skewed_keys, numpy.int64))
    found[apart] = row_owners(rows[apart], partitions) if isinstance(place, Spread) else EVERYBODY
    return found


def parcels(homes: Words, rows: Words) -> Iterator[tuple[int, Words]]:
    """Yield the rows for each partition; `homes` has the partition of each row."""
    targets = numpy.unique(homes)
    if len(targets) == 1:
        yield int(targets[0]), rows
        return
    order = numpy.argsort(homes, kind="stable")
    starts = numpy.searchsorted(homes[order], targets)
    yield from zip(targets.tolist(), numpy.split(rows[order], starts[1:]), strict=True)


def mine(value: CoreValue) -> tuple[CoreLiteral, ...]:
    """Return literals that hold for the words, bound elsewhere, of the partition that evaluates the rule."""
    literals: list[CoreLiteral] = []
    for step, distance in enumerate(_FOLDS):
        shifted, folded = CoreVariable(f"#shifted{step}", "number"), CoreVariable(f"#folded{step}", "number")
        literals.append(Computation(shifted, "bshr", "number", (value, CoreConstant(distance, "number"))))
        literals.append(Computation(folded, "bxor", "number", (value, shifted)))
        value = folded
    masked, partitions, home = (CoreVariable(f"#{name}", "number") for name in ("masked", "partitions", "home"))
    return (
        *literals,
        Computation(masked, "band", "number", (value, CoreConstant(_MASK, "number"))),
        CoreAtom(PARTITIONS, (partitions,)),
        Computation(home, "%", "number", (masked, partitions)),
        CoreAtom(MINE, (home,)),
    )
