"""Arrow tables as Spark DataFrames.

Types in Spark: number is long, unsigned is decimal(20,0), float is double, symbol is string, a record is a struct (nil
is null); a record type that contains itself has no type in Spark and is shown as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from tidelog.spark.older import from_arrow

if TYPE_CHECKING:
    import pyarrow as pa


def to_spark(session: SparkSession, table: pa.Table) -> DataFrame:
    """Return an Arrow table as a DataFrame that holds its own data."""

    if not table.column_names:
        # A relation without columns is true or false; Spark's Arrow reader loses rows that have no columns.
        return session.range(table.num_rows).select()
    schema = spark_schema(table.schema)
    if table.num_rows:
        return from_arrow(session, table.cast(schema))
    # PySpark cannot take columns without chunks, nor with Spark Connect a table without rows.
    fields = from_arrow_schema(schema).fields
    return session.range(0).select(*[F.lit(None).cast(field.dataType).alias(field.name) for field in fields])


def schema_in_spark(given: pa.Schema) -> T.StructType:
    """Return the columns that a table with these has in Spark."""
    return from_arrow_schema(spark_schema(given))


def spark_schema(given: pa.Schema) -> pa.Schema:
    """Return the types next to those of `given` that Spark can read."""
    import pyarrow as pa

    return pa.schema([pa.field(f.name, spark_type(f.type)) for f in given])


def spark_type(given: pa.DataType) -> pa.DataType:
    """Return the Arrow type next to `given` that Spark can read."""
    import pyarrow as pa

    if pa.types.is_uint64(given):
        return pa.decimal128(20, 0)
    if pa.types.is_large_string(given) or pa.types.is_dictionary(given) or pa.types.is_string_view(given):
        return pa.string()
    if pa.types.is_struct(given):
        return pa.struct([pa.field(f.name, spark_type(f.type)) for f in given])
    return given
