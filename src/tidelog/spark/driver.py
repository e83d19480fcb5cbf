"""From Spark to the embedded engine on the driver: leaf columns arrive as Arrow and leave as words.

A leaf is a column of words already, except for floats, whose bits are taken here, and records, whose ids the engine's
dictionary gives out here, from the inside out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tidelog.language.syntax import PRIMITIVES, Column, Kind
from tidelog.storage.dictionary import Dictionary, Words

if TYPE_CHECKING:
    import pyarrow as pa


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
    there = leaf.to_numpy().astype(np.bool_)
    ids = np.zeros(len(there), dtype=np.int64)
    fields = dictionary.record(kind).fields
    if f"{name}_0" in leaves:
        parts = [_column_words(f"{name}_{i}", field.kind, leaves, dictionary) for i, field in enumerate(fields)]
        ids[there] = dictionary.pack(kind, [part[there] for part in parts])
    elif not fields and there.any():
        ids[there] = dictionary.encode((), kind)
    return ids
