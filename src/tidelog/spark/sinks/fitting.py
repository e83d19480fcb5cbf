"""Checks that the rows of a sink fit a table that is there, and the rows in the columns of that table."""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem
from tidelog.spark.sinks.sink import EPOCH, OP, Sink, wrong
from tidelog.spark.sources.readers import quoted


def wanted_fields(sink: Sink, view: T.StructType) -> T.StructType:
    """Return the columns of the rows that a sink writes of a relation with the columns of `view`. Raise UsageError
    (E0686) if it has none, if one has the name of a column that the sink adds, or if `partition_by` names another."""
    before = [T.StructField(OP, T.StringType())] if sink.what == "changes" else []
    after = [T.StructField(EPOCH, T.LongType())] if sink.mode == "append" else []
    taken = {field.name.lower() for field in view.fields} & {field.name for field in before + after}
    if taken:
        message = f"{sink.relation} has a column {taken.pop()!r}, which the sink at {sink.place} adds"
        raise wrong("relation", message, "rename the column in a rule, and write the relation that it derives")
    fields = [*before, *view.fields, *after]
    if not fields:
        message = f"{sink.relation} has no columns, so that a table of it has no rows"
        raise wrong("relation", message, 'write what = "changes", or a relation with a column')
    names = [field.name for field in fields]
    for name in sink.partition_by:
        if name not in names:
            message = f"partition_by names {name!r}, which is no column of {sink.relation}"
            raise wrong("partition_by", message, f"use some of: {', '.join(names)}")
    if sink.partition_by and len(set(sink.partition_by)) == len(names):
        raise wrong("partition_by", "partition_by names all columns", "leave one of them out")
    return T.StructType(fields)


def check_fit(sink: Sink, wanted: T.StructType, present: T.StructType) -> tuple[str, ...]:
    """Return notes about the columns that a table has besides those of a sink. Raise DataError (E0488) if it lacks
    columns, or if some have types that do not hold the values."""
    there = {field.name.lower(): field for field in present.fields}
    problems = []
    for field in wanted.fields:
        own = there.pop(field.name.lower(), None)
        kind = field.dataType.simpleString()
        if own is None:
            hint = f"add it: ALTER TABLE … ADD COLUMN {field.name} {kind}"
            problems.append(_unfit(sink, f"the table lacks the column {field.name} of {sink.relation}", hint))
        elif not _holds(own.dataType, field.dataType):
            message = f"the column {own.name} of the table has the type {own.dataType.simpleString()}, needed is {kind}"
            problems.append(_unfit(sink, message, "change the type, or name another table"))
    for field in there.values():
        if not field.nullable:
            message = f"the table has a column {field.name} that is never null, and {sink.relation} has no such column"
            problems.append(_unfit(sink, message, "let it be null, or derive a relation with that column"))
    if problems:
        raise DataError(*problems)
    return tuple(f"{sink.place} has a column {field.name} besides those of {sink.relation}" for field in there.values())


def fitted(rows: DataFrame, present: T.StructType) -> DataFrame:
    """Return rows in the columns of a table; those that the rows lack are null."""
    given = {name.lower(): quoted(name) for name in rows.columns}
    found: list[Expression] = [
        given.get(field.name.lower(), F.lit(None)).cast(field.dataType).alias(field.name) for field in present.fields
    ]
    return rows.select(*found)


def _holds(present: T.DataType, wanted: T.DataType) -> bool:
    """Return True if a type has all values of another one."""
    if isinstance(present, T.DecimalType):
        digits = present.precision - present.scale
        if isinstance(wanted, T.DecimalType):
            return present.scale >= wanted.scale and digits >= wanted.precision - wanted.scale
        return isinstance(wanted, T.LongType) and digits >= 19
    if isinstance(present, T.StructType) and isinstance(wanted, T.StructType):
        return present.names == wanted.names and all(
            _holds(own.dataType, other.dataType) for own, other in zip(present.fields, wanted.fields, strict=True)
        )
    return present == wanted


def _unfit(sink: Sink, message: str, hint: str) -> Problem:
    return Problem("E0488", message, place=sink.place, hint=hint)
