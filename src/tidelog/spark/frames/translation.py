"""Between what users see and words: facts on their way to either engine, and rows of either engine on their way out.

Facts for the cluster stay in Spark. Symbols are joined with the dictionary's frame (`symbols.SymbolTable`). Floats and
records need Python on the workers: Spark has no expression for the bits of a float, and a record's fields are in the
dictionary's tables.

Facts for the embedded engine come to the driver: leaf columns arrive as Arrow and leave as words (`collect_words`).
Symbols come as text and are numbered here: that takes a tenth of a second per million rows, a tenth of what finding and
joining them in Spark takes. A large source comes a few of its partitions at a time, so that the driver holds its words
and one such part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError
from tidelog.io.columns import column_words
from tidelog.io.relation import Relation
from tidelog.io.relation import WordRows as LocalRows
from tidelog.io.values import place_in
from tidelog.language.syntax import PRIMITIVES, Column, Kind
from tidelog.maintain.protocol import RowChange, net_changes
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.deferred import EndingFrames, RowServer
from tidelog.spark.failures import ignore_stopped_session
from tidelog.spark.frames.symbols import SymbolTable
from tidelog.spark.jobs import step
from tidelog.spark.rows import (
    MOST_AT_ONCE,
    DriverRows,
    Rows,
    SparkRows,
    driver_change,
    no_rows,
    spark_type,
    to_spark,
    word_columns,
)
from tidelog.spark.sessions import Shared, is_connect, share_with_tasks, to_arrow
from tidelog.spark.sources.facts import FactFrame
from tidelog.storage.dictionary import Dictionary


def collect_words(facts: FactFrame, columns: Sequence[Column], dictionary: Dictionary) -> Words:
    """Return the facts as words, int64 of shape (rows, arity), in no particular order."""
    with step(f"facts of {facts.relation}"):
        parts = [words_of(table, columns, dictionary) for table in _tables(facts)]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _tables(facts: FactFrame) -> Iterator[pa.Table]:
    """Yield the leaf columns, and `_row`, which is there for relations without columns."""
    if facts.table is not None:
        yield facts.table
        return
    rows = facts.frame.withColumn("_row", F.lit(0))
    if facts.rows <= MOST_AT_ONCE or not facts.kept:
        yield to_arrow(rows)
        return
    partition = F.spark_partition_id()
    sizes = rows.groupBy(partition.alias("partition")).count().orderBy("partition").collect()
    group: list[int] = []
    held = 0
    for number, size in sizes:
        if group and held + size > MOST_AT_ONCE:
            yield to_arrow(rows.where(partition.isin(group)))
            group, held = [], 0
        group.append(number)
        held += size
    yield to_arrow(rows.where(partition.isin(group)))


def words_of(table: pa.Table, columns: Sequence[Column], dictionary: Dictionary) -> Words:
    """Return the rows of `table` (leaf columns) as words, int64 of shape (rows, arity), C-contiguous."""
    leaves = {name: table.column(name) for name in table.column_names}
    words = np.empty((table.num_rows, len(columns)), dtype=np.int64)
    for i, column in enumerate(columns):
        words[:, i] = _column_words(f"c{i}", column.kind, leaves, dictionary)
    return words


def _column_words(name: str, kind: Kind, leaves: Mapping[str, pa.ChunkedArray], dictionary: Dictionary) -> Words:
    leaf = leaves[name]
    if kind in PRIMITIVES:
        if leaf.null_count == 0:
            return dictionary.encode_column(leaf, kind if kind in ("float", "symbol") else "number")
        # Null is below nil only. Whoever packs the record leaves these out.
        ids = np.zeros(len(leaf), dtype=np.int64)
        there = leaf.is_valid()
        ids[there.to_numpy()] = _column_words(name, kind, {name: leaf.filter(there)}, dictionary)
        return ids
    if dictionary.types[kind].branches:
        there = leaf.is_valid().to_numpy()
        ids = np.zeros(len(there), dtype=np.int64)
        ids[there] = column_words(leaf.drop_null(), Column(name, kind, kind), dictionary, place_in("a Spark frame"))
        return ids
    # Null where a shallower source has no such leaf, and where a record above is nil.
    there = leaf.fill_null(False).to_numpy()
    ids = np.zeros(len(there), dtype=np.int64)
    fields = dictionary.types[kind].fields
    if f"{name}_0" in leaves:
        parts = [_column_words(f"{name}_{i}", field.kind, leaves, dictionary) for i, field in enumerate(fields)]
        ids[there] = dictionary.pack(kind, [part[there] for part in parts])
    elif not fields and there.any():
        ids[there] = dictionary.encode((), kind)
    return ids


def rows_on_driver(facts: FactFrame, columns: Sequence[Column], dictionary: Dictionary, most: int) -> DriverRows:
    """Return the facts of a frame on the driver. Raise UsageError (E0688) where they are more than `most`."""
    if facts.rows > most:
        message = (
            f"deleting by pattern needs {facts.rows:,} pending facts at the driver, the embedded_limit is {most:,}"
        )
        raise UsageError(Problem("E0688", message, hint="commit them first"))
    return DriverRows(collect_words(facts, columns, dictionary))


MOST_IN_JAVA = 1_000_000  # rows of local data; more stay here, and tasks read them


class Translation:
    """The dictionary of a database with what of it is kept in the session."""

    def __init__(self, session: SparkSession, dictionary: Dictionary) -> None:
        self._session = session
        self.dictionary = dictionary
        self._symbols = SymbolTable(session, dictionary)
        self._shared: dict[tuple[int, ...], Shared] = {}
        """The dictionary on the workers, by what it then had."""
        self._row_server = RowServer(session)
        self._ending = EndingFrames(session)

    def place_symbols(self, place: object) -> None:
        """Have symbols in the folder of an engine, if it is the cluster engine, when they are many. An epoch that has
        failed leaves nothing in Spark."""
        self._symbols.settle()
        self._symbols.place = place if isinstance(place, PartitionedEngine) else None

    def close(self) -> None:
        """Let go of what is kept in Spark, and of frames."""
        self._symbols.close()
        self._release_shared()
        self._row_server.close()
        self._ending.end()

    def end_frames(self) -> None:
        """End the epoch whose rows frames have."""
        self._row_server.end()
        self._ending.end()
        self._symbols.settle()
        self._release_shared(but=self._size)

    # --- in ------------------------------------------------------------------------------------------------------

    def net(self, columns: Sequence[Column], calls: Sequence[tuple[bool, Rows | FactFrame]]) -> RowChange[Rows]:
        """Return the change that several calls about one relation lead to; each asserts rows or retracts them, and of
        those about a row the last one counts. Facts stay in Spark, unless `rows` has them on the driver."""
        self._symbols.bound_symbols_at_hand()
        rows = [(asserts, self.rows(columns, facts)) for asserts, facts in calls]
        local = [("", asserts, given.driver_words) for asserts, given in rows if given.driver_words is not None]
        none = no_rows(len(columns))
        if len(local) == len(rows):
            if not local:
                return RowChange(none, none)
            change = net_changes(local)[""]
            return driver_change(change.inserted, change.deleted)
        frames = [(asserts, self.frame(given)) for asserts, given in rows]
        if len({asserts for asserts, _ in frames}) == 1:
            together = SparkRows(reduce(DataFrame.unionAll, [frame for _, frame in frames]), len(columns))
            return RowChange(together, none) if frames[0][0] else RowChange(none, together)
        numbered = [
            frame.withColumns({"_asserts": F.lit(asserts), "_call": F.lit(call)})
            for call, (asserts, frame) in enumerate(frames)
        ]
        names = word_columns(len(columns))
        last = reduce(DataFrame.unionAll, numbered).groupBy(names).agg(F.max_by("_asserts", "_call").alias("_asserts"))
        inserted, deleted = (last.where(kept).select(names) for kept in ("_asserts", "not _asserts"))
        return RowChange(SparkRows(inserted, len(columns)), SparkRows(deleted, len(columns)))

    def frame(self, rows: Rows) -> DataFrame:
        """Return rows of words as a frame of the session."""
        return rows.frame(self._session)

    def rows(self, columns: Sequence[Column], facts: Rows | FactFrame) -> Rows:
        """Return facts as rows of words: in Spark, unless the driver has few of them at hand, or has to number
        records."""
        if not isinstance(facts, FactFrame):
            return facts
        symbols = facts.rows * len(_of_kind(columns, "symbol"))
        has_records = any(column.kind not in PRIMITIVES for column in columns)
        if has_records or (facts.table is not None and self._symbols.can_look_up(symbols)):
            return DriverRows(collect_words(facts, columns, self.dictionary))
        if not columns:
            return SparkRows(facts.frame.select(F.lit(0).cast("long").alias("unit")), 0)
        self._symbols.grow(facts)
        encoded = self._symbols.encode(facts.frame, _of_kind(columns, "symbol"))
        floats = _of_kind(columns, "float")
        if floats:
            encoded = _convert(encoded, dict.fromkeys(floats, T.LongType()), _bits)
        return SparkRows(encoded, len(columns))

    # --- out -----------------------------------------------------------------------------------------------------

    def values(self, name: str, rows: Rows, columns: Sequence[Column], *, ends: bool = False) -> DataFrame:
        """Return rows of words as a frame of values, which `ends` with the epoch, see `local_values`."""
        if rows.driver_words is not None:
            local = LocalRows(tuple(columns), self.dictionary, rows.driver_words)
            return self.local_values(name, len(rows.driver_words), lambda: local, columns, ends=ends)
        if not columns:
            return self.frame(rows).select()
        found = self._symbols.decode(self.frame(rows), _of_kind(columns, "symbol"))
        floats = _of_kind(columns, "float")
        if floats:
            found = _convert(found, dict.fromkeys(floats, T.DoubleType()), _floats)
        records = {f"c{i}": column.kind for i, column in enumerate(columns) if column.kind not in PRIMITIVES}
        if records:
            found = self._unpack_records(found, records)
        names = [F.col(f"c{i}") for i in range(len(columns))]
        for i in range(len(columns)):
            if columns[i].kind == "unsigned":
                names[i] = _unsigned_value(names[i])
        return found.select([column.alias(c.name) for column, c in zip(names, columns, strict=True)])

    def local_values(
        self, name: str, count: int, rows: Callable[[], LocalRows], columns: Sequence[Column], *, ends: bool = False
    ) -> DataFrame:
        """`count` rows of words on the driver as a frame of values. If it `ends`, it raises E0687 after `end_frames`.
        Where rows are many, it does so in any case: they are asked for when the frame is used, see
        `RowServer.frame`."""

        def table(some: Words) -> pa.Table:
            return Relation(name, LocalRows(tuple(columns), self.dictionary, some)).to_arrow()

        if count <= MOST_IN_JAVA:
            local = to_spark(self._session, Relation(name, rows()).to_arrow())
            return self._ending.frame(local, count) if ends and not is_connect(self._session) else local
        if is_connect(self._session):  # Tasks cannot reach this process, so that the rows go to the server now.
            words = rows().words()
            parts = [table(words[i : i + MOST_IN_JAVA]) for i in range(0, count, MOST_IN_JAVA)]
            return reduce(DataFrame.unionAll, [to_spark(self._session, part) for part in parts])
        types = table(np.empty((0, len(columns)), np.int64)).schema
        schema = pa.schema([(field.name, spark_type(field.type)) for field in types])
        return self._row_server.frame(count, schema, rows, table)

    def _unpack_records(self, rows: DataFrame, records: dict[str, str]) -> DataFrame:
        """`rows` with records in place of their numbers; the dictionary goes to the workers."""
        sharing = self._shared_dictionary()
        types = {name: self.dictionary.types.arrow_type(kind) for name, kind in records.items()}

        def unpack(column: pa.Array, name: str) -> pa.Array:
            kept: Dictionary = sharing.value
            return kept.decode_column(column.to_numpy(zero_copy_only=False), records[name]).cast(
                spark_type(types[name])
            )

        return _convert(rows, {name: from_arrow_type(spark_type(types[name])) for name in records}, unpack)

    @property
    def _size(self) -> tuple[int, ...]:
        """Another one whenever the dictionary has other symbols or records."""
        return *self.dictionary.stamp, *map(self.dictionary.extent, ("symbol", *self.dictionary.types))

    def _shared_dictionary(self) -> Shared:
        """Return the dictionary on the workers, sent anew when it has grown."""
        size = self._size
        if size not in self._shared:
            self._shared[size] = share_with_tasks(self._session, self.dictionary)
        return self._shared[size]

    def _release_shared(self, but: tuple[int, ...] | None = None) -> None:
        """Let go of the dictionary on the workers, of which frames that are over have an older one."""
        for size in [size for size in self._shared if size != but]:
            with ignore_stopped_session():
                self._shared.pop(size).destroy()


def _of_kind(columns: Sequence[Column], kind: str) -> list[str]:
    return [f"c{i}" for i, column in enumerate(columns) if column.kind == kind]


def _unsigned_value(word: Expression) -> Expression:
    """Return the unsigned number with these bits: the upper half of them are the negative words."""
    wide = word.cast("decimal(20,0)")
    return F.when(word < 0, (wide + F.lit(Decimal(2**64))).cast("decimal(20,0)")).otherwise(wide)


def _bits(column: pa.Array, name: str) -> pa.Array:
    return column.view(pa.int64())


def _floats(column: pa.Array, name: str) -> pa.Array:
    return column.view(pa.float64())


def _convert(
    frame: DataFrame, types: Mapping[str, T.DataType], convert: Callable[[pa.Array, str], pa.Array]
) -> DataFrame:
    """`frame` with the columns `types` converted by a Python function on the workers; they have these types then."""
    schema = T.StructType([T.StructField(f.name, types.get(f.name, f.dataType)) for f in frame.schema.fields])
    names, changed = frame.columns, set(types)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                convert(batch.column(i), name) if name in changed else batch.column(i) for i, name in enumerate(names)
            ]
            yield pa.RecordBatch.from_arrays(columns, names)

    return frame.mapInArrow(run, schema)
