"""From Spark to the embedded engine on the driver: leaf columns arrive as Arrow and leave as words.

Symbols come as text and are numbered here: that takes a tenth of a second per million rows, a tenth of what finding and
joining them in Spark takes. A large source comes a few of its partitions at a time, so that the driver holds its words
and one such part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError
from tidelog.io.columns import column_words
from tidelog.io.rows import place_in
from tidelog.language.syntax import PRIMITIVES, Column, Kind
from tidelog.spark.jobs import step
from tidelog.spark.older import to_arrow
from tidelog.spark.rows import MOST_AT_ONCE, DriverRows
from tidelog.spark.sources.facts import FactFrame
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa


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


def brought(facts: FactFrame, columns: Sequence[Column], dictionary: Dictionary, most: int) -> DriverRows:
    """Return the facts of a frame on the driver. Raise UsageError (E0688) where they are more than `most`."""
    if facts.rows > most:
        message = (
            f"deleting by pattern needs {facts.rows:,} pending facts at the driver, the embedded_limit is {most:,}"
        )
        raise UsageError(Problem("E0688", message, hint="commit them first"))
    return DriverRows(collect_words(facts, columns, dictionary))
