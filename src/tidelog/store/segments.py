"""Segments: the facts that epochs asserted and retracted, as tables in files or in the records of a log.

A table has values as a Parquet file, whose checksum the manifest has. A table that Spark has written is a folder. A
file in it lists its parts with their rows and checksums, and the manifest has the checksum of that file.

Beside the segments of a state folder, `EpochTables` have further tables of epochs:

    outbox/N/          changes of epoch N that sinks have yet to get: RELATION.insert.parquet and
                       RELATION.delete.parquet, as in a segment
    files/N/           rows of files that the pipeline run of epoch N has read and checked: SOURCE.insert.parquet

The files of an epoch are written before it is committed. The notes of the manifest that commits it have their
checksums, and name them as long as somebody needs them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tidelog.common.arrays import Words
from tidelog.durable.files import Files, compare, damage_error, intact, report_damage
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import RelationType
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.dictionary import Dictionary
from tidelog.store.log import MOST_ROWS, LoggedCommit

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
        raise damage_error(files.place(place), f"{error!s:.200}") from None


def read_parts(files: Files, place: str, expected: str) -> PartFolder:
    """Return the parts of a folder of Spark. Raise DataError (E0682) unless it has exactly the files that it was
    written with, OSError. The contents are still to be compared with the checksums."""
    listed: dict[str, Any] = json.loads(intact(files, f"{place}/{_LIST}", expected))
    # In earlier versions, a list had only the checksums.
    told = {name: each if isinstance(each, dict) else {"rows": None, "sha256": each} for name, each in listed.items()}
    there = {name.removeprefix(f"{place}/") for name, kind in files.below(place) if kind != "folder"}
    for name in told.keys() - there:
        raise damage_error(files.place(f"{place}/{name}"), "this file is missing")
    for name in sorted(there - told.keys()):
        if not name.rpartition("/")[2].startswith(("_", ".")):
            raise damage_error(files.place(f"{place}/{name}"), "this file was added")
    parts = (FilePart(name, each["rows"], each["sha256"]) for name, each in told.items())
    return PartFolder(files.place(place), tuple(parts))


def check_parts(files: Files, place: str, folder: PartFolder) -> None:
    """Raise DataError (E0682) unless the parts of a folder have their checksums. Raise OSError."""
    for part in folder.parts:
        name = f"{place}/{part.name}"
        with report_damage(files, name):
            compare(files, name, files.checksum(name), part.sum)


DatedTable: TypeAlias = "tuple[int, str, bool, pa.Table | PartFolder]"
"""(epoch, relation, True for an assertion, values); the epoch is negative where changes of it and before are
together."""


@dataclass(frozen=True)
class Segment:
    """A segment that is not in the state until it is published: it is on the disk, with its files' checksums, or has
    `facts` that a log can take."""

    name: str
    files: Mapping[str, str] = field(default_factory=dict)
    facts: FactTables = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Return its folder in the state folder."""
        return f"segments/{self.name}"

    @property
    def is_small(self) -> bool:
        """Return True if a log can take its facts."""
        tables = self.tables
        return len(tables) == len(self.facts) and sum(map(len, tables.values())) <= MOST_ROWS

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """Return its facts by the names of their files, but those that Spark has yet to write."""
        return {file_of(*key): table for key, table in self.facts.items() if not callable(table)}


def write_segment(files: Files, segment: Segment) -> Segment:
    """Write the facts of a segment to files, and return it with these. OSError."""
    if not segment.facts:
        return segment
    folder, sums = segment.folder, dict[str, str]()
    files.remove_tree(folder)  # of an epoch that has failed, and could not remove it
    files.make(folder)
    for key, table in segment.facts.items():
        sums |= write_table(files, f"{folder}/{file_of(*key)}", table)
    files.sync_folder(folder)
    files.sync_folder("segments")
    return Segment(segment.name, sums)


def segment_tables(files: Files, name: str, listed: Mapping[str, str], *, check: bool) -> Iterator[DatedTable]:
    """Yield the tables of a segment, as the manifest lists its files. With `check`, compare parts that Spark has
    written with their checksums. Raise DataError (E0682), OSError."""
    for file, expected in sorted(listed.items()):
        place = f"segments/{name}/{file.rstrip('/')}"
        table: pa.Table | PartFolder
        if file.endswith("/"):
            table = read_parts(files, place, expected)
            if check:
                check_parts(files, place, table)
        else:
            table = read_table(files, place, expected)
        yield epoch_of(name), relation_of_file(file), _asserts(file), table


def log_tables(commits: Iterable[LoggedCommit], after: int, without: Collection[str] = ()) -> Iterator[DatedTable]:
    """Yield the tables of the commits of a log `after` an epoch, except for those of the relations in `without`."""
    for commit in commits:
        for file, table in sorted(commit.tables.items()) if commit.epoch > after else ():
            relation = relation_of_file(file)
            if relation not in without:
                yield commit.epoch, relation, _asserts(file), table


def file_of(relation: str, asserts: bool) -> str:
    """Return the name of the file of a table."""
    return f"{relation}.{'insert' if asserts else 'delete'}.parquet"


def relation_of_file(file: str) -> str:
    """Return the relation of a file of a segment."""
    return file.rsplit(".", 2)[0]


def _asserts(file: str) -> bool:
    return file.rsplit(".", 2)[1] == "insert"


def epoch_of(segment: str) -> int:
    """Return the epoch of a segment, negative where it has the changes of that epoch and before together."""
    number, _, together = segment.partition(".")[0].partition("-")
    return -int(number) if together else int(number)


class EpochTables:
    """A folder with a folder of tables for each epoch, among some files. Operations happen in the context `using`,
    which may turn OSError into another error."""

    def __init__(
        self, files: Files, name: str, using: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self._files = files
        self._name = name
        self._using = using

    def _folder(self, epoch: int) -> str:
        return f"{self._name}/{epoch:08}"

    def write_epoch(self, epoch: int, changes: FactTables) -> Mapping[str, str]:
        """Write the tables of an epoch; return the names of their files with checksums. Raise OSError."""
        folder, sums = self._folder(epoch), dict[str, str]()
        if not changes:
            return sums
        with self._using():
            try:
                if self._files.kind(self._name) is None:
                    self._files.make(self._name)
                    self._files.sync_folder()
                self._files.remove_tree(folder)  # of an epoch that has failed
                self._files.make(folder)
                for (relation, inserts), table in changes.items():
                    name = f"{folder}/{relation}.{_operation(inserts)}.parquet"
                    sums |= write_table(self._files, name, table, "snappy")  # It soon goes: speed before size.
                self._files.sync_folder(folder)
                self._files.sync_folder(self._name)
            except BaseException:
                self.drop(epoch)
                raise
        return sums

    def get(
        self, epoch: int, relation: str, inserts: bool, sums: Mapping[str, str], in_place: bool = False
    ) -> pa.Table | PartFolder | None:
        """Return the tuples that an epoch inserted or deleted: a table, the parts of one, or None for no tuples. With
        `in_place` a table in a file of this machine stays there, as the only part. Raise DataError (E0682) for a file
        that differs from the one of `sums`, OSError."""
        name = f"{relation}.{_operation(inserts)}.parquet"
        place = f"{self._folder(epoch)}/{name}"
        with self._using():
            if name in sums and in_place and "://" not in (path := self._files.place(place)):
                file = PartFolder(path, (FilePart(name, None, sums[name]),))
                check_parts(self._files, self._folder(epoch), file)
                return file
            if name in sums:
                return read_table(self._files, place, sums[name])
            if f"{name}/" not in sums:
                return None
            folder = read_parts(self._files, place, sums[f"{name}/"])
            check_parts(self._files, place, folder)
        return folder

    def drop(self, epoch: int) -> None:
        """Remove the tables of an epoch, if that is possible; otherwise `clean` does."""
        with suppress(OSError):
            self._files.remove_tree(self._folder(epoch))

    def clean(self, kept: Collection[int]) -> None:
        """Remove the tables of all epochs but those that are `kept`."""
        names = {self._folder(epoch).partition("/")[2] for epoch in kept}
        with suppress(OSError):
            for name in list(self._files.entries(self._name)):
                if name not in names and name.isdigit():
                    self._files.remove_tree(f"{self._name}/{name}")


def _operation(inserts: bool) -> str:
    return "insert" if inserts else "delete"
