"""From Spark to the embedded engine on the driver: leaf columns arrive as Arrow and leave as words.

A leaf is a column of words already, except for floats, whose bits are taken here, and records, whose ids the engine's
dictionary gives out here, from the inside out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.language.syntax import PRIMITIVES, Column, Kind
from tidelog.spark.encode import SymbolTable
from tidelog.spark.sources import CheckedSource
from tidelog.storage.dictionary import Dictionary, Words

if TYPE_CHECKING:
    import pyarrow as pa


_SORT = {"symbol": "s", "float": "f"}  # every other leaf is a word, or a boolean that is made one
_SPARK_TYPE = {"s": "string", "f": "double", "w": "long"}
_RELATION = "relation"


def collect_facts(sources: Sequence[CheckedSource], symbols: SymbolTable) -> dict[str, pa.Table]:
    """The distinct facts of each relation as a table of leaf columns, symbols as ids, all of them in one Spark job.

    A job for each relation would take its time for each, and so would a join for each symbol column. So the relations
    share rows of a common width: the symbols of a fact stand in s0, s1, …, its floats in f0, f1, …, all else in w0, …
    """
    order = {name: i for i, name in enumerate(dict.fromkeys(source.relation for source in sources))}
    # Sources of a relation may have different leaves, where a record type contains itself.
    leaves: dict[str, dict[str, str]] = {name: {} for name in order}
    for source in sources:
        for leaf in source.leaves:
            sort = _SORT.get(leaf.kind, "w")
            taken = leaves[source.relation]
            taken.setdefault(leaf.name, f"{sort}{sum(slot.startswith(sort) for slot in taken.values())}")
    slots = sorted({slot for taken in leaves.values() for slot in taken.values()})
    shared = [_shared_rows(source, order[source.relation], leaves[source.relation], slots) for source in sources]
    rows = reduce(DataFrame.unionAll, shared)
    table = symbols.encode(rows, [slot for slot in slots if slot.startswith("s")]).distinct().toArrow()
    return {name: _own_rows(table, order[name], leaves[name]) for name in order}


def _shared_rows(source: CheckedSource, number: int, taken: Mapping[str, str], slots: Sequence[str]) -> DataFrame:
    own = {taken[leaf.name]: leaf for leaf in source.leaves}
    columns = [F.lit(number).alias(_RELATION)]
    for slot in slots:
        leaf = own.get(slot)
        value = F.lit(None) if leaf is None else F.col(leaf.name)
        columns.append(value.cast(_SPARK_TYPE[slot[0]]).alias(slot))
    return source.accepted.select(columns)


def _own_rows(table: pa.Table, number: int, taken: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = table.filter(pc.equal(table.column(_RELATION), number))
    columns = {leaf: rows.column(slot) for leaf, slot in taken.items()}
    # A relation without columns still has a number of rows.
    return pa.table({_RELATION: rows.column(_RELATION), **columns})


def words_of(table: pa.Table, columns: Sequence[Column], dictionary: Dictionary) -> Words:
    """The rows of `table` (leaf columns, symbols as ids) as words, int64 of shape (rows, arity), C-contiguous."""
    leaves = {name: table.column(name) for name in table.column_names}
    words = np.empty((table.num_rows, len(columns)), dtype=np.int64)
    for i, column in enumerate(columns):
        words[:, i] = _column_words(f"c{i}", column.kind, leaves, dictionary)
    return words


def _column_words(name: str, kind: Kind, leaves: Mapping[str, pa.ChunkedArray], dictionary: Dictionary) -> Words:
    leaf = leaves[name]
    if kind in PRIMITIVES:
        if leaf.null_count:
            leaf = leaf.fill_null(0)  # below nil; whoever packs the record leaves these out
        # Symbols are ids by now, as good as numbers.
        return dictionary.encode_column(leaf, "float" if kind == "float" else "number")
    # Null where a shallower source has no such leaf, and where a record above is nil.
    there = leaf.fill_null(0).to_numpy().astype(np.bool_)
    ids = np.zeros(len(there), dtype=np.int64)
    fields = dictionary.record(kind).fields
    if f"{name}_0" in leaves:
        parts = [_column_words(f"{name}_{i}", field.kind, leaves, dictionary) for i, field in enumerate(fields)]
        ids[there] = dictionary.pack(kind, [part[there] for part in parts])
    elif not fields and there.any():
        ids[there] = dictionary.encode((), kind)
    return ids
