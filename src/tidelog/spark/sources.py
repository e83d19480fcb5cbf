"""Frames and files mapped to declared relations: rows that fit, and the others with their reasons.

`map_frame` and `map_csv` make a `Source`; `check_sources` evaluates all of them in one job and counts. The counts come
from the very rows that go on, which are kept until the run ends, so that read = accepted + quarantined holds even when
a frame gives other rows the second time it is asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.errors import DataError, Problem, UsageError
from tidelog.language.syntax import CheckedProgram, RelationType
from tidelog.spark.checks import Leaf, WrongType, leaves

REASON, ROW, FILE = "reason", "row", "source"
QUARANTINE_COLUMNS = ("relation string", f"{REASON} string", f"{ROW} string", f"{FILE} string")
_LINE = "_line"  # the CSV reader puts a line that it cannot split into the declared columns here
_REPLACEMENT = "\ufffd"  # what the CSV reader makes of bytes that are not UTF-8


@dataclass(frozen=True)
class Counts:
    """What became of the rows read for one relation: `read == accepted + quarantined`.

    `duplicates` of the accepted rows state a fact that another row of the same run states as well.
    """

    read: int = 0
    accepted: int = 0
    quarantined: int = 0
    duplicates: int = 0


@dataclass(frozen=True)
class Source:
    """A frame of leaf columns, and `reason`, `row` (JSON) and `source` (a file), null where a row fits."""

    relation: str
    frame: DataFrame
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class CheckedSource:
    """A source with its rows kept in Spark (`frame` is persisted) and counted."""

    relation: str
    frame: DataFrame
    leaves: tuple[Leaf, ...]
    read: int
    quarantined: int

    @property
    def accepted(self) -> DataFrame:
        """The leaf columns of the rows that fit."""
        return self.frame.where(F.col(REASON).isNull()).select([leaf.name for leaf in self.leaves])

    @property
    def bad(self) -> DataFrame:
        """The rows that do not fit, with the columns of QUARANTINE_COLUMNS."""
        rows = self.frame.where(F.col(REASON).isNotNull())
        return rows.select(F.lit(self.relation).alias("relation"), REASON, ROW, FILE)


def map_frame(
    program: CheckedProgram,
    relation: str,
    frame: DataFrame,
    columns: Mapping[str, str | Expression] | None = None,
    rejected: str | None = None,
) -> Source:
    """Maps a frame to a relation by column names, or as `columns` says (declared name -> name or expression).

    `rejected` names a column of the frame that is null in good rows and a reason in rows already known to be bad.
    DataError (E0480, E0481) when columns are missing or have types that cannot hold the declared kinds.
    """
    declared = relation_type(program, relation)
    if frame.isStreaming:
        problem = Problem("E0484", f"{relation}: a streaming frame; this version reads batches", place=relation)
        raise UsageError(problem)
    known = {name: F.col(f"`{name.replace('`', '``')}`") for name in frame.columns}
    wanted = dict(columns or {})
    _only_declared(declared, wanted)
    found: list[Expression] = []
    problems = []
    for column in declared.columns:
        source = wanted.get(column.name, column.name)
        if isinstance(source, Expression):
            found.append(source)
        elif source in known:
            found.append(known[source])
        else:
            problems.append(_missing(declared, column.name, source, frame.columns))
    if rejected is not None and rejected not in known:
        problems.append(_missing(declared, rejected, rejected, frame.columns))
    if problems:
        raise DataError(*problems)
    reason = None if rejected is None else known[rejected].cast("string")
    shown = F.struct(*[known[name] for name in frame.columns]) if frame.columns else F.struct(F.lit(relation))
    return _source(program, declared, frame, found, shown, rejected=reason)


def map_csv(
    program: CheckedProgram,
    session: SparkSession,
    relation: str,
    path: str | os.PathLike[str],
    delimiter: str = ",",
    header: bool = False,
) -> Source:
    """Maps CSV files to a relation: by position, or by the names of the header line.

    DataError (E0480, E0482) when there is no such file or the header lacks a declared column.
    """
    declared = relation_type(program, relation)
    place = located(session, path)
    with _reading(place):
        reader = session.read.options(sep=delimiter, header=header, columnPruning=False, enforceSchema=True)
        names = reader.csv(place).columns if header else [column.name for column in declared.columns]
        # Every field is read as text: which texts fit is for `checks` to say.
        schema = ", ".join(f"`{name.replace('`', '``')}` string" for name in [*names, _LINE])
        frame = reader.option("columnNameOfCorruptRecord", _LINE).schema(schema).csv(place)
    known = {name: F.col(f"`{name.replace('`', '``')}`") for name in names}
    problems = [_missing(declared, c.name, c.name, names) for c in declared.columns if c.name not in known]
    if problems:
        raise DataError(*problems)
    line = F.col(_LINE)
    # The reader makes null of an empty field.
    texts = {name: F.coalesce(column, F.lit("")) for name, column in known.items()}
    found = [texts[column.name] for column in declared.columns]
    broken = [text.contains(_REPLACEMENT) for text in found]
    # Of a line that is broken as a whole, the values mean nothing.
    reason = F.when(line.isNotNull(), F.lit(f"not {len(names)} columns")).when(
        reduce(Expression.__or__, broken, F.lit(False)), F.lit("not valid UTF-8")
    )
    shown = F.when(line.isNotNull(), F.struct(line.alias("line")))
    row = F.coalesce(F.to_json(shown), F.to_json(F.struct(*[text.alias(name) for name, text in texts.items()])))
    return _source(program, declared, frame, found, row, broken=reason)


def located(session: SparkSession, path: str | os.PathLike[str]) -> str:
    """A path as Spark should be given it. Java does not follow `os.chdir`, so that on one machine a relative path is
    made absolute here; on a cluster, text is for its file system to understand."""
    text = os.fspath(path)
    has_scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text) is not None
    on_one_machine = (session.conf.get("spark.master", "") or "").startswith("local")
    if isinstance(path, os.PathLike) or (on_one_machine and not has_scheme):
        return os.path.abspath(text)
    return text


def relation_type(program: CheckedProgram, relation: str) -> RelationType:
    """The declaration of a relation; UsageError (E0601) when there is none."""
    if relation not in program.relations:
        known = ", ".join(sorted(program.relations)) or "none"
        raise UsageError(Problem("E0601", f"no relation {relation!r}", hint=f"declared are: {known}"))
    return program.relations[relation]


def check_sources(sources: Sequence[Source]) -> list[CheckedSource]:
    """Evaluates all sources in one Spark job, keeps their rows and counts them. The caller unpersists the frames."""
    frames = [source.frame.persist(StorageLevel.MEMORY_AND_DISK) for source in sources]
    tallies = [
        frame.select(F.lit(i).alias("i"), F.col(REASON).isNotNull().cast("long").alias("bad"))
        for i, frame in enumerate(frames)
    ]
    try:
        summed = _union(tallies).groupBy("i").agg(F.count("*").alias("read"), F.sum("bad").alias("bad")).collect()
    except BaseException:
        for frame in frames:
            frame.unpersist()
        raise
    counted = {row["i"]: (row["read"], row["bad"]) for row in summed}
    return [
        CheckedSource(source.relation, frame, source.leaves, *counted.get(i, (0, 0)))
        for i, (source, frame) in enumerate(zip(sources, frames, strict=True))
    ]


def empty_frame(session: SparkSession, *columns: str) -> DataFrame:
    """A frame without rows; `columns` are "name type". (An empty list given to Spark would need Python workers.)"""
    pairs = [column.split(" ") for column in columns]
    return session.range(0).select(*[F.lit(None).cast(kind).alias(name) for name, kind in pairs])


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionAll, frames)


@contextmanager
def _reading(place: str) -> Iterator[None]:
    """Turns what Spark says about an unreadable source into DataError (E0482)."""
    try:
        yield
    except PySparkException as error:
        raise DataError(Problem("E0482", f"Spark cannot read this: {first_line(error)}", place=place)) from error


def first_line(error: BaseException) -> str:
    """The sentence in which Spark says what is wrong, without its trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return (causes[-1] if causes else lines[0] if lines else type(error).__name__)[:400]


def _source(
    program: CheckedProgram,
    declared: RelationType,
    frame: DataFrame,
    found: Sequence[Expression],
    shown: Expression,
    *,
    broken: Expression | None = None,
    rejected: Expression | None = None,
) -> Source:
    """The source whose columns are `found`; `shown` is the row as JSON, or the struct to be shown as JSON. `broken` is
    a reason that stands alone, `rejected` one that comes before those of the values."""
    with _reading(declared.name):
        types = frame.select(*[column.alias(f"c{i}") for i, column in enumerate(found)]).schema
        shown_type = frame.select(shown.alias("shown")).schema["shown"].dataType.typeName()
    flat: list[Leaf] = []
    problems = []
    for i, (column, expression) in enumerate(zip(declared.columns, found, strict=True)):
        try:
            flat += leaves(f"c{i}", column.name, expression, types[i].dataType, column.kind, program.records)
        except WrongType as wrong:
            problems.append(wrong.problem)
    if problems:
        raise DataError(*problems)
    none = F.lit(None).cast("string")
    reasons = [none if rejected is None else rejected, *[leaf.reason for leaf in flat]]
    reason = F.coalesce(none if broken is None else broken, F.concat_ws("; ", *reasons))
    is_bad = reason != F.lit("")
    row = shown if shown_type == "string" else F.to_json(shown, {"ignoreNullFields": "false"})
    checked = frame.select(
        *[leaf.value.alias(leaf.name) for leaf in flat],
        F.when(is_bad, reason).alias(REASON),
        F.when(is_bad, row).alias(ROW),
        F.when(is_bad, F.nullif(F.input_file_name(), F.lit(""))).alias(FILE),
    )
    return Source(declared.name, checked, tuple(flat))


def _only_declared(declared: RelationType, wanted: Mapping[str, object]) -> None:
    names = [column.name for column in declared.columns]
    for name in wanted:
        if name not in names:
            raise UsageError(
                Problem("E0485", f"{declared.name} has no column {name!r}", hint=f"its columns are: {', '.join(names)}")
            )


def _missing(declared: RelationType, column: str, source: str, given: Sequence[str]) -> Problem:
    return Problem(
        "E0480",
        f"no column {source!r} for {declared.name}.{column}; found {', '.join(given) or 'no columns'}",
        place=declared.name,
        hint=f"name it: columns={{{column!r}: …}}",
    )
