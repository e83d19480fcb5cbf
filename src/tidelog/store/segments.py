"""Segments: the facts that epochs asserted and retracted, as tables in files or in the records of a log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from tidelog.durable.files import Files
from tidelog.store.log import MOST_ROWS, LoggedCommit
from tidelog.store.tables import FactTables, PartFolder, check_parts, read_parts, read_table, write_table

if TYPE_CHECKING:
    import pyarrow as pa

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
