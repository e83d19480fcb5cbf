"""Files as frames that lose no row: fields are texts if `checks` has to judge them, and the column TORN has the lines
that a reader cannot take apart."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import Problem, UsageError
from tidelog.spark.failures import reading

TORN = "_line"  # readers put a line that they cannot take apart here
REPLACEMENT = "\ufffd"  # what the CSV reader makes of bytes that are not UTF-8
OPEN = "a quotation mark is not closed"
_LINE, _FIELDS = "_text", "_fields"
_NOWHERE = "\uffff"  # no character of any text
_OF_LINES = (
    "header",
    "encoding",
    "charset",
    "comment",
    "linesep",
    "mode",
    "locale",
    "pathglobfilter",
    "recursivefilelookup",
    "modifiedbefore",
    "modifiedafter",
    "compression",
    "codec",
)
"""Options, in lower case, that say what the lines are; all others are about fields."""
_SILENT = (("mode", "dropmalformed"), ("ignorecorruptfiles", "true"), ("ignoremissingfiles", "true"))


def csv_frame(
    session: SparkSession, path: str | os.PathLike[str], names: Sequence[str], options: Mapping[str, object]
) -> tuple[DataFrame, Expression]:
    """Return CSV files with every field as text, and the reason for lines in the column TORN: another number of fields,
    or a quotation mark that is open at the end. Columns are those of the header, which all files have to share, or,
    without one, `names`. Raise DataError (E0482) if there is no such file."""
    place, given = located(session, path), {key.lower(): value for key, value in plain(options).items()}
    has_header = given.get("header", "false").lower() == "true"
    with reading(place):
        reader = session.read.options(columnPruning=False, enforceSchema=not has_header).options(**given)
        names = reader.csv(place).columns if has_header else names
        schema = _texts([*names, TORN])
        if given.get("multiline", "false").lower() == "true":
            frame = reader.option("columnNameOfCorruptRecord", TORN).schema(schema).csv(place)
            is_open = F.lit(False)
        else:
            line = _lines(session, place, given, has_header)
            fields = {**given, "columnNameOfCorruptRecord": TORN}
            fields = {key: value for key, value in fields.items() if key not in _OF_LINES}
            is_open = _is_open(F.col(TORN), given)
            parsed = F.from_csv(F.col(_LINE), ", ".join(f"{escaped(name)} string" for name in schema.names), fields)
            frame = line.select(parsed.alias(_FIELDS), _LINE).select(f"{_FIELDS}.*", _LINE)
            torn = F.when(_is_open(F.col(_LINE), given), F.col(_LINE)).otherwise(F.col(TORN))
            frame = frame.withColumn(TORN, torn).drop(_LINE)
    # The reader makes null of an empty field, and where somebody says what is null, of that.
    values = [
        quoted(name) if "nullvalue" in given else F.coalesce(quoted(name), F.lit("")).alias(name) for name in names
    ]
    reason = F.when(is_open, F.lit(f"{OPEN}; for line breaks within fields set multiLine")).otherwise(
        F.lit(f"not {len(names)} columns")
    )
    return frame.select(*values, TORN), reason


def _lines(session: SparkSession, place: str, given: Mapping[str, str], has_header: bool) -> DataFrame:
    """Return the lines of CSV files as they are, in the column _LINE, without headers."""
    options = {key: value for key, value in given.items() if key in _OF_LINES}
    reader = session.read.options(**options).options(sep=_NOWHERE, quote="", enforceSchema=not has_header)
    name = reader.csv(place).columns[0] if has_header else _LINE
    return reader.schema(_texts([name])).csv(place).toDF(_LINE)


def _is_open(line: Expression, given: Mapping[str, str]) -> Expression:
    """Return True if a line of CSV has a quotation mark without another one."""
    quote, escape = given.get("quote", '"'), given.get("escape", "\\")
    if not quote:
        return F.lit(False)
    if escape and escape != quote:
        line = F.replace(F.replace(line, F.lit(escape * 2), F.lit("")), F.lit(escape + quote), F.lit(""))
    marks = F.length(line) - F.length(F.replace(line, F.lit(quote), F.lit("")))
    return marks % 2 == 1


def json_frame(
    session: SparkSession, path: str | os.PathLike[str], options: Mapping[str, object]
) -> tuple[DataFrame, Expression]:
    """Return lines of JSON with types as Spark infers them, and the reason for other lines, which are in the column
    TORN. Raise DataError (E0482) if there is no such file."""
    place = located(session, path)
    with reading(place):
        reader = session.read.options(**plain(options)).option("columnNameOfCorruptRecord", TORN)
        inferred = reader.json(place).schema
        schema = T.StructType([*(f for f in inferred.fields if f.name != TORN), T.StructField(TORN, T.StringType())])
        return reader.schema(schema).json(place), F.lit("not JSON")


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


def _texts(names: Sequence[str]) -> T.StructType:
    return T.StructType([T.StructField(name, T.StringType()) for name in names])


def located(session: SparkSession, path: str | os.PathLike[str]) -> str:
    """Return a path as Spark should be given it. Java does not follow `os.chdir`, so that on one machine a relative
    path is made absolute here; on a cluster, text is for its file system to understand."""
    text = os.fspath(path)
    on_one_machine = (session.conf.get("spark.master", "") or "").startswith("local")
    if isinstance(path, os.PathLike) or (on_one_machine and not is_address(text)):
        return os.path.abspath(text)
    return text


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
