"""Facts on their way to an engine: frames of leaf columns, pending assertions and retractions, and mapped sources whose
rows are checked, kept and counted.

`check_sources` evaluates sources, `check_batch` a batch of a stream. The counts come from the very rows that go on,
which are kept until the run ends. So read = accepted + quarantined holds even when a frame gives other rows the second
time it is asked. Few rows are kept on the driver, and so are those of files that are not large, if the engine there
takes them. Spark keeps all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import cached_property, partial, reduce

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.common.arrays import Words
from tidelog.errors import DataError, Problem
from tidelog.language.syntax import Column, RelationType
from tidelog.spark.failures import ignore_stopped_session, is_of_spark, report_job_errors, report_source_errors
from tidelog.spark.jobs import step
from tidelog.spark.rows import DriverRows, Rows
from tidelog.spark.sessions import from_arrow, to_arrow
from tidelog.spark.sources.changes import ASSERTS, ROWS, latest_events, majority_votes
from tidelog.spark.sources.checks import Leaf
from tidelog.spark.sources.mapping import ANOTHER, FILE, REASON, ROW, Mapped, leaves_of_columns, renumber
from tidelog.spark.sources.orders import Latest
from tidelog.spark.sources.readers import OPEN


@dataclass(frozen=True)
class Counts:
    """The numbers of rows that were read for one relation: `read == accepted + quarantined`. Rows of files that have
    not changed were read by an earlier run, and count in this one if other files of their snapshot have changed.

    `duplicates` of the accepted rows state a fact that another row of the same run states as well. `late` ones change
    nothing, because an event that is as new was known before about their fact or key.
    """

    read: int = 0
    accepted: int = 0
    quarantined: int = 0
    duplicates: int = 0
    late: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the numbers of the rows of both."""
        return Counts(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class FactFrame:
    """A frame of the leaf columns of at most `rows` facts, which `make` makes. `kept` says that it is read from rows
    that are kept, so that its partitions are the same whenever it is asked. Facts on the driver are in `table` as well,
    besides other columns, so that the frame is often not needed."""

    relation: str
    make: Callable[[], DataFrame]
    leaves: tuple[Leaf, ...]
    rows: int
    kept: bool
    driver_words: None = None
    """The driver has no words of them, see `Rows.driver_words`."""
    table: pa.Table | None = None

    @cached_property
    def frame(self) -> DataFrame:
        """The leaf columns in Spark."""
        return self.make()


def report_nothing(events: int, late: int) -> None:
    """Do nothing: the report of a change that nobody counts."""


@dataclass(frozen=True)
class ChangeKey:
    """The columns by which a change finds the facts that it replaces or retracts, as ascending positions.

    With `latest`, which keeps the latest event of each key, older events change nothing. `report` is called with the
    number of events, each of another key, and the number of rows that are late.
    """

    columns: tuple[int, ...]
    latest: Latest | None = None
    report: Callable[[int, int], object] = report_nothing


@dataclass(frozen=True)
class PendingFacts:
    """Facts to assert, or to retract, at most `count` of them, as words or as leaf columns.

    With a `key`, each replaces the facts of its key; those to retract have the columns of the key only. Behind them
    come the words of the order and the number of rows that an event stands for, if the key has latest events.
    """

    relation: str
    asserts: bool
    facts: Rows | FactFrame
    count: int
    key: ChangeKey | None = None

    def columns(self, relation: RelationType) -> tuple[Column, ...]:
        """Return the columns of the facts, which are of this relation."""
        if self.key is None:
            return relation.columns
        own = relation.columns if self.asserts else tuple(relation.columns[at] for at in self.key.columns)
        return own if self.key.latest is None else (*own, *event_columns(self.key.latest))


def event_columns(latest: Latest) -> tuple[Column, ...]:
    """Return the columns that events have behind their facts: the words of the order, and the number of rows."""
    kinds = [*latest.order_kinds, "number"]
    return tuple(Column(f"?{i}", kind, kind) for i, kind in enumerate(kinds))


def local_facts(relation: str, asserts: bool, words: Words) -> PendingFacts:
    """Return facts that are on the driver."""
    return PendingFacts(relation, asserts, DriverRows(words), len(words))


# --- mapped sources --------------------------------------------------------------------------------------------------


FEW_ROWS = 2_000
"""Rows of a single source that come to the driver at once."""
MANY_ROWS = 500_000
"""The same, if the source is known to have hardly more, and the engine on the driver takes them anyway."""
MANY_BYTES = 1 << 26
"""Bytes of texts whose rows come to the driver at once, if the engine there takes them anyway."""


@dataclass(frozen=True)
class CheckedSource:
    """A source with its rows kept and counted: as `table`, or in Spark (`source.frame` is persisted)."""

    source: Mapped
    read: int
    quarantined: int
    table: pa.Table | None = None

    @property
    def relation(self) -> str:
        return self.source.relation

    def pending_facts(self, report: Callable[[int, int], object] = report_nothing) -> list[PendingFacts]:
        """Return the changes that the good rows make; `report` is that of a `ChangeKey`."""
        source, count = self.source, self.read - self.quarantined
        if source.key is not None:
            key, feed = ChangeKey(source.key, source.latest, report), source.operation
            signs = (True,) if feed is None or feed.column is None else (False, True)
            events = [(asserts, self._events(asserts)) for asserts in signs]
            return [PendingFacts(self.relation, asserts, facts, count, key) for asserts, facts in events]
        names = [leaf.name for leaf in source.leaves]
        if source.operation is None:
            facts = FactFrame(
                self.relation, lambda: self._good.select(names), source.leaves, count, True, table=self._good_table
            )
            return [PendingFacts(self.relation, True, facts, count)]
        voted = majority_votes(self._good, names)
        votes = [(False, voted.where(~F.col(ASSERTS))), (True, voted.where(ASSERTS))]
        return [
            PendingFacts(
                self.relation,
                asserts,
                FactFrame(self.relation, partial(rows.select, names), source.leaves, count, False),
                count,
            )
            for asserts, rows in votes
        ]

    @property
    def has_open_marks(self) -> bool:
        """True if some line has an open quotation mark."""
        if self.table is None or not self.quarantined:
            return self.quarantined > 0 and not self.rows.where(F.col(REASON) == OPEN).isEmpty()
        return OPEN in self.table.column(REASON).unique().to_pylist()

    def equal_rows(self) -> int:
        """Return the number of good rows that are equal to another one."""
        names, count, table = [leaf.name for leaf in self.source.leaves], self.read - self.quarantined, self._good_table
        if not names or not count:
            return max(0, count - 1)
        if table is not None:
            return count - int(table.group_by(names).aggregate([]).num_rows)
        with (
            step(f"duplicates of {self.relation}"),
            report_job_errors("count rows", "insert them again; nothing has changed"),
        ):
            return count - self._good.select(names).distinct().count()

    @property
    def bad(self) -> DataFrame:
        """Return the rows that do not fit, with the columns of QUARANTINE_COLUMNS."""
        if self.table is not None and self.quarantined:
            rows = from_arrow(self.source.frame.sparkSession, self.table.filter(self.table.column(REASON).is_valid()))
        else:
            rows = self.rows.where(F.col(REASON).isNotNull())
        return rows.select(F.lit(self.relation).alias("relation"), REASON, ROW, FILE)

    def release(self) -> None:
        """Release the rows."""
        if self.table is None:
            with ignore_stopped_session():
                self.source.frame.unpersist()

    @cached_property
    def rows(self) -> DataFrame:
        """The rows in Spark, of which it is not asked again."""
        if self.table is None:
            return self.source.frame
        if not self.table.num_rows:
            return self.source.frame.limit(0)
        return from_arrow(self.source.frame.sparkSession, self.table)

    @property
    def _good_table(self) -> pa.Table | None:
        """The good rows, if the driver has them."""
        if self.table is None or not self.quarantined:
            return self.table
        return self.table.filter(self.table.column(REASON).is_null())

    @property
    def _good(self) -> DataFrame:
        return self.rows.where(F.col(REASON).isNull())

    def _events(self, asserts: bool) -> FactFrame:
        """Return the latest event of each key, of those that assert or of the others, see `PendingFacts`."""
        source = self.source
        assert source.key is not None
        keys, order = leaves_of_columns(source.leaves, source.key), [leaf.name for leaf in source.order]
        names = [leaf.name for leaf in keys], [leaf.name for leaf in source.leaves]
        latest = latest_events(self._good, *names, order).where(F.col(ASSERTS) if asserts else ~F.col(ASSERTS))
        facts = {leaf.name: leaf for leaf in source.leaves} if asserts else renumber(keys, source.key)
        if source.latest is not None:
            width = len(source.latest.of.columns) if asserts else len(source.key)
            events = [*source.order, Leaf(ROWS, "number", F.col(ROWS), F.lit(None))]
            assert len(events) == len(event_columns(source.latest))
            facts |= {leaf.name: replace(leaf, name=f"c{width + i}") for i, leaf in enumerate(events)}
        frame = latest.select(*[F.col(name).alias(leaf.name) for name, leaf in facts.items()])
        return FactFrame(self.relation, lambda: frame, tuple(facts.values()), self.read - self.quarantined, False)


def check_batch(mapping: Mapped, frame: DataFrame, place: str, expected: int | None, doubted: bool) -> CheckedSource:
    """Evaluate a batch of a stream, mapped like another one, as `check_sources` does.

    `expected` is about how many rows it has, if all of them are to come to the driver. Then it is one job, unless it
    turns out that there are more than MANY_ROWS, or that some do not fit although they were not `doubted`.
    """
    if expected is not None and expected <= MANY_ROWS:
        with step(f"read {mapping.relation}"), _ignoring_spark_errors():
            if mapping.plain is not None and not doubted:
                # Spark needs longer to plan all the checks than for the rest of the job.
                table = to_arrow(mapping.plain(frame).limit(MANY_ROWS + 1))
                if table.num_rows <= MANY_ROWS and _all_fit(table):
                    return CheckedSource(replace(mapping, place=place), table.num_rows, 0, _with_reasons(table))
            if (found := _few_on_driver(mapping.of(frame, place), MANY_ROWS)) is not None:
                return found
    return check_sources([mapping.of(frame, place)])[0]


def check_sources(sources: Sequence[Mapped], *, for_driver: bool = False) -> list[CheckedSource]:
    """Evaluate all sources, keep their rows and count them. The caller releases them. With `for_driver`, facts are to
    come to the driver: each source that is known to be small enough does so in a job of its own, and Spark never keeps
    it. All others are one job. Lines of CSV in which quotation marks are open are read again, see `FileFrame`. Raise
    DataError (E0482) with the place of a source that cannot be read; SetupError (E0708) for other failures."""
    found = dict[int, CheckedSource]()
    left = MANY_BYTES if for_driver else 0
    for i, source in enumerate(sources):
        # Spark finds the latest events, and the votes of changes.
        if source.size is not None and source.size <= left and source.key is None and source.operation is None:
            with step(f"read {source.relation}"), _ignoring_spark_errors():
                found[i] = _on_driver(source)
                left -= source.size
    others = [i for i in range(len(sources)) if i not in found]
    try:
        if others:
            found |= zip(others, _check_lines([sources[i] for i in others]), strict=True)
        wrong = {i: _with_line_breaks(found[i]) for i in found}
        again = {i: source for i, source in wrong.items() if source is not None}
        for i in again:
            found[i].release()
        if again:
            found |= zip(again, _check_in_spark(list(again.values())), strict=True)
    except BaseException:
        for checked in found.values():
            checked.release()
        raise
    return [found[i] for i in range(len(sources))]


def _check_lines(sources: Sequence[Mapped]) -> list[CheckedSource]:
    """Evaluate sources in Spark, those with line breaks as such if Spark fails: it may not take a line for a row."""
    try:
        return _check_in_spark(sources)
    except DataError:
        again = [None if source.with_line_breaks is None else source.with_line_breaks() for source in sources]
        if not any(again):
            raise
    return _check_in_spark([right or lines for right, lines in zip(again, sources, strict=True)])


def _with_line_breaks(checked: CheckedSource) -> Mapped | None:
    """Return what has the right rows, where these are lines, and fields have line breaks; None if these are right."""
    again = checked.source.with_line_breaks
    return again() if again is not None and checked.has_open_marks else None


def _check_in_spark(sources: Sequence[Mapped]) -> list[CheckedSource]:
    """Evaluate sources in one Spark job, which keeps their rows unless they are few of one source."""
    try:
        for source in sources:
            source.frame.persist(StorageLevel.MEMORY_AND_DISK)
        with step(f"read {_relations(sources)}"):
            if len(sources) == 1 and (found := _few_on_driver(sources[0], FEW_ROWS)) is not None:
                # One job has found out; Spark has the rows of a larger source from now on.
                sources[0].frame.unpersist()
                return [found]
            counted = count_rows(sources)
    except BaseException as error:
        for source in sources:
            source.frame.unpersist()
        if is_of_spark(error):
            for source in sources:
                with report_source_errors(source.place), step(f"read {source.relation}"):
                    count_rows([source])
        with report_job_errors():  # Each by itself can be read.
            raise
    return [CheckedSource(source, *counted.get(i, (0, 0))) for i, source in enumerate(sources)]


@contextmanager
def _ignoring_spark_errors() -> Iterator[None]:
    """End the block where Spark fails: bad rows may be too large for the driver, and what else is wrong shows again."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise


def _all_fit(table: pa.Table) -> bool:
    """Return True if the values of plain leaves all fit, see `Leaf`."""
    import pyarrow.compute as pc

    try:
        table.validate(full=True)  # It looks for text that is not UTF-8.
    except pa.ArrowInvalid:
        return False
    floats = [column for column in table.columns if pa.types.is_floating(column.type)]
    has_nan = any(pc.any(pc.is_nan(column)).as_py() for column in floats)
    return not has_nan and not any(column.null_count for column in table.columns)


def _with_reasons(table: pa.Table) -> pa.Table:
    """Return rows that fit with the columns that `Mapped.frame` has besides."""
    for name in (REASON, ROW, FILE):
        table = table.append_column(name, pa.nulls(table.num_rows, pa.string()))
    return table


def _few_on_driver(source: Mapped, most: int) -> CheckedSource | None:
    """Return a source with its rows on the driver, None if they are more than `most`."""
    found = _on_driver(replace(source, frame=source.frame.limit(most + 1)))
    return replace(found, source=source) if found.read <= most else None


def _on_driver(source: Mapped) -> CheckedSource:
    """Return a source with its rows on the driver."""
    table = to_arrow(source.frame)
    return CheckedSource(source, table.num_rows, table.num_rows - table.column(REASON).null_count, table)


def _relations(sources: Sequence[Mapped]) -> str:
    return ", ".join(dict.fromkeys(source.relation for source in sources))


def count_rows(sources: Sequence[Mapped]) -> dict[int, tuple[int, int]]:
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
