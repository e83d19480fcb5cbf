"""The checked rows of files of snapshots, which the state folder keeps, so that later runs read new files only.

A run writes all rows that it has read of a source, good and bad, to a table of its epoch, before it commits. Each row
has the number of its file. The note of the source names its tables by their epochs, with checksums, and the digests and
numbers of the files in them. A later run takes from these tables the rows of files that are as they were. So a run
works with the same rows as one that reads all files, and everything behind it is the same.

Rows of files that have changed or are no longer there stay in a table until they are more than all others, or the
tables are many. Then the run writes the others to one table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.errors import TidelogError
from tidelog.spark.frames.parts import write_parts
from tidelog.spark.keeping import parts_in_spark
from tidelog.spark.pipelines.description import Source
from tidelog.spark.pipelines.unread import ListedFile
from tidelog.spark.rows import to_spark
from tidelog.spark.sessions import is_on_one_machine, to_arrow
from tidelog.spark.sources.checks import Leaf
from tidelog.spark.sources.facts import CheckedSource, count_rows
from tidelog.spark.sources.mapping import REASON, Mapped
from tidelog.store.segments import FilePart
from tidelog.store.state import StateFolder

MOST_TABLES = 16
"""Tables of a source at most; each is a file to open, or a folder of files."""
_NUMBER = "file"
_FORMATS = ("csv", "orc", "parquet", "text")
"""Formats in which the rows of a file depend on no other file, once the columns are known. (The types of JSON are those
that all files have in common.)"""

Note = Mapping[str, Any]


def can_keep_rows(source: Source, listed: Mapping[str, ListedFile]) -> bool:
    """Return True if the rows of the files of a source can be told apart, and depend on their own file only."""
    return source.format in _FORMATS and len({file.number for file in listed.values()}) == len(listed)


def with_file_numbers(source: Mapped) -> Mapped:
    """Return a source whose rows have the numbers of their files, as in the list of files."""
    return replace(source, frame=source.frame.withColumn(_NUMBER, F.xxhash64(F.input_file_name())))


def digest_of_columns(frame: DataFrame) -> str:
    """Return a digest of the names and types of columns."""
    return hashlib.blake2b(frame.schema.json().encode(), digest_size=8).hexdigest()


def files_of(note: Note) -> set[str]:
    """Return the digests of the files whose rows the tables of a note have."""
    return {digest for table in note.values() for digest in table["files"]}


@dataclass(frozen=True)
class _Restored:
    """A table of an earlier run: its epoch, its part of the note, with the files that are still there, and their
    rows."""

    epoch: str
    note: Note
    rows: CheckedSource


class FileRows:
    """The rows of files of all sources of a run, by the keys of the sources."""

    def __init__(self, session: SparkSession, state: StateFolder) -> None:
        self._session = session
        self._state = state
        self._tables = state.epoch_tables("files")
        self._restored: dict[str, list[_Restored]] = {}

    @property
    def restored(self) -> list[CheckedSource]:
        """Return the rows of files that were read by earlier runs."""
        return [each.rows for tables in self._restored.values() for each in tables]

    def restore(self, key: str, relation: str, note: Note, listed: Collection[str]) -> None:
        """Take the rows of those files that are `listed` from the tables of a note. Raise DataError (E0682) if a table
        is damaged, UsageError (E0681) if it cannot be read."""
        tables = []
        for epoch, table in note.items():
            files = {digest: number for digest, number in table["files"].items() if digest in listed}
            if files:
                rows = self._read(key, relation, epoch, table, list(files.values()))
                tables.append(_Restored(epoch, {**table, "files": files}, rows))
        self._restored[key] = tables

    def _read(self, key: str, relation: str, epoch: str, table: Note, numbers: list[int]) -> CheckedSource:
        """Return the rows of the files with these numbers in a table."""
        leaves = tuple(Leaf(name, kind, F.col(name), F.lit(None)) for name, kind in table["leaves"].items())
        found = self._tables.get(int(epoch), _name_of(key), True, table["sums"])
        if isinstance(found, pa.Table):
            rows = found.filter(pc.is_in(found.column(_NUMBER), pa.array(numbers, pa.int64())))
            frame = to_spark(self._session, rows.slice(0, 0))
            bad = rows.num_rows - rows.column(REASON).null_count
            return CheckedSource(Mapped(relation, frame, _same, leaves), rows.num_rows, bad, rows)
        assert found is not None
        frame = parts_in_spark(self._session, found).where(f"{_NUMBER} in ({', '.join(map(str, numbers))})")
        source = Mapped(relation, frame, _same, leaves)
        return CheckedSource(source, *count_rows([source]).get(0, (0, 0)))

    def write(
        self, epoch: int, sources: Mapping[str, tuple[Mapping[str, ListedFile], CheckedSource | None]]
    ) -> Mapping[str, Note]:
        """Write the rows of sources that this run has read, beside those that it has restored, as tables of its epoch.
        `sources` have all files that there are, and the rows of those that are not restored. Return the notes of the
        sources, of none where the tables cannot be written: later runs read all files then."""
        notes: dict[str, dict[str, Note]] = {}
        tables: dict[tuple[str, bool], pa.Table | Callable[[str], Sequence[FilePart]]] = {}
        for key, (listed, read) in sources.items():
            old, new = self._restored.get(key, []), [] if read is None else [read]
            rows = sum(each.rows.read for each in old)
            unused = sum(each.note["rows"] for each in old) - rows
            if len(old) + len(new) > MOST_TABLES or unused > rows:
                old, new = [], [*(each.rows for each in old), *new]
            if not self._is_writable(new):
                continue
            notes[key] = {each.epoch: each.note for each in old}
            if new:
                known = files_of(notes[key])
                files = {digest: file.number for digest, file in listed.items() if digest not in known}
                leaves = {leaf.name: leaf.kind for each in new for leaf in each.source.leaves}
                size = sum(each.read for each in new)
                notes[key][str(epoch)] = {"files": files, "leaves": leaves, "rows": size}
                tables[_name_of(key), True] = _table_of(new)
        try:
            sums = self._tables.write_epoch(epoch, tables)
        except (TidelogError, OSError):
            return {}
        for key, note in notes.items():
            own = {name: each for name, each in sums.items() if name.startswith(f"{_name_of(key)}.")}
            if str(epoch) in note:
                note[str(epoch)] = {**note[str(epoch)], "sums": own}
        return notes

    def _is_writable(self, rows: Sequence[CheckedSource]) -> bool:
        """Return True if the driver has the rows, or tasks can write them where the driver finds them."""
        shared = not self._state.is_local or is_on_one_machine(self._session)
        return shared or all(each.table is not None for each in rows)


def _table_of(rows: Sequence[CheckedSource]) -> pa.Table | Callable[[str], Sequence[FilePart]]:
    """Return rows as one table, or as what writes them to files."""
    tables = [each.table for each in rows if each.table is not None]
    if not sum(each.read for each in rows):  # Tasks without rows write no file.
        tables = [to_arrow(each.rows) for each in rows]
    if len(tables) == len(rows):
        return pa.concat_tables(tables, promote_options="permissive")
    return partial(write_parts, reduce(DataFrame.unionByName, [each.rows for each in rows]))


def _name_of(key: str) -> str:
    """Return the name of the tables of a source."""
    return hashlib.blake2b(key.encode(), digest_size=8).hexdigest()


def _same(frame: DataFrame) -> DataFrame:
    return frame
