"""Do the tasks of a partition, wherever it runs: in a process of its own (`host`) or in the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.durable.damage import damaged
from tidelog.limits.watch import WithinMemory
from tidelog.spark.cluster.checking import steps
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.rounds import Task
from tidelog.spark.cluster.processes.moving import signed, spread
from tidelog.spark.cluster.processes.partition import MORE_MEMORY, Partition
from tidelog.spark.deferred import is_over

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
            found.give(task)
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
            raise damaged(task.folder, str(error)) from error

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
        if task.what == "lend":
            return steps.lend(partition.engine, partition.number, *task.arguments)
        if task.what == "unsettled":
            return list(partition.engine.unsettled)
        if task.what == "match":
            return [partition.matching(lookup) for lookup in task.arguments]
        if task.what == "epochs":
            return [partition.epochs(*asked) for asked in task.arguments]
        if task.what == "changes":
            return [partition.changes(*asked) for asked in task.arguments]
        if task.what == "save":
            return partition.save(*task.arguments)
        if task.what == "keep":
            return partition.kept(*task.arguments)
        if task.what == "spread":
            return spread(partition, *task.arguments)
        if task.what == "signed":
            return signed(partition, *task.arguments)
        assert task.what == "send home", task.what
        return partition.sent_home(*task.arguments)

    def read(self, task: Task) -> Iterator[Words]:
        """Do a task that asks for rows: of a relation, or its inserted or deleted ones. Rows without columns have one
        that is 0. Raise UsageError (E0687) if a later epoch has come, LimitError (E0503) if memory does not suffice."""
        with _WITHIN_MEMORY:
            yield from self._found(task)

    def _found(self, task: Task) -> Iterator[Words]:
        if self.partition is None or not self._fits(task):
            try:
                self.partition = Partition.at(task)
            except FileNotFoundError:
                raise is_over() from None
            except wire.DamagedError as error:
                raise damaged(task.folder, str(error)) from error
        name, copy, replicated, epoch = task.arguments
        if task.what == "rows":
            found = self.partition.rows(copy, replicated)
        else:
            found = iter([self.partition.changes(name, copy, replicated, epoch)[0 if task.what == "came" else 1]])
        for words in found:
            yield numpy.ascontiguousarray(words) if words.shape[1] else numpy.zeros((len(words), 1), numpy.int64)
