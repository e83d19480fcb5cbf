"""Sinks that are tables: of the session's catalog, and of a database by JDBC.

Delta and Iceberg commit at once; the catalog has tables of files besides. A Delta table at a path is one by the name
delta.`path`. Rows that are appended have the number of their epoch, and those of an epoch replace what an earlier try
has written for it: as one commit in Delta and Iceberg. A table of files has a partition for each epoch, which is
dropped and written.

To a database, Spark writes the rows of an epoch to a table beside the target. One block of PL/pgSQL then changes the
target and drops that table: PostgreSQL runs it as one transaction, which happens or not. Spark executes the block when
it opens a session to read (`sessionInitStatement`). A task that runs twice finds no table and changes nothing. Other
databases have only Spark's own way to replace a table, which is no transaction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem
from tidelog.spark.failures import hint_for, spark_errors_as, spark_message
from tidelog.spark.sinks.sink import EPOCH, OP, Sink, already_exists, check_fit, fit_to_table, invalid_key
from tidelog.spark.sources.readers import named_column, sql_name

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
        with self._report_write_errors():
            whole = fit_to_table(rows, self._present_columns())
            if self.is_lake:
                whole.writeTo(self.name).options(**self._options()).overwrite(F.lit(True))
            else:
                whole.write.options(**self._options()).insertInto(self.name, overwrite=True)

    def append(self, rows: DataFrame, epoch: int) -> None:
        """Write the rows of an epoch, which have its number in the column `epoch`, in place of those of another try.
        Raise DataError (E0483)."""
        with self._report_write_errors():
            whole = fit_to_table(rows, self._present_columns())
            if self.is_lake:
                whole.writeTo(self.name).options(**self._options()).overwrite(F.col(EPOCH) == epoch)
            else:
                self.session.sql(f"ALTER TABLE {self.name} DROP IF EXISTS PARTITION ({EPOCH} = {epoch})")
                further = ", ".join(
                    [f"{EPOCH} = {epoch}", *(sql_name(name) for name in self._parts() if name != EPOCH)]
                )
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
        with self._report_write_errors():
            given, matches, values = self._merge_source(rows)
            merging = given.mergeInto(self.name, matches).whenNotMatched().insert(values)
            merging.whenNotMatchedBySource().delete().merge()

    def apply(self, changes: DataFrame) -> None:
        """Delete and insert the rows that the column `op` says so of. Raise DataError (E0483)."""
        with self._report_write_errors():
            given, matches, values = self._merge_source(changes)
            op = named_column(f"{_GIVEN}{OP}")
            merging = given.mergeInto(self.name, matches).whenMatched(op == "delete").delete()
            merging.whenNotMatched(op == "insert").insert(values).merge()

    def _merge_source(self, rows: DataFrame) -> tuple[DataFrame, Expression, dict[str, Expression]]:
        """Return rows to merge, when one is that of the table, and the values of one that is not there."""
        present = self._present_columns()
        given = rows.select(*[named_column(name).alias(f"{_GIVEN}{name}") for name in rows.columns])
        names = [name for name in rows.columns if name != OP or OP in self.fields.names]
        matches = F.lit(True)
        for name in names:
            matches = matches & named_column(name).eqNullSafe(named_column(f"{_GIVEN}{name}"))
        values: dict[str, Expression] = {}
        for field in present.fields:
            own = next((name for name in names if name.lower() == field.name.lower()), None)
            values[sql_name(field.name)] = (F.lit(None) if own is None else named_column(f"{_GIVEN}{own}")).cast(
                field.dataType
            )
        return given, matches, values

    def _parts(self) -> list[str]:
        """Return the partition columns of the table."""
        return [column.name for column in self.session.catalog.listColumns(self.name) if column.isPartition]

    def _options(self) -> dict[str, str]:
        return {key: str(value) for key, value in self.sink.options.items()}

    def _present_columns(self) -> T.StructType:
        """Return the columns of the table, which is made, empty, if it was not there."""
        if not self.made:
            self.session.sql(definition(self.name, self.sink, self.fields, self.provider))
        return self.session.table(self.name).schema

    def _report_write_errors(self) -> AbstractContextManager[None]:
        hint = "check the table; it is as it was before"
        if not self.is_lake:
            hint = "check the table; another try writes it anew"
        what = f"cannot write {self.sink.relation}"
        return spark_errors_as(
            lambda error: DataError(Problem("E0483", f"{what}: {spark_message(error)}", place=self.path, hint=hint))
        )


def definition(name: str, sink: Sink, fields: T.StructType, provider: str | None) -> str:
    """Return the statement that makes a table; a table of files to append to has a partition for each epoch."""
    columns = ", ".join(f"{sql_name(field.name)} {field.dataType.simpleString()}" for field in fields.fields)
    parts = list(partitions(sink, provider))
    using = "" if provider is None else f" USING {provider}"
    by = f" PARTITIONED BY ({', '.join(map(sql_name, parts))})" if parts else ""
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}){using}{by}"


def partitions(sink: Sink, provider: str | None) -> Sequence[str]:
    """Return the partition columns of a table that a sink makes."""
    by_epoch = sink.mode == "append" and provider not in LAKES and EPOCH not in sink.partition_by
    return (EPOCH, *sink.partition_by) if by_epoch else tuple(sink.partition_by)


# --- tables of a database --------------------------------------------------------------------------------------------


_NAME = re.compile(r'((?:\w+|"[^"\';]+")\.)?(?:\w+|"[^"\';]+")')
_STAGING = "tidelog_given"
"""Behind the name of a table, that of the one with the rows that are given."""


@dataclass(frozen=True)
class DatabaseTarget:
    """A table of a database; `fields` are the columns of the rows that it takes."""

    session: SparkSession
    sink: Sink
    path: str
    fields: T.StructType
    notes: tuple[str, ...] = ()

    def replace(self, rows: DataFrame) -> None:
        """Replace all rows. Raise DataError (E0483)."""
        if _is_postgres(self.sink):
            self._run(rows, f"DELETE FROM {self.path};", self._insertion())
            return
        with _report_database_errors(self.sink, "write the table"):
            rows.write.format("jdbc").options(**_options(self.sink), dbtable=self.path).mode("overwrite").save()

    def append(self, rows: DataFrame, epoch: int) -> None:
        """Write the rows of an epoch in place of those of another try. Raise DataError (E0483)."""
        self._run(rows, f"DELETE FROM {self.path} t WHERE {self._value('t', EPOCH)} = {epoch};", self._insertion())

    def last_epoch(self) -> int | None:
        """Return the number of the last epoch that was appended, None without one. Raise DataError (E0483)."""
        with _report_database_errors(self.sink, "use the table"):
            if not _is_there(self.session, self.sink, self.path):
                return None
            found = _query(self.session, self.sink, f'SELECT max("{EPOCH}") AS last FROM {self.path}')
        last: int | None = found[0]["last"]
        return last

    def merge(self, rows: DataFrame) -> None:
        """Bring the table to these rows by the difference. Raise DataError (E0483)."""
        given = f"SELECT FROM {self._staging_table} g WHERE {self._is_same_row()}"
        removed = f"DELETE FROM {self.path} t WHERE NOT EXISTS ({given});"
        self._run(rows, removed, self._insertion(self._is_new()))

    def apply(self, changes: DataFrame) -> None:
        """Delete and insert the rows that the column `op` says so of. Raise DataError (E0483)."""
        op = self._value("g", OP)
        removed = (
            f"DELETE FROM {self.path} t USING {self._staging_table} g WHERE {op} = 'delete' AND {self._is_same_row()};"
        )
        self._run(changes, removed, self._insertion(f"{op} = 'insert' AND {self._is_new()}"))

    @property
    def _staging_table(self) -> str:
        schema, dot, name = self.path.rpartition(".")
        return f'{schema}{dot}"{name.strip(chr(34))}_{_STAGING}"'

    def _value(self, row: str, column: str) -> str:
        return f'{row}."{column}"'

    def _is_same_row(self) -> str:
        return " AND ".join(f"{self._value('t', name)} = {self._value('g', name)}" for name in self.fields.names)

    def _is_new(self) -> str:
        return f"NOT EXISTS (SELECT FROM {self.path} t WHERE {self._is_same_row()})"

    def _insertion(self, condition: str = "TRUE") -> str:
        names = ", ".join(f'"{name}"' for name in self.fields.names)
        return f"INSERT INTO {self.path} ({names}) SELECT {names} FROM {self._staging_table} g WHERE {condition};"

    def _run(self, rows: DataFrame, *statements: str) -> None:
        """Write rows beside the table, and run statements that use them as one transaction."""
        names = ", ".join(f'"{name}"' for name in self.fields.names)
        beside = self._staging_table
        block = (
            f"DO $tidelog$ BEGIN IF to_regclass('{beside}') IS NOT NULL THEN "
            f"IF to_regclass('{self.path}') IS NULL THEN "
            f"CREATE TABLE {self.path} AS SELECT {names} FROM {beside} WITH NO DATA; END IF; "
            f"{' '.join(statements)} DROP TABLE {beside}; END IF; END $tidelog$"
        )
        given = _options(self.sink)
        with _report_database_errors(self.sink, "write the table"):
            rows.write.format("jdbc").options(**given, dbtable=beside).mode("overwrite").save()
            _query(self.session, self.sink, "SELECT 1 AS done", sessionInitStatement=block)


def database_of(session: SparkSession, sink: Sink, wanted: T.StructType) -> DatabaseTarget:
    """Return the table of a sink in a database. Raise UsageError (E0686), DataError (E0483, E0488)."""
    table = sink.table or ""
    if not _NAME.fullmatch(table):
        raise invalid_key(
            "table", f"{table!r} is not the name of a table", "write schema.table, without other characters"
        )
    if not _is_postgres(sink):
        if sink.mode in ("merge", "append"):
            message = f"mode {sink.mode!r} needs a PostgreSQL database, found {sink.options['url']!r:.60}"
            raise invalid_key("mode", message, 'write mode = "replace"')
        return DatabaseTarget(session, sink, table, wanted)
    with _report_database_errors(sink, "use the table"):
        if not _is_there(session, sink, table):
            return DatabaseTarget(session, sink, table, wanted)
        options = {**_options(sink), "dbtable": table}
        present = session.read.format("jdbc").options(**options).load().schema
    if sink.mode == "error":
        raise already_exists(sink, table)
    return DatabaseTarget(session, sink, table, wanted, check_fit(sink, wanted, present))


def _is_there(session: SparkSession, sink: Sink, table: str) -> bool:
    """Return True if a PostgreSQL database has a table."""
    found = _query(session, sink, f"SELECT to_regclass('{table}')::text AS found")
    return found[0]["found"] is not None


def _query(session: SparkSession, sink: Sink, query: str, **more: str) -> list[Row]:
    """Return the rows of a query to the database of a sink."""
    return session.read.format("jdbc").options(**{**_options(sink), "query": query, **more}).load().collect()


def _options(sink: Sink) -> dict[str, str]:
    return {key: str(value) for key, value in sink.options.items() if key.lower() not in ("dbtable", "query")}


def _is_postgres(sink: Sink) -> bool:
    return str(sink.options.get("url", "")).startswith("jdbc:postgresql:")


def _report_database_errors(sink: Sink, doing: str) -> AbstractContextManager[None]:
    def failure(error: BaseException) -> DataError:
        message = f"cannot {doing} of {sink.relation}: {spark_message(error)}"
        hint = hint_for(error, "check the database and its table", str(sink.options["url"]))
        return DataError(Problem("E0483", message, place=sink.place, hint=hint))

    return spark_errors_as(failure)
