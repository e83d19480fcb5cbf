"""The tables of a segment: values as Parquet files, whose checksums the manifest has.

A table that Spark has written is a folder. A file in it lists its parts with their rows and checksums, and the manifest
has the checksum of that file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tidelog.common.arrays import Words
from tidelog.durable.damage import compare, damaged, intact, unharmed
from tidelog.durable.files import Files
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import RelationType
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class FilePart:
    """A file, the number of its rows, and its checksum; None where an earlier tidelog has not listed the rows."""

    name: str
    rows: int | None
    sum: str


@dataclass(frozen=True)
class PartFolder:
    """A table that Spark has written: the path or the address of its folder, and its files."""

    place: str
    parts: tuple[FilePart, ...]


FactTables: TypeAlias = "Mapping[tuple[str, bool], pa.Table | Callable[[str], Sequence[FilePart]]]"
"""(relation, whether it asserts) -> the values, or what writes them to files of a new folder."""

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


def write_table(
    files: Files,
    place: str,
    table: pa.Table | Callable[[str], Sequence[FilePart]],
    compression: Literal["zstd", "snappy"] = "zstd",
) -> Mapping[str, str]:
    """Write a table and sync it; return its name in the manifest, and its checksum. Raise OSError."""
    from pyarrow import parquet

    name = place.rpartition("/")[2]
    if not callable(table):
        # Where Parquet's dictionaries have no memory, Arrow ends the process.
        options: dict[str, Any] = {"use_dictionary": False, "compression": compression}
        return {name: files.write(place, lambda output: parquet.write_table(table, output, **options))}
    files.make(place)
    parts = {part.name: {"rows": part.rows, "sha256": part.sum} for part in table(files.place(place))}
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
        raise damaged(files.place(place), f"{error!s:.200}") from None


def read_parts(files: Files, place: str, expected: str) -> PartFolder:
    """Return the parts of a folder of Spark. Raise DataError (E0682) unless it has exactly the files that it was
    written with, OSError. The contents are still to be compared with the checksums."""
    listed: dict[str, Any] = json.loads(intact(files, f"{place}/{_LIST}", expected))
    # In earlier versions, a list had only the checksums.
    told = {name: each if isinstance(each, dict) else {"rows": None, "sha256": each} for name, each in listed.items()}
    there = {name.removeprefix(f"{place}/") for name, kind in files.below(place) if kind != "folder"}
    for name in told.keys() - there:
        raise damaged(files.place(f"{place}/{name}"), "this file is missing")
    for name in sorted(there - told.keys()):
        if not name.rpartition("/")[2].startswith(("_", ".")):
            raise damaged(files.place(f"{place}/{name}"), "this file was added")
    parts = (FilePart(name, each["rows"], each["sha256"]) for name, each in told.items())
    return PartFolder(files.place(place), tuple(parts))


def check_parts(files: Files, place: str, folder: PartFolder) -> None:
    """Raise DataError (E0682) unless the parts of a folder have their checksums. Raise OSError."""
    for part in folder.parts:
        name = f"{place}/{part.name}"
        with unharmed(files, name):
            compare(files, name, files.checksum(name), part.sum)
