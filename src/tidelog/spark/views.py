"""Views as Spark tables: relations of the embedded engine as DataFrames, and as one Parquet folder each.

Types in Spark: number is long, unsigned is decimal(20,0), float is double, symbol is string, a record is a struct (nil
is null); a record type that contains itself has no type in Spark and is shown as text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import DataError, Problem, UsageError
from tidelog.spark.sources import Counts, first_line, located

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.database import Change
    from tidelog.relation import Relation


@dataclass(frozen=True)
class Result(Mapping[str, DataFrame]):
    """What a run has brought: output relations as DataFrames by name, in the order in which the program names them.

    `counts` says for each relation that was read what became of its rows, `quarantine` holds the bad ones (relation,
    reason, row as JSON, source file), `change` is what the run changed in the engine, `seconds` the time of each stage.
    """

    session: SparkSession = field(repr=False)
    relations: Mapping[str, Relation] = field(repr=False)
    counts: Mapping[str, Counts]
    quarantine: DataFrame = field(repr=False)
    change: Change = field(repr=False)
    seconds: Mapping[str, float]
    _frames: dict[str, DataFrame] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self.relations:
            known = ", ".join(self.relations) or "none"
            raise UsageError(Problem("E0601", f"no view {name!r}", hint=f"views are: {known}"))
        if name not in self._frames:
            self._frames[name] = to_spark(self.session, self.relations[name].to_arrow())
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.relations)

    def __len__(self) -> int:
        return len(self.relations)

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes each view as a Parquet table `folder/NAME`. DataError (E0483) when one is there already and
        `overwrite` is not set, or when Spark cannot write there."""
        for name in self:
            path = f"{located(self.session, folder).rstrip('/')}/{name}"
            try:
                self[name].write.mode("overwrite" if overwrite else "errorifexists").parquet(path)
            except PySparkException as error:
                hint = "overwrite=True replaces what is there" if "PATH_ALREADY_EXISTS" in str(error) else None
                problem = Problem("E0483", f"cannot write view {name}: {first_line(error)}", place=path, hint=hint)
                raise DataError(problem) from error


def to_spark(session: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame that holds its own data."""
    import pyarrow as pa

    if not table.column_names:
        # A relation without columns is true or false; Spark's Arrow reader loses rows that have no columns.
        return session.range(table.num_rows).select()
    schema = pa.schema([pa.field(f.name, spark_type(f.type)) for f in table.schema])
    return session.createDataFrame(table.cast(schema))


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
