"""Do with PySpark 3.5 what later versions have methods for, by functions that both have.

Rows cross between Python and Spark as Arrow in both directions. With PySpark 3.5 they do so in a column of bytes, which
workers make or take apart. So that needs workers with the Python of this process.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from tidelog.spark.sessions import mapped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.query import StreamingQuery

IS_LATER = hasattr(DataFrame, "toArrow")
"""True with PySpark 4.0 and newer."""
_BYTES = 1 << 24
"""Bytes of a row that brings rows to Spark."""


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return the rows of a frame."""
    if IS_LATER:
        return frame.toArrow()
    import pyarrow as pa

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        for batch in batches:
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            data = pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())
            yield pyarrow.RecordBatch.from_arrays([data], names=["data"])

    schema = to_arrow_schema(frame.schema)
    found = [pa.ipc.open_stream(row[0]).read_all() for row in mapped(frame, pack, "data binary").collect()]
    return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in found)])


def from_arrow(session: SparkSession, table: pa.Table) -> DataFrame:
    """Return a frame of the rows of a table, which has some."""
    if IS_LATER:
        return session.createDataFrame(table)
    import pyarrow as pa

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        for batch in batches:
            for data in batch.column(0):
                yield from pyarrow.ipc.open_stream(data.as_py())

    rows = []
    for part in table.to_batches(max(1, table.num_rows * _BYTES // max(table.nbytes, _BYTES))):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_batch(part)
        rows.append((sink.getvalue().to_pybytes(),))
    return mapped(session.createDataFrame(rows, "data binary"), unpack, from_arrow_schema(table.schema))


def try_cast(column: Expression, to: T.DataType | str) -> Expression:
    """Return a column as another type, null where it does not convert."""
    if IS_LATER:
        return column.try_cast(to)
    kind = to if isinstance(to, str) else to.simpleString()
    return applied(f"try_cast(v as {kind})", column)


def is_valid_utf8(text: Expression) -> Expression:
    """Return True for a text whose bytes are UTF-8."""
    if IS_LATER:
        return F.is_valid_utf8(text)
    data = text.cast("binary")
    return F.decode(data, "UTF-8").cast("binary") == data


def applied(expression: str, column: Expression) -> Expression:
    """Return an expression in SQL over a column, which is `v` in it: for what SQL has and functions do not."""
    return F.call_function("transform", F.array(column), F.expr(f"v -> {expression}"))[0]


def loggers(*names: str) -> list[logging.Logger]:
    """Return the loggers of PySpark with these names, none with a version that has no loggers."""
    if not IS_LATER:
        return []
    from pyspark.logger import PySparkLogger

    return [PySparkLogger.getLogger(name) for name in names]


def last_progress(query: StreamingQuery) -> dict[str, Any]:
    """Return what Spark says about the last trigger of a query, empty before the first one."""
    found: Any = query.lastProgress
    if found is None:
        return {}
    said: dict[str, Any] = json.loads(found.json) if IS_LATER else found
    return said
