"""Sinks that are tables of a database, by JDBC.

Spark writes the rows of an epoch to a table beside the target. One block of PL/pgSQL then changes the target and drops
that table: PostgreSQL runs it as one transaction, which happens or not. Spark executes the block when it opens a
session to read (`sessionInitStatement`). A task that runs twice finds no table and changes nothing. Other databases
have only Spark's own way to replace a table, which is no transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem
from tidelog.spark.failures import hint_for, is_of_spark, said
from tidelog.spark.sinks.fitting import check_fit
from tidelog.spark.sinks.sink import EPOCH, OP, Sink, wrong

_NAME = re.compile(r'((?:\w+|"[^"\';]+")\.)?(?:\w+|"[^"\';]+")')
_BESIDE = "tidelog_given"
"""Behind the name of a table, that of the one with the rows that are given."""


@dataclass(frozen=True)
class DatabaseTarget:
    """A table of a database; `fields` are the columns of the rows that it takes."""

    session: SparkSession
    sink: Sink
    path: str
    fields: T.StructType
    notes: tuple[str, ...] = ()

    @property
    def is_postgres(self) -> bool:
        """Return True if a block of statements is a transaction."""
        return _is_postgres(self.sink)

    def replace(self, rows: DataFrame) -> None:
        """Replace all rows. Raise DataError (E0483)."""
        if self.is_postgres:
            self._run(rows, f"DELETE FROM {self.path};", self._insertion())
            return
        with _working(self.sink, "write the table"):
            rows.write.format("jdbc").options(**_options(self.sink), dbtable=self.path).mode("overwrite").save()

    def append(self, rows: DataFrame, epoch: int) -> None:
        """Write the rows of an epoch in place of those of another try. Raise DataError (E0483)."""
        self._run(rows, f"DELETE FROM {self.path} t WHERE {self._value('t', EPOCH)} = {epoch};", self._insertion())

    def last_epoch(self) -> int | None:
        """Return the number of the last epoch that was appended, None without one. Raise DataError (E0483)."""
        with _working(self.sink, "use the table"):
            if not _is_there(self.session, self.sink, self.path):
                return None
            found = _asked(self.session, self.sink, f'SELECT max("{EPOCH}") AS last FROM {self.path}')
        last: int | None = found[0]["last"]
        return last

    def merge(self, rows: DataFrame) -> None:
        """Bring the table to these rows by the difference. Raise DataError (E0483)."""
        gone = f"DELETE FROM {self.path} t WHERE NOT EXISTS (SELECT FROM {self._beside} g WHERE {self._same()});"
        self._run(rows, gone, self._insertion(self._is_new()))

    def apply(self, changes: DataFrame) -> None:
        """Delete and insert the rows that the column `op` says so of. Raise DataError (E0483)."""
        op = self._value("g", OP)
        gone = f"DELETE FROM {self.path} t USING {self._beside} g WHERE {op} = 'delete' AND {self._same()};"
        self._run(changes, gone, self._insertion(f"{op} = 'insert' AND {self._is_new()}"))

    @property
    def _beside(self) -> str:
        schema, dot, name = self.path.rpartition(".")
        return f'{schema}{dot}"{name.strip(chr(34))}_{_BESIDE}"'

    def _value(self, row: str, column: str) -> str:
        return f'{row}."{column}"'

    def _same(self) -> str:
        return " AND ".join(f"{self._value('t', name)} = {self._value('g', name)}" for name in self.fields.names)

    def _is_new(self) -> str:
        return f"NOT EXISTS (SELECT FROM {self.path} t WHERE {self._same()})"

    def _insertion(self, condition: str = "TRUE") -> str:
        names = ", ".join(f'"{name}"' for name in self.fields.names)
        return f"INSERT INTO {self.path} ({names}) SELECT {names} FROM {self._beside} g WHERE {condition};"

    def _run(self, rows: DataFrame, *statements: str) -> None:
        """Write rows beside the table, and run statements that use them as one transaction."""
        names = ", ".join(f'"{name}"' for name in self.fields.names)
        beside = self._beside
        block = (
            f"DO $tidelog$ BEGIN IF to_regclass('{beside}') IS NOT NULL THEN "
            f"IF to_regclass('{self.path}') IS NULL THEN "
            f"CREATE TABLE {self.path} AS SELECT {names} FROM {beside} WITH NO DATA; END IF; "
            f"{' '.join(statements)} DROP TABLE {beside}; END IF; END $tidelog$"
        )
        given = _options(self.sink)
        with _working(self.sink, "write the table"):
            rows.write.format("jdbc").options(**given, dbtable=beside).mode("overwrite").save()
            _asked(self.session, self.sink, "SELECT 1 AS done", sessionInitStatement=block)


def database_of(session: SparkSession, sink: Sink, wanted: T.StructType) -> DatabaseTarget:
    """Return the table of a sink in a database. Raise UsageError (E0686), DataError (E0483, E0488)."""
    table = sink.table or ""
    if not _NAME.fullmatch(table):
        raise wrong("table", f"{table!r} is not the name of a table", "write schema.table, without other characters")
    if not _is_postgres(sink):
        if sink.mode in ("merge", "append"):
            message = f"mode {sink.mode!r} needs a PostgreSQL database, found {sink.options['url']!r:.60}"
            raise wrong("mode", message, 'write mode = "replace"')
        return DatabaseTarget(session, sink, table, wanted)
    with _working(sink, "use the table"):
        if not _is_there(session, sink, table):
            return DatabaseTarget(session, sink, table, wanted)
        options = {**_options(sink), "dbtable": table}
        present = session.read.format("jdbc").options(**options).load().schema
    if sink.mode == "error":
        hint = 'write mode = "replace" to replace it'
        raise DataError(Problem("E0483", f"cannot write {sink.relation}: it already exists", place=table, hint=hint))
    return DatabaseTarget(session, sink, table, wanted, check_fit(sink, wanted, present))


def _is_there(session: SparkSession, sink: Sink, table: str) -> bool:
    """Return True if a PostgreSQL database has a table."""
    found = _asked(session, sink, f"SELECT to_regclass('{table}')::text AS found")
    return found[0]["found"] is not None


def _asked(session: SparkSession, sink: Sink, query: str, **more: str) -> list[Row]:
    """Return the rows of a query to the database of a sink."""
    return session.read.format("jdbc").options(**{**_options(sink), "query": query, **more}).load().collect()


def _options(sink: Sink) -> dict[str, str]:
    return {key: str(value) for key, value in sink.options.items() if key.lower() not in ("dbtable", "query")}


def _is_postgres(sink: Sink) -> bool:
    return str(sink.options.get("url", "")).startswith("jdbc:postgresql:")


@contextmanager
def _working(sink: Sink, doing: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        message = f"cannot {doing} of {sink.relation}: {said(error)}"
        hint = hint_for(error, "check the database and its table", str(sink.options["url"]))
        raise DataError(Problem("E0483", message, place=sink.place, hint=hint)) from error
