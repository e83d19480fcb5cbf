"""The state folder of a SparkDatabase: its asserted facts, its program and notes, as of the last committed epoch.

    lock               held by the process that has the folder
    manifest.json      which segments make up the state, the program, the notes; replaced in one step: the commit
    segments/N/        what epoch N asserted and retracted: RELATION.insert.parquet and RELATION.delete.parquet

An epoch writes its segment first, then lets the engine work, then replaces the manifest: a process that is killed at
any moment leaves the state before the epoch or after it, and what it leaves besides is removed when the folder is
opened again. Views are not kept; they follow from facts and program. Values are stored as what they are, not as words.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from tidelog.certificate import program_text
from tidelog.errors import DataError, Problem, UsageError
from tidelog.language.syntax import Program

VERSION = 1
MOST_SEGMENTS = 200
"""With more segments than these, the facts are written anew as one."""


@dataclass(frozen=True)
class Manifest:
    """`epoch` counts the commits; `notes` are what streams and pipelines have to remember, as JSON."""

    epoch: int = 0
    program: str = ""
    segments: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


class State:
    """An open state folder. DataError (E0682) when it is damaged, UsageError (E0680, E0681) when another process has it
    or it cannot be used."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()
        with self._using():
            (self.folder / "segments").mkdir(parents=True, exist_ok=True)
            self._lock = self._locked()
        try:
            self.manifest = self._read()
            with self._using():
                for leftover in set(os.listdir(self.folder / "segments")) - set(self.manifest.segments):
                    shutil.rmtree(self.folder / "segments" / leftover)
        except BaseException:
            self._lock.close()
            raise

    def tables(self) -> Iterator[tuple[str, bool, Path]]:
        """Relation, whether it asserts, and file of all changes, in the order in which they were committed. A path that
        is a folder was written by Spark."""
        for segment in self.manifest.segments:
            folder = self.folder / "segments" / segment
            if not folder.is_dir():
                raise self._damaged(f"segment {segment} is missing")
            for file in sorted(folder.iterdir()):
                relation, operation, _ = file.name.rsplit(".", 2)
                yield relation, operation == "insert", file

    def prepare(self, facts: Mapping[tuple[str, bool], pa.Table | DataFrame], name: str | None = None) -> str:
        """Write what an epoch asserts and retracts, (relation, whether it asserts) -> values; its segment's name."""
        segment = name or f"{self.manifest.epoch + 1:08}"
        folder = self.folder / "segments" / segment
        with self._using():
            try:
                folder.mkdir()
                for (relation, asserts), table in facts.items():
                    path = folder / f"{relation}.{'insert' if asserts else 'delete'}.parquet"
                    if isinstance(table, DataFrame):
                        table.write.parquet(path.as_uri())
                    else:
                        _write(table, path)
                _sync(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        return segment

    def discard(self, segment: str) -> None:
        """Remove a prepared segment whose epoch has failed."""
        shutil.rmtree(self.folder / "segments" / segment, ignore_errors=True)

    def publish(self, segment: str, program: str, notes: Mapping[str, Any]) -> None:
        """Commit: from now on the state has this segment and program, and these notes beside those that it has."""
        manifest = self.manifest
        notes = {key: {**manifest.notes.get(key, {}), **notes.get(key, {})} for key in {**manifest.notes, **notes}}
        empty = not any((self.folder / "segments" / segment).iterdir())
        segments = manifest.segments if empty else (*manifest.segments, segment)
        self._replace(Manifest(manifest.epoch + 1, program, segments, notes))
        if empty:
            self.discard(segment)

    @property
    def is_scattered(self) -> bool:
        """Whether it is time to `gather`."""
        return len(self.manifest.segments) > MOST_SEGMENTS

    def gather(self, facts: Mapping[tuple[str, bool], pa.Table | DataFrame]) -> None:
        """Replace all segments by one with these facts, which are all that there are."""
        old = self.manifest
        segment = self.prepare(facts, f"{old.epoch:08}-all")
        self._replace(replace(old, segments=(segment,)))
        for name in old.segments:
            self.discard(name)

    def close(self) -> None:
        """Let others have the folder."""
        self._lock.close()

    def _read(self) -> Manifest:
        path = self.folder / "manifest.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found.pop("version") != VERSION:
                raise self._damaged("it is of another version of tidelog")
            found["segments"] = tuple(found["segments"])
            return Manifest(**found)
        except FileNotFoundError:
            return Manifest()
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._damaged(f"manifest.json: {error}") from None

    def _replace(self, manifest: Manifest) -> None:
        document = {
            "version": VERSION,
            "epoch": manifest.epoch,
            "program": manifest.program,
            "segments": list(manifest.segments),
            "notes": dict(manifest.notes),
        }
        new = self.folder / "manifest.json.new"
        with self._using():
            with new.open("w", encoding="utf-8") as file:
                json.dump(document, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.folder / "manifest.json")
            _sync(self.folder)
        self.manifest = manifest

    def _locked(self) -> IO[str]:
        file = (self.folder / "lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            hint = "close that database first; two cannot share a state"
            message = f"the state folder is in use by process {holder}"
            raise UsageError(Problem("E0680", message, place=str(self.folder), hint=hint)) from None
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        return file

    @contextmanager
    def _using(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            hint = "nothing has changed; make room, or allow writing there"
            problem = Problem("E0681", f"cannot use the state folder: {reason}", place=str(self.folder), hint=hint)
            raise UsageError(problem) from error

    def _damaged(self, what: str) -> DataError:
        hint = "restore the folder from a copy, or begin with an empty one"
        return DataError(Problem("E0682", f"the state folder is damaged: {what}", place=str(self.folder), hint=hint))


def text_of(programs: Sequence[Program]) -> str:
    """Programs as one text, without their facts."""
    directives = [f"{directive}\n" for program in programs for directive in program.directives]
    return program_text(programs) + "".join(directives)


def read_table(path: Path) -> pa.Table:
    """A table of a segment. DataError (E0682) when it cannot be read."""
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        hint = "restore the folder from a copy, or begin with an empty one"
        raise DataError(
            Problem("E0682", f"the state folder is damaged: {error!s:.200}", place=str(path), hint=hint)
        ) from None


def _write(table: pa.Table, path: Path) -> None:
    with path.open("wb") as file:
        pq.write_table(table, file)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Have the entries of a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
