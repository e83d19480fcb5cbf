"""Sinks that are tables: Delta and Iceberg, whose commits are atomic, and tables of files in the session's catalog.

A Delta table at a path is one by the name delta.`path`. Rows that are appended have the number of their epoch, and
those of an epoch replace what an earlier try has written for it: as one commit in Delta and Iceberg. A table of files
has a partition for each epoch, which is dropped and written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem
from tidelog.spark.failures import is_of_spark, said
from tidelog.spark.sinks.fitting import fitted
from tidelog.spark.sinks.sink import EPOCH, OP, Sink
from tidelog.spark.sources.readers import escaped, quoted

LAKES = ("delta", "iceberg")
_GIVEN = "_given "
"""The prefix of columns that are merged, so that no name is that of a column of the table."""


@dataclass(frozen=True)
class TableTarget:
    """A table by its `name`; `fields` are the columns of the rows that it takes. `provider` is None if only the catalog
    knows it, and `made` says that the table was there."""

    session: SparkSession
    sink: Sink
    path: str
    name: str
    provider: str | None
    fields: T.StructType
    made: bool
    notes: tuple[str, ...] = ()

    @property
    def is_lake(self) -> bool:
        """Return True if a write is a commit of its own, which happens or not."""
        return self.provider in LAKES

    def replace(self, rows: DataFrame) -> None:
        """Replace all rows. Raise DataError (E0483)."""
        with self._writing():
            whole = fitted(rows, self._there())
            if self.is_lake:
                whole.writeTo(self.name).options(**self._options()).overwrite(F.lit(True))
            else:
                whole.write.options(**self._options()).insertInto(self.name, overwrite=True)

    def append(self, rows: DataFrame, epoch: int) -> None:
        """Write the rows of an epoch, which have its number in the column `epoch`, in place of those of another try.
        Raise DataError (E0483)."""
        with self._writing():
            whole = fitted(rows, self._there())
            if self.is_lake:
                whole.writeTo(self.name).options(**self._options()).overwrite(F.col(EPOCH) == epoch)
            else:
                self.session.sql(f"ALTER TABLE {self.name} DROP IF EXISTS PARTITION ({EPOCH} = {epoch})")
                further = ", ".join([f"{EPOCH} = {epoch}", *(escaped(name) for name in self._parts() if name != EPOCH)])
                # The writer has no static partition; a dynamic one depends on the configuration.
                insertion = f"INSERT OVERWRITE {self.name} PARTITION ({further}) SELECT * FROM {{rows}}"
                self.session.sql(insertion, rows=whole.drop(EPOCH))

    def last_epoch(self) -> int | None:
        """Return the number of the last epoch that was appended, None without one."""
        if not self.made:
            return None
        last: int | None = self.session.table(self.name).agg(F.max(EPOCH)).collect()[0][0]
        return last

    def merge(self, rows: DataFrame) -> None:
        """Bring the table to these rows by the difference. Raise DataError (E0483)."""
        with self._writing():
            given, matches, values = self._given(rows)
            merging = given.mergeInto(self.name, matches).whenNotMatched().insert(values)
            merging.whenNotMatchedBySource().delete().merge()

    def apply(self, changes: DataFrame) -> None:
        """Delete and insert the rows that the column `op` says so of. Raise DataError (E0483)."""
        with self._writing():
            given, matches, values = self._given(changes)
            op = quoted(f"{_GIVEN}{OP}")
            merging = given.mergeInto(self.name, matches).whenMatched(op == "delete").delete()
            merging.whenNotMatched(op == "insert").insert(values).merge()

    def _given(self, rows: DataFrame) -> tuple[DataFrame, Expression, dict[str, Expression]]:
        """Return rows to merge, when one is that of the table, and the values of one that is not there."""
        present = self._there()
        given = rows.select(*[quoted(name).alias(f"{_GIVEN}{name}") for name in rows.columns])
        names = [name for name in rows.columns if name != OP or OP in self.fields.names]
        matches = F.lit(True)
        for name in names:
            matches = matches & quoted(name).eqNullSafe(quoted(f"{_GIVEN}{name}"))
        values: dict[str, Expression] = {}
        for field in present.fields:
            own = next((name for name in names if name.lower() == field.name.lower()), None)
            values[escaped(field.name)] = (F.lit(None) if own is None else quoted(f"{_GIVEN}{own}")).cast(
                field.dataType
            )
        return given, matches, values

    def _parts(self) -> list[str]:
        """Return the partition columns of the table."""
        return [column.name for column in self.session.catalog.listColumns(self.name) if column.isPartition]

    def _options(self) -> dict[str, str]:
        return {key: str(value) for key, value in self.sink.options.items()}

    def _there(self) -> T.StructType:
        """Return the columns of the table, which is made, empty, if it was not there."""
        if not self.made:
            self.session.sql(definition(self.name, self.sink, self.fields, self.provider))
        return self.session.table(self.name).schema

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not is_of_spark(error):
                raise
            hint = "check the table; it is as it was before"
            if not self.is_lake:
                hint = "check the table; another try writes it anew"
            problem = Problem("E0483", f"cannot write {self.sink.relation}: {said(error)}", place=self.path, hint=hint)
            raise DataError(problem) from error


def definition(name: str, sink: Sink, fields: T.StructType, provider: str | None) -> str:
    """Return the statement that makes a table; a table of files to append to has a partition for each epoch."""
    columns = ", ".join(f"{escaped(field.name)} {field.dataType.simpleString()}" for field in fields.fields)
    parts = list(partitions(sink, provider))
    using = "" if provider is None else f" USING {provider}"
    by = f" PARTITIONED BY ({', '.join(map(escaped, parts))})" if parts else ""
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}){using}{by}"


def partitions(sink: Sink, provider: str | None) -> Sequence[str]:
    """Return the partition columns of a table that a sink makes."""
    by_epoch = sink.mode == "append" and provider not in LAKES and EPOCH not in sink.partition_by
    return (EPOCH, *sink.partition_by) if by_epoch else tuple(sink.partition_by)
