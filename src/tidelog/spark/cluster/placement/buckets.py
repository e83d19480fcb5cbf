"""Place words and rows: the partition of a word, and that of a row by all of its words; and find skewed keys, words
with so many rows of a relation that their partition has more to do than others.

Partitions are computed in two ways that have to agree: over columns of words (`owners`), for what partitions send, and
as literals of a rule (`own_word_literals`), for relations of which each partition has all rows but is to use its own
only. The number of partitions is a fact of each partition and no part of the program, so any number does.

Partitions look at their relations now and then, and report the frequent words of each column (`frequent`), from a
sample. `find_skew` adds up these reports and decides which words are skewed keys, and in which columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy

from tidelog.common.arrays import Words
from tidelog.maintain.deltas import Deltas
from tidelog.rules.core import Computation, CoreAtom, CoreConstant, CoreLiteral, CoreValue, CoreVariable
from tidelog.spark.cluster.placement.plan import ClusterPlan, Follow, Placement, Spread
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.stored import StoredRelation

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


def own_word_literals(value: CoreValue) -> tuple[CoreLiteral, ...]:
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


# --- skewed keys -----------------------------------------------------------------------------------------------------


Frequent: TypeAlias = Mapping[int, Mapping[int, int]]
"""Column -> word -> about how many rows have it."""

_SAMPLE = 1 << 16
_PART = 2
"""A word is a skewed key when it has more rows than one in so many of an even share."""


@dataclass(frozen=True)
class Skew:
    """The skewed keys, and for relations of which something is known the share of rows that the most frequent word of a
    column has. A skewed key has `limit` rows at least."""

    keys: tuple[int, ...] = ()
    shares: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    limit: int = 0

    def columns(self) -> frozenset[tuple[str, int]]:
        """Return the columns that have skewed keys."""
        return frozenset((name, column) for name, shares in self.shares.items() for column in shares)


NO_SKEW = Skew()


def frequent(words: Words, partitions: int) -> Frequent:
    """Return the frequent words of rows, those with half of the rows of a skewed key included; nothing for a single
    column, whose words are distinct."""
    count, arity = words.shape
    if arity < 2 or not count or partitions < 2:
        return {}
    step = 1 + count // _SAMPLE
    sample = words[::step]
    found: dict[int, dict[int, int]] = {}
    for column in range(arity):
        distinct, counts = numpy.unique(sample[:, column], return_counts=True)
        many = 2 * _PART * partitions * counts >= len(sample)
        if many.any():
            found[column] = dict(zip(distinct[many].tolist(), (step * counts[many]).tolist(), strict=True))
    return found


class Lookout:
    """The frequent words that a partition has seen in its relations. It looks again when half of the rows may be
    others."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.seen: dict[str, Frequent] = {}
        self.left: dict[str, float] = {}
        """The rows that may still come or go before it looks again, of each copy."""

    def look(self, plan: ClusterPlan, views: Mapping[str, StoredRelation], deltas: Deltas) -> Mapping[str, Frequent]:
        """Return the frequent words of the relations of a plan, after a change, of those with enough rows."""
        self.seen = {name: found for name, found in self.seen.items() if name in plan.views}
        for name, copy in plan.views.items():
            unwritten = isinstance(views[copy], ClosedRelation)  # Its pairs are too many to be written for that.
            if plan.homes[name] == "all" or unwritten or self.partitions == 1:
                self.seen.pop(name, None)
                continue
            rows = len(views[copy])
            if copy in deltas:
                self.left[copy] = self.left.get(copy, 0) - len(deltas[copy].inserted) - len(deltas[copy].deleted)
            if self.left.get(copy, 0) <= 0 or copy not in self.left:
                enough = 4 * rows * self.partitions >= plan.skew
                self.seen[name] = frequent(views[copy].words(), self.partitions) if enough else {}
                self.left[copy] = rows / 2
        return {name: found for name, found in self.seen.items() if found}


def find_skew(
    seen: Iterable[Mapping[str, Frequent]],
    sizes: Mapping[str, int],
    partitions: int,
    limit: int,
    before: ClusterPlan | None,
) -> Skew:
    """Return the skew of relations with these sizes, from the frequent words that partitions and deliveries have
    `seen`. Skewed keys of the plan `before` remain skewed until they have half as many rows as that takes."""
    totals: dict[tuple[str, int], dict[int, int]] = {}
    for name, column, word, rows in _entries(seen):
        counts = totals.setdefault((name, column), {})
        counts[word] = counts.get(word, 0) + rows
    had = frozenset(before.skewed_keys) if before is not None else frozenset()
    keys: set[int] = set()
    shares: dict[str, dict[int, float]] = {}
    for (name, column), counts in totals.items():
        size = max(1, sizes.get(name, 0))
        for word, rows in counts.items():
            doubled = 2 * rows if word in had else rows
            if doubled >= limit and _PART * partitions * doubled >= size:
                keys.add(word)
                columns = shares.setdefault(name, {})
                columns[column] = max(columns.get(column, 0.0), min(1.0, rows / size))
    return Skew(tuple(sorted(keys)), shares, limit)


def is_outdated(plan: ClusterPlan, skew: Skew) -> bool:
    """Return True if a plan misses a skewed key or column, or has keys that are no longer skewed."""
    return set(skew.keys) != set(plan.skewed_keys) or not skew.columns() <= plan.skewed_columns


def _entries(seen: Iterable[Mapping[str, Frequent]]) -> Iterator[tuple[str, int, int, int]]:
    for each in seen:
        for name, columns in each.items():
            for column, counts in columns.items():
                for word, rows in counts.items():
                    yield name, column, word, rows
