"""Do the tasks of a partition, wherever it runs: in a process of its own (`host`) or in the driver.

Rows of partitions also move to another number of partitions. A partition is a function of what it has been sent: facts,
and copies of rows that others have derived. So another number of partitions takes two steps, without a round between
partitions:

    spread    each partition writes what it has been sent, for the partitions where the rows live from now on
    signed    copies that say who has sent them do not say it any more, so each new partition, which by then knows what
              it derives, writes the rows that it would have sent

The pieces of both make the log from which the new partitions are restored. Nothing is derived over again but in a
partition from its own rows: recursions between partitions do not begin anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from tidelog.common.arrays import Words
from tidelog.durable.files import damage_error
from tidelog.limits.watch import WithinMemory
from tidelog.spark.cluster.checking import steps
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.pieces import Bundle, Piece, PieceChange, PieceFile
from tidelog.spark.cluster.exchange.rounds import Task
from tidelog.spark.cluster.placement.buckets import EVERYBODY, homes_of, parcels
from tidelog.spark.cluster.placement.plan import ClusterPlan, Placement, facts_name
from tidelog.spark.cluster.processes.partition import MORE_MEMORY, Partition
from tidelog.spark.deferred import ended_frame_error

if TYPE_CHECKING:
    from tidelog.spark.cluster.processes.partition import Partition

_NOBODY = -1
"""The sender of rows of which nobody knows yet who sends them."""


class Moved(NamedTuple):
    """The pieces that a partition has written: one for all, and those for single partitions."""

    shared: Piece | None
    bundle: Bundle | None


def has_signed_exports(plan: ClusterPlan) -> bool:
    """Return True if partitions send rows with their number."""
    return any(export.signed for export in plan.exports)


def write_spread(partition: Partition, prefix: str, count: int) -> tuple[Moved, Moved]:
    """Write all that a partition has been sent to a file, for as many partitions as `count`. Return the pieces, apart
    those whose rows lack their senders."""
    assert partition.plan is not None
    parts: dict[bool, dict[int, list[PieceChange]]] = {False: {}, True: {}}
    for signed, place, each in _received_rows(partition, partition.plan):
        homes = homes_of(place, each.words[:, :-1] if signed else each.words, partition.plan.skewed_keys, count)
        for target, rows in parcels(homes, each.words) if len(each.words) else ():
            if target != EVERYBODY or partition.number == 0:  # All have these, and one writes them.
                parts[signed].setdefault(target, []).append(each._replace(words=rows))
    return _write_pieces(partition, f"{prefix}-rows", parts[False]), _write_pieces(
        partition, f"{prefix}-seeds", parts[True]
    )


def write_signed(partition: Partition, prefix: str) -> Moved:
    """Write the rows that a partition sends with its number to a file."""
    assert partition.plan is not None
    parts: dict[int, list[PieceChange]] = {}
    for export in partition.plan.exports:
        if export.signed:
            words = partition.engine.views[export.source].words().astype(numpy.int64)
            for target, rows in partition.rows_by_target(partition.plan, export, words):
                parts.setdefault(target, []).append(PieceChange(export.target, True, rows))
    return _write_pieces(partition, prefix, parts)


def _received_rows(partition: Partition, plan: ClusterPlan) -> Iterator[tuple[bool, Placement, PieceChange]]:
    """Yield what a partition has been sent, with the places of the rows; True where these lack their senders."""
    facts = {facts_name(name): place for name, place in plan.facts.items()}
    copies = {export.target: export for export in plan.exports}
    for name in partition.engine.asserted:
        if name in facts:
            for each in partition.facts_by_epoch(name):
                yield False, facts[name], each
        elif name in copies:
            each = partition.asserted_rows(name)
            if copies[name].signed:
                each = each._replace(words=_without_senders(each.words))
            yield copies[name].signed, copies[name].place, each


def _without_senders(words: Words) -> Words:
    """Return rows from nobody in place of rows from several senders."""
    rows = numpy.unique(words[:, :-1], axis=0) if words.shape[1] > 1 else words[:1, :-1]
    return numpy.column_stack([rows, numpy.full(len(rows), _NOBODY, numpy.int64)])


def _write_pieces(partition: Partition, prefix: str, parts: dict[int, list[PieceChange]]) -> Moved:
    file = PieceFile(f"{prefix}-{partition.number}-{secrets.token_hex(4)}")
    everybody = parts.pop(EVERYBODY, None)
    moved = Moved(None if everybody is None else file.add(everybody), file.bundle(parts))
    file.write(partition.folder)
    return moved


# --- tasks -----------------------------------------------------------------------------------------------------------


_WITHIN_MEMORY = WithinMemory(f"nothing has changed; {MORE_MEMORY}")


class Keeper:
    """Keeper of a partition from task to task, as long as its state is the one that tasks expect."""

    def __init__(self) -> None:
        self.partition: Partition | None = None

    def partition_for(self, task: Task) -> Partition:
        """Return the partition in the state that the task wants, restored from files where it is not."""
        found = self.partition if self._fits(task) else None
        if found is None:
            self.partition = None
            self.partition = found = Partition.at(task)
        else:
            found.import_functions(task)
        return found

    def _fits(self, task: Task) -> bool:
        """Return True if the partition is in the state that the task wants."""
        found = self.partition
        return found is not None and found.state == task.state and (found.knows_changes or not task.reads_changes)

    @_WITHIN_MEMORY
    def perform(self, task: Task) -> Any:
        """Do a task that has an answer: a round, writing facts, rows to move or everything, looking rows up, the
        changes of an epoch, since when facts are there, a part of a check. Do no round twice. Raise LimitError (E0503)
        if memory does not suffice, DataError (E0682) for a damaged file."""
        try:
            return self._answer(task)
        except wire.DamagedError as error:
            raise damage_error(task.folder, str(error)) from error

    def _answer(self, task: Task) -> Any:
        if task.what == "round":
            kept = self.partition
            round = None
            if kept is not None and kept.reply is not None and kept.came_from == task.state:
                round = wire.loads(kept.folder.read(task.round))
                if kept.state[:2] == (round.token, round.number):
                    return kept.reply
            partition = self.partition_for(task)
            round = round or wire.loads(partition.folder.read(task.round))
            self.partition = None  # If this fails, it is in no state at all.
            reply = partition.apply(round, task.options)
            self.partition = partition
            return reply
        if task.what in ("evaluate", "compare"):
            return steps.perform(task)
        partition = self.partition_for(task)
        if task.what == "send rows":
            return steps.send_rows(partition.engine, partition.number, *task.arguments)
        if task.what == "unsettled":
            return list(partition.engine.unsettled)
        if task.what == "match":
            return [partition.look_up_rows(lookup) for lookup in task.arguments]
        if task.what == "epochs":
            return [partition.epochs(*asked) for asked in task.arguments]
        if task.what == "changes":
            return [partition.changes(*asked) for asked in task.arguments]
        if task.what == "save":
            return partition.save(*task.arguments)
        if task.what == "keep":
            return partition.write_all(*task.arguments)
        if task.what == "spread":
            return write_spread(partition, *task.arguments)
        if task.what == "signed":
            return write_signed(partition, *task.arguments)
        assert task.what == "send home", task.what
        return partition.write_facts_for_homes(*task.arguments)

    def read_rows(self, task: Task) -> Iterator[Words]:
        """Do a task that asks for rows: of a relation, or its inserted or deleted ones. Rows without columns have one
        that is 0. Raise UsageError (E0687) if a later epoch has come, LimitError (E0503) if memory does not suffice."""
        with _WITHIN_MEMORY:
            yield from self._read_rows(task)

    def _read_rows(self, task: Task) -> Iterator[Words]:
        if self.partition is None or not self._fits(task):
            try:
                self.partition = Partition.at(task)
            except FileNotFoundError:
                raise ended_frame_error() from None
            except wire.DamagedError as error:
                raise damage_error(task.folder, str(error)) from error
        name, copy, replicated, epoch = task.arguments
        if task.what == "rows":
            found = self.partition.rows(copy, replicated)
        else:
            found = iter([self.partition.changes(name, copy, replicated, epoch)[0 if task.what == "came" else 1]])
        for words in found:
            yield numpy.ascontiguousarray(words) if words.shape[1] else numpy.zeros((len(words), 1), numpy.int64)
