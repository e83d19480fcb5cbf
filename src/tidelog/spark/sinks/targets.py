"""A sink over a session: what is there already, whether it fits, and how it is written.

Changes also go to a Kafka topic, as records. Spark's writer for Kafka has no transactions: a task that fails is
repeated, and an epoch that comes again after a crash is sent again. So records arrive at least once. Each has the
number of its epoch, so that a reader can leave out those that it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem, SetupError, TidelogError
from tidelog.spark.failures import hint_for, spark_errors_as, spark_message
from tidelog.spark.jobs import step
from tidelog.spark.rows import schema_in_spark
from tidelog.spark.sessions import IS_LATER
from tidelog.spark.sinks.folders import FolderTarget, folder_of
from tidelog.spark.sinks.sink import (
    EPOCH,
    OP,
    Place,
    Sink,
    already_exists,
    check_apart,
    check_fit,
    invalid_key,
    unfit,
    wanted_fields,
)
from tidelog.spark.sinks.tables import LAKES, DatabaseTarget, TableTarget, database_of, partitions
from tidelog.spark.sources.readers import named_column, spark_path
from tidelog.workspace.workspace import Workspace


@dataclass(frozen=True)
class TopicTarget:
    """A topic."""

    sink: Sink
    path: str
    notes: tuple[str, ...] = ()

    def append(self, rows: DataFrame, epoch: int) -> None:
        """Send the rows of an epoch. Raise DataError (E0483)."""

        def failure(error: BaseException) -> DataError:
            message = f"cannot send epoch {epoch} of {self.sink.relation}: {spark_message(error)}"
            hint = hint_for(error, "check the broker and the topic")
            return DataError(Problem("E0483", message, place=self.path, hint=hint))

        with spark_errors_as(failure):
            records(rows).write.format("kafka").options(**self.sink.options).save()


def records(rows: DataFrame) -> DataFrame:
    """Return changes as records: `key` is the tuple as JSON, so that a partition has its changes in their order;
    `value` is JSON of op, tuple and epoch."""
    columns = [named_column(name) for name in rows.columns]
    tuples = [named_column(name) for name in rows.columns if name not in (OP, EPOCH)]
    key = F.to_json(F.struct(*tuples)) if tuples else F.lit("{}")
    return rows.select(key.alias("key"), F.to_json(F.struct(*columns)).alias("value"))


SinkTarget: TypeAlias = FolderTarget | TableTarget | DatabaseTarget | TopicTarget
DELTA = "io.delta.sql.DeltaSparkSessionExtension"


@dataclass(frozen=True)
class EpochOutput:
    """The output of an epoch for the sinks of a relation: its number, its view and its changes, which are read when
    they are asked for. Changes are None if the epoch is known to have changed nothing.

    `table` returns the changes with the column `op` before them if this process has their rows, otherwise None.
    """

    epoch: int
    view: Callable[[], DataFrame]
    inserted: Callable[[], DataFrame | None]
    deleted: Callable[[], DataFrame | None]
    table: Callable[[], pa.Table | None] = lambda: None

    def changes(self) -> DataFrame:
        """Return the changes with the column `op` before them."""
        parts = [(self.inserted(), "insert"), (self.deleted(), "delete")]
        found = [frame.select(F.lit(op).alias(OP), "*") for frame, op in parts if frame is not None]
        if not found:
            return self.view().select(F.lit(None).cast("string").alias(OP), "*").where(F.lit(False))
        return reduce(DataFrame.unionAll, found)


def write(target: SinkTarget, output: EpochOutput, *, whole: bool) -> None:
    """Write the view or the changes of an epoch. A merge takes the changes, or with `whole` the difference between view
    and table. Raise DataError (E0483); an epoch that is written again replaces its own rows."""
    sink = target.sink
    with step(f"sink {sink.place}"):
        if sink.mode == "append":
            if isinstance(target, FolderTarget) and target.codec is not None and (table := output.table()) is not None:
                target.append_table(table, output.epoch)
                return
            rows = output.changes() if sink.what == "changes" else output.view()
            target.append(rows.withColumn(EPOCH, F.lit(output.epoch).cast("long")), output.epoch)
        elif sink.mode != "merge":
            assert not isinstance(target, TopicTarget)
            target.replace(output.view())
        else:
            assert isinstance(target, TableTarget | DatabaseTarget)
            if whole:
                target.merge(output.view())
            else:
                target.apply(output.changes())


def schema_of(workspace: Workspace[Any], relation: str) -> T.StructType:
    """Return the columns that a relation has in Spark, without asking for its rows. Raise UsageError (E0601)."""
    return schema_in_spark(workspace.dictionary.types.arrow_schema(workspace.relation(relation).columns))


def targets_of(
    session: SparkSession,
    sinks: Sequence[Sink],
    schema: Callable[[str], T.StructType],
    kept: Sequence[Place],
    sources: Sequence[str] = (),
) -> list[SinkTarget]:
    """Return the targets of sinks, or everything that is wrong with them; `schema` has the columns of a relation,
    `kept` are places that no sink may replace, and `sources` are tables that are read. UsageError (E0601, E0686),
    DataError (E0483, E0488), SetupError (E0707)."""
    check_apart([("sink", sink.path) for sink in sinks if sink.path is not None], kept)
    found: list[SinkTarget] = []
    errors: list[TidelogError] = []
    for sink in sinks:
        try:
            with step(f"sink {sink.place}"):
                found.append(_target(session, sink, schema(sink.relation)))
        except TidelogError as error:
            errors.append(error)
    if errors:
        raise type(errors[0])(*[problem for error in errors for problem in error.problems])
    read = {_full_name(session, name): name for name in sources}
    seen: dict[str, Sink] = {}
    for target in found:
        if isinstance(target, TableTarget):
            name = _full_name(session, target.name)
            if name in read:
                raise invalid_key(
                    "table", f"the sink at {target.sink.place} would replace the source {read[name]}", _APART
                )
            if name in seen:
                raise invalid_key("table", f"the table {target.sink.place} is a sink twice", _APART)
            seen[name] = target.sink
    return found


_APART = "give each sink a table of its own"


def check_epochs(targets: Sequence[SinkTarget], following: int) -> None:
    """Raise DataError (E0488) where rows of epochs behind the `following` one of a database have been appended: another
    database has written them, and this one would replace some. (The following one may be there: it was killed.)"""
    for target in targets:
        if target.sink.mode == "append" and not isinstance(target, TopicTarget):
            with _using_table(target.sink), step(f"sink {target.sink.place}"):
                last = target.last_epoch()
            if last is not None and last > following:
                message = f"it has epochs up to {last}, and the next one of this database is {following}"
                hint = "go on with the state folder of these epochs, or write to another place"
                raise unfit(target.sink, message, hint)


def check_delta(session: SparkSession, formats: Sequence[str | None]) -> None:
    """Raise SetupError (E0707) if a format is Delta and the session has none."""
    if "delta" in formats and DELTA not in (session.conf.get("spark.sql.extensions", "") or ""):
        packages = "spark.jars.packages=io.delta:delta-spark_2.13:VERSION"
        hint = f"start the session with spark.sql.extensions={DELTA} and {packages}; or use parquet"
        raise SetupError(Problem("E0707", "the session has no Delta Lake", hint=hint))


def _target(session: SparkSession, sink: Sink, view: T.StructType) -> SinkTarget:
    check_delta(session, [sink.format])
    wanted = wanted_fields(sink, view)
    if sink.format == "kafka":
        return TopicTarget(sink, sink.place)
    if sink.format == "jdbc":
        return database_of(session, sink, wanted)
    if sink.path is not None and sink.format != "delta":
        return folder_of(session, sink)
    return _table(session, sink, wanted)


def _table(session: SparkSession, sink: Sink, wanted: T.StructType) -> TableTarget:
    """Return the table of a sink, if it is there or can be made."""
    path = sink.table or spark_path(session, sink.path or "").rstrip("/")
    name = sink.table or f"delta.`{path}`"
    with _using_table(sink):
        if not _exists(session, sink, name):
            _check_schema(session, name, sink)
            provider = sink.format or _catalog_format(session, name)
            _check_merged(sink, provider)
            return TableTarget(session, sink, path, name, provider, wanted, made=False)
        fields, provider, kind = session.table(name).schema, *provider_and_type(session, name)
        parts = {column.name for column in session.catalog.listColumns(name) if column.isPartition}
    if kind == "VIEW":
        raise unfit(sink, f"{sink.table} is a view, not a table", "name a table")
    if sink.mode == "error":
        raise already_exists(sink, path)
    if sink.format not in (None, provider):
        raise unfit(sink, f"the table is of the format {provider}, found the format {sink.format}", "leave it out")
    _check_merged(sink, provider)
    dynamic = str(session.conf.get("spark.sql.sources.partitionOverwriteMode")).lower() == "dynamic"
    if parts and dynamic and sink.mode == "replace" and provider not in LAKES:
        hint = "start the session without spark.sql.sources.partitionOverwriteMode"
        raise unfit(sink, "the session replaces partitions, not tables", hint)
    notes = check_fit(sink, wanted, fields)
    needed = set(partitions(sink, provider)) if sink.partition_by else set(partitions(sink, provider)) - parts
    if needed and needed != parts:
        shown = ", ".join(sorted(parts)) or "none"
        message = f"the table has the partition columns {shown}, needed are {', '.join(sorted(needed))}"
        raise unfit(sink, message, "name another table, which tidelog makes")
    return TableTarget(session, sink, path, name, provider, wanted, made=True, notes=notes)


def _exists(session: SparkSession, sink: Sink, name: str) -> bool:
    """Return True if a table is there."""
    try:
        return bool(session.catalog.tableExists(name))
    except AnalysisException:
        if sink.path is None:
            raise
        return False  # Delta looks for its log at the path.


def _catalog_format(session: SparkSession, name: str) -> str | None:
    """Return the format of the tables that a catalog makes: "iceberg" if it is one of Iceberg, otherwise None."""
    first, dot, _ = name.partition(".")
    for catalog in (first if dot else "", session.catalog.currentCatalog()):
        kind = session.conf.get(f"spark.sql.catalog.{catalog}", "") if catalog else ""
        if kind:
            return "iceberg" if ".iceberg." in kind else None
    return None


def provider_and_type(session: SparkSession, name: str) -> tuple[str | None, str | None]:
    """Return the provider and the type of a table, as far as its catalog says."""
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    found = {row["col_name"]: row["data_type"] for row in rows if row["col_name"] in ("Provider", "Type")}
    provider = found.get("Provider")
    return None if provider is None else provider.lower(), found.get("Type")


def _check_schema(session: SparkSession, name: str, sink: Sink) -> None:
    """Raise DataError (E0488) if the schema (or namespace) of a table is not there."""
    parts = [part.strip("`") for part in name.split(".")]
    if sink.path is None and len(parts) > 1 and not session.catalog.databaseExists(name.rpartition(".")[0]):
        schema = name.rpartition(".")[0]
        raise unfit(sink, f"the schema {schema} does not exist", f"make it: CREATE SCHEMA {schema}")


def _check_merged(sink: Sink, provider: str | None) -> None:
    """Raise DataError (E0488) if rows cannot be merged into a table."""
    if sink.mode == "merge" and not IS_LATER:
        raise unfit(sink, "PySpark 3.5 cannot merge rows into tables", 'install PySpark 4, or write mode = "replace"')
    if sink.mode == "merge" and provider not in LAKES:
        what = "the session's default format" if provider is None else f"the format {provider}"
        hint = 'write mode = "replace", or format = "delta" or "iceberg"'
        raise unfit(sink, f"rows cannot be merged into a table of {what}", hint)


def _using_table(sink: Sink) -> AbstractContextManager[None]:
    """Turn what Spark says about the name of a table into DataError (E0488)."""
    hint = "name it as catalog.schema.table, and check the session's catalogs"
    return spark_errors_as(lambda error: unfit(sink, f"Spark cannot use this table: {spark_message(error)}", hint))


def _full_name(session: SparkSession, name: str) -> str:
    """Return the name of a table with its catalog and schema, where the session knows it."""
    try:
        table = session.catalog.getTable(name)
    except AnalysisException:
        return name.replace("`", "").lower()
    return ".".join([table.catalog or "", *(table.namespace or []), table.name]).lower()
