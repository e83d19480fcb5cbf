"""Files as frames that lose no row and accept no half of one, and what readers share: options, places and names. The
column TORN has the lines that a reader cannot take apart.

Spark reads CSV line by line, in parallel. A field in quotes may have line breaks, and then lines are parts of rows. A
line in the middle of such a field can look like a row of its own. But then other lines have an open quotation mark,
which the reason OPEN says of them. Whoever has read the lines and found that reason has to read again, by
`FileFrame.with_line_breaks`: a file in which open marks pair up with `multiLine`; in a file in which only some of them
may be pairs, nobody knows which lines are rows, and all of them go to the quarantine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem, UsageError
from tidelog.spark.failures import report_source_errors
from tidelog.spark.sessions import is_on_one_machine, try_cast
from tidelog.spark.sources.checks import is_kept

TORN = "_line"  # readers put a line that they cannot take apart here
REPLACEMENT = "\ufffd"  # what the CSV reader makes of bytes that are not UTF-8
_WHOLE = T.DecimalType(38, 0)
_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson")
_SILENT = (("mode", "dropmalformed"), ("ignorecorruptfiles", "true"), ("ignoremissingfiles", "true"))


@dataclass(frozen=True)
class FileFrame:
    """A frame, and for files that have texts in lines, why those are `torn` that are in the column TORN.

    Where a line is torn because of OPEN, the lines may not be rows. `with_line_breaks` then looks at all quotation
    marks, and returns the right rows, or None if these are right."""

    frame: DataFrame
    torn: Expression | None = None
    with_line_breaks: Callable[[], FileFrame | None] = lambda: None


def json_frame(
    session: SparkSession,
    path: str | os.PathLike[str],
    options: Mapping[str, object],
    files: Sequence[str] | None = None,
) -> FileFrame:
    """Return lines of JSON, in all files at a path or in some `files` of it, with types as Spark infers them. An
    integer beside fractions is a double, and its line is torn as well if no double is equal to it. Raise DataError
    (E0482) if there is no such file, or no column."""
    place, paths = spark_path(session, path), read_paths(session, path, files)
    with report_source_errors(place):
        reader = session.read.options(**reader_options(options)).option("columnNameOfCorruptRecord", TORN)
        reader = reader.options(**base_path(session, path, files))
        inferred = [field for field in reader.json(paths).schema.fields if field.name != TORN]
        if not inferred:
            raise no_columns(place, "there are no columns, because no line is a JSON object with fields")
        fractions = [field.name for field in inferred if isinstance(field.dataType, T.DoubleType)]
        # As texts first, because Spark rounds the numbers in a column of doubles.
        texts = {name: T.StringType() for name in fractions}
        fields = [T.StructField(field.name, texts.get(field.name, field.dataType)) for field in inferred]
        frame = reader.schema(T.StructType([*fields, T.StructField(TORN, T.StringType())])).json(paths)
        row = F.to_json(F.struct(*[named_column(field.name) for field in fields]))
        lost = reduce(Expression.__or__, [_is_lost(named_column(name)) for name in fractions], F.lit(False))
        frame = frame.withColumn(TORN, F.when(lost, row).otherwise(named_column(TORN)))
        for name in fractions:
            frame = frame.withColumn(name, try_cast(named_column(name), "double"))
    reason = F.lit("not JSON")
    for name in fractions:
        reason = F.when(F.abs(named_column(name)) >= 2.0**53, F.lit(f"{name}: no float is equal to it")).otherwise(
            reason
        )
    return FileFrame(frame, reason)


def _is_lost(text: Expression) -> Expression:
    """Return True if a text is no double, a number beyond doubles, or an integer that no double is equal to."""
    double, whole = try_cast(text, "double"), try_cast(text, _WHOLE)
    is_beyond = text.rlike("^-?[0-9]") & (F.abs(double) == F.lit(float("inf")))
    is_rounded = text.rlike("^-?[0-9]+$") & whole.isNotNull() & ~is_kept(whole, _WHOLE, double)
    return text.isNotNull() & (double.isNull() | is_beyond | is_rounded)


def no_columns(place: str, what: str) -> DataError:
    """Return the error about files that have no columns (E0482)."""
    return DataError(Problem("E0482", what, place=place, hint="wait for a file with rows, or leave the source out"))


def reader_options(options: Mapping[str, object]) -> dict[str, str]:
    """Return options as Spark wants them. Raise UsageError (E0686) for one that would lose rows in silence."""
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}
    for key, value in texts.items():
        if (key.lower(), value.lower()) in _SILENT:
            hint = "leave it out; the quarantine takes unreadable rows and counts them"
            raise UsageError(
                Problem("E0686", f"{key} = {value!r} would drop rows without an error", place="options", hint=hint)
            )
    return texts


def spark_path(session: SparkSession, path: str | os.PathLike[str]) -> str:
    """Return a path as Spark should be given it. Java does not follow `os.chdir`, so that on one machine a relative
    path is made absolute here; on a cluster, text is for its file system to understand."""
    text = os.fspath(path)
    if isinstance(path, os.PathLike) or (is_on_one_machine(session) and not is_address(text)):
        return os.path.abspath(text)
    return text


def analyzed_frame(frame: DataFrame) -> DataFrame:
    """Return a frame at which Spark has looked. With Spark Connect, wrong names are errors of the first use."""
    _ = frame.schema
    return frame


def read_paths(session: SparkSession, path: str | os.PathLike[str], files: Sequence[str] | None) -> str | list[str]:
    """Return a path as Spark should be given it, or in its place some of the files that are there."""
    return spark_path(session, path) if files is None else [literal_path(file) for file in files]


def base_path(session: SparkSession, path: str | os.PathLike[str], files: Sequence[str] | None) -> dict[str, str]:
    """Return the option by which some files of a folder have the columns of its partitions, as all files have."""
    place = spark_path(session, path).rstrip("/")
    within = files is not None and all(f"{place}/" in file for file in files)
    return {"basePath": place} if within and literal_path(place) == place else {}


def text_size(session: SparkSession, frame: DataFrame) -> int | None:
    """Return the number of bytes of the text files that a frame is read from, None if that is not known: where files
    are on other machines or compressed."""
    if not is_on_one_machine(session):
        return None
    size = 0
    for file in map(urlsplit, frame.inputFiles()):
        if file.scheme not in ("", "file") or not file.path.lower().endswith(_TEXT_ENDINGS):
            return None
        with suppress(OSError):  # Whoever reads it says that it is not there.
            size += os.path.getsize(unquote(file.path))
    return size


def is_address(path: str | os.PathLike[str]) -> bool:
    """Return True if a path has a scheme, such as s3://."""
    return isinstance(path, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path) is not None


def literal_path(path: str | os.PathLike[str]) -> str:
    """Return a path as a reader should be given it for which no part of a name is a pattern."""
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", os.fspath(path))


def empty_frame(session: SparkSession, *columns: str) -> DataFrame:
    """Return a frame without rows; `columns` are "name type". (An empty list given to Spark would need Python
    workers.)"""
    pairs = [column.split(" ") for column in columns]
    return session.range(0).select(*[F.lit(None).cast(kind).alias(name) for name, kind in pairs])


def named_column(name: str) -> Expression:
    """Return the column of this name, whatever characters are in it."""
    return F.col(sql_name(name))


def sql_name(name: str) -> str:
    """Return a name as SQL has it, whatever characters are in it."""
    return f"`{name.replace('`', '``')}`"


# --- CSV -------------------------------------------------------------------------------------------------------------


OPEN = "a quotation mark is not closed"
_LINE, _FIELDS, _TORN = "_text", "_fields", "_torn"
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


@dataclass(frozen=True)
class _LineBreaks:
    """Files in which fields in quotes have line breaks. In those that are `paired`, by the character that escapes a
    mark, each open quotation mark is closed by the next one; in those that are `mixed` some have no partner."""

    paired: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mixed: tuple[str, ...] = ()


def csv_frame(
    session: SparkSession,
    path: str | os.PathLike[str],
    names: Sequence[str],
    options: Mapping[str, object],
    files: Sequence[str] | None = None,
) -> FileFrame:
    """Return CSV files, all at a path or some `files` of it, with every field as text. Lines are torn that have another
    number of fields, or an open quotation mark (OPEN). Columns are those of the header, which all files have to share,
    or, without one, `names`. Raise DataError (E0482) if there is no such file, or no header, and UsageError (E0686) for
    options of no sense."""
    place, given = spark_path(session, path), {key.lower(): value for key, value in reader_options(options).items()}
    paths = read_paths(session, path, files)
    has_header, multiline = _is_true(given, "header"), _is_true(given, "multiline")
    _check_encoding(given)
    with report_source_errors(place):
        reader = session.read.options(columnPruning=False, enforceSchema=not has_header).options(**given)
        names = reader.csv(paths).columns if has_header else names
        if has_header and not names:
            raise no_columns(place, "there is no header, because all files are empty")
        header, lines = _lines(session, paths, given, has_header)
        schema = _texts([*names, TORN])
        reader = reader.options(multiLine=True, columnNameOfCorruptRecord=TORN).schema(schema)

    def frame_of(breaks: _LineBreaks, are_open: bool) -> FileFrame:
        """Return the files; lines with an open mark `are_open`, or parts of rows as they are."""
        with report_source_errors(place):
            whole = [reader.option("escape", escape).csv(paths) for escape in breaks.paired]
        of_mixed, of_paired = _is_from(breaks.mixed), [_is_from(files) for files in breaks.paired.values()]
        is_torn = of_mixed | _is_open(F.col(_LINE), given) if are_open else of_mixed
        by_line = lines.where(~reduce(Expression.__or__, of_paired)) if of_paired else lines
        apart = [_parse_lines(by_line, names, given, is_torn)]
        apart += [rows.where(is_of) for rows, is_of in zip(whole, of_paired, strict=True)]
        # The reader makes null of an empty field, and where somebody says what is null, of that.
        values = [
            named_column(name) if "nullvalue" in given else F.coalesce(named_column(name), F.lit("")).alias(name)
            for name in names
        ]
        is_open = _is_open(F.col(TORN), given) if are_open else F.lit(False)
        reason = F.when(of_mixed, F.lit(f"{OPEN} in this file, and fields may have line breaks"))
        reason = reason.when(is_open, F.lit(OPEN)).otherwise(F.lit(f"not {len(names)} columns"))
        return FileFrame(reduce(DataFrame.unionAll, apart).select(*values, TORN), reason, with_line_breaks)

    def with_line_breaks() -> FileFrame | None:
        with report_source_errors(place):
            breaks = _line_breaks(_lines(session, paths, given, False)[1], given, multiline)
        return frame_of(breaks, not multiline) if breaks != _LineBreaks() or multiline else None

    by_line = frame_of(_LineBreaks(), True)
    # No row has the header. All files have the same.
    return (with_line_breaks() or by_line) if _has_open_mark(header, given) else by_line


def _is_true(given: Mapping[str, str], option: str) -> bool:
    """Return an option that is true or false, as Spark reads it. Raise UsageError (E0686) for another value."""
    value = given.get(option, "false").lower()
    if value not in ("true", "false"):
        message = f"the option {option} is neither true nor false: {given[option]!r}"
        raise UsageError(Problem("E0686", message, place="options", hint=f"write {option} = true"))
    return value == "true"


def _check_encoding(given: Mapping[str, str]) -> None:
    """Raise UsageError (E0686) for an encoding that Spark cannot split into lines, such as UTF-16."""
    encoding = given.get("encoding", given.get("charset", "UTF-8"))
    with suppress(LookupError):  # Java may know it.
        if "linesep" not in given and "\n".encode(encoding) != b"\n":
            message = f"Spark cannot tell the lines of a file in {encoding} apart"
            hint = "convert the file to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"
            raise UsageError(Problem("E0686", message, place="options", hint=hint))


def _lines(
    session: SparkSession, paths: str | list[str], given: Mapping[str, str], has_header: bool
) -> tuple[str, DataFrame]:
    """Return the header of CSV files, and their lines as they are, in the column _LINE; with `has_header`, without
    headers."""
    options = {key: value for key, value in given.items() if key in _OF_LINES}
    reader = session.read.options(**options).options(sep=_NOWHERE, quote="", enforceSchema=not has_header)
    reader = reader.option("header", has_header)
    name = reader.csv(paths).columns[0] if has_header else _LINE
    return name if has_header else "", reader.schema(_texts([name])).csv(paths).toDF(_LINE)


def _parse_lines(lines: DataFrame, names: Sequence[str], given: Mapping[str, str], is_torn: Expression) -> DataFrame:
    """Return the fields of lines, and in TORN the lines that `is_torn` says, or that have another number of fields.

    Unless options say what escapes a quotation mark, a second one does, or a backslash in lines where it is before one.
    """
    options = {key: value for key, value in given.items() if key not in _OF_LINES}
    schema = ", ".join(f"{sql_name(name)} string" for name in [*names, TORN])

    def parse_fields(escape: str) -> Expression:
        return F.from_csv(F.col(_LINE), schema, {**options, "escape": escape, "columnNameOfCorruptRecord": TORN})

    found = parse_fields(given.get("escape", given.get("quote", '"')))
    if "escape" not in given:
        found = F.when(_has_backslash(F.col(_LINE), given), parse_fields("\\")).otherwise(found)
    fields = lines.select(found.alias(_FIELDS), _LINE, is_torn.alias(_TORN)).select(f"{_FIELDS}.*", _LINE, _TORN)
    torn = F.when(F.col(_TORN), F.col(_LINE)).otherwise(F.col(TORN))
    return fields.withColumn(TORN, torn).drop(_LINE, _TORN)


def _is_from(files: Sequence[str]) -> Expression:
    """Return True for rows of some files."""
    return F.input_file_name().isin(*files) if files else F.lit(False)


# --- quotation marks -------------------------------------------------------------------------------------------------


def _line_breaks(lines: DataFrame, given: Mapping[str, str], multiline: bool) -> _LineBreaks:
    """Return the files in which fields in quotes have line breaks, or with `multiline`, those in which quotation marks
    have no partner."""
    if not given.get("quote", '"'):
        return _LineBreaks()
    line = F.col(_LINE)
    place = [F.input_file_name().alias("file"), F.input_file_block_start().alias("block")]
    place.append(F.monotonically_increasing_id().alias("row"))
    opens, closes = _opens(line, given), _closes(line, given)
    marks = lines.where(_is_open(line, given)).select(*place, opens.alias("opens"), closes.alias("closes"))
    number = F.sum((F.col("opens") | F.col("closes")).cast("int")).over(
        Window.partitionBy("file").orderBy("block", "row")
    )
    # Every other mark has to open a field, and the next one to close it. Marks within fields change nothing.
    fits = F.when(number % 2 == 1, F.col("opens")).otherwise(F.col("closes") | ~F.col("opens"))
    files = marks.select("file", "opens", "closes", fits.alias("fits"), number.alias("number")).groupBy("file")
    counted = files.agg(
        F.bool_or("opens").alias("opens"),
        F.bool_or("closes").alias("closes"),
        (F.bool_and("fits") & (F.max("number") % 2 == 0)).alias("paired"),
    )
    found = counted.where("opens or closes" if multiline else "opens and closes").select("file", "paired").collect()
    paired = [row["file"] for row in found if row["paired"]]
    mixed = [row["file"] for row in found if not row["paired"]]
    if "escape" in given or not paired:
        return _LineBreaks({given["escape"]: tuple(paired)} if paired else {}, tuple(mixed))
    by_escape: dict[str, list[str]] = {}
    own = lines.where(_is_from(paired)).select(F.input_file_name().alias("file"), _LINE)
    ways = own.groupBy("file").agg(
        F.bool_or(_has_backslash(line, given)).alias("backslash"), F.bool_or(_has_doubled(line, given)).alias("doubled")
    )
    for row in ways.collect():
        if row["backslash"] and row["doubled"]:
            mixed.append(row["file"])
        else:
            by_escape.setdefault("\\" if row["backslash"] else given.get("quote", '"'), []).append(row["file"])
    return _LineBreaks({escape: tuple(files) for escape, files in by_escape.items()}, tuple(mixed))


def _has_backslash(line: Expression, given: Mapping[str, str]) -> Expression:
    """Return True if a line has a backslash before a quotation mark."""
    return line.contains("\\" + given.get("quote", '"'))


def _has_doubled(line: Expression, given: Mapping[str, str]) -> Expression:
    """Return True if a line has two quotation marks one after the other which are no empty field."""
    quote, separator = _pattern(given.get("quote", '"')), _pattern(_separator(given))
    empty = rf"(^|{separator})[ \t]*{quote}{quote}[ \t\r]*(?=$|{separator})"
    return F.regexp_replace(line, empty, "").contains(given.get("quote", '"') * 2)


def _plain_line(line: Expression, given: Mapping[str, str]) -> tuple[Expression, str]:
    """Return a line without escaped quotation marks, and the mark."""
    quote, escape = given.get("quote", '"'), given.get("escape", "\\")
    if escape and escape != quote:
        line = F.replace(F.replace(line, F.lit(escape * 2), F.lit("")), F.lit(escape + quote), F.lit(""))
    return line, quote


def _is_open(line: Expression, given: Mapping[str, str]) -> Expression:
    """Return True if a line of CSV has a quotation mark without another one."""
    line, quote = _plain_line(line, given)
    if not quote:
        return F.lit(False)
    marks = F.length(line) - F.length(F.replace(line, F.lit(quote), F.lit("")))
    return marks % 2 == 1


def _has_open_mark(line: str, given: Mapping[str, str]) -> bool:
    """Return True if a line has a quotation mark without another one, see `_is_open`."""
    quote, escape = given.get("quote", '"'), given.get("escape", "\\")
    if escape and escape != quote:
        line = line.replace(escape * 2, "").replace(escape + quote, "")
    return quote != "" and line.count(quote) % 2 == 1


def _opens(line: Expression, given: Mapping[str, str]) -> Expression:
    """Return True if the last quotation mark of a line is at the beginning of a field."""
    line, quote = _plain_line(line, given)
    start = rf"(^|{_pattern(_separator(given))})[ \t]*{_pattern(quote)}((?!{_pattern(quote)}).)*$"
    return F.replace(line, F.lit(quote * 2), F.lit("")).rlike(start)


def _closes(line: Expression, given: Mapping[str, str]) -> Expression:
    """Return True if the first quotation mark of a line is at the end of a field."""
    line, quote = _plain_line(line, given)
    end = rf"^((?!{_pattern(quote)}).)*{_pattern(quote)}[ \t\r]*($|{_pattern(_separator(given))})"
    return F.replace(line, F.lit(quote * 2), F.lit("")).rlike(end)


def _separator(given: Mapping[str, str]) -> str:
    separator = given.get("sep", given.get("delimiter", ","))
    return "\t" if separator == r"\t" else separator


def _pattern(text: str) -> str:
    """Return a regular expression of Java for a text."""
    return re.sub(r"([^A-Za-z0-9 ])", r"\\\1", text)


def _texts(names: Sequence[str]) -> T.StructType:
    return T.StructType([T.StructField(name, T.StringType()) for name in names])
