"""Map frames and files to declared relations: rows that fit, and the others with their reasons.

`map_frame` and `map_exactly` make a `Mapped`; `check_sources` evaluates all of them in one job and counts. The counts
come from the very rows that go on, which are kept until the run ends, so that read = accepted + quarantined holds even
when a frame gives other rows the second time it is asked. `readers` makes frames of files, `failures` errors of what
Spark says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.errors import DataError, Problem, UsageError
from tidelog.io.columns import match_columns
from tidelog.language.syntax import CheckedProgram, RelationType
from tidelog.spark.failures import is_of_spark, letting_go, reading, working
from tidelog.spark.jobs import step
from tidelog.spark.older import from_arrow, to_arrow
from tidelog.spark.sources.changes import (
    ASSERTS,
    ROWS,
    Operation,
    change_columns,
    majority,
    net,
    order_columns,
    undecided,
)
from tidelog.spark.sources.checks import Leaf, WrongType, leaves
from tidelog.spark.sources.facts import ChangeKey, FactFrame, PendingFacts, event_columns, unreported
from tidelog.spark.sources.feeds import opened
from tidelog.spark.sources.latest import Latest, key_positions, latest_of
from tidelog.spark.sources.readers import REPLACEMENT, TORN, quoted

if TYPE_CHECKING:
    import pyarrow as pa

REASON, ROW, FILE = "reason", "row", "source"
ANOTHER = "another row has this key"
FEW_ROWS = 2_000
"""Rows of a single source that come to the driver at once."""
QUARANTINE_COLUMNS = ("relation string", f"{REASON} string", f"{ROW} string", f"{FILE} string")


@dataclass(frozen=True)
class Mapped:
    """A frame of leaf columns, and `reason`, `row` (JSON) and `source` (a file), null where a row fits. `place` is what
    errors call it.

    With an `operation` there is ASSERTS, and the columns `order` if `latest` keeps the latest events. `key` are the
    positions of the columns by which rows replace facts, None where they do not.
    """

    relation: str
    frame: DataFrame
    leaves: tuple[Leaf, ...]
    operation: Operation | None = None
    place: str = ""
    key: tuple[int, ...] | None = None
    latest: Latest | None = None
    order: tuple[Leaf, ...] = ()


@dataclass(frozen=True)
class CheckedSource:
    """A source with its rows kept and counted: few rows as `table`, from which `source.frame` is made, others in Spark
    (`source.frame` is persisted)."""

    source: Mapped
    read: int
    quarantined: int
    table: pa.Table | None = None

    @property
    def relation(self) -> str:
        return self.source.relation

    def pending(self, report: Callable[[int, int], object] = unreported) -> list[PendingFacts]:
        """Return the changes that the good rows make; `report` is that of a `ChangeKey`."""
        source, count = self.source, self.read - self.quarantined
        if source.key is not None:
            key, feed = ChangeKey(source.key, source.latest, report), source.operation
            signs = (True,) if feed is None or feed.column is None else (False, True)
            events = [(asserts, self._events(asserts)) for asserts in signs]
            return [PendingFacts(self.relation, asserts, facts, count, key) for asserts, facts in events]
        if source.operation is None:
            facts = replace(self._facts(self._good(), kept=True), table=self._good_rows())
            return [PendingFacts(self.relation, True, facts, count)]
        voted = majority(self._good(), [leaf.name for leaf in source.leaves])
        votes = [(False, self._facts(voted.where(~F.col(ASSERTS)))), (True, self._facts(voted.where(ASSERTS)))]
        return [PendingFacts(self.relation, asserts, each, count) for asserts, each in votes]

    @property
    def bad(self) -> DataFrame:
        """Return the rows that do not fit, with the columns of QUARANTINE_COLUMNS."""
        rows = self.source.frame.where(F.col(REASON).isNotNull())
        return rows.select(F.lit(self.relation).alias("relation"), REASON, ROW, FILE)

    def release(self) -> None:
        """Release the rows."""
        with letting_go():
            self.source.frame.unpersist()

    def _good_rows(self) -> pa.Table | None:
        """Return the good rows, if the driver has them."""
        if self.table is None:
            return None
        import pyarrow.compute as pc

        return self.table.filter(pc.is_null(self.table.column(REASON)))

    def _good(self) -> DataFrame:
        return self.source.frame.where(F.col(REASON).isNull())

    def _facts(self, rows: DataFrame, kept: bool = False) -> FactFrame:
        names = [leaf.name for leaf in self.source.leaves]
        return FactFrame(self.relation, rows.select(names), self.source.leaves, self.read - self.quarantined, kept)

    def _events(self, asserts: bool) -> FactFrame:
        """Return the latest event of each key, of those that assert or of the others, see `PendingFacts`."""
        source = self.source
        assert source.key is not None
        keys, order = of_columns(source.leaves, source.key), [leaf.name for leaf in source.order]
        names = [leaf.name for leaf in keys], [leaf.name for leaf in source.leaves]
        latest = net(self._good(), *names, order).where(F.col(ASSERTS) if asserts else ~F.col(ASSERTS))
        facts = {leaf.name: leaf for leaf in source.leaves} if asserts else renumbered(keys, source.key)
        if source.latest is not None:
            width = len(source.latest.of.columns) if asserts else len(source.key)
            events = [*source.order, Leaf(ROWS, "number", F.col(ROWS), F.lit(None))]
            assert len(events) == len(event_columns(source.latest))
            facts |= {leaf.name: replace(leaf, name=f"c{width + i}") for i, leaf in enumerate(events)}
        frame = latest.select(*[F.col(name).alias(leaf.name) for name, leaf in facts.items()])
        return FactFrame(self.relation, frame, tuple(facts.values()), self.read - self.quarantined, False)


def of_columns(given: Sequence[Leaf], columns: Sequence[int]) -> list[Leaf]:
    """Return the leaves of some columns of a relation."""
    wanted = {f"c{position}" for position in columns}
    return [leaf for leaf in given if leaf.name.split("_")[0] in wanted]


def renumbered(given: Sequence[Leaf], columns: Sequence[int]) -> dict[str, Leaf]:
    """Return the leaves of some columns, by their names, with the names that they have where there are no others."""
    places = {f"c{position}": f"c{i}" for i, position in enumerate(columns)}
    found = {}
    for leaf in given:
        column, *fields = leaf.name.split("_")
        found[leaf.name] = replace(leaf, name="_".join([places[column], *fields]))
    return found


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
    With an `operation` the frame is a feed of changes, or its rows replace those of their keys. `torn` is the reason of
    rows that have a text in the column TORN, which the reader could not take apart; a reader `of_bytes` puts a
    character of its own in the place of those that are no UTF-8. DataError (E0480, E0481) when columns are missing or
    have types that cannot hold the declared kinds, or say when; UsageError (E0485, E0685) for a wrong key.
    """
    declared = relation_type(program, relation)
    no_stream(frame, relation)
    shown: Expression | None = None
    broken: Expression | None = None
    if operation is not None and operation.feed is not None:
        _only_declared(declared, columns or {})
        feed = opened(operation, frame, declared, program.records, columns or {}, rejected)
        frame, columns, operation, shown, broken = feed.frame, feed.columns, feed.operation, feed.shown, feed.broken
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
    needed = [rejected] if operation is None else [rejected, *operation.columns]
    for further in needed:
        if further is not None and further not in known:
            problems.append(_lacking(declared, further, names))
    if problems:
        raise DataError(*problems)
    if shown is None:
        shown = F.to_json(F.struct(*known.values()), {"ignoreNullFields": "false"}) if names else F.lit("{}")
    if torn is not None:
        line = quoted(TORN)
        shown = F.when(line.isNotNull(), F.to_json(F.struct(line.alias("line")))).otherwise(shown)
        why = F.when(line.isNotNull(), torn)
        if of_bytes:
            for value in found:
                why = why.when(value.cast("string").contains(REPLACEMENT), F.lit("not valid UTF-8"))
        broken = why if broken is None else F.coalesce(why, broken)
    reason = None if rejected is None else known[rejected].cast("string")
    return _source(program, declared, frame, found, shown, broken=broken, rejected=reason, operation=operation)


def map_exactly(
    program: CheckedProgram, declared: RelationType, frame: DataFrame, operation: Operation | None = None
) -> Mapped:
    """Map a frame whose columns are those of a relation, by name, in any case as in Spark, or by position where all
    names are others; types have to be the declared ones. With an `operation`, rows replace those of their keys.
    DataError (E0406, E0481), UsageError (E0484, E0485, E0685)."""
    relation = declared.name
    no_stream(frame, relation)
    names = [column.name for column in declared.columns]
    folded = {name.lower(): name for name in names}
    given = [folded.get(name.lower(), name) for name in frame.columns] if len(folded) == len(names) else frame.columns
    order = match_columns(given, names, f"relation {relation}")
    named = frame.toDF(*[f"_{i}" for i in range(len(order))])  # names that occur twice, or contain dots, are none's
    found = [F.col(f"_{source}") for source in order]
    struct = F.struct(*[value.alias(column.name) for column, value in zip(declared.columns, found, strict=True)])
    shown = F.to_json(struct, {"ignoreNullFields": "false"}) if order else F.lit("{}")
    return _source(program, declared, named, found, shown, exact=True, operation=operation)


def no_stream(frame: DataFrame, relation: str) -> None:
    """Raise UsageError (E0484) for a frame that has no end."""
    with reading(relation):
        has_no_end = frame.isStreaming
    if has_no_end:
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
        with step(f"read {_relations(sources)}"):
            if len(sources) == 1 and (few := _few(sources[0])) is not None:
                return [few]
            counted = _tally(sources)
    except BaseException as error:
        for source in sources:
            source.frame.unpersist()
        if is_of_spark(error):
            for source in sources:
                with reading(source.place), step(f"read {source.relation}"):
                    _tally([source])
        with working():  # Each by itself can be read.
            raise
    return [CheckedSource(source, *counted.get(i, (0, 0))) for i, source in enumerate(sources)]


def _few(source: Mapped) -> CheckedSource | None:
    """Return a source with its rows on the driver, None if it has more than a few. One job finds out, after which Spark
    has the rows of a larger source; a small batch needs no other one."""
    table = to_arrow(source.frame.limit(FEW_ROWS + 1))
    if table.num_rows > FEW_ROWS:
        return None
    if not table.num_rows:
        return CheckedSource(source, 0, 0, table)
    local = replace(source, frame=from_arrow(source.frame.sparkSession, table))
    source.frame.unpersist()
    return CheckedSource(local, table.num_rows, table.num_rows - table.column(REASON).null_count, table)


def _relations(sources: Sequence[Mapped]) -> str:
    return ", ".join(dict.fromkeys(source.relation for source in sources))


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
    ANOTHER: "E0487",
}
_FILTERED = "filter these rows out, or read them through a Pipeline, which has a quarantine"
_ONE_OF_A_KEY = "keep one row of each key, or read them as a feed with an `order`"


def refuse_bad_rows(checked: CheckedSource) -> None:
    """Raise DataError, with a problem for each reason, if some rows do not fit."""
    if not checked.quarantined:
        return
    grouped = checked.bad.groupBy(REASON).agg(F.count("*").alias("rows"), F.min(ROW).alias("example"))
    problems = []
    for reason, rows, example in grouped.orderBy(F.desc("rows")).limit(10).collect():
        code = next((code for what, code in _CODES.items() if reason.endswith(f": {what}")), "E0401")
        hint = _ONE_OF_A_KEY if code == "E0487" else _FILTERED
        message = f"{rows} of {checked.read} rows do not fit: {reason}; one is {example:.200}"
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
    mapped = Mapped(declared.name, frame, tuple(flat), operation, f"data for {declared.name}")
    if operation is not None:
        latest = latest_of(program, declared, operation.key, operation.order, frame)
        order = order_columns(operation, frame, latest)
        key = None if operation.key is None and latest is None else key_positions(declared, operation.key)
        mapped = replace(mapped, latest=latest, order=tuple(order), key=key)
        with reading(declared.name):
            changes, why["operation"] = change_columns(operation, order)
    why |= {leaf.name: leaf.reason for leaf in flat}
    if mapped.key is not None:  # Of what goes, the key is enough.
        needed = of_columns(flat, mapped.key)
        others = [leaf for leaf in flat if leaf not in needed]
        why |= {leaf.name: F.when(changes[ASSERTS], leaf.reason) for leaf in others}
    # In two steps, so that Spark has every value and every reason once, and the rest for bad rows only.
    values = {**{leaf.name: leaf.value for leaf in flat}, **changes}
    step = frame.select("*", *_named("_value", values), *_named("_why", why))
    said = [quoted(f"_why {name}") for name in why]
    is_bad = F.coalesce(*said).isNotNull()
    reason = F.when(is_bad, F.coalesce(said[0], F.concat_ws("; ", *said[1:]))).alias(REASON)
    shown, file = shown.alias(ROW), F.nullif(F.input_file_name(), F.lit("")).alias(FILE)
    named = [quoted(f"_value {name}").alias(name) for name in values]
    if mapped.key is None or len(mapped.key) == len(declared.columns):
        bad_only = [F.when(is_bad, shown).alias(ROW), F.when(is_bad, file).alias(FILE)]
        return replace(mapped, frame=step.select(*named, reason, *bad_only))
    keys = [declared.columns[position].name for position in mapped.key]
    return replace(mapped, frame=_decided(mapped, keys, step.select(*named, reason, shown, file)))


def _decided(mapped: Mapped, keys: Sequence[str], rows: DataFrame) -> DataFrame:
    """Return rows with a reason for those of one key between which nothing decides, and nulls in ROW and FILE of good
    ones."""
    key = [leaf.name for leaf in of_columns(mapped.leaves, mapped.key or ())]
    order = [leaf.name for leaf in mapped.order]
    is_open = undecided(F.col(REASON).isNull(), key, [leaf.name for leaf in mapped.leaves], order)
    said = f"{', '.join(keys)}: {ANOTHER}{' and order' if order else ''}"
    found = rows.withColumn(REASON, F.coalesce(REASON, F.when(is_open, F.lit(said))))
    return found.withColumns({name: F.when(F.col(REASON).isNotNull(), F.col(name)) for name in (ROW, FILE)})


def _named(prefix: str, columns: Mapping[str, Expression]) -> list[Expression]:
    return [column.alias(f"{prefix} {name}") for name, column in columns.items()]


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
