"""Parquet and Arrow files: tables with named columns. A folder of Parquet files is read as one table.

A relation without columns is a table with one dummy column, and with a row if the relation holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tidelog.common.arrays import Words
from tidelog.errors import DataError
from tidelog.io.columns import encode_table
from tidelog.io.options import FileOptions
from tidelog.io.relation import Relation, WordRows
from tidelog.io.values import Complaint, place_in
from tidelog.language.syntax import Column, RelationType
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa

_UNIT = RelationType("unit", (Column("unit", "number", "number"),))


def read_parquet(path: Path, options: FileOptions, relation: RelationType, dictionary: Dictionary) -> Words:
    """Return the words of a Parquet file or of a folder of them."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        if path.is_dir():
            table = parquet.read_table(path)
        else:  # not by read_table, which imports pandas
            with parquet.ParquetFile(path) as file:
                table = file.read()
    except MemoryError:  # Arrow's is an ArrowException as well.
        raise
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, "Parquet", error) from None
    return _words(table, path, options, relation, dictionary)


def write_parquet(
    path: Path, options: FileOptions, relation: RelationType, words: Words, dictionary: Dictionary
) -> None:
    from pyarrow import parquet

    parquet.write_table(_table(relation, words, dictionary), path, compression="zstd")


def read_arrow(path: Path, options: FileOptions, relation: RelationType, dictionary: Dictionary) -> Words:
    """Return the words of an Arrow IPC file or stream (also known as Feather)."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as source:
            try:
                table = pa.ipc.open_file(source).read_all()
            except pa.ArrowInvalid:
                source.seek(0)
                table = pa.ipc.open_stream(source).read_all()
            return _words(table, path, options, relation, dictionary)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, "Arrow", error) from None


def write_arrow(path: Path, options: FileOptions, relation: RelationType, words: Words, dictionary: Dictionary) -> None:
    import pyarrow as pa

    table = _table(relation, words, dictionary)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _table(relation: RelationType, words: Words, dictionary: Dictionary) -> pa.Table:
    if not relation.columns:  # a table without columns loses its rows in Parquet
        relation, words = _UNIT, np.ones((len(words), 1), dtype=np.int64)
    return Relation(relation.name, WordRows(relation.columns, dictionary, words)).to_arrow()


def _words(table: pa.Table, path: Path, options: FileOptions, relation: RelationType, dictionary: Dictionary) -> Words:
    if not relation.columns:
        return np.empty((min(1, table.num_rows), 0), dtype=np.int64)
    order = options.order(table.column_names, relation, str(path))
    return encode_table(table, relation, dictionary, place_in(str(path)), order=order)


def _unreadable(path: Path, form: str, error: Exception) -> DataError:
    reason = str(error).splitlines()[0][:200]
    return Complaint(
        "E0411", f"expected {form}, but it cannot be read: {reason}", "check that the file is complete"
    ).at(str(path))
