"""`CommitLog`: small commits after the last manifest, appended to one file.

    logs/N         a record for each commit from epoch N on, which is the one after that of the manifest
    logs/N.done    a byte for each record that is on the disk for good

To append a record takes one sync, where a segment and a manifest take five. A record has the length of what follows,
its SHA-256, the length of a text in JSON, this text (epoch, notes, and the sizes of the tables), and the tables as
streams of Arrow.

A process that is killed, or a machine that stops, leaves an incomplete record at the end at most: it was never
acknowledged, and counts as not written. Fewer complete records than bytes in the other file are damage. That file is
not synced, so after a power failure it may have fewer bytes, never more.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidelog.durable.files import Files, Output, checksum, compare, damage_error, intact, report_damage

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "logs"
MOST_ROWS = 10_000
"""Facts of a commit in a log at most: more are better off in files of their own."""
_HEAD = struct.Struct("<Q32s")
_SIZE = struct.Struct("<Q")


@dataclass(frozen=True)
class LoggedCommit:
    """A commit: the number of its epoch, the notes that it adds, and the tables by the names that their files would
    have."""

    epoch: int
    notes: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, pa.Table]


@dataclass(frozen=True)
class SealedLog:
    """A log that a manifest names: the number of its last commit, and its checksum. The facts of the relations in
    `without` are no facts any more."""

    last: int
    sha256: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class _End:
    """Where a log ends: the number of records, their bytes, and the hash of these."""

    records: int = 0
    size: int = 0
    hash: Any = field(default_factory=hashlib.sha256)


class CommitLog:
    """The log that begins with the commit of this number. OSError where the file system does not do something."""

    def __init__(self, files: Files, first: int) -> None:
        self._files = files
        self._first = first
        self.name = f"{first:08}"
        self.end = _End()
        """The end of what is valid: that of all acknowledged records."""
        self._found: list[LoggedCommit] | None = None
        """The commits of `read`, until a caller takes them. Another process may remove the file meanwhile."""
        self._outputs: tuple[Output, Output] | None = None
        self._is_whole = True
        """False if there may be more on the disk than is valid."""

    @property
    def files(self) -> tuple[str, str]:
        """Return the names of the two files of the log."""
        return f"{FOLDER}/{self.name}", f"{FOLDER}/{self.name}.done"

    def read_commits(self) -> list[LoggedCommit]:
        """Return the commits of a log that another process has left, if any. Raise DataError (E0682) for damage."""
        place, done = self.files
        try:  # In this order: the process that writes may append meanwhile.
            acknowledged = len(self._files.read_bytes(done))
        except FileNotFoundError:
            acknowledged = 0
        try:
            data = self._files.read_bytes(place)
        except FileNotFoundError:
            data = b""
        found = list(_commits(data))
        if len(found) < acknowledged:
            raise damage_error(self._files.place(place), f"it has {len(found)} of {acknowledged} commits")
        if any(commit.epoch != self._first + i for i, (_, commit) in enumerate(found)):
            raise damage_error(self._files.place(place), "its commits are not in order")
        size = found[-1][0] if found else 0
        self._is_whole = size == len(data)
        self.end = _End(len(found), size, hashlib.sha256(data[:size]))
        self._found = [commit for _, commit in found]
        return self._found

    def keep(self) -> None:
        """Wait until what `read` has found is on the disk: a process that was killed may not have got so far."""
        if self.end.records:
            self._files.sync_file(self.files[0])

    def commits(self) -> Iterator[LoggedCommit]:
        """Yield the commits up to the end. Raise DataError (E0682) if they are not there any more."""
        found, self._found = self._found, None
        place = self.files[0]
        if found is not None and len(found) == self.end.records:
            yield from found
        elif self.end.records:
            with report_damage(self._files, place):
                data = self._files.read_bytes(place)[: self.end.size]
            compare(self._files, place, checksum(data), self.end.hash.hexdigest())
            yield from (commit for _, commit in _commits(data))

    def append(self, commit: LoggedCommit) -> None:
        """Write a commit, and wait until it is on the disk. Whoever calls this calls `undo` if it raises."""
        if self._outputs is None:
            self._outputs = self._open()
        log, done = self._outputs
        record, end = _record(commit), self.end
        log.write(record)
        self._files.sync(log)
        digest = end.hash.copy()
        digest.update(record)
        self.end = _End(end.records + 1, end.size + len(record), digest)
        with suppress(OSError):  # It only tells damage from an incomplete record.
            done.write(b".")

    def undo(self, end: _End) -> None:
        """Let the log end where it did before."""
        self.end, self._is_whole = end, False
        self.mend()

    def mend(self) -> None:
        """Remove for good what is behind the end of the log, if there may be something."""
        if self._is_whole:
            return
        self.close()
        place, done = self.files
        if self.end.records:
            for name, size in ((done, self.end.records), (place, self.end.size)):
                if self._files.kind(name) is not None:
                    self._cut(name, size)
        else:
            for name in (done, place):
                self._files.remove_tree(name)
            self._files.sync_folder(FOLDER)
        self._is_whole = True

    def manifest_entry(self) -> Mapping[str, SealedLog]:
        """Return what a manifest says of this log: nothing if it has no commit."""
        if not self.end.records:
            return {}
        last = self._first + self.end.records - 1
        return {self.name: SealedLog(last, self.end.hash.hexdigest())}

    def close(self) -> None:
        """Close the files."""
        outputs, self._outputs = self._outputs, None
        for output in outputs or ():
            output.close()

    def _cut(self, name: str, size: int) -> None:
        output = self._files.extend(name, size)
        try:
            self._files.sync(output)
        finally:
            output.close()

    def _open(self) -> tuple[Output, Output]:
        """Return both files, ready for more."""
        place, done = self.files
        self._files.remove_tree(done)
        marks = self._files.create(done)
        try:
            marks.write(b"." * self.end.records)
            exists = self._files.kind(place) is not None
            log = self._files.extend(place, self.end.size) if exists else self._files.create(place)
            try:  # Whoever has created it may have been killed before the folder was on the disk.
                self._files.sync_folder(FOLDER)
            except BaseException:
                log.close()
                raise
            return log, marks
        except BaseException:
            marks.close()
            raise


def sealed_commits(files: Files, name: str, sealed: SealedLog) -> Iterator[LoggedCommit]:
    """Yield the commits of a log that the manifest names. Raise DataError (E0682) for damage, OSError."""
    yield from (commit for _, commit in _commits(intact(files, f"{FOLDER}/{name}", sealed.sha256)))


def _record(commit: LoggedCommit) -> bytes:
    streams = {file: _stream(table) for file, table in commit.tables.items()}
    sizes = {file: len(data) for file, data in streams.items()}
    about = {"epoch": commit.epoch, "notes": commit.notes, "tables": sizes}
    text = json.dumps(about).encode()
    data = b"".join((_SIZE.pack(len(text)), text, *streams.values()))
    return _HEAD.pack(len(data), hashlib.sha256(data).digest()) + data


def _commits(data: bytes) -> Iterator[tuple[int, LoggedCommit]]:
    """Yield the commits of a log up to the first incomplete one, each with the place of its end."""
    at = 0
    while at + _HEAD.size <= len(data):
        size, expected = _HEAD.unpack_from(data, at)
        start, at = at + _HEAD.size, at + _HEAD.size + size
        part = data[start:at]
        if len(part) < max(size, _SIZE.size) or hashlib.sha256(part).digest() != expected:
            return
        yield at, _commit(part)


def _commit(data: bytes) -> LoggedCommit:
    [length] = _SIZE.unpack_from(data)
    at = _SIZE.size + length
    about = json.loads(data[_SIZE.size : at])
    tables = dict[str, Any]()
    for file, size in about["tables"].items():
        tables[file] = _table(data[at : at + size])
        at += size
    return LoggedCommit(about["epoch"], about["notes"], tables)


def _stream(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _table(data: bytes) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.BufferReader(data)).read_all()
