"""The part of a source that no run has read so far: new files, or new versions of a table.

A run notes what it has read: of files a digest of name, size and time, of a Delta table its version, of an Iceberg
table its snapshot. The next run reads the rest of a source of mode "append". A "snapshot" it does not read if nothing
has changed; otherwise it reads the files whose rows it does not have (`file_rows`), or everything. Other sources do not
say which rows are new, and are read as a whole; facts are a set, so that only their bad rows are there twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from tidelog.spark.failures import is_of_spark, report_source_errors
from tidelog.spark.pipelines.description import Source
from tidelog.spark.sinks.targets import provider_and_type
from tidelog.spark.sources.readers import reader_options, spark_path

_OF_LISTS = ("pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter")
"""Options, in lower case, that say which files there are."""
_OF_FEED = ("_change_type", "_commit_version", "_commit_timestamp")
_KEEPING = ("append", "replace")
"""Operations of Iceberg that only add rows, or only files."""
_WHOLE = {"whole": True}
"""The note of a source that does not say which rows are new."""


@dataclass(frozen=True)
class ListedFile:
    """A file as the session lists it, and the number by which its rows name it."""

    path: str
    number: int


@dataclass(frozen=True)
class Unread:
    """The part of a source that a run reads: all of it, only the `files`, or the rows of a `frame`; nothing if it
    `is_empty`. `read` is the note of what has then been read, `remark` a sentence for the user, `listed` are all files
    of a snapshot by their digests."""

    files: Sequence[str] | None = None
    frame: DataFrame | None = None
    read: Mapping[str, Any] = field(default_factory=dict)
    remark: str | None = None
    is_empty: bool = False
    listed: Mapping[str, ListedFile] = field(default_factory=dict)


def key_of(source: Source) -> str:
    """Return the name of a source in the notes."""
    return f"{source.relation} from {source.table or source.path or source.format}"


def unread_part(session: SparkSession, source: Source, read: Mapping[str, Any], known: Collection[str] = ()) -> Unread:
    """Return the part of a source that is new; `read` is the note of the last run, empty in the first, `known` are the
    digests of the files of a snapshot whose rows are at hand. Raise DataError (E0482)."""
    if source.mode == "cdc" or source.frame is not None:
        return Unread()
    if source.mode == "snapshot":
        try:
            note, listed = _note_of(session, source)
        except Exception as error:
            if not is_of_spark(error):
                raise
            return Unread()  # Whoever reads it says what is wrong.
        new = sorted(file.path for digest, file in listed.items() if digest not in known)
        files = new if len(new) < len(listed) else None
        return Unread(files=files, read=note, is_empty=note == read != _WHOLE, listed=listed)
    with report_source_errors(str(source.table or source.path or source.format)):
        note, listed = _note_of(session, source)
        if "version" in note:
            return _versions(session, source, note, read.get("version"))
        if "snapshot" in note and source.table is not None:
            return _snapshots(session, source.table, note, read.get("snapshot"))
        if "files" in note:
            before = set(read.get("files", ()))
            new = sorted(file.path for digest, file in listed.items() if digest not in before)
            return Unread(files=new if before else None, read=note, is_empty=bool(before) and not new)
    return Unread(remark=None if not read else _whole(source), read=note)


def _note_of(session: SparkSession, source: Source) -> tuple[Mapping[str, Any], Mapping[str, ListedFile]]:
    """Return the note of a source as it is now, and its files by their digests if it has files."""
    provider = source.format if source.table is None else provider_and_type(session, source.table)[0]
    if provider == "delta":
        name = source.table or f"delta.`{spark_path(session, source.path or '')}`"
        return {"version": session.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]["version"]}, {}
    if provider == "iceberg" and source.table is not None:
        found = session.sql(f"SELECT snapshot_id FROM {source.table}.refs WHERE name = 'main'").collect()
        return {"snapshot": found[0]["snapshot_id"] if found else None}, {}
    if source.path is None:
        return _WHOLE, {}
    options = {key: value for key, value in reader_options(source.options).items() if key.lower() in _OF_LISTS}
    listed = session.read.format("binaryFile").options(**options).load(spark_path(session, source.path))
    number = F.xxhash64(F.input_file_name())
    rows = listed.select("path", "length", F.col("modificationTime").cast("double"), number).collect()
    files = {_digest(*row[:3]): ListedFile(row[0], row[3]) for row in rows}
    return {"files": sorted(files)}, files


def _versions(session: SparkSession, source: Source, note: Mapping[str, Any], read: int | None) -> Unread:
    """Return the rows of a Delta table since a version; its change data feed has them."""
    now = note["version"]
    if read == now:
        return Unread(read=note, is_empty=True)
    if read is None:
        return Unread(frame=_load_table(session, session.read.option("versionAsOf", now), source), read=note)
    try:
        feed = session.read.options(readChangeFeed="true", startingVersion=read + 1, endingVersion=now)
        rows = (
            _load_table(session, feed, source)
            .where(F.col("_change_type").isin("insert", "update_postimage"))
            .drop(*_OF_FEED)
        )
        rows.isEmpty()  # Delta looks for its feed when it reads.
    except PySparkException:  # It has no such feed, or had none then.
        return Unread(read=note, remark=f"{_whole(source)}; set delta.enableChangeDataFeed")
    return Unread(frame=rows, read=note)


def _snapshots(session: SparkSession, table: str, note: Mapping[str, Any], read: int | None) -> Unread:
    """Return the rows of an Iceberg table since a snapshot, if only rows were added."""
    now = note["snapshot"]
    if read == now:
        return Unread(read=note, is_empty=True)
    if read is None:
        return Unread(frame=session.read.option("versionAsOf", now).table(table), read=note)
    rows = session.sql(f"SELECT snapshot_id, parent_id, operation FROM {table}.snapshots").collect()
    known = {row["snapshot_id"]: row for row in rows}
    at = now
    while at in known and at != read and known[at]["operation"] in _KEEPING:
        at = known[at]["parent_id"]
    if at != read:
        return Unread(read=note, remark=f"{table} has other changes than new rows, so that all of its rows were read")
    frame = session.read.options(**{"start-snapshot-id": read, "end-snapshot-id": now}).table(table)
    return Unread(frame=frame, read=note)


def _load_table(session: SparkSession, reader: DataFrameReader, source: Source) -> DataFrame:
    """Return the rows that a reader with options finds in a Delta table."""
    if source.table is not None:
        return reader.table(source.table)
    return reader.format("delta").options(**reader_options(source.options)).load(spark_path(session, source.path or ""))


def _whole(source: Source) -> str:
    return f"{key_of(source)} does not say which rows are new, so that all of its rows were read"


def _digest(path: str, length: int, time: float) -> str:
    return hashlib.blake2b(f"{path}|{length}|{time}".encode(), digest_size=8).hexdigest()
