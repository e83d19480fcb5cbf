"""Bring tasks to partitions: over a Spark session, or in the driver itself.

`SparkExecutors` runs one Spark job of one stage per round: a range of as many rows as there are tasks, and `mapInArrow`
over it, so that plans are the same in every round. `LocalExecutors` keeps the partitions in this process: for tests,
simulations and a look at what goes on.

Executors come and go, and another number of partitions costs an evaluation in each partition (`serve`). So
the number follows them with hysteresis (`PartitionCount`): it grows when there are half as many slots again, and
shrinks when half of the partitions would do, and both only if the epoch before has found the same.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy
import pyarrow as pa

from tidelog.common.arrays import Words
from tidelog.errors import TidelogError
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.pieces import Bundle, PieceChange, PieceFile
from tidelog.spark.cluster.exchange.rounds import Task
from tidelog.spark.cluster.placement.buckets import Frequent, frequent, homes_of
from tidelog.spark.cluster.placement.plan import Placement
from tidelog.spark.cluster.processes.serve import Keeper
from tidelog.spark.deferred import frame_of_tasks
from tidelog.spark.jobs import job_description
from tidelog.spark.rows import DriverRows, Rows, SparkRows, word_columns
from tidelog.spark.sessions import (
    application,
    is_on_one_machine,
    memory_of_partitions,
    results_of,
    results_of_tasks,
    slots,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_SECONDS = 5.0
"""How old a number of slots may be."""


_GROWS = 1.5
_SHRINKS = 2.0


class PartitionCount:
    """The number of partitions of an engine: `fixed`, or as the slots for tasks say if that is None."""

    def __init__(self, fixed: int | None) -> None:
        self.fixed = fixed
        self._differs = False
        """True if the slots of the last epoch asked for another number."""

    def next(self, present: int, slots: int) -> int:
        """Return the number of partitions of the next epoch. `present` is that of the last one, 0 before the first."""
        if self.fixed is not None:
            return self.fixed
        slots = max(slots, 1)
        if not present:
            return slots
        before, self._differs = self._differs, slots >= _GROWS * present or _SHRINKS * slots <= present
        return slots if before and self._differs else present

    def reason(self, before: int, now: int) -> str:
        """Return the reason for another number of partitions."""
        cause = "options(partitions=…)" if self.fixed is not None else f"executors have slots for {now} tasks"
        return f"{before} partitions became {now}: {cause}"


class Executors(Protocol):
    """The base of all executors, which do tasks, each for a partition of its own."""

    def slots(self) -> int:
        """Return the number of tasks that are done at once."""

    def memory(self, partitions: int) -> int | None:
        """Return the bytes that each of so many partitions may have, None where nobody says so."""

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Return the answers, in the order of the tasks. Raises what a task raises."""

    def rows(self, tasks: Sequence[Task], arity: int) -> Rows:
        """Return the rows that the tasks ask for, together; columns as in `engines.word_columns`."""

    def scatter(self, folder: Folder, name: str, rows: Rows, delivery: Delivery) -> list[Scattered]:
        """Write rows to files whose names begin with `name`."""

    def stop(self, folder: Folder) -> None:
        """End everything that runs for a folder."""


@dataclass(frozen=True)
class Delivery:
    """The relation, True for asserted rows, the place where these are to live, and the number of partitions."""

    statement: tuple[str, bool]
    place: Placement
    partitions: int


@dataclass(frozen=True)
class Scattered:
    """Rows in a file: a piece for each partition that gets any, and the frequent words of the rows."""

    bundle: Bundle | None
    frequent: Frequent

    @classmethod
    def write(cls, folder: Folder, name: str, words: Words, delivery: Delivery) -> Scattered:
        """Write rows to a new file of a folder. Return its pieces."""
        file = PieceFile(f"{name}-{secrets.token_hex(6)}")
        homes = partial(homes_of, delivery.place, skewed_keys=(), partitions=delivery.partitions)
        bundle = file.bundle_by_home([PieceChange(*delivery.statement, words)], homes)
        file.write(folder)
        return cls(bundle, frequent(words, delivery.partitions) if delivery.statement[1] else {})


class LocalExecutors:
    """The partitions in this process, one after the other."""

    def __init__(self, slots: int = 1, memory: int | None = None) -> None:
        self.keepers: dict[tuple[str, int], Keeper] = {}
        self.workers = slots
        self.bytes = memory

    def slots(self) -> int:
        return self.workers

    def memory(self, partitions: int) -> int | None:
        return self.bytes

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        return [self.keepers.setdefault((task.folder, task.partition), Keeper()).perform(task) for task in tasks]

    def rows(self, tasks: Sequence[Task], arity: int) -> Rows:
        none = numpy.empty((0, max(arity, 1)), numpy.int64)
        found = [self.keepers.setdefault((task.folder, task.partition), Keeper()).read_rows(task) for task in tasks]
        words = numpy.concatenate([none, *(batch for each in found for batch in each)])
        return DriverRows(words if arity else words[:, :0])

    def scatter(self, folder: Folder, name: str, rows: Rows, delivery: Delivery) -> list[Scattered]:
        return [] if rows.is_surely_empty else [Scattered.write(folder, name, rows.local(), delivery)]

    def stop(self, folder: Folder) -> None:
        self.keepers.clear()


class SparkExecutors:
    """The executors of a Spark session, whose partitions live in processes beside its Python workers (`host`)."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.application = application(session)
        self.here = is_on_one_machine(session)
        self.jobs = 0
        self.known = 0, -math.inf
        """A number of slots, and when it was counted."""
        self.asked: dict[tuple[int, int], int | None] = {}
        """The memory of each of so many partitions, with so many slots."""

    def slots(self) -> int:
        """Return the number of tasks that are done at once, some seconds old at most: counting may take a job."""
        count, since = self.known
        if time.monotonic() > since + _SECONDS:
            count = slots(self.session)
            self.known = count, time.monotonic()
        return count

    def memory(self, partitions: int) -> int | None:
        """Return the bytes that each of so many partitions may have, asked for once for each number of slots."""
        key = partitions, self.slots()
        if key not in self.asked:
            with job_description(self.session, "memory of the executors"):
                self.asked[key] = memory_of_partitions(self.session, partitions)
        return self.asked[key]

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        tasks, application = list(tasks), self.application

        def perform(number: int) -> tuple[str, Any]:
            from tidelog.spark.cluster.processes.host import ask  # It is the main module of a host.

            try:
                return "done", ask(application, tasks[number])
            except (TidelogError, FileNotFoundError) as error:
                return "failed", error

        self.jobs += 1
        answers = results_of_tasks(self.session, len(tasks), perform)
        for kind, answer in answers:
            if kind == "failed":
                raise answer
        return [answer for _, answer in answers]

    def rows(self, tasks: Sequence[Task], arity: int) -> Rows:
        tasks, application, names = list(tasks), self.application, word_columns(arity)
        schema = pa.schema([(name, pa.int64()) for name in names])

        def read_partition(number: int) -> Iterator[pa.RecordBatch | str]:
            from tidelog.spark.cluster.processes.host import stream

            try:
                for frame in stream(application, tasks[number]):
                    words = numpy.frombuffer(frame, numpy.int64).reshape(-1, len(names))
                    columns = [pa.array(numpy.ascontiguousarray(column)) for column in words.T]
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
            except TidelogError as error:
                yield str(error)

        return SparkRows(frame_of_tasks(self.session, len(tasks), schema, read_partition), arity)

    def scatter(self, folder: Folder, name: str, rows: Rows, delivery: Delivery) -> list[Scattered]:
        if rows.is_surely_empty:
            return []
        if rows.driver_words is not None:
            return [Scattered.write(folder, name, rows.driver_words, delivery)]
        address = folder.address
        empty = not rows.arity

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[Scattered]:
            tables = [batch for batch in batches if batch.num_rows]
            if not tables:
                return
            columns = pa.Table.from_batches(tables).columns
            words = numpy.column_stack([column.to_numpy() for column in columns]).astype(numpy.int64, copy=False)
            yield Scattered.write(Folder(address), name, words[:, :0] if empty else words, delivery)

        self.jobs += 1
        return results_of(rows.frame(self.session), write)

    def stop(self, folder: Folder) -> None:
        from tidelog.spark.cluster.processes.host import stop

        address, application = folder.address, self.application
        stop(application, address)
        if not self.here:

            def end(_: int) -> None:
                stop(application, address)

            with job_description(self.session, "end the partitions"):
                results_of_tasks(self.session, 4 * slots(self.session), end)
