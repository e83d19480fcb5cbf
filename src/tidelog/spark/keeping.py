"""Write the facts of a SparkDatabase to its state folder and read them: as values, by Spark where it has them.

A database on the cluster engine goes on from the partitions of the last epoch in the folder (`resume_engine`), where
nothing has to be evaluated but by each partition for itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.durable.files import damage_error
from tidelog.durable.local import LocalFiles
from tidelog.errors import DataError, Problem, ProgramError, TidelogError
from tidelog.language.syntax import CheckedProgram, Program, RelationType
from tidelog.maintain.protocol import Engine, RowChange
from tidelog.rules.core import CoreProgram
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.failures import ignore_stopped_session, report_job_errors
from tidelog.spark.frames.parts import parts_frame, shared_folder, write_parts
from tidelog.spark.frames.translation import Translation
from tidelog.spark.jobs import Records, job_description, step
from tidelog.spark.rows import Rows
from tidelog.spark.sources.facts import PendingFacts
from tidelog.spark.sources.readers import literal_path
from tidelog.store.manifest import merge_notes, new_text
from tidelog.store.segments import EpochTables, FactTables, FilePart, PartFolder, Segment, facts_table
from tidelog.store.state import StateFolder
from tidelog.version import MEANING
from tidelog.workspace.workspace import Facts, Workspace

Notes = Mapping[str, Mapping[str, Any]]

_CLUSTER = "cluster"
"""The folder in the state folder that the cluster engine works in, and the note that names its partitions."""


class StateKeeper:
    """The state folder of a database over Spark, if there is one, and the notes of streams and pipelines."""

    def __init__(self, state: StateFolder | None) -> None:
        self.state = state
        self.notes: Mapping[str, Any] = {}
        """The notes of streams and pipelines, in the state folder if there is one."""
        self._temporary: str | None = None
        """The folder of the outbox where there is no state folder."""
        self.restoring = False
        """True if the next epoch is one that the folder has already."""
        if state is not None:
            self.notes = state.manifest.notes
            state.drop(_CLUSTER, self._folders_in_use)  # of a process that was killed
            if state.is_own:
                self.outbox.clean([int(epoch) for epoch in self.notes.get("outbox", {})])
                self.drop_unused_rows()

    @property
    def places(self) -> list[tuple[str, str]]:
        """Return the state folder, if there is one, as a place that no sink may replace."""
        return [] if self.state is None else [("state folder", self.state.address)]

    @property
    def quarantine(self) -> str | None:
        """The folder for bad rows of streams in the state folder, if there is one."""
        return None if self.state is None else self.state.inside("quarantine")

    @property
    def outbox(self) -> EpochTables:
        """Return the changes that sinks have yet to get: in the state folder, or in a temporary one."""
        if self.state is not None:
            return self.state.epoch_tables("outbox")
        self._temporary = self._temporary or tempfile.mkdtemp(prefix="tidelog-outbox-")
        return EpochTables(LocalFiles(Path(self._temporary)), "outbox")

    def drop_unused_rows(self) -> None:
        """Remove the rows of files that the notes of pipelines do not name."""
        if self.state is not None:
            sources = self.notes.get("pipeline", {}).get("read", {}).values()
            self.state.epoch_tables("files").clean([int(epoch) for each in sources for epoch in each.get("rows", {})])

    def write(self, notes: Notes) -> None:
        """Add notes, without an epoch. Raise UsageError (E0681)."""
        if self.state is not None:
            self.state.note(notes)
        self.notes = merge_notes(self.notes, notes)

    def checkpoint(self, stream: str) -> str | None:
        """Return the folder for the progress of a stream in the state folder, if there is one."""
        return None if self.state is None else self.state.inside("streams", stream)

    def shared_cluster_folder(self, session: SparkSession) -> str | None:
        """Return the folder for the cluster engine in the state folder, if there is one: executors write the facts of a
        commit into the state folder. UsageError (E0691) where they do not see it."""
        return None if self.state is None else shared_folder(session, self.state.inside(_CLUSTER))

    @property
    def partitions(self) -> tuple[str, str] | None:
        """Return the folder of the partitions of the last epoch, and its token, if the state folder names them."""
        note = {} if self.state is None else self.state.manifest.notes.get(_CLUSTER, {})
        return (
            (self.state.inside(_CLUSTER, note["folder"]), note["token"]) if self.state and note.get("token") else None
        )

    @property
    def _folders_in_use(self) -> list[str]:
        return [] if self.partitions is None else [self.partitions[0].rpartition("/")[2]]

    def partitions_note(self, engine: Engine[Rows]) -> Notes:
        """Return the note that names the partitions of an epoch, if another process can go on from them: not where
        functions of the user's may be others by then."""
        note = {"folder": "", "token": ""}
        if isinstance(engine, PartitionedEngine) and engine.lasting and not engine.functions:
            note = {"folder": engine.folder.address.rpartition("/")[2], "token": engine.committed.token}
        return {_CLUSTER: note} if note["token"] or self.partitions is not None else {}

    def retain(self, engine: Engine[Rows]) -> None:
        """Have the files of partitions stay when the engine is closed, as long as the state folder names them."""
        if isinstance(engine, PartitionedEngine):
            engine.temporary = self.partitions is None or self.partitions[0] != engine.folder.address

    def save(self, session: SparkSession, engine: Engine[Rows]) -> None:
        """Have partitions that the state folder names save themselves, if that is possible."""
        own = self.state is not None and self.state.is_own
        if own and isinstance(engine, PartitionedEngine) and not engine.temporary and engine.is_own:
            with (
                suppress(TidelogError, OSError),
                ignore_stopped_session(),
                report_job_errors(),
                job_description(session, "close"),
            ):
                engine.save()

    def check(self, core: CoreProgram) -> None:
        """Raise ProgramError (E0709) for counters, whose numbers the state folder does not keep."""
        for rule in core.counters if self.state is not None else ():
            message = f"a state folder over Spark does not keep the numbers of the counter of rule {rule.origin}"
            hint = "leave out `state=`, or use tidelog.connect(folder)"
            raise ProgramError(Problem("E0709", message, rule.span, hint=hint))

    def epoch(self, programs: Sequence[Program] | None, removed: Collection[str], notes: Notes) -> Keeping:
        """Begin to keep an epoch; `programs` are None where no rule has changed, the relations `removed` lose their
        facts."""
        return Keeping(None if self.restoring else self.state, programs, removed, notes)

    def note(self, notes: Notes) -> None:
        """Know the notes of an epoch that has happened."""
        self.notes = merge_notes(self.notes, notes)

    def gather(self, tables: Callable[[], FactTables]) -> None:
        """Have one segment in the state folder in place of many, if they are many; `tables` are all facts."""
        if self.state is not None and not self.restoring and self.state.is_scattered():
            with suppress(TidelogError, MemoryError):  # The epoch is safe without.
                self.state.gather(tables())

    def close(self) -> None:
        """Let others have the folder."""
        if self._temporary is not None:
            rmtree(self._temporary, ignore_errors=True)
        if self.state is not None:
            if self.state.is_own:
                self.state.drop(_CLUSTER, self._folders_in_use)
            self.state.close()


class KeptDatabase(Protocol):
    """The database whose streams make epochs and whose sinks get them, see `SparkDatabase`."""

    session: SparkSession
    records: Records
    workspace: Workspace[Any]
    keeper: StateKeeper

    @property
    def program(self) -> CheckedProgram: ...

    @property
    def epoch(self) -> int: ...

    def is_embedded_with(self, incoming: int) -> bool: ...

    def apply(self, pending: Sequence[PendingFacts], notes: Notes) -> object: ...

    def __getitem__(self, name: str) -> DataFrame: ...


class Keeping:
    """An epoch on its way to the state folder, if there is one: its facts, then its notes, and the programs unless
    these are None, because no rule has changed."""

    def __init__(
        self, state: StateFolder | None, programs: Sequence[Program] | None, removed: Collection[str], notes: Notes
    ) -> None:
        self._state = state
        self._programs = programs
        self._gone = removed
        self.notes = notes
        """The notes of the epoch, up to its seal."""
        self._segment: Segment | None = None
        self._text = ""
        self.sealed = False

    def add(self, notes: Notes) -> None:
        """Add notes to those of the epoch."""
        self.notes = merge_notes(self.notes, notes)

    def prepare(self, tables: Callable[[], FactTables]) -> None:
        """Write the facts, and see that the program can be written. Raise InternalError (E0901) if not."""
        if self._state is not None:
            self._text = self._state.manifest.text if self._programs is None else new_text(self._programs)
            self._segment = self._state.prepare(tables())

    def seal(self) -> None:
        """Let the epoch last."""
        if self._state is not None and self._segment is not None:
            self._state.publish(self._segment, self._text, self.notes, self._gone)
        self.sealed = True

    def discard(self) -> None:
        """Remove the facts of an epoch that has failed."""
        if self._state is not None and self._segment is not None:
            self._state.discard(self._segment)


def tables_of(
    relations: Mapping[str, RelationType], facts: Mapping[str, RowChange[Rows]], translation: Translation
) -> FactTables:
    """Return the facts that an epoch asserts and retracts, as tables or writers of files."""
    found: dict[tuple[str, bool], pa.Table | Callable[[str], Sequence[FilePart]]] = {}
    for name, change in facts.items():
        for asserts, rows in ((True, change.inserted), (False, change.deleted)):
            if not rows.is_surely_empty:
                found[name, asserts] = stored_rows(relations[name], rows, translation)
    return found


def stored_rows(
    relation: RelationType, rows: Rows, translation: Translation
) -> pa.Table | Callable[[str], Sequence[FilePart]]:
    """Return rows as values: a table, or what writes them."""
    if rows.driver_words is not None:
        return facts_table(relation, translation.dictionary, rows.driver_words)
    values = translation.values(relation.name, rows, relation.columns) if relation.columns else translation.frame(rows)
    return lambda folder: write_parts(values, folder)


def changes_in(state: StateFolder, session: SparkSession, program: CheckedProgram) -> Iterator[tuple[str, bool, Any]]:
    """Relation, whether it asserts, and data of all changes, in their order. DataError (E0682)."""
    for name, asserts, table in state.tables():
        if name not in program.relations:
            raise damage_error(state.address, f"it has facts of {name}, which the program does not declare")
        if not program.relations[name].columns:
            yield name, asserts, [()]
        elif not isinstance(table, PartFolder):
            yield name, asserts, table
        elif any(part.name.endswith(".parquet") for part in table.parts):  # Without a row, tasks write no file.
            yield name, asserts, parts_in_spark(session, table)


def parts_in_spark(session: SparkSession, table: PartFolder) -> DataFrame:
    """Return the rows of files that tasks have written, of which there is one at least."""
    is_address = "://" in table.place
    return parts_frame(session, table) if is_address else session.read.parquet(f"file://{literal_path(table.place)}")


# --- partitions of the last epoch ------------------------------------------------------------------------------------


def resume_engine(opened: Callable[[], PartitionedEngine], workspace: Workspace[Facts]) -> PartitionedEngine:
    """Return the engine of the partitions that are there, with the workspace at its program, which waits. Raise
    DataError (E0682) if files are damaged, or are of another program, and then change nothing."""
    engine = opened()
    try:
        draft = workspace.draft()
        made = engine.committed.core
        # Facts of the text are in the state folder, where it is without them.
        meaning = engine.committed.meaning
        if meaning != MEANING or made is None or replace(made, facts=()) != replace(draft.core, facts=()):
            message = "another version of tidelog has made the partitions"
            hint = "open it with that version, or begin with an empty folder"
            raise DataError(Problem("E0682", message, place=engine.folder.address, hint=hint))
        try:
            with report_job_errors(), step("restore partitions"):
                engine.find_unsettled_relations()  # All of them have to be restored for that.
        except FileNotFoundError as error:
            raise damage_error(engine.folder.address, str(error)) from error
    except BaseException:
        engine.close()
        raise
    workspace.settle(draft)
    return engine
