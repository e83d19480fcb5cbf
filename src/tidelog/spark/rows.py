"""Rows of words of one relation, on the driver or in Spark, with the same methods for both; and Arrow tables as frames.

`Rows` cross the line between a database and its engines in either form, whichever the giver has. A frame of words has
the columns `word_columns(arity)`, all of them long and without nulls.

Types of values in Spark (`spark_type`): number is long, unsigned is decimal(20,0), float is double, symbol is string, a
record is a struct (nil is null); a record type that contains itself has no type in Spark and is shown as text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError
from tidelog.maintain.protocol import RowChange
from tidelog.queries.pattern import Pattern
from tidelog.spark.jobs import job_description
from tidelog.spark.sessions import from_arrow, to_arrow
from tidelog.storage.dictionary import Dictionary


def to_spark(session: SparkSession, table: pa.Table) -> DataFrame:
    """Return an Arrow table as a DataFrame that holds its own data."""

    if not table.column_names:
        # A relation without columns is true or false; Spark's Arrow reader loses rows that have no columns.
        return session.range(table.num_rows).select()
    schema = spark_schema(table.schema)
    if table.num_rows:
        return from_arrow(session, table.cast(schema))
    # PySpark cannot take columns without chunks, nor with Spark Connect a table without rows.
    return session.range(0).select(*null_columns(from_arrow_schema(schema)))


def null_columns(schema: T.StructType) -> list[Expression]:
    """Return a column of nulls for each one of a schema."""
    return [F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields]


def schema_in_spark(given: pa.Schema) -> T.StructType:
    """Return the columns that a table with these has in Spark."""
    return from_arrow_schema(spark_schema(given))


def spark_schema(given: pa.Schema) -> pa.Schema:
    """Return the types next to those of `given` that Spark can read."""
    return pa.schema([pa.field(f.name, spark_type(f.type)) for f in given])


def spark_type(given: pa.DataType) -> pa.DataType:
    """Return the Arrow type next to `given` that Spark can read."""
    if pa.types.is_uint64(given):
        return pa.decimal128(20, 0)
    if pa.types.is_large_string(given) or pa.types.is_dictionary(given) or pa.types.is_string_view(given):
        return pa.string()
    if pa.types.is_struct(given):
        return pa.struct([pa.field(f.name, spark_type(f.type)) for f in given])
    return given


MOST_AT_ONCE = 4_000_000  # rows that come to the driver in one Spark job, if no partition has more


class Rows(ABC):
    """Rows of words. Those in Spark are evaluated lazily."""

    @property
    @abstractmethod
    def arity(self) -> int:
        """The number of columns of the relation."""

    @property
    @abstractmethod
    def driver_words(self) -> Words | None:
        """The rows, if they are on the driver; None if Spark has them. For algorithms that differ between the two."""

    @property
    @abstractmethod
    def is_surely_empty(self) -> bool:
        """True if there are no rows, as far as that is known without a Spark job."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def local(self) -> Words:
        """Return the rows on the driver, int64 of shape (rows, arity)."""

    @abstractmethod
    def frame(self, session: SparkSession) -> DataFrame:
        """Return the rows as a frame of this session, the one that has them if they are in Spark."""

    @abstractmethod
    def without(self, others: Rows) -> Rows:
        """Return the rows that are not among others, which are in the same place; the rows are distinct."""

    @abstractmethod
    def select_matching(self, pattern: Pattern, dictionary: Dictionary) -> Rows:
        """Return the rows that match a pattern."""


@dataclass(frozen=True, eq=False)
class DriverRows(Rows):
    """Rows in an array on the driver, int64 of shape (rows, arity)."""

    words: Words

    @property
    def arity(self) -> int:
        return int(self.words.shape[1])

    @property
    def driver_words(self) -> Words:
        return self.words

    @property
    def is_surely_empty(self) -> bool:
        return not len(self.words)

    def count(self) -> int:
        return len(self.words)

    def local(self) -> Words:
        return self.words

    def frame(self, session: SparkSession) -> DataFrame:
        words = self.words if self.arity else np.zeros((len(self.words), 1), np.int64)
        return to_spark(session, pa.table({name: words[:, i] for i, name in enumerate(word_columns(self.arity))}))

    def without(self, others: Rows) -> DriverRows:
        unwanted = set(map(tuple, others.local().tolist()))
        return DriverRows(self.words[np.array([tuple(row) not in unwanted for row in self.words.tolist()], bool)])

    def select_matching(self, pattern: Pattern, dictionary: Dictionary) -> DriverRows:
        return DriverRows(pattern.select(self.words, dictionary))


@dataclass(frozen=True, eq=False)
class SparkRows(Rows):
    """Rows of a relation with `width` columns in a data frame."""

    words: DataFrame
    width: int

    @property
    def arity(self) -> int:
        return self.width

    @property
    def driver_words(self) -> None:
        return None

    @property
    def is_surely_empty(self) -> bool:
        return False

    def count(self) -> int:
        with job_description(self.words.sparkSession, "count rows"):
            return self.words.count()

    def local(self) -> Words:
        """See `Rows`. Many rows come in several jobs, because Spark never ends one whose result Java's memory cannot
        hold."""
        parts = max(1, -(-self.count() // MOST_AT_ONCE))
        part = F.pmod(F.xxhash64(*self.words.columns), F.lit(parts))
        frames = [self.words.where(part == number) if parts > 1 else self.words for number in range(parts)]
        with job_description(self.words.sparkSession, "collect rows"):
            return np.concatenate([self._collect(frame) for frame in frames])

    def frame(self, session: SparkSession) -> DataFrame:
        return self.words

    def without(self, others: Rows) -> SparkRows:
        return SparkRows(self.words.subtract(others.frame(self.words.sparkSession)), self.arity)

    def select_matching(self, pattern: Pattern, dictionary: Dictionary) -> SparkRows:
        rows, words = self.words, pattern.words(dictionary)
        for column, _ in pattern.constants:
            rows = rows.where(F.col(f"c{column}") == words[column] if column in words else F.lit(False))
        for one, other in pattern.equal:
            rows = rows.where(F.col(f"c{one}") == F.col(f"c{other}"))
        return SparkRows(rows, self.arity)

    def _collect(self, frame: DataFrame) -> Words:
        table = to_arrow(frame)
        if not self.arity:
            return np.empty((table.num_rows, 0), np.int64)
        return np.stack([column.to_numpy() for column in table.columns], axis=1)


def too_many_rows(message: str) -> UsageError:
    """Return the error about more rows than the driver takes (E0688)."""
    hint = "raise it with options(embedded_limit=…) if the driver has the memory"
    return UsageError(Problem("E0688", message, hint=hint))


def driver_change(inserted: Words, deleted: Words) -> RowChange[Rows]:
    """Return the change of rows on the driver."""
    return RowChange(DriverRows(inserted), DriverRows(deleted))


def insertion(rows: Rows) -> RowChange[Rows]:
    """Return the change that inserts rows."""
    return RowChange(rows, no_rows(rows.arity))


def no_rows(arity: int) -> DriverRows:
    """Return no rows of a relation with so many columns."""
    return DriverRows(np.empty((0, arity), np.int64))


def word_columns(arity: int) -> list[str]:
    """Return the names of a frame's columns of words. A relation without columns, which has one row or none, has one
    column `unit` that is 0, because Spark's files and Arrow batches lose rows without columns."""
    return [f"c{i}" for i in range(arity)] or ["unit"]


def larger_batches(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of at least so many `rows`, but for the last one."""
    waiting = list[pa.RecordBatch]()
    for batch in chain(batches, [None]):
        if batch is not None:
            waiting.append(batch)
        if waiting and (batch is None or sum(each.num_rows for each in waiting) >= rows):
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
