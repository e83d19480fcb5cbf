"""Move the rows of partitions to another number of partitions.

A partition is a function of what it has been sent: facts, and copies of rows that others have derived. So another
number of partitions takes two steps, without a round between partitions:

    spread    each partition writes what it has been sent, for the partitions where the rows live from now on
    signed    copies that say who has sent them do not say it any more, so each new partition, which by then knows what
              it derives, writes the rows that it would have sent

The pieces of both make the log from which the new partitions are restored. Nothing is derived over again but in a
partition from its own rows: recursions between partitions do not begin anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy

from tidelog.common.arrays import Words
from tidelog.spark.cluster.exchange.pieces import Bundle, Piece, PieceChange, PieceFile
from tidelog.spark.cluster.placement.buckets import EVERYBODY, homes_of, parcels
from tidelog.spark.cluster.placement.plan import ClusterPlan, Placement, facts_name

if TYPE_CHECKING:
    from tidelog.spark.cluster.processes.partition import Partition

_NOBODY = -1
"""The sender of rows of which nobody knows yet who sends them."""


class Moved(NamedTuple):
    """The pieces that a partition has written: one for all, and those for single partitions."""

    shared: Piece | None
    bundle: Bundle | None


def has_signed(plan: ClusterPlan) -> bool:
    """Return True if partitions send rows with their number."""
    return any(export.signed for export in plan.exports)


def spread(partition: Partition, prefix: str, count: int) -> tuple[Moved, Moved]:
    """Write all that a partition has been sent to a file, for as many partitions as `count`. Return the pieces, apart
    those whose rows lack their senders."""
    assert partition.plan is not None
    parts: dict[bool, dict[int, list[PieceChange]]] = {False: {}, True: {}}
    for signed, place, each in _sent(partition, partition.plan):
        homes = homes_of(place, each.words[:, :-1] if signed else each.words, partition.plan.skewed_keys, count)
        for target, rows in parcels(homes, each.words) if len(each.words) else ():
            if target != EVERYBODY or partition.number == 0:  # All have these, and one writes them.
                parts[signed].setdefault(target, []).append(each._replace(words=rows))
    return _written(partition, f"{prefix}-rows", parts[False]), _written(partition, f"{prefix}-seeds", parts[True])


def signed(partition: Partition, prefix: str) -> Moved:
    """Write the rows that a partition sends with its number to a file."""
    assert partition.plan is not None
    parts: dict[int, list[PieceChange]] = {}
    for export in partition.plan.exports:
        if export.signed:
            words = partition.engine.views[export.source].words().astype(numpy.int64)
            for target, rows in partition.directed(partition.plan, export, words):
                parts.setdefault(target, []).append(PieceChange(export.target, True, rows))
    return _written(partition, prefix, parts)


def _sent(partition: Partition, plan: ClusterPlan) -> Iterator[tuple[bool, Placement, PieceChange]]:
    """Yield what a partition has been sent, with the places of the rows; True where these lack their senders."""
    facts = {facts_name(name): place for name, place in plan.facts.items()}
    copies = {export.target: export for export in plan.exports}
    for name in partition.engine.asserted:
        if name in facts:
            for each in partition.dated(name):
                yield False, facts[name], each
        elif name in copies:
            each = partition.present(name)
            if copies[name].signed:
                each = each._replace(words=_unsigned(each.words))
            yield copies[name].signed, copies[name].place, each


def _unsigned(words: Words) -> Words:
    """Return rows from nobody in place of rows from several senders."""
    rows = numpy.unique(words[:, :-1], axis=0) if words.shape[1] > 1 else words[:1, :-1]
    return numpy.column_stack([rows, numpy.full(len(rows), _NOBODY, numpy.int64)])


def _written(partition: Partition, prefix: str, parts: dict[int, list[PieceChange]]) -> Moved:
    file = PieceFile(f"{prefix}-{partition.number}-{secrets.token_hex(4)}")
    everybody = parts.pop(EVERYBODY, None)
    moved = Moved(None if everybody is None else file.add(everybody), file.bundle(parts))
    file.write(partition.folder)
    return moved
