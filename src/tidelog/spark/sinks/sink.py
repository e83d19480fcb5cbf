"""The `Sink` that a user describes, with the checks of what it says: places that it must not replace, and whether its
rows fit a table that is there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem, UsageError, quote
from tidelog.spark.sources.readers import is_address, named_column

MODES = ("replace", "merge", "append", "error")
EPOCH, OP = "epoch", "op"
"""Columns that a sink adds: the number of the epoch, and "insert" or "delete"."""
_WITHOUT_PLACE = ("kafka",)
_TABLES_ONLY = ("iceberg", "jdbc")
_MERGED = ("delta", "iceberg", "jdbc")
_NAMED = ("csv", "json", "parquet", "orc", "text", "delta", "iceberg", "jdbc", "kafka")


@dataclass(frozen=True)
class Sink:
    """The target of a relation: the `view` after an epoch, or its `changes`, as the columns `op` ("insert" or
    "delete"), those of the relation, and `epoch`.

    It is a folder (`path`) of a `format` that the session writes, by default Parquet; a `table` of the session's
    catalog, which is made if it is not there, in the `format` of its catalog or in another one; with the format "jdbc"
    a `table` of a PostgreSQL database; with "kafka" a topic. `options` are those of Spark's writer.

    `mode`: "replace" what is there by the view, which is what views do by default; "merge" the difference into the
    table, so that other rows stay as they are; "append" rows with the number of the epoch, as changes do; or "error"
    if something is there. `partition_by` names columns.
    """

    relation: str
    path: str | os.PathLike[str] | None = None
    what: str = "view"
    format: str | None = None
    mode: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    table: str | None = None
    partition_by: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_kinds(self, "relation", "format", "table", paths=("path",))
        format = "parquet" if self.format is None and self.path is not None else self.format
        object.__setattr__(self, "format", None if format is None else plain_name(format))
        if self.what not in ("view", "changes"):
            message = f"the key `what` of a sink must be 'view' or 'changes', found {quote(self.what)}"
            raise invalid_key("what", message, 'write what = "view"')
        if self.mode is None:
            object.__setattr__(self, "mode", "replace" if self.what == "view" else "append")
        self._check_place()
        self._check_mode()
        self._check_partitions()

    @property
    def place(self) -> str:
        """Return the path, the name of the table or the topic, for messages."""
        return os.fspath(self.path) if self.path is not None else self.table or f"topic {self.options.get('topic')}"

    def _check_place(self) -> None:
        given = [name for name in ("path", "table") if getattr(self, name) is not None]
        if len(given) > 1:
            raise invalid_key(given[0], "path and table exclude each other", "keep one of them")
        if self.format in _WITHOUT_PLACE:
            self._check_topic(given)
        elif not given:
            raise invalid_key("path", f"the sink of {self.relation} has no place", "name a path or a table")
        if self.path == "":
            raise invalid_key("path", "the path is empty", "name a folder")
        if self.path is not None and self.format in _TABLES_ONLY:
            raise invalid_key("path", f"the format {self.format} needs a table, found a path", 'write table = "…"')
        if self.table is not None:
            _check_name(self.table)
        if self.format == "jdbc" and "url" not in self.options:
            raise invalid_key("options", "the format jdbc needs the option 'url'", 'write options = { url = "jdbc:…" }')

    def _check_topic(self, given: Sequence[str]) -> None:
        if given:
            raise invalid_key(
                given[0], f"the format kafka has no {given[0]}", 'name the topic: options = { topic = "…" }'
            )
        if self.what != "changes":
            raise invalid_key("what", "the format kafka takes changes, found a view", 'write what = "changes"')
        for option in ("kafka.bootstrap.servers", "topic"):
            if option not in self.options:
                raise invalid_key("options", f"the format kafka needs the option {option!r}", "add it to the options")

    def _check_mode(self) -> None:
        if self.mode not in MODES:
            raise invalid_key("mode", f"unknown sink mode {quote(self.mode)}", f"use one of {', '.join(MODES)}")
        if self.what == "changes" and self.mode != "append":
            raise invalid_key(
                "mode", f"changes are appended, found the mode {quote(self.mode)}", 'write mode = "append"'
            )
        if self.mode == "merge" and (self.path is not None and self.format not in _MERGED):
            hint = 'write mode = "replace", or use Delta, Iceberg or PostgreSQL'
            raise invalid_key("mode", f"rows cannot be merged into files of the format {self.format}", hint)

    def _check_partitions(self) -> None:
        names = self.partition_by
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise invalid_key(
                "partition_by", f"partition_by must be a list of columns, found {quote(names)}", 'write ["column"]'
            )
        object.__setattr__(self, "partition_by", tuple(names))
        twice = next((name for name in names if list(names).count(name) > 1), None)
        if twice is not None:
            raise invalid_key("partition_by", f"partition_by names {twice} twice", "name it once")
        if names and self.format in ("jdbc", *_WITHOUT_PLACE):
            raise invalid_key("partition_by", f"the format {self.format} has no partitions", "leave partition_by out")


def plain_name(format: str) -> str:
    """Return the name of a format, which Spark knows in any case, in lower case if it is treated in a way of its
    own."""
    return format.lower() if format.lower() in _NAMED else format


def invalid_key(key: str, what: str, hint: str) -> UsageError:
    """Return the error about a key of a description (E0686)."""
    return UsageError(Problem("E0686", what, place=key, hint=hint))


def check_kinds(described: object, *texts: str, paths: Sequence[str]) -> None:
    """Raise UsageError (E0686) if a field of a description that should be a text, or a path, is something else. Fields
    that are None are left out."""
    for key in (*texts, *paths):
        value = getattr(described, key)
        if value is not None and not isinstance(value, (str, os.PathLike) if key in paths else str):
            kind = "a path" if key in paths else "a text"
            raise invalid_key(key, f"{key} must be {kind}, found {quote(value)}", f"use {kind}")
        if key in paths and value is not None and "\0" in os.fspath(value):
            raise invalid_key(key, f"{key} has a NUL character", "name a file or folder without it")
    options = getattr(described, "options", {})
    if not isinstance(options, Mapping):
        raise invalid_key("options", f"options must be a mapping, found {quote(options)}", 'pass {"name": value}')


def _check_name(table: str) -> None:
    """Raise UsageError (E0686) unless a text is the name of a table."""
    if not table:
        raise invalid_key("table", "the name of the table is empty", "name a table of the catalog")
    if "/" in table or "\\" in table or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", table):
        raise invalid_key("table", f"{table!r} is a path, not the name of a table", f'write path = "{table}"')


Place: TypeAlias = tuple[str, str | os.PathLike[str]]
"""The kind of a place, such as "sink", and its path."""


def check_apart(written: Sequence[Place], kept: Sequence[Place]) -> None:
    """Raise UsageError (E0686) if one of the `written` folders would replace another one, one of the `kept` places, or
    the working directory."""
    others = [*kept, ("working directory", os.getcwd())]
    for i, (what, path) in enumerate(written):
        for other, place in (*written[:i], *written[i + 1 :], *others):
            if _comparable(place).startswith(_comparable(path)):
                message = f"the {what} at {os.fspath(path)} would replace the {other} at {os.fspath(place)}"
                raise invalid_key(what, message, "give each sink a folder of its own")


def _comparable(path: str | os.PathLike[str]) -> str:
    """Return a path with a slash at its end: of local files the real one, because links are replaced by what they
    name, and `file:` is no other file system."""
    text = os.fspath(path)
    if is_address(path):
        scheme, _, rest = text.partition(":")
        if scheme.lower() != "file":
            return f"{text.rstrip('/')}/"
        text = f"/{rest.lstrip('/')}"
    return f"{os.path.realpath(text).rstrip('/')}/"


def wanted_fields(sink: Sink, view: T.StructType) -> T.StructType:
    """Return the columns of the rows that a sink writes of a relation with the columns of `view`. Raise UsageError
    (E0686) if it has none, if one has the name of a column that the sink adds, or if `partition_by` names another."""
    before = [T.StructField(OP, T.StringType())] if sink.what == "changes" else []
    after = [T.StructField(EPOCH, T.LongType())] if sink.mode == "append" else []
    taken = {field.name.lower() for field in view.fields} & {field.name for field in before + after}
    if taken:
        message = f"{sink.relation} has a column {taken.pop()!r}, which the sink at {sink.place} adds"
        raise invalid_key("relation", message, "rename the column in a rule, and write the relation that it derives")
    fields = [*before, *view.fields, *after]
    if not fields:
        message = f"{sink.relation} has no columns, so that a table of it has no rows"
        raise invalid_key("relation", message, 'write what = "changes", or a relation with a column')
    names = [field.name for field in fields]
    for name in sink.partition_by:
        if name not in names:
            message = f"partition_by names {name!r}, which is no column of {sink.relation}"
            raise invalid_key("partition_by", message, f"use some of: {', '.join(names)}")
    if sink.partition_by and len(set(sink.partition_by)) == len(names):
        raise invalid_key("partition_by", "partition_by names all columns", "leave one of them out")
    return T.StructType(fields)


def check_fit(sink: Sink, wanted: T.StructType, present: T.StructType) -> tuple[str, ...]:
    """Return notes about the columns that a table has besides those of a sink. Raise DataError (E0488) if it lacks
    columns, or if some have types that do not hold the values."""
    there = {field.name.lower(): field for field in present.fields}
    problems: list[Problem] = []
    for needed in wanted.fields:
        own = there.pop(needed.name.lower(), None)
        kind = needed.dataType.simpleString()
        if own is None:
            hint = f"add it: ALTER TABLE … ADD COLUMN {needed.name} {kind}"
            problems += unfit(sink, f"the table lacks the column {needed.name} of {sink.relation}", hint).problems
        elif not _holds(own.dataType, needed.dataType):
            message = f"the column {own.name} of the table has the type {own.dataType.simpleString()}, needed is {kind}"
            problems += unfit(sink, message, "change the type, or name another table").problems
    for other in there.values():
        if not other.nullable:
            message = f"the table has a column {other.name} that is never null, and {sink.relation} has no such column"
            problems += unfit(sink, message, "let it be null, or derive a relation with that column").problems
    if problems:
        raise DataError(*problems)
    return tuple(f"{sink.place} has a column {other.name} besides those of {sink.relation}" for other in there.values())


def fit_to_table(rows: DataFrame, present: T.StructType) -> DataFrame:
    """Return rows in the columns of a table; those that the rows lack are null."""
    given = {name.lower(): named_column(name) for name in rows.columns}
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


def unfit(sink: Sink, message: str, hint: str) -> DataError:
    """Return the error about a table that does not fit a sink (E0488)."""
    return DataError(Problem("E0488", message, place=sink.place, hint=hint))


def already_exists(sink: Sink, place: str) -> DataError:
    """Return the error about a table that a sink of the mode "error" finds (E0483)."""
    hint = 'write mode = "replace" to replace it'
    return DataError(Problem("E0483", f"cannot write {sink.relation}: it already exists", place=place, hint=hint))
