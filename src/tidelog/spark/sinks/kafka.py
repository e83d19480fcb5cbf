"""Changes as records of a Kafka topic.

Spark's writer for Kafka has no transactions: a task that fails is repeated, and an epoch that comes again after a crash
is sent again. So records arrive at least once. Each has the number of its epoch, so that a reader can leave out those
that it has seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.errors import DataError, Problem
from tidelog.spark.failures import hint_for, is_of_spark, said
from tidelog.spark.sinks.sink import EPOCH, OP, Sink
from tidelog.spark.sources.readers import quoted


@dataclass(frozen=True)
class TopicTarget:
    """A topic."""

    sink: Sink
    path: str
    notes: tuple[str, ...] = ()

    def append(self, rows: DataFrame, epoch: int) -> None:
        """Send the rows of an epoch. Raise DataError (E0483)."""
        try:
            records(rows).write.format("kafka").options(**self.sink.options).save()
        except Exception as error:
            if not is_of_spark(error):
                raise
            message = f"cannot send epoch {epoch} of {self.sink.relation}: {said(error)}"
            hint = hint_for(error, "check the broker and the topic")
            raise DataError(Problem("E0483", message, place=self.path, hint=hint)) from error


def records(rows: DataFrame) -> DataFrame:
    """Return changes as records: `key` is the tuple as JSON, so that a partition has its changes in their order;
    `value` is JSON of op, tuple and epoch."""
    columns = [quoted(name) for name in rows.columns]
    tuples = [quoted(name) for name in rows.columns if name not in (OP, EPOCH)]
    key = F.to_json(F.struct(*tuples)) if tuples else F.lit("{}")
    return rows.select(key.alias("key"), F.to_json(F.struct(*columns)).alias("value"))
