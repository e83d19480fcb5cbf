"""Map frames and files to declared relations: rows that fit, and the others with their reasons.

`map_frame` and `map_exactly` make a `Mapped`; `check_sources` evaluates all of them in one job and counts. The counts
come from the very rows that go on, which are kept until the run ends, so that read = accepted + quarantined holds even
when a frame gives other rows the second time it is asked. `readers` makes frames of files, `failures` errors of what
Spark says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem, UsageError
from tidelog.io.columns import match_columns
from tidelog.language.syntax import CheckedProgram, RelationType
from tidelog.spark.failures import is_of_spark, letting_go, reading, working
from tidelog.spark.sources.checks import Leaf, WrongType, leaves
from tidelog.spark.sources.facts import FactFrame, PendingFacts
from tidelog.spark.sources.readers import REPLACEMENT, TORN, quoted

REASON, ROW, FILE = "reason", "row", "source"
QUARANTINE_COLUMNS = ("relation string", f"{REASON} string", f"{ROW} string", f"{FILE} string")


@dataclass(frozen=True)
class Operation:
    """The rule by which a row of a change feed is an assertion or a retraction: a text in `column`, of `insert` or of
    `delete`.

    The defaults are those of Delta's change data feed and of tidelog's own change tables. Of several rows about one
    fact in a batch that with the largest value in the column `order` counts, and of equal ones an insertion: a table
    that is written anew, or updated beside what is mapped, deletes and inserts a fact at once. Without such a column it
    counts whether more rows insert or delete it, which is right where insertions and deletions of a fact alternate.
    Texts in `order` that read as numbers go by their values, and come after those that do not.
    """

    column: str = "op"
    insert: tuple[str, ...] = ("insert", "update_postimage", "+")
    delete: tuple[str, ...] = ("delete", "update_preimage", "-")
    order: str | None = None


@dataclass(frozen=True)
class Mapped:
    """A frame of leaf columns, and `reason`, `row` (JSON) and `source` (a file), null where a row fits. With an
    `operation`, `_op` is whether the row inserts, and `_order` may say when. `place` is what errors call it."""

    relation: str
    frame: DataFrame
    leaves: tuple[Leaf, ...]
    operation: Operation | None = None
    place: str = ""


@dataclass(frozen=True)
class CheckedSource:
    """A source with its rows kept in Spark (`source.frame` is persisted) and counted."""

    source: Mapped
    read: int
    quarantined: int

    @property
    def relation(self) -> str:
        return self.source.relation

    @property
    def inserted(self) -> FactFrame:
        """Return the facts that the good rows assert."""
        if self.source.operation is None:
            return self._facts(self._good())
        return self._facts(self._net().where(F.col("_op")))

    @property
    def deleted(self) -> FactFrame | None:
        """Return the facts that they retract; None unless it is a feed of changes."""
        return None if self.source.operation is None else self._facts(self._net().where(~F.col("_op")))

    def pending(self) -> list[PendingFacts]:
        """Return the changes that the good rows make."""
        count = self.read - self.quarantined
        changes = [PendingFacts(self.relation, True, self.inserted, count)]
        return changes if self.deleted is None else [PendingFacts(self.relation, False, self.deleted, count), *changes]

    @property
    def bad(self) -> DataFrame:
        """Return the rows that do not fit, with the columns of QUARANTINE_COLUMNS."""
        rows = self.source.frame.where(F.col(REASON).isNotNull())
        return rows.select(F.lit(self.relation).alias("relation"), REASON, ROW, FILE)

    def release(self) -> None:
        """Release the rows."""
        with letting_go():
            self.source.frame.unpersist()

    def _good(self) -> DataFrame:
        return self.source.frame.where(F.col(REASON).isNull())

    def _facts(self, rows: DataFrame) -> FactFrame:
        names = [leaf.name for leaf in self.source.leaves]
        kept = self.source.operation is None
        return FactFrame(self.relation, rows.select(names), self.source.leaves, self.read - self.quarantined, kept)

    def _net(self) -> DataFrame:
        """Return each fact once with `_op`, where the rows about it do not cancel out."""
        names = [leaf.name for leaf in self.source.leaves]
        assert self.source.operation is not None
        if self.source.operation.order is not None:
            latest = F.max_by("_op", F.struct("_order", "_op"))
            return self._good().groupBy(names).agg(latest.alias("_op"))
        votes = F.sum(F.when(F.col("_op"), 1).otherwise(-1))
        net = self._good().groupBy(names).agg(votes.alias("_votes")).where("_votes != 0")
        return net.withColumn("_op", F.col("_votes") > 0)


def map_frame(
    program: CheckedProgram,
    relation: str,
    frame: DataFrame,
    columns: Mapping[str, str | Expression] | None = None,
    rejected: str | None = None,
    operation: Operation | None = None,
    torn: Expression | None = None,
    of_bytes: bool = False,
) -> Mapped:
    """Map a frame to a relation by column names, or as `columns` says (declared name -> name or expression).

    `rejected` names a column of the frame that is null in good rows and a reason in rows already known to be bad.
    With an `operation` the frame is a feed of changes. `torn` is the reason of rows that have a text in the column
    TORN, which the reader could not take apart; a reader `of_bytes` puts a character of its own in the place of those
    that are no UTF-8. DataError (E0480, E0481) when columns are missing or have types that cannot hold the declared
    kinds.
    """
    declared = relation_type(program, relation)
    no_stream(frame, relation)
    names = [name for name in frame.columns if torn is None or name != TORN]
    known = {name: quoted(name) for name in names}
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
            problems.append(_missing(declared, column.name, source, names))
    needed = [rejected] if operation is None else [rejected, operation.column, operation.order]
    for further in needed:
        if further is not None and further not in known:
            problems.append(_lacking(declared, further, names))
    if problems:
        raise DataError(*problems)
    shown = F.to_json(F.struct(*known.values()), {"ignoreNullFields": "false"}) if names else F.lit("{}")
    broken = None
    if torn is not None:
        line = quoted(TORN)
        shown = F.when(line.isNotNull(), F.to_json(F.struct(line.alias("line")))).otherwise(shown)
        broken = F.when(line.isNotNull(), torn)
        if of_bytes:
            for value in found:
                broken = broken.when(value.cast("string").contains(REPLACEMENT), F.lit("not valid UTF-8"))
    reason = None if rejected is None else known[rejected].cast("string")
    return _source(program, declared, frame, found, shown, broken=broken, rejected=reason, operation=operation)


def map_exactly(program: CheckedProgram, relation: str, frame: DataFrame) -> Mapped:
    """Map a frame whose columns are those of the relation, by name, in any case as in Spark, or by position where all
    names are others; types have to be the declared ones. DataError (E0406, E0481), UsageError (E0484, E0601)."""
    declared = relation_type(program, relation)
    no_stream(frame, relation)
    names = [column.name for column in declared.columns]
    folded = {name.lower(): name for name in names}
    given = [folded.get(name.lower(), name) for name in frame.columns] if len(folded) == len(names) else frame.columns
    order = match_columns(given, names, f"relation {relation}")
    named = frame.toDF(*[f"_{i}" for i in range(len(order))])  # names that occur twice, or contain dots, are none's
    found = [F.col(f"_{source}") for source in order]
    struct = F.struct(*[value.alias(column.name) for column, value in zip(declared.columns, found, strict=True)])
    shown = F.to_json(struct, {"ignoreNullFields": "false"}) if order else F.lit("{}")
    return _source(program, declared, named, found, shown, exact=True)


def no_stream(frame: DataFrame, relation: str) -> None:
    """Raise UsageError (E0484) for a frame that has no end."""
    if frame.isStreaming:
        hint = f"call db.maintain(frame, into={relation!r}), which makes each micro-batch an epoch"
        raise UsageError(Problem("E0484", "expected a batch, found a streaming frame", hint=hint, place=relation))


def relation_type(program: CheckedProgram, relation: str) -> RelationType:
    """Return the declaration of a relation; UsageError (E0601) when there is none."""
    if not isinstance(relation, str) or relation not in program.relations:
        known = ", ".join(sorted(program.relations)) or "none"
        raise UsageError(Problem("E0601", f"the relation {relation!r} is not declared", hint=f"use one of: {known}"))
    return program.relations[relation]


def check_sources(sources: Sequence[Mapped]) -> list[CheckedSource]:
    """Evaluate all sources in one Spark job, keep their rows and count them. The caller releases them. Raise DataError
    (E0482) with the place of a source that cannot be read; SetupError (E0708) for other failures."""
    try:
        for source in sources:
            source.frame.persist(StorageLevel.MEMORY_AND_DISK)
        counted = _tally(sources)
    except BaseException as error:
        for source in sources:
            source.frame.unpersist()
        if is_of_spark(error):
            for source in sources:
                with reading(source.place):
                    _tally([source])
        with working():  # Each by itself can be read.
            raise
    return [CheckedSource(source, *counted.get(i, (0, 0))) for i, source in enumerate(sources)]


def _tally(sources: Sequence[Mapped]) -> dict[int, tuple[int, int]]:
    """Return the numbers of rows, and of bad ones, of each source that has any."""
    bad = F.col(REASON).isNotNull().cast("long").alias("bad")
    each = [source.frame.select(F.lit(i).alias("i"), bad) for i, source in enumerate(sources)]
    summed = reduce(DataFrame.unionAll, each).groupBy("i").agg(F.count("*").alias("read"), F.sum("bad").alias("bad"))
    return {row["i"]: (row["read"], row["bad"]) for row in summed.collect()}


_CODES = {
    "null": "E0403",
    "NaN": "E0404",
    "negative": "E0402",
    "out of range": "E0402",
    "no float is equal to it": "E0402",
    "not valid UTF-8": "E0408",
}


def refuse_bad_rows(checked: CheckedSource) -> None:
    """Raise DataError, with a problem for each reason, if some rows do not fit."""
    if not checked.quarantined:
        return
    grouped = checked.bad.groupBy(REASON).agg(F.count("*").alias("rows"), F.min(ROW).alias("example"))
    problems = []
    for reason, rows, example in grouped.orderBy(F.desc("rows")).limit(10).collect():
        code = next((code for what, code in _CODES.items() if reason.endswith(f": {what}")), "E0401")
        message = f"{rows} of {checked.read} rows do not fit: {reason}; one is {example:.200}"
        hint = "filter these rows out, or read them through a Pipeline, which has a quarantine"
        problems.append(Problem(code, message, place=f"relation {checked.relation}", hint=hint))
    raise DataError(*problems)


def _source(
    program: CheckedProgram,
    declared: RelationType,
    frame: DataFrame,
    found: Sequence[Expression],
    shown: Expression,
    *,
    broken: Expression | None = None,
    rejected: Expression | None = None,
    exact: bool = False,
    operation: Operation | None = None,
) -> Mapped:
    """Return the source whose columns are `found`; `shown` is the row as JSON. `broken` is a reason that stands alone,
    `rejected` one that comes before those of the values."""
    with reading(declared.name):
        types = frame.select(*[column.alias(f"c{i}") for i, column in enumerate(found)]).schema
    flat: list[Leaf] = []
    problems = []
    for i, (column, expression) in enumerate(zip(declared.columns, found, strict=True)):
        try:
            flat += leaves(f"c{i}", column.name, expression, types[i].dataType, column.kind, program.records, exact)
        except WrongType as wrong:
            problems.append(wrong.problem)
    if problems:
        raise DataError(*problems)
    none = F.lit(None).cast("string")
    why = {"broken": none if broken is None else broken, "rejected": none if rejected is None else rejected}
    changes: dict[str, Expression] = {}
    if operation is not None:
        with reading(declared.name):
            changes, why["operation"] = _changes(operation, frame)
    why |= {leaf.name: leaf.reason for leaf in flat}
    # In two steps, so that Spark has every value and every reason once, and the rest for bad rows only.
    values = {**{leaf.name: leaf.value for leaf in flat}, **changes}
    step = frame.select("*", *_named("_value", values), *_named("_why", why))
    said = [quoted(f"_why {name}") for name in why]
    is_bad = F.coalesce(*said).isNotNull()
    checked = step.select(
        *[quoted(f"_value {name}").alias(name) for name in values],
        F.when(is_bad, F.coalesce(said[0], F.concat_ws("; ", *said[1:]))).alias(REASON),
        F.when(is_bad, shown).alias(ROW),
        F.when(is_bad, F.nullif(F.input_file_name(), F.lit(""))).alias(FILE),
    )
    return Mapped(declared.name, checked, tuple(flat), operation, f"data for {declared.name}")


def _named(prefix: str, columns: Mapping[str, Expression]) -> list[Expression]:
    return [column.alias(f"{prefix} {name}") for name, column in columns.items()]


def _changes(operation: Operation, frame: DataFrame) -> tuple[dict[str, Expression], Expression]:
    """Return the columns `_op` and perhaps `_order`, and the reason where there is no such operation, or null."""
    said = quoted(operation.column).cast("string")
    inserts, deletes = said.isin(*operation.insert), said.isin(*operation.delete)
    reason = F.when(said.isNull(), F.lit(f"{operation.column}: null")).when(
        ~inserts & ~deletes, F.lit(f"{operation.column}: unknown operation")
    )
    columns = {"_op": F.coalesce(inserts, F.lit(False))}
    if operation.order is not None:
        when = quoted(operation.order)
        is_text = isinstance(frame.select(F.max(when)).schema[0].dataType, T.StringType)
        # Numbers of a CSV file are texts, among which "10" comes before "9".
        columns["_order"] = F.struct(when.try_cast("decimal(38,9)"), when) if is_text else when
        reason = reason.when(when.isNull(), F.lit(f"{operation.order}: null"))
    return columns, reason


def _only_declared(declared: RelationType, wanted: Mapping[str, object]) -> None:
    names = [column.name for column in declared.columns]
    for name in wanted:
        if name not in names:
            raise UsageError(
                Problem("E0485", f"{declared.name} has no column {name!r}", hint=f"use one of: {', '.join(names)}")
            )


def _lacking(declared: RelationType, name: str, given: Sequence[str]) -> Problem:
    message = f"the frame has no column {name!r}; found {', '.join(given) or 'no columns'}"
    return Problem("E0480", message, place=declared.name, hint="name the column as the frame does")


def _missing(declared: RelationType, column: str, source: str, given: Sequence[str]) -> Problem:
    return Problem(
        "E0480",
        f"the frame has no column {source!r} for {declared.name}.{column}; found {', '.join(given) or 'no columns'}",
        place=declared.name,
        hint=f"pass columns={{{column!r}: …}}",
    )
