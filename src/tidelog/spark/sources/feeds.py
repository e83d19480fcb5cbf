"""Feeds of changes in known formats: Debezium's envelopes, and the records of a compacted Kafka topic.

`open_feed` makes of such a frame one with a column for each column of the relation, the operation and the order, which
`mapping` maps as any other. A record is a text or bytes of JSON, or has been taken apart by Spark. Delta's change data
feed needs no more than the names of its columns (`changes.target_of`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem, UsageError
from tidelog.language.syntax import PRIMITIVES, Kind, RecordType, RelationType
from tidelog.spark.sessions import try_cast
from tidelog.spark.sources.changes import Operation
from tidelog.spark.sources.readers import TORN, named_column

_RAW, _REASON, _FIELD, _OP, _STEP = "_raw", "_rejected", "_field ", "op", "_step"
_INSERT, _DELETE = ("c", "r", "u"), ("d",)
_SOURCE = ("file", "lsn", "pos", "row")
_TRUNCATE = "op: a truncation; clear the relation, which tidelog does not do by itself"
_Records = Mapping[str, RecordType]
_TakenApart = tuple[dict[str, Expression], Expression, dict[str, Expression], Expression, Expression]


@dataclass(frozen=True)
class Opened:
    """A feed whose `shape` makes of its frame one with a column for each column of the relation, by the name in
    `columns`, and those of the `operation`. `shown` is a row of the feed as it came, `broken` says why its record
    cannot be read, or is null."""

    shape: Callable[[DataFrame], DataFrame]
    columns: Mapping[str, str | Expression]
    operation: Operation
    shown: Expression
    broken: Expression


@dataclass(frozen=True)
class _Part:
    """A struct of the feed, with the types of its fields, or what takes the place of one that is always null."""

    value: Expression
    fields: Mapping[str, T.DataType]

    @classmethod
    def of(cls, value: Expression, given: T.DataType | None) -> _Part:
        """Return the part of a column of this type, which has no fields if it is not a struct."""
        return cls(value, {f.name: f.dataType for f in given.fields} if isinstance(given, T.StructType) else {})

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def __getitem__(self, name: str) -> Expression:
        """Return a field, or null without one."""
        return self.value.getField(name) if name in self.fields else F.lit(None)

    def part(self, name: str) -> _Part:
        """Return a field that is a struct."""
        return self.of(self[name], self.fields.get(name))


def open_feed(
    operation: Operation,
    frame: DataFrame,
    relation: RelationType,
    records: _Records,
    columns: Mapping[str, str | Expression],
    rejected: str | None,
) -> Opened:
    """Return the feed that a frame is, opened, with its column `rejected`. UsageError (E0685) where a mapping does not
    suit the feed, DataError (E0480) for a frame that is not such a feed."""
    names: dict[str, str] = {}
    for column in relation.columns:
        source = columns.get(column.name, column.name)
        if isinstance(source, Expression):
            message = f"a feed in the format {operation.feed!r} takes names of fields, found an expression"
            raise UsageError(
                Problem("E0685", message, place=f"columns, {column.name}", hint="open the records in the frame")
            )
        names[column.name] = source
    types = {names[column.name]: _type(column.kind, records) for column in relation.columns}
    schema = T.StructType([T.StructField(name, kind) for name, kind in types.items()])
    key = [names[name] for name in operation.key or ()]
    take_apart = _debezium_columns if operation.feed == "debezium" else _compacted_columns
    fields, reason, order, kept, steps = take_apart(operation, frame, schema, key)
    raw = [_readable(field) for field in frame.schema.fields if field.name != TORN]
    others = [named_column(name) for name in frame.columns if name in (TORN, rejected)]
    # Fields have names of their own, because a relation may have columns such as op.
    own = [value.alias(f"{_FIELD}{name}") for name, value in fields.items()]
    when = [value.alias(name) for name, value in order.items()]
    found = [F.struct(*raw).alias(_RAW), *others, reason.alias(_REASON), *own, *when]
    names_of_order = tuple(name for name in order if name != _OP)
    known = replace(operation, column=_OP, insert=_INSERT, delete=_DELETE, order=names_of_order, feed=None)
    mapped: dict[str, str | Expression] = {name: f"{_FIELD}{source}" for name, source in names.items()}
    return Opened(
        lambda rows: rows.where(kept).withColumn(_STEP, F.explode(steps)).select(*found),
        mapped,
        known,
        F.to_json(F.col(_RAW), {"ignoreNullFields": "false"}),
        F.col(_REASON),
    )


def _readable(field: T.StructField) -> Expression:
    """Return a column as the quarantine shows it: bytes as text."""
    column = named_column(field.name)
    return column.cast("string").alias(field.name) if isinstance(field.dataType, T.BinaryType) else column


def _compacted_columns(operation: Operation, frame: DataFrame, schema: T.StructType, key: Sequence[str]) -> _TakenApart:
    """Return the columns of the records of a compacted topic, why a record cannot be read, the operation and the
    order, which rows count, and their operations."""
    types = _types(frame, ("key", "value", "partition", "offset"))
    keys, broken_key = _record("key", types["key"], T.StructType([f for f in schema if f.name in key]), whole=True)
    values, broken = _record("value", types["value"], schema)
    is_gone = F.col("value").isNull()
    fields = {}
    for name in schema.names:
        if name in key:
            own = F.coalesce(values[name], keys[name]) if name in values else keys[name]
            fields[name] = F.when(is_gone, keys[name]).otherwise(own)
        else:
            fields[name] = _present(values, name, "value")
    order = {name: F.col(name) for name in operation.order or ("offset", "partition")}
    op = F.when(is_gone, F.lit("d")).otherwise(F.lit("u"))
    return fields, F.coalesce(broken, broken_key), {_OP: F.col(_STEP), **order}, F.lit(True), F.array(op)


def _debezium_columns(operation: Operation, frame: DataFrame, schema: T.StructType, key: Sequence[str]) -> _TakenApart:
    """Return the columns of Debezium's envelopes, as `_compacted_columns` does: of the row after the change, or before
    a deletion. The tombstones that follow deletions in Kafka do not count."""
    envelope, broken, kept = _envelope(operation, frame, schema)
    op, before, after = envelope["op"].cast("string"), envelope.part("before"), envelope.part("after")
    if not after.fields and not before.fields:
        raise _no_feed(frame, "before or after")
    fields: dict[str, Expression] = {}
    for name in schema.names:
        if name not in after and name not in before:
            raise _no_feed(frame, f"after.{name}")
        fields[name] = F.when(F.col(_STEP) == "d", before[name]).otherwise(after[name])
    truncated = F.when(op == "t", F.lit(_TRUNCATE))
    # An update of the key deletes the row that it had before.
    known = reduce(and_, [before[name].isNotNull() for name in key])
    moved = (op == "u") & known & ~reduce(and_, [before[name].eqNullSafe(after[name]) for name in key])
    steps = F.when(moved, F.array(F.lit("d"), op)).otherwise(F.array(op))
    order = {_OP: F.col(_STEP), **_position(operation, frame, envelope)}
    return fields, F.coalesce(broken, truncated), order, kept, steps


def _envelope(operation: Operation, frame: DataFrame, schema: T.StructType) -> tuple[_Part, Expression, Expression]:
    """Return the envelope of Debezium's records, why it cannot be read, and which rows have one."""
    none, types = F.lit(None).cast("string"), {f.name: f.dataType for f in frame.schema.fields}
    for name in ("payload", "value"):
        if isinstance(types.get(name), T.StructType):
            part = _Part.of(F.col(name), types[name])
            part = part.part("payload") if "payload" in part else part
            return part, none, F.col(name).isNotNull()
    if "op" in types:
        return _Part.of(F.struct(*[named_column(name) for name in types]), frame.schema), none, F.lit(True)
    if not isinstance(types.get("value"), (T.StringType, T.BinaryType)):
        raise _no_feed(frame, "op, payload or value")
    further = [name.partition(".")[2] for name in operation.order if name.startswith("source.")]
    text = T.StringType()
    source = T.StructType([T.StructField(name, text) for name in dict.fromkeys([*_SOURCE, *further])])
    parts = [("before", schema), ("after", schema), ("source", source), ("op", text), ("ts_ms", text)]
    fields = T.StructType([T.StructField(name, kind) for name, kind in parts])
    both = T.StructType([T.StructField("payload", fields), *fields.fields])
    parsed, broken = _record("value", types["value"], both)
    outer = F.struct(*[parsed[name].alias(name) for name in fields.names])
    inner = F.when(parsed["payload"].isNotNull(), parsed["payload"]).otherwise(outer)
    return _Part.of(inner, fields), broken, F.col("value").isNotNull()


def _position(operation: Operation, frame: DataFrame, envelope: _Part) -> dict[str, Expression]:
    """Return the order of Debezium's records: the named fields, or the position in the log of the database."""
    source = envelope.part("source")
    if operation.order:
        order = {}
        for name in operation.order:
            part, field = (source, name.removeprefix("source.")) if name.startswith("source.") else (envelope, name)
            if field not in part:
                raise _no_feed(frame, name)
            order[name] = _number_of(part[field]) if name == "source.file" else part[field]
        return order
    if "lsn" not in source and "pos" not in source:
        hint = 'name the order, such as order = ["source.ts_ms"]: a field of source, or ts_ms'
        message = "the records have no source.lsn or source.pos, by which to order them"
        raise DataError(Problem("E0480", message, place="debezium", hint=hint))
    if "pos" not in source:
        return {"source.lsn": try_cast(source["lsn"], "long")}
    position = F.coalesce(try_cast(source["lsn"], "long"), try_cast(source["pos"], "long"))
    row = F.coalesce(try_cast(source["row"], "long"), F.lit(0).cast("long"))
    return {"source.file": _number_of(source["file"]), "source.pos": position, "source.row": row}


def _number_of(file: Expression) -> Expression:
    """Return the number at the end of the name of a binary log, whose digits become more; 0 without a name."""
    number = try_cast(F.regexp_extract(file.cast("string"), "([0-9]+)$", 1), "long")
    return F.when(file.isNull(), F.lit(0).cast("long")).otherwise(number)


def _record(name: str, given: T.DataType, schema: T.StructType, whole: bool = False) -> tuple[_Part, Expression]:
    """Return the parts of a record in the column `name`, and why it cannot be read, or null. With `whole` a schema of
    one field may also be the record itself, without a name."""
    none, value = F.lit(None).cast("string"), F.col(name)
    if isinstance(given, T.StructType):
        return _Part.of(value, given), none
    text = value.cast("string")
    fields = T.StructType([*schema.fields, T.StructField(TORN, T.StringType())])
    options = {"columnNameOfCorruptRecord": TORN}
    parsed = F.from_json(text, fields, options)
    if whole and len(schema) == 1:
        [only] = schema.names
        named = F.concat(F.lit("{" + json.dumps(only) + ":"), text, F.lit("}"))
        alone = F.from_json(named, fields, options)
        plain = F.struct(text.alias(only), F.lit(None).cast("string").alias(TORN))
        scalar = F.when(alone.getField(TORN).isNull(), alone).otherwise(plain)
        parsed = F.when(F.ltrim(text).startswith("{"), parsed).otherwise(scalar)
    is_broken = value.isNotNull() & (parsed.isNull() | parsed.getField(TORN).isNotNull())
    return _Part.of(parsed, fields), F.when(is_broken, F.lit(f"{name}: not JSON that fits"))


def _type(kind: Kind, records: _Records, within: tuple[str, ...] = ()) -> T.DataType:
    """Return the type as which JSON gives values of a kind: texts, in which no digit is lost, and structs of these."""
    if kind in PRIMITIVES or records[kind].branches or kind in within:
        return T.StringType()
    return T.StructType([T.StructField(f.name, _type(f.kind, records, (*within, kind))) for f in records[kind].fields])


def _present(part: _Part, name: str, place: str) -> Expression:
    if name not in part:
        message = f"the records have no field {name!r} in {place!r}; found {', '.join(part.fields) or 'none'}"
        raise DataError(Problem("E0480", message, place="kafka-compacted", hint="pass columns={'declared': 'field'}"))
    return part[name]


def _types(frame: DataFrame, needed: Sequence[str]) -> dict[str, T.DataType]:
    types = {field.name: field.dataType for field in frame.schema.fields}
    for name in needed:
        if name not in types:
            message = f"a compacted topic has the column {name!r}; found {', '.join(types)}"
            raise DataError(Problem("E0480", message, place="kafka-compacted", hint="read it with the format kafka"))
    return types


def _no_feed(frame: DataFrame, wanted: str) -> DataError:
    message = f"the records are no envelopes of Debezium: no {wanted}; found {', '.join(frame.columns)}"
    hint = "read records with before, after and op, at the top or in payload, or a column value with their JSON"
    return DataError(Problem("E0480", message, place="debezium", hint=hint))
