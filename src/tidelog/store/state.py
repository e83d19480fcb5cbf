"""The folder in which a database lasts: its asserted facts, its program and notes, as of the last committed epoch.

    lock               held by the process that has the folder open
    manifest.json      the valid files: program, checkpoint, segments, notes; replacing it in one step is the commit
    programs/N         the text of the program since epoch N, in which rules changed
    logs/N             small commits from epoch N on, as long as they replace nothing (`log`)
    segments/N/        facts asserted and retracted in epoch N: RELATION.insert.parquet and RELATION.delete.parquet;
                       the same for numbers of counters and tuples that choices show, whose names begin with #
    checkpoints/N      everything as of epoch N, in place of all segments up to it (`checkpoint`)
    outbox/N/          changes of epoch N that sinks of streams have yet to get (`segments`)
    files/N/           rows of files that the pipeline run of epoch N has read, for runs in which they are the same

Files are written and synced before a manifest names them. They are removed after the sync of a manifest that no longer
names them. So a crash at any moment leaves the state before an epoch or after it. The next opening removes everything
else. The manifest has a checksum of each file and of itself: damage is never read as data.

A commit of few facts that changes no rules is a record at the end of a log, and the manifest stays; the next manifest
names the log. A database over Spark has no logs.

Segments and logs hold values, not words. All operations on files go through `files`. The folder of a database over
Spark may be at an address, on any file system of fsspec. There the manifest is a series of numbered files, whose
numbers take the place of the lock (`durable.remote`). Names of segments and programs end with a mark of the process
there, because a process that has lost the folder may still write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tidelog.durable.files import Files, compare, damage_error, intact, report_damage
from tidelog.durable.local import LocalFiles, Owner
from tidelog.durable.remote import RemoteFiles, TakenOverError
from tidelog.errors import Problem, UsageError, path_problem, wrong_argument
from tidelog.store.log import FOLDER as LOGS
from tidelog.store.log import CommitLog, LoggedCommit, sealed_commits
from tidelog.store.manifest import NAME, VERSION, Manifest, is_plain, merge_notes
from tidelog.store.segments import (
    EpochTables,
    FactTables,
    PartFolder,
    Segment,
    epoch_of,
    log_tables,
    relation_of_file,
    segment_tables,
    write_segment,
)

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SEGMENTS = 200
"""With more segments than these, the facts are written anew as one."""
_NEW = f"{NAME}.new"
GONE = "gone"
"""The note of relations whose facts in the checkpoint are no longer facts."""
_FOLDERS = ("programs", "segments", "checkpoints", LOGS)
_OF = {"embedded": "an embedded database", "rdf": "RDF", "spark": "a database over Spark"}
_OPENED = {
    "embedded": "open it with tidelog.connect(folder), or give another folder",
    "rdf": "open it with tidelog.rdf.connect(folder), or give another folder",
    "spark": "open it with tidelog.connect(spark=session, state=folder), or give another folder",
}


class StateFolder:
    """An open state folder.

    `kind` is that of the database, "embedded", "rdf" or "spark". With `read_only`, nothing at all is written, and
    "embedded" may be "rdf" as well. `files` are those of a simulated disk. Raises DataError (E0682) if the folder is
    damaged, UsageError (E0680, E0681) if another process has it or it cannot be used.
    """

    PARTS: Mapping[str, frozenset[str]] = {
        **dict.fromkeys(("embedded", "rdf"), frozenset({"lock", NAME, _NEW, *_FOLDERS})),
        "spark": frozenset({"lock", NAME, _NEW, *_FOLDERS, "cluster", "streams", "quarantine", "outbox", "files"}),
    }
    """The names that a folder may have before it has a manifest, by the kind of the database."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        kind: str = "embedded",
        *,
        read_only: bool = False,
        files: Files | None = None,
    ) -> None:
        text = os.fspath(folder) if isinstance(folder, os.PathLike) else folder
        if not isinstance(text, str):
            raise wrong_argument("a state folder", "the path of a folder", folder)
        if (wrong := path_problem(text)) is not None:
            raise UsageError(Problem("E0681", wrong, place=repr(text), hint="pass the path of a folder"))
        is_address = "://" in text and not text.startswith("file://")
        if is_address and kind == "embedded":
            hint = "give the path of a folder; with a Spark session, `state=` takes an address"
            raise UsageError(Problem("E0681", "the folder of a store must be a local path", place=text, hint=hint))
        self.address = text if is_address else str(Path(text.removeprefix("file://")).absolute())
        """The path of the folder, or its address on a file system that fsspec knows."""
        self.read_only = read_only
        self._kind = kind
        self._owner: Owner | None = None
        self._settled = True
        """True if the manifest on the disk is `manifest`, for good."""
        self._old: list[str] = []
        """The files that a checkpoint has replaced, and that are still to be removed."""
        with self._report_folder_errors():
            self._files = files or (RemoteFiles(text, NAME) if is_address else LocalFiles(Path(self.address)))
        self.manifest, self._log = Manifest(kind), CommitLog(self._files, 0)
        try:
            with self._report_folder_errors():
                if not read_only:
                    self._files.establish()
                self._check_entries()
                self._read_manifest()
                there = {*self._files.entries(), *(f"{part}/{name}" for part in _FOLDERS for name in self._names(part))}
                self._take_lock()
                self._check_links()
                self._read_last_commit()
                if not read_only:
                    self._log.keep()
                    self._clean(there)
        except BaseException:
            self._release()  # It writes nothing: this process may not know yet what the folder has.
            raise

    @property
    def folder(self) -> Path:
        """The path of the folder. Only for folders on this machine."""
        return Path(self.address)

    @property
    def is_local(self) -> bool:
        """Return True for a folder on this machine."""
        return "://" not in self.address

    def inside(self, *names: str) -> str:
        """Return the path or the address of something in the folder."""
        return "/".join([self.address, *names])

    def drop(self, folder: str, kept: Collection[str] = ()) -> None:
        """Remove what is in a folder of another user of the state folder, such as the cluster engine, except for the
        entries that are `kept`."""
        with suppress(OSError):
            for entry in sorted(self._files.entries(folder)):
                if entry not in kept:
                    self._files.remove_tree(f"{folder}/{entry}")
            if not kept:
                self._files.remove_tree(folder)

    def tables(self) -> Iterator[tuple[str, bool, pa.Table | PartFolder]]:
        """Yield relation, True for an assertion, and values of all changes since the checkpoint, in the order of their
        commits. Parts are files that Spark has written; those at an address are still to be compared with their
        checksums. Raise DataError (E0682) for a file that differs from the
        committed one, UsageError (E0681) if it cannot be read."""
        return ((relation, asserts, values) for _, relation, asserts, values in self.dated_tables())

    def dated_tables(self) -> Iterator[tuple[int, str, bool, pa.Table | PartFolder]]:
        """Yield the same with the epoch before each, negative where changes of that epoch and before are together."""
        manifest = self.manifest
        segments = (
            (epoch_of(name), segment_tables(self._files, name, files, check=self.is_local))  # Executors compare others.
            for name, files in manifest.segments.items()
        )
        logs = (
            (int(name), log_tables(sealed_commits(self._files, name, log), manifest.checkpoint_epoch, log.without))
            for name, log in manifest.logs.items()
        )
        for _, tables in sorted([*segments, *logs], key=lambda each: abs(each[0])):
            with self._report_folder_errors():
                yield from tables
        with self._report_folder_errors():
            yield from log_tables(self._log.commits(), manifest.checkpoint_epoch)

    @contextmanager
    def open_checkpoint(self) -> Iterator[IO[bytes] | None]:
        """Open the file of the checkpoint; provide None without one. Raise DataError (E0682) if it differs from the
        written one, UsageError (E0681) if it cannot be read."""
        if self.manifest.checkpoint is None:
            yield None
            return
        name, expected = self.manifest.checkpoint
        place = f"checkpoints/{name}"
        with self._report_folder_errors(), report_damage(self._files, place):
            compare(self._files, place, self._files.checksum(place), expected)
            file = self._files.open(place)
        with file:
            yield file

    @property
    def checkpoint_path(self) -> Path:
        """Return the path of the checkpoint, for messages."""
        return self._files.path(f"checkpoints/{self.manifest.checkpoint[0] if self.manifest.checkpoint else ''}")

    def prepare(self, facts: FactTables, name: str | None = None) -> Segment:
        """Write the asserted and retracted facts of an epoch, to be published or discarded. Raise UsageError
        (E0681)."""
        segment = Segment(f"{name or format(self.manifest.number + 1, '08')}{self._files.mark}", facts=facts)
        with self._allow_changes():
            return segment if self._logs_commits and segment.is_small else self._write_segment(segment)

    @property
    def _logs_commits(self) -> bool:
        """Return True if a commit can be a record of a log."""
        is_current = self.manifest.epoch > 0 and self.manifest.version == VERSION
        return is_current and self._files.appends and self._kind != "spark"

    def _write_segment(self, segment: Segment) -> Segment:
        """Write the facts of a segment to files."""
        try:
            return write_segment(self._files, segment)
        except BaseException:
            self._drop(segment.folder)
            raise

    def epoch_tables(self, folder: str) -> EpochTables:
        """Return further tables of epochs in a folder; their operations raise UsageError (E0681)."""
        return EpochTables(self._files, folder, self._report_folder_errors)

    def discard(self, segment: Segment) -> None:
        """Remove a prepared segment whose epoch has failed."""
        self._drop(segment.folder)

    def publish(
        self, segment: Segment, program: str, notes: Mapping[str, Any], removed: Collection[str] = frozenset()
    ) -> None:
        """Commit: from now on the state has this segment and program, these notes beside its own, and no facts from
        before of relations that are `removed`. Raise UsageError (E0681); the state is then as before."""
        old = self.manifest
        if self._logs_commits and program == old.text and not removed and not segment.files:
            self._append(segment, notes)
            return
        with self._allow_changes():
            segment = self._write_segment(segment)
        kept = {
            name: {file: each for file, each in files.items() if relation_of_file(file) not in removed}
            for name, files in old.segments.items()
        }
        logs = {
            name: replace(log, without=tuple(sorted({*log.without, *removed})))
            for name, log in {**old.logs, **self._log.manifest_entry()}.items()
        }
        segments = {name: files for name, files in [*kept.items(), (segment.name, segment.files)] if files}
        notes = merge_notes(old.notes, notes)
        if removed and old.checkpoint is not None:
            notes = merge_notes(notes, {GONE: dict.fromkeys(removed, True)})
        file = old.program if program == old.text else None
        new = replace(old, epoch=old.epoch + 1, program=file, segments=segments, logs=logs, notes=notes, text=program)
        self._replace(new)

    def _append(self, segment: Segment, notes: Mapping[str, Mapping[str, Any]]) -> None:
        """Commit by a record of the log."""
        with self._allow_changes():
            old, end = self.manifest, self._log.end
            try:
                self._log.append(LoggedCommit(old.number + 1, notes, segment.tables))
                self.manifest = replace(old, epoch=old.epoch + 1, notes=merge_notes(old.notes, notes))
            except BaseException:
                self.manifest = old
                with suppress(OSError):
                    self._log.undo(end)
                raise

    def note(self, notes: Mapping[str, Mapping[str, Any]]) -> None:
        """Add notes, without an epoch."""
        self._replace(replace(self.manifest, notes=merge_notes(self.manifest.notes, notes)))

    def is_scattered(self, patience: float = 1.0) -> bool:
        """Return True if it is time to `gather`, or for a `checkpoint`: there are more than so many times the usual
        number of segments."""
        return self.segments > patience * MOST_SEGMENTS

    @property
    def segments(self) -> int:
        """Return the number of segments since the checkpoint, those in logs included."""
        logs, covered = {**self.manifest.logs, **self._log.manifest_entry()}, self.manifest.checkpoint_epoch
        return len(self.manifest.segments) + sum(log.last - max(int(name) - 1, covered) for name, log in logs.items())

    def checkpoint(self, write: Callable[[IO[bytes]], object]) -> None:
        """Replace the checkpoint and all segments by the output of `write`, unless the checkpoint is of the last
        epoch."""
        old = self.manifest
        if old.checkpoint is None or old.checkpoint[0] != _name(old.number):
            self._replace_all(old, write)

    def publish_whole(self, write: Callable[[IO[bytes]], object], program: str, notes: Mapping[str, Any]) -> None:
        """Commit an epoch by a checkpoint that has its changes, the output of `write`, in place of all segments, with
        this program and these notes beside its own. Raise UsageError (E0681); the state is then as before."""
        old = self.manifest
        file = old.program if program == old.text else None
        notes = merge_notes(old.notes, notes)
        self._replace_all(replace(old, epoch=old.epoch + 1, program=file, notes=notes, text=program), write)

    def _replace_all(self, manifest: Manifest, write: Callable[[IO[bytes]], object]) -> None:
        """Replace the checkpoint and all segments by the output of `write`, and the manifest by one with that."""
        with self._allow_changes():
            try:
                self._take(manifest, self._write_checkpoint(manifest.number, write))
                self.drop_old()
            except BaseException:
                self.drop_checkpoint(manifest.number)
                raise

    def _write_checkpoint(
        self, number: int, write: Callable[[IO[bytes]], object], *, gently: bool = False
    ) -> tuple[str, str]:
        """Write a checkpoint of an epoch; return its name and its checksum."""
        found = self._files.write(_checkpoint(number), write, gently=gently)
        self._files.sync_folder("checkpoints")
        return _name(number), found

    def _take(self, manifest: Manifest, checkpoint: tuple[str, str]) -> None:
        """Replace the checkpoint and the segments up to its epoch, and the manifest by one with that."""
        old, number = self.manifest, int(checkpoint[0])
        segments = {name: files for name, files in manifest.segments.items() if abs(epoch_of(name)) > number}
        notes = {key: note for key, note in manifest.notes.items() if key != GONE}
        self._replace(replace(manifest, checkpoint=checkpoint, segments=segments, notes=notes))
        if old.checkpoint is not None:
            self._old.append(f"checkpoints/{old.checkpoint[0]}")
        self._old += (f"segments/{segment}" for segment in old.segments if segment not in segments)

    def write_in_background(self, number: int, write: Callable[[IO[bytes]], object]) -> str:
        """Write the output of `write` as the checkpoint of an epoch, and return its checksum. Any thread may call this
        while others commit. Raise UsageError (E0681)."""
        with self._report_folder_errors():
            return self._write_checkpoint(number, write, gently=True)[1]

    def take_from_background(self, number: int, found: str) -> None:
        """Replace the checkpoint by one that was written in the background, and the segments up to its epoch; no
        relation has gone since. Files that this replaces are for `drop_old`. Raise UsageError (E0681); the state is
        then as before."""
        with self._allow_changes():
            self._take(self.manifest, (_name(number), found))

    def drop_old(self, most: int | None = None) -> None:
        """Remove files that a checkpoint has replaced, at most so many."""
        for _ in range(len(self._old) if most is None else min(most, len(self._old))):
            self._drop(self._old.pop())

    def drop_checkpoint(self, number: int) -> None:
        """Remove the checkpoint of an epoch, or what was written of it, unless it is the valid one."""
        if self.manifest.checkpoint is None or self.manifest.checkpoint[0] != _name(number):
            self._drop(_checkpoint(number))

    def gather(self, facts: FactTables) -> None:
        """Replace all segments of a database over Spark by one with all facts, which these are, unless there is one."""
        old, name = self.manifest, f"{self.manifest.number:08}-all"
        if f"{name}{self._files.mark}" in old.segments:
            return
        segment = self.prepare(facts, name)
        try:
            self._replace(replace(old, segments={segment.name: segment.files} if segment.files else {}))
        except BaseException:
            self.discard(segment)
            raise
        for segment_name in old.segments:
            self._drop(f"segments/{segment_name}")

    def close(self) -> None:
        """Release the folder for other processes."""
        if self.is_own:
            with suppress(UsageError):  # The log is as good without its checksum in the manifest.
                if self._log.manifest_entry():
                    self._replace(self.manifest)
            self.drop_old()
        self._release()

    def _release(self) -> None:
        if self._owner is not None:
            self._owner.release()
            self._owner = None
        self._log.close()
        self._files.close()

    @property
    def is_own(self) -> bool:
        """Return True if this process has the folder, and not another one since a fork."""
        return self._owner is not None and self._owner.stands

    # --- opening -----------------------------------------------------------------------------------------------------

    def _check_entries(self) -> None:
        """Raise UsageError (E0681) if the folder is not a store, or has links in it."""
        entries = self._files.entries()
        for name, kind in entries.items():
            if kind == "link":
                raise self._unusable(f"{name} is a symbolic link", "replace it by its target")
        other = next((name for name in entries if name not in self.PARTS[self._kind]), None)
        if NAME not in entries and other is not None:
            hint = "name a new folder, or one that tidelog made"
            raise self._unusable(f"the folder is not a store, it contains {other}", hint)
        for name, wanted in (("lock", "file"), (NAME, "file"), *((part, "folder") for part in _FOLDERS)):
            if entries.get(name, wanted) != wanted:
                raise self._unusable(f"{name} is not a {wanted}", "name a new folder")

    def _check_links(self) -> None:
        """Raise UsageError (E0681) if there are links further down."""
        for part in _FOLDERS:
            if self._files.kind(part) is not None:
                for name, kind in self._files.below(part):
                    if kind == "link":
                        raise self._unusable(f"{name} is a symbolic link", "replace it by its target")

    def _read_manifest(self) -> Manifest:
        try:
            data = self._files.read_bytes(NAME)
        except FileNotFoundError:
            if self._files.kind(NAME) is not None:  # It has been claimed, and nothing was committed yet.
                return Manifest(self._kind)
            # An epoch that was cut off before the first commit leaves no more than its program and segment.
            left = {*self._names("programs"), *self._names("segments")}
            later = {*self._names("checkpoints"), *self._names(LOGS), *(left - {"00000000", "00000001"})}
            if later or (left and not self._files.kind("lock")):
                raise damage_error(self._files.place(NAME), f"{NAME} is missing") from None
            return Manifest(self._kind)
        try:
            manifest = Manifest.from_bytes(data)
        except ValueError as error:
            raise damage_error(self._files.place(NAME), f"{NAME}: {error}") from None
        if manifest.kind != self._kind and not (self.read_only and (manifest.kind, self._kind) == ("rdf", "embedded")):
            raise self._unusable(f"the folder is a store of {_OF[manifest.kind]}", _OPENED[manifest.kind])
        return manifest

    def _read_last_commit(self) -> None:
        """Read the manifest and the commits after it, as they are at one moment."""
        while True:
            manifest = self._read_manifest()
            log = CommitLog(self._files, manifest.number + 1)
            commits = log.read_commits() if self._files.appends else []
            if self._read_manifest() == manifest:  # Another process may have replaced it, where this one only reads.
                break
        for commit in commits:
            manifest = replace(manifest, epoch=manifest.epoch + 1, notes=merge_notes(manifest.notes, commit.notes))
        self.manifest, self._log = self._with_text(manifest), log

    def _with_text(self, manifest: Manifest) -> Manifest:
        """Return a manifest with the text of its program. Raise DataError (E0682) where the file is damaged."""
        if manifest.program is None:
            return manifest
        name, expected = manifest.program
        place = f"programs/{name}"
        try:
            return replace(manifest, text=intact(self._files, place, expected).decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError as error:
            raise damage_error(self._files.place(place), str(error)) from None

    def _take_lock(self) -> None:
        """Take the lock. Who only reads goes without it while another process writes. Raise UsageError (E0680) if one
        has it that would write as well."""
        found = self._files.shared_lock("lock") if self.read_only else self._files.lock("lock")
        if isinstance(found, str) and self.read_only:
            return
        if isinstance(found, str):
            hint = "close that database first; two databases cannot share a state folder"
            message = f"the state folder is in use by process {found}"
            raise UsageError(Problem("E0680", message, place=self.address, hint=hint))
        self._owner = Owner(found, self.address)

    def _clean(self, there: Collection[str]) -> None:
        """Remove the files that an interrupted epoch has left, of those that were `there` before this process had the
        folder: where there are no locks, another one may have it by now. Keep files that tidelog has not written."""
        files = self._files
        for part in _FOLDERS:
            if files.kind(part) is None:
                files.make(part)
        left = [name for part in _FOLDERS for name in self._unused_files(part)]
        self._log.mend()
        files.sync_folder()  # a process that was killed may have replaced the manifest, but not for good
        for name in (*left, *(name for name in files.entries() if name.startswith(_NEW))):
            if name in there:
                files.remove_tree(name)

    def _unused_files(self, folder: str) -> list[str]:
        """Return the files of tidelog in a folder that the manifest does not name."""
        manifest = self.manifest
        used = {f"segments/{name}" for name in manifest.segments} | {f"{LOGS}/{name}" for name in manifest.logs}
        used.update(self._log.files)
        for part, file in (("programs", manifest.program), ("checkpoints", manifest.checkpoint)):
            if file is not None:
                used.add(f"{part}/{file[0]}")
        names = [f"{folder}/{name}" for name in self._names(folder)]
        return [name for name in names if name not in used and is_plain(name)]

    def _names(self, folder: str) -> list[str]:
        try:
            return sorted(self._files.entries(folder))
        except FileNotFoundError:
            return []

    # --- writing -----------------------------------------------------------------------------------------------------

    def _replace(self, manifest: Manifest) -> None:
        """Replace the manifest, or keep the old one if that fails."""
        old = self.manifest
        with self._allow_changes():
            try:
                self._put_manifest(manifest)
            except BaseException:
                if self.manifest is not old:
                    self.manifest, self._settled = old, False
                with suppress(OSError):
                    self._restore_manifest()
                raise

    def _with_file(self, manifest: Manifest) -> Manifest:
        """Write the program, and return the manifest that names it. Remove the program before the last one: no state
        that a crash can leave needs it."""
        for name in self._unused_files("programs"):
            if name.endswith(self._files.mark):  # Others may be of a process that has the folder by now.
                self._drop(name)
        name, data = f"{manifest.epoch:08}{self._files.mark}", manifest.text.encode("utf-8", "surrogatepass")
        found = self._files.write(f"programs/{name}", lambda output: output.write(data))
        self._files.sync_folder("programs")
        return replace(manifest, program=(name, found))

    def _put_manifest(self, manifest: Manifest) -> None:
        """Write a manifest, and before it the program if it has no file yet: a new one, or that of an older format."""
        if manifest.program is None and manifest.text:
            manifest = self._with_file(manifest)
        logs = {**self._log.manifest_entry(), **manifest.logs}
        named = {name: log for name, log in logs.items() if log.last > manifest.checkpoint_epoch}
        manifest = replace(manifest, logs=named, version=VERSION)
        new = f"{_NEW}{self._files.mark}"
        self._files.write(new, lambda output: output.write(manifest.to_bytes()))
        self._settled = False
        self._files.replace(new, NAME)
        self.manifest = manifest
        self._settled = True
        self._old += (f"{LOGS}/{name}" for name in logs if name not in named)
        self._begin_log()

    def _begin_log(self) -> None:
        """Let the next commits be records of another log than those before the manifest."""
        self._log.close()
        self._drop(self._log.files[1])
        self._log = CommitLog(self._files, self.manifest.number + 1)

    def _restore_manifest(self) -> None:
        """Write the valid manifest to the disk again, after a replacement has failed half way."""
        self._log.mend()
        if self._settled:
            return
        if self.manifest == Manifest(self._kind):
            self._files.remove_tree(NAME)
            self._files.sync_folder()
            self._settled = True
        else:
            self._put_manifest(self.manifest)

    def _drop(self, name: str) -> None:
        """Remove files that the manifest does not name. Files that cannot be removed stay until the next opening."""
        if self._settled:
            with suppress(OSError):
                self._files.remove_tree(name)

    # --- errors ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _allow_changes(self) -> Iterator[None]:
        """Allow changes of the folder inside of the block."""
        if self.read_only:
            hint = "open it with tidelog.connect(folder)"
            raise UsageError(Problem("E0655", "the store is open for reading only", place=self.address, hint=hint))
        with self._report_folder_errors():
            if self._owner is not None:
                self._owner.check()
            self._restore_manifest()
            yield

    @contextmanager
    def _report_folder_errors(self) -> Iterator[None]:
        try:
            yield
        except TakenOverError as error:
            hint = "close this database; the other one goes on from the last commit"
            message = f"the state folder is in use: {error}"
            raise UsageError(Problem("E0680", message, place=self.address, hint=hint)) from error
        except OSError as error:
            reason = error.strerror or str(error)
            reason += f" ({error.filename})" if isinstance(error.filename, str) else ""
            hint = "nothing has changed; free disk space, or grant read and write access"
            raise self._unusable(f"cannot use the state folder: {reason}", hint) from error

    def _unusable(self, message: str, hint: str) -> UsageError:
        return UsageError(Problem("E0681", message, place=self.address, hint=hint))


def _name(number: int) -> str:
    """Return the name of the segment or the checkpoint of an epoch."""
    return f"{number:08}"


def _checkpoint(number: int) -> str:
    return f"checkpoints/{_name(number)}"
