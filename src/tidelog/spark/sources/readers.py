"""Readers of files and what they share: JSON as frames that lose no row, options, places and names. The column TORN has
the lines that a reader cannot take apart. `csv_files` reads CSV."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem, UsageError
from tidelog.spark.failures import reading
from tidelog.spark.older import try_cast
from tidelog.spark.sessions import is_on_one_machine
from tidelog.spark.sources.checks import is_kept

TORN = "_line"  # readers put a line that they cannot take apart here
REPLACEMENT = "\ufffd"  # what the CSV reader makes of bytes that are not UTF-8
_WHOLE = T.DecimalType(38, 0)
_SILENT = (("mode", "dropmalformed"), ("ignorecorruptfiles", "true"), ("ignoremissingfiles", "true"))


def json_frame(
    session: SparkSession,
    path: str | os.PathLike[str],
    options: Mapping[str, object],
    files: Sequence[str] | None = None,
) -> tuple[DataFrame, Expression]:
    """Return lines of JSON, in all files at a path or in some `files` of it, with types as Spark infers them, and the
    reason for other lines, which are in the column TORN. An integer beside fractions is a double, and its line is there
    as well if no double is equal to it. Raise DataError (E0482) if there is no such file, or no column."""
    place, paths = located(session, path), among(session, path, files)
    with reading(place):
        reader = session.read.options(**plain(options)).option("columnNameOfCorruptRecord", TORN)
        reader = reader.options(**based(session, path, files))
        inferred = [field for field in reader.json(paths).schema.fields if field.name != TORN]
        if not inferred:
            raise no_columns(place, "there are no columns, because no line is a JSON object with fields")
        fractions = [field.name for field in inferred if isinstance(field.dataType, T.DoubleType)]
        # As texts first, because Spark rounds the numbers in a column of doubles.
        texts = {name: T.StringType() for name in fractions}
        fields = [T.StructField(field.name, texts.get(field.name, field.dataType)) for field in inferred]
        frame = reader.schema(T.StructType([*fields, T.StructField(TORN, T.StringType())])).json(paths)
        row = F.to_json(F.struct(*[quoted(field.name) for field in fields]))
        lost = reduce(Expression.__or__, [_is_lost(quoted(name)) for name in fractions], F.lit(False))
        frame = frame.withColumn(TORN, F.when(lost, row).otherwise(quoted(TORN)))
        for name in fractions:
            frame = frame.withColumn(name, try_cast(quoted(name), "double"))
    reason = F.lit("not JSON")
    for name in fractions:
        reason = F.when(F.abs(quoted(name)) >= 2.0**53, F.lit(f"{name}: no float is equal to it")).otherwise(reason)
    return frame, reason


def _is_lost(text: Expression) -> Expression:
    """Return True if a text is no double, a number beyond doubles, or an integer that no double is equal to."""
    double, whole = try_cast(text, "double"), try_cast(text, _WHOLE)
    is_beyond = text.rlike("^-?[0-9]") & (F.abs(double) == F.lit(float("inf")))
    is_rounded = text.rlike("^-?[0-9]+$") & whole.isNotNull() & ~is_kept(whole, _WHOLE, double)
    return text.isNotNull() & (double.isNull() | is_beyond | is_rounded)


def no_columns(place: str, what: str) -> DataError:
    """Return the error about files that have no columns (E0482)."""
    return DataError(Problem("E0482", what, place=place, hint="wait for a file with rows, or leave the source out"))


def plain(options: Mapping[str, object]) -> dict[str, str]:
    """Return options as Spark wants them. Raise UsageError (E0686) for one that would lose rows in silence."""
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}
    for key, value in texts.items():
        if (key.lower(), value.lower()) in _SILENT:
            hint = "leave it out; the quarantine takes unreadable rows and counts them"
            raise UsageError(
                Problem("E0686", f"{key} = {value!r} would drop rows without an error", place="options", hint=hint)
            )
    return texts


def located(session: SparkSession, path: str | os.PathLike[str]) -> str:
    """Return a path as Spark should be given it. Java does not follow `os.chdir`, so that on one machine a relative
    path is made absolute here; on a cluster, text is for its file system to understand."""
    text = os.fspath(path)
    if isinstance(path, os.PathLike) or (is_on_one_machine(session) and not is_address(text)):
        return os.path.abspath(text)
    return text


def analyzed(frame: DataFrame) -> DataFrame:
    """Return a frame at which Spark has looked. With Spark Connect, wrong names are errors of the first use."""
    _ = frame.schema
    return frame


def among(session: SparkSession, path: str | os.PathLike[str], files: Sequence[str] | None) -> str | list[str]:
    """Return a path as Spark should be given it, or in its place some of the files that are there."""
    return located(session, path) if files is None else [literal(file) for file in files]


def based(session: SparkSession, path: str | os.PathLike[str], files: Sequence[str] | None) -> dict[str, str]:
    """Return the option by which some files of a folder have the columns of its partitions, as all files have."""
    place = located(session, path).rstrip("/")
    within = files is not None and all(f"{place}/" in file for file in files)
    return {"basePath": place} if within and literal(place) == place else {}


def is_address(path: str | os.PathLike[str]) -> bool:
    """Return True if a path has a scheme, such as s3://."""
    return isinstance(path, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path) is not None


def literal(path: str | os.PathLike[str]) -> str:
    """Return a path as a reader should be given it for which no part of a name is a pattern."""
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", os.fspath(path))


def empty_frame(session: SparkSession, *columns: str) -> DataFrame:
    """Return a frame without rows; `columns` are "name type". (An empty list given to Spark would need Python
    workers.)"""
    pairs = [column.split(" ") for column in columns]
    return session.range(0).select(*[F.lit(None).cast(kind).alias(name) for name, kind in pairs])


def quoted(name: str) -> Expression:
    """Return the column of this name, whatever characters are in it."""
    return F.col(escaped(name))


def escaped(name: str) -> str:
    """Return a name as SQL has it, whatever characters are in it."""
    return f"`{name.replace('`', '``')}`"
