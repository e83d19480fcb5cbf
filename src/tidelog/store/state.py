"""The folder in which a database lasts: its asserted facts, its program and notes, as of the last committed epoch.

    lock               held by the process that has the folder
    manifest.json      what makes up the state: checkpoint, segments, program, notes; replaced in one step: the commit
    segments/N/        what epoch N asserted and retracted: RELATION.insert.parquet and RELATION.delete.parquet
    checkpoints/N      everything as of epoch N, in place of all segments up to it (`checkpoint`)

An epoch writes its segment first, then lets the engine work, then replaces the manifest: a process that is killed at
any moment leaves the state before the epoch or after it, and what it leaves besides is removed when the folder is
opened again. In segments, values are stored as what they are, not as words.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from tidelog.certificate import program_text
from tidelog.errors import DataError, Problem, UsageError
from tidelog.language.syntax import Program, RelationType
from tidelog.relation import Relation, Rows
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.dictionary import Dictionary, Words

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
MOST_SEGMENTS = 200
"""With more segments than these, the facts are written anew as one."""

Tables: TypeAlias = "Mapping[tuple[str, bool], pa.Table | Callable[[Path], None]]"
"""(relation, whether it asserts) -> the values, or what writes them to a place, as a file or a folder."""


@dataclass(frozen=True)
class Manifest:
    """`epoch` counts the commits; `notes` are what streams and pipelines have to remember, as JSON."""

    epoch: int = 0
    program: str = ""
    checkpoint: str = ""
    segments: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


class State:
    """An open state folder. DataError (E0682) when it is damaged, UsageError (E0680, E0681) when another process has it
    or it cannot be used."""

    PARTS = ("lock", "manifest.json", "manifest.json.new", "segments", "checkpoints")
    """What can be in the folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if "://" in os.fspath(folder):
            hint = "give the path of a folder; files of the cluster engine can be elsewhere: options(cluster_folder=…)"
            raise UsageError(Problem("E0681", "a state folder is no address", place=os.fspath(folder), hint=hint))
        self.folder = Path(folder).absolute()
        with self._using():
            for part in ("segments", "checkpoints"):
                (self.folder / part).mkdir(parents=True, exist_ok=True)
            self._release = self._locked()
        try:
            self.manifest = self._read()
            with self._using():
                for leftover in set(os.listdir(self.folder / "segments")) - set(self.manifest.segments):
                    shutil.rmtree(self.folder / "segments" / leftover)
                for leftover in set(os.listdir(self.folder / "checkpoints")) - {self.manifest.checkpoint}:
                    (self.folder / "checkpoints" / leftover).unlink()
        except BaseException:
            self._release()
            raise

    def tables(self) -> Iterator[tuple[str, bool, Path]]:
        """Relation, whether it asserts, and file of all changes since the checkpoint, in the order in which they were
        committed. A path that is a folder was written by Spark."""
        for segment in self.manifest.segments:
            folder = self.folder / "segments" / segment
            if not folder.is_dir():
                raise self._damaged(f"segment {segment} is missing")
            for file in sorted(folder.iterdir()):
                relation, operation, _ = file.name.rsplit(".", 2)
                yield relation, operation == "insert", file

    def prepare(self, facts: Tables, name: str | None = None) -> str:
        """Write what an epoch asserts and retracts; its segment's name."""
        segment = name or f"{self.manifest.epoch + 1:08}"
        folder = self.folder / "segments" / segment
        with self._using():
            try:
                folder.mkdir()
                for (relation, asserts), table in facts.items():
                    path = folder / f"{relation}.{'insert' if asserts else 'delete'}.parquet"
                    if callable(table):
                        table(path)
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
        empty = not any((self.folder / "segments" / segment).iterdir())
        segments = manifest.segments if empty else (*manifest.segments, segment)
        notes = merged(manifest.notes, notes)
        self._replace(Manifest(manifest.epoch + 1, program, manifest.checkpoint, segments, notes))
        if empty:
            self.discard(segment)

    def note(self, notes: Mapping[str, Mapping[str, Any]]) -> None:
        """Have further notes, without an epoch."""
        self._replace(replace(self.manifest, notes=merged(self.manifest.notes, notes)))

    @property
    def is_scattered(self) -> bool:
        """Whether it is time to `gather`, or for a `checkpoint`."""
        return len(self.manifest.segments) > MOST_SEGMENTS

    def checkpoint(self, write: Callable[[IO[bytes]], object]) -> None:
        """Replace the checkpoint and all segments by what `write` writes to a file, unless it is of the last epoch."""
        old, name = self.manifest, f"{self.manifest.epoch:08}"
        if name == old.checkpoint:
            return
        path = self.folder / "checkpoints" / name
        with self._using():
            try:
                _write_file(path, write)
                _sync(path.parent)
                self._replace(replace(old, checkpoint=name, segments=()))
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            if old.checkpoint:
                (path.parent / old.checkpoint).unlink()
        for segment in old.segments:
            self.discard(segment)

    def gather(self, facts: Tables) -> None:
        """Replace all segments by one with these facts, which are all that there are."""
        old = self.manifest
        segment = self.prepare(facts, f"{old.epoch:08}-all")
        self._replace(replace(old, segments=(segment,)))
        for name in old.segments:
            self.discard(name)

    def close(self) -> None:
        """Let others have the folder."""
        self._release()

    def _read(self) -> Manifest:
        path = self.folder / "manifest.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found.pop("version") != VERSION:
                raise self._damaged("it is of another version of tidelog")
            found["segments"] = tuple(found["segments"])
            return Manifest(**found)
        except FileNotFoundError:
            # An epoch that was killed before the first commit leaves no more than its segment.
            if os.listdir(self.folder / "checkpoints") or set(os.listdir(self.folder / "segments")) - {"00000001"}:
                raise self._damaged("manifest.json is missing") from None
            return Manifest()
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._damaged(f"manifest.json: {error}") from None

    def _replace(self, manifest: Manifest) -> None:
        document = {"version": VERSION, **vars(manifest), "notes": dict(manifest.notes)}
        text = json.dumps(document, indent=1).encode()
        new = self.folder / "manifest.json.new"
        with self._using():
            _write_file(new, lambda file: file.write(text))
            new.replace(self.folder / "manifest.json")
        self.manifest = manifest
        with suppress(OSError):  # What follows the commit must not fail, and some file systems cannot do this.
            _sync(self.folder)

    def _locked(self) -> weakref.finalize[[int], State]:
        """Have the folder; what is called to let it go, which happens by itself when the state is forgotten."""
        file = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        release = weakref.finalize(self, os.close, file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(file, 20).decode().strip() or "unknown"
            release()
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            hint = "close that database first; two cannot share a state"
            message = f"the state folder is in use by process {holder}"
            raise UsageError(Problem("E0680", message, place=str(self.folder), hint=hint)) from None
        os.truncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
        return release

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


def merged(notes: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Notes with new ones, which replace those of the same keys."""
    return {key: {**notes.get(key, {}), **new.get(key, {})} for key in {**notes, **new}}


def text_of(programs: Sequence[Program]) -> str:
    """Programs as one text, without their facts."""
    directives = [f"{directive}\n" for program in programs for directive in program.directives]
    return program_text(programs) + "".join(directives)


def facts_table(relation: RelationType, dictionary: Dictionary, words: Words) -> pa.Table:
    """Rows of a relation as a table of values; one without columns has a column that says how many there are."""
    import pyarrow as pa

    if not relation.columns:
        return pa.table({"present": numbers_to_arrow(words.sum(axis=1))})
    return Relation(relation.name, Rows(relation.columns, dictionary, words)).to_arrow()


def read_table(path: Path) -> pa.Table:
    """A table of a segment. DataError (E0682) when it cannot be read."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        hint = "restore the folder from a copy, or begin with an empty one"
        raise DataError(
            Problem("E0682", f"the state folder is damaged: {error!s:.200}", place=str(path), hint=hint)
        ) from None


def _write(table: pa.Table, path: Path) -> None:
    from pyarrow import parquet

    _write_file(path, lambda file: parquet.write_table(table, file))


def _write_file(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Have a file on the disk."""
    with path.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Have the entries of a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
