"""Relations as Spark DataFrames, and what a run of a pipeline has brought.

Types in Spark: number is long, unsigned is decimal(20,0), float is double, symbol is string, a record is a struct (nil
is null); a record type that contains itself has no type in Spark and is shown as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import Problem, UsageError
from tidelog.spark.sources import Counts

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.spark.change import SparkChange
    from tidelog.spark.database import SparkDatabase


@dataclass(frozen=True)
class Result(Mapping[str, DataFrame]):
    """What a run has brought: its views as DataFrames by name.

    `counts` says for each relation that was read what became of its rows, `quarantine` holds the bad ones (relation,
    reason, row as JSON, source file), `change` is what the run changed, `written` where sinks and quarantine are,
    `seconds` the time of each stage. `database` is what the run has worked on, for queries; `close`, or the end of a
    `with` block, closes it if the run has opened it.
    """

    names: tuple[str, ...]
    counts: Mapping[str, Counts]
    quarantine: DataFrame = field(repr=False)
    change: SparkChange
    written: Mapping[str, int]
    seconds: Mapping[str, float]
    database: SparkDatabase = field(repr=False)
    opened: bool = field(repr=False)

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self.names:
            known = ", ".join(self.names) or "none"
            raise UsageError(Problem("E0601", f"no view {name!r}", hint=f"views are: {known}"))
        return self.database[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def close(self) -> None:
        """Close the database, if the run has opened it."""
        if self.opened:
            self.database.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def to_spark(session: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame that holds its own data."""
    import pyarrow as pa

    if not table.column_names:
        # A relation without columns is true or false; Spark's Arrow reader loses rows that have no columns.
        return session.range(table.num_rows).select()
    schema = pa.schema([pa.field(f.name, spark_type(f.type)) for f in table.schema])
    # An empty table may have columns without chunks, which PySpark cannot take.
    return session.createDataFrame(table.cast(schema) if table.num_rows else schema.empty_table())


def spark_type(given: pa.DataType) -> pa.DataType:
    """The Arrow type next to `given` that Spark can read."""
    import pyarrow as pa

    if pa.types.is_uint64(given):
        return pa.decimal128(20, 0)
    if pa.types.is_large_string(given) or pa.types.is_dictionary(given) or pa.types.is_string_view(given):
        return pa.string()
    if pa.types.is_struct(given):
        return pa.struct([pa.field(f.name, spark_type(f.type)) for f in given])
    return given
