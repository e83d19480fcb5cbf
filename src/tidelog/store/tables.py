"""The tables of a segment: values as Parquet files, whose checksums the manifest has.

A table that Spark has written is a folder. A file in it lists its parts with their checksums, and the manifest has the
checksum of that file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidelog.arrays import Words
from tidelog.durable.damage import compare, damaged, intact, unharmed
from tidelog.durable.files import Files
from tidelog.language.syntax import RelationType
from tidelog.relation import Relation, WordRows
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa

FactTables: TypeAlias = "Mapping[tuple[str, bool], pa.Table | Callable[[Path], None]]"
"""(relation, whether it asserts) -> the values, or what writes them to a place, as a file or a folder."""

_LIST = "_parts.json"
"""Spark does not read what begins with "_"."""
_LARGE = 1 << 20
"""Bytes from which on several threads are faster."""


def facts_table(relation: RelationType, dictionary: Dictionary, words: Words) -> pa.Table:
    """Return rows of a relation as a table of values; a relation without columns gets a column with the number of
    rows."""
    import pyarrow as pa

    if not relation.columns:
        return pa.table({"present": numbers_to_arrow(words.sum(axis=1))})
    return Relation(relation.name, WordRows(relation.columns, dictionary, words)).to_arrow()


def write_table(files: Files, place: str, table: pa.Table | Callable[[Path], None]) -> Mapping[str, str]:
    """Write a table and sync it; return its name in the manifest, and its checksum. Raise OSError."""
    from pyarrow import parquet

    name = place.rpartition("/")[2]
    if not callable(table):
        # Where Parquet's dictionaries have no memory, Arrow ends the process.
        options: dict[str, Any] = {"use_dictionary": False, "compression": "zstd"}
        return {name: files.write(place, lambda output: parquet.write_table(table, output, **options))}
    table(files.path(place))
    if files.kind(place) != "folder":
        files.sync_file(place)
        return {name: files.checksum(place)}
    parts = {}
    for part, kind in list(files.below(place)):
        if kind == "folder":
            files.sync_folder(part)
        else:
            files.sync_file(part)
            parts[part.removeprefix(f"{place}/")] = files.checksum(part)
    found = files.write(f"{place}/{_LIST}", lambda output: output.write(json.dumps(parts, indent=1).encode()))
    files.sync_folder(place)
    return {f"{name}/": found}


def read_table(files: Files, place: str, expected: str) -> pa.Table:
    """Return the table of a file with the checksum `expected`. Raise DataError (E0682), OSError."""
    import pyarrow as pa
    from pyarrow import parquet

    data = intact(files, place, expected)
    try:
        return parquet.ParquetFile(pa.BufferReader(data)).read(use_threads=len(data) > _LARGE)
    except MemoryError:  # Arrow's is an ArrowException as well, and no damage.
        raise
    except (pa.ArrowException, OSError) as error:
        raise damaged(files.path(place), f"{error!s:.200}") from None


def check_parts(files: Files, place: str, expected: str) -> None:
    """Raise DataError (E0682) unless a folder of Spark has exactly the files that it was written with. Raise
    OSError."""
    listed = f"{place}/{_LIST}"
    parts = {f"{place}/{part}": each for part, each in json.loads(intact(files, listed, expected)).items()}
    for part, each in parts.items():
        with unharmed(files, part):
            compare(files, part, files.checksum(part), each)
    for name, kind in files.below(place):
        if kind != "folder" and name not in parts and not name.rpartition("/")[2].startswith(("_", ".")):
            raise damaged(files.path(name), "this file was added")
