"""Databases with a folder in which their epochs last: `StoredDatabase`, and the keeper of a store of RDF.

`tidelog.connect("views.tide")` gives a `StoredDatabase`. In a store of RDF, several epochs are one commit, which lasts
as a whole or not at all: it takes as many as the changes of its schema need, and undoes a commit that fails, and a
trial, by a further epoch. So its `GroupKeeper` notes each epoch, and writes nothing; `publish` writes the net change of
all epochs since the last `publish`. The noted changes lead from the disk to memory at any time, also after an undo.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tidelog.common.arrays import Words
from tidelog.database.database import Database
from tidelog.durable.files import Files
from tidelog.errors import DataError, UsageError
from tidelog.functions.callables import FunctorSource
from tidelog.language.syntax import Column, Program
from tidelog.limits.watch import WithinMemory
from tidelog.maintain.deltas import AnyRows
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.protocol import FactCall, Prospect, RowChange, net_changes
from tidelog.rules.core import NUMBERED
from tidelog.store.checkpoint import EngineImage
from tidelog.store.keeper import RULES, SHOWN, FolderKeeper, changes_of, next_number, note_of, relation_of
from tidelog.store.manifest import new_text
from tidelog.workspace.workspace import Draft, Workspace

Notes: TypeAlias = Mapping[str, Mapping[str, Any]]


class GroupKeeper(FolderKeeper):
    """The folder of a store of RDF. Raises as `StoredDatabase`."""

    def __init__(self, folder: str | os.PathLike[str], *, files: Files | None = None) -> None:
        super().__init__(folder, "rdf", files=files)
        self._calls: list[tuple[str, bool, Words]] = []
        """The changes of the epochs since the last publication, in order."""
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._gone: set[str] = set()
        """The relations that have gone since, of those that the folder has."""
        self._following = 0
        self._programs: tuple[Program, ...] | None = None
        """The programs as of the last publication."""
        self._known: frozenset[str] = frozenset()
        """The relations as of the last publication."""

    @property
    def notes(self) -> Notes:
        """Return the notes of the last publication, nothing for a new folder."""
        return self.state.manifest.notes

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the words of the noted changes, which the dictionary keeps."""
        yield from ((self._columns[name], words) for name, _, words in self._calls)

    def recover(self, workspace: Workspace[FactCall]) -> EmbeddedEngine | None:
        """Come back to the last publication."""
        workspace.dictionary.hold(self)
        return super().recover(workspace)

    def seal(self, draft: Draft, facts: Mapping[str, RowChange[Words]], prospect: Prospect[AnyRows]) -> None:
        """Note the changes of an epoch."""
        if self._recovering:
            return
        removed = draft.relations_lost_since(self._workspace.committed)
        if removed:
            lost = {*removed, *(f"{SHOWN}{name}" for name in removed)}
            self._calls = [call for call in self._calls if call[0] not in lost]
            self._gone |= removed & self._known
        changes = changes_of(draft, facts, prospect)
        self._following = max(self._following, next_number(draft, changes))
        for name, change in changes.items():
            self._columns[name] = relation_of(draft, name).columns
            for asserts, words in ((False, change.deleted), (True, change.inserted)):
                if len(words):
                    self._calls.append((name, asserts, words.copy()))

    def note_epoch(self, engine: EmbeddedEngine, seconds: float) -> None:
        """Note that an epoch is over."""
        if self._recovering:
            super().note_epoch(engine, seconds)
            self._begin_group()
        else:
            self.spent += seconds

    def publish(self, engine: EmbeddedEngine, notes: Notes) -> None:
        """Let everything that was noted last, with these notes. Raise UsageError (E0681, E0628) where the disk does not
        take it; then the folder is as before, and the changes stay noted.

        A change of more rows than the other facts have is a checkpoint at once.
        """
        started, draft = time.perf_counter(), self._workspace.committed
        # A row that an undo brought back may be asserted again, which changes nothing, its epoch included.
        changes = {name: each for name, each in net_changes(self._calls).items() if _is_declared(draft, name)}
        text = self.state.manifest.text
        notes = {**notes, **self._number_note(self._following)}
        if draft.programs is not self._programs:
            text = new_text(draft.programs, self._programs or ())
            notes = {**notes, RULES: note_of(draft.since)}
        rows = sum(len(change.inserted) + len(change.deleted) for change in changes.values())
        if self.state.manifest.epoch and rows > sum(map(len, engine.asserted.values())) // 2:
            self._stop_background()
            self.state.publish_whole(EngineImage(engine, text).write, text, notes)
            self.price, self.spent = time.perf_counter() - started, 0.0
        else:
            self._publish(self.state.prepare(self._tables(draft, changes)), text, notes, self._gone)
            super().note_epoch(engine, 0.0)
        self._begin_group()

    def _begin_group(self) -> None:
        draft = self._workspace.committed
        self._programs, self._known = draft.programs, frozenset(draft.checked.relations)
        self._calls, self._gone, self._following = [], set(), 0


def _is_declared(draft: Draft, name: str) -> bool:
    """Return True if a program still has a relation with changes."""
    if name.startswith(NUMBERED):
        return name in draft.core.relations
    shown = name.removeprefix(SHOWN)
    return shown in (draft.core.choices if shown != name else draft.checked.relations)


_TRIES = 20
"""So often the manifest is read where files are missing to one who reads beside a process that writes."""
_OPENING = WithinMemory("the folder is as it was; open it on a machine with more memory")


class StoredDatabase(Database):
    """A database in a folder, which is made if need be. One process at a time can have it; others can read its last
    epoch with `read_only`, also while that process commits.

    Raises UsageError where another process has it (E0680) or it cannot be used (E0681), DataError where it is damaged
    (E0682), LimitError where memory does not suffice to open it (E0503).
    """

    @_OPENING
    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        read_only: bool = False,
        files: Files | None = None,
        functors: FunctorSource = (),
    ) -> None:
        for left in range(_TRIES if read_only else 1, 0, -1):
            try:
                self.keeper = FolderKeeper(folder, read_only=read_only, files=files)
                super().__init__(self.keeper, functors)
                break
            except (DataError, UsageError) as error:
                # A process that commits may have removed what the manifest named a moment ago.
                if left == 1 or error.code not in ("E0681", "E0682"):
                    raise

    @property
    def folder(self) -> Path:
        """Where the database is."""
        return self.keeper.state.folder
