"""`FolderKeeper`: the keeper by which the epochs of a database last in a folder.

An epoch's facts are on the disk before it is sealed, and the manifest is replaced when it is worked out and nothing
else can fail: from then on the epoch has happened, also for a process that is killed right then. Views are kept as a
checkpoint, which is written anew once following the epochs since the last one has taken longer than writing it did; so
that opening never takes much longer than reading one, and checkpoints never more time than the epochs themselves. A
small checkpoint would be due after a few commits: while rules stay, it waits for a quarter of a second of epochs.

Facts alone do not say which numbers counters have given, nor which tuples relations with choice-domains show: that
depends on the numbers and tuples before. A checkpoint has both in its views. The segments after it have the changes:
for each epoch the rows that were inserted and deleted, which are no facts. The epoch that brings a database back takes
them from there first (`EngineState.recorded`), so that each substitution has the number again that it had, and the
same tuples are shown.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.common.arrays import AnyWords, Words
from tidelog.durable.files import Files, damage_error
from tidelog.errors import DataError, UsageError
from tidelog.io import encode
from tidelog.language.stored_text import STORE, placed_text
from tidelog.language.syntax import Column, RelationType
from tidelog.maintain.deltas import AnyRows, rows_of
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.protocol import FactCall, Prospect, RowChange
from tidelog.rules.core import NUMBERED, CoreProgram
from tidelog.storage.changes import date_changes
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.stored import StoredRelation
from tidelog.store import checkpoint
from tidelog.store.checkpoint import BackgroundCheckpoint, EngineImage
from tidelog.store.manifest import new_text
from tidelog.store.segments import FactTables, PartFolder, Segment, facts_table
from tidelog.store.state import GONE, StateFolder
from tidelog.workspace.programs import Reading
from tidelog.workspace.workspace import Draft, Workspace

if TYPE_CHECKING:
    pass


SHOWN = "#shown."
"""How the names of the files with shown tuples begin, so that they are no facts of the relation."""


class RecordedRows:
    """The numbers of counters and the tuples that choices show, as epochs changed them, by relation. The dictionary
    keeps their words as long as this is there."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._changes: dict[str, list[tuple[bool, Words]]] = {}
        dictionary.hold(self)

    def change(self, name: str, columns: tuple[Column, ...], asserts: bool, words: Words) -> None:
        """Take rows that a relation gained or lost."""
        self._columns[name] = columns
        self._changes.setdefault(name, []).append((asserts, words))

    def rows(self, before: Mapping[str, StoredRelation]) -> dict[str, Words]:
        """Return the last number of each substitution that has got one, and the tuples of choices that have changed,
        from the views `before` the changes."""
        found = {}
        for name, changes in self._changes.items():
            is_numbered = name.startswith(NUMBERED)
            if name in before and not is_numbered:
                changes = [(True, before[name].words().astype(numpy.int64)), *changes]
            # The last change of a tuple, or of the number of a substitution, says whether it is there.
            words = numpy.concatenate([words for _, words in changes])[::-1]
            inserted = numpy.concatenate([numpy.full(len(words), asserts) for asserts, words in changes])[::-1]
            keys = words.copy()
            keys[:, -1] *= not is_numbered
            last = numpy.unique(keys, axis=0, return_index=True)[1]
            found[name] = numpy.ascontiguousarray(words[last[inserted[last]]])
        return found

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the words that the dictionary must not give back."""
        for name, changes in self._changes.items():
            for _, words in changes:
                yield self._columns[name], words


def numbered_relation(core: CoreProgram, name: str) -> RelationType:
    """Return the relation of a counter as one with facts, whose columns have names that differ."""
    columns = core.relations[name].columns
    return RelationType(name, tuple(Column(f"c{i}", each.kind, each.kind) for i, each in enumerate(columns)))


NUMBERS = "numbers"
"""The note of the next number of counters."""
RULES = "rules"
"""The note of the epochs in which rules came."""
_PATIENCE = 5.0
"""The factor by which checkpoints of another thread are rarer: meanwhile they take cores and the disk from epochs."""
_FEW = 10
"""The most replaced files to remove after an epoch: to remove them all would hold up the next one."""


class FolderKeeper:
    """The folder of a database of a `kind`, see `StoredDatabase`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        kind: str = "embedded",
        *,
        read_only: bool = False,
        files: Files | None = None,
    ) -> None:
        self.state = StateFolder(folder, kind, read_only=read_only, files=files)
        self.spent = 0.0
        """Seconds of the epochs since the last checkpoint."""
        self.price = 0.0
        """Seconds that writing the last checkpoint has taken, or reading it."""
        self.least = 0.25
        """Seconds of epochs between two checkpoints: a small one costs commits more than it saves at opening."""
        self.in_background = False
        """True if another thread writes checkpoints while epochs go on: for servers, whose clients would wait."""
        self._background: BackgroundCheckpoint | None = None
        self._recovering = False
        self._dated: dict[str, list[tuple[bool, Words, AnyWords]]] = {}
        """While the last epoch comes back: the facts that epochs asserted and retracted, in order, with the epochs."""
        self.attached: Mapping[str, Mapping[str, Any]] = {}
        """Notes of others that the next epoch commits with it; None removes one."""
        self._recorded: RecordedRows | None = None
        """The numbers of counters and the tuples that choices showed, while the last epoch comes back."""
        self._workspace: Workspace[FactCall]

    @property
    def next_epoch(self) -> int:
        """Return the number of the epoch that is being made, which may be the one that comes back."""
        return self.state.manifest.number + (not self._recovering)

    # --- committing --------------------------------------------------------------------------------------------------

    def seal(self, draft: Draft, facts: Mapping[str, RowChange[Words]], prospect: Prospect[AnyRows]) -> None:
        """Write the facts, the numbers and the choices of an epoch, and replace the manifest. UsageError (E0681) where
        the disk does not take it."""
        if self._recovering:
            return
        changes = changes_of(draft, facts, prospect)
        committed = self._workspace.committed.programs
        same = draft.programs is committed
        text = self.state.manifest.text if same else new_text(draft.programs, committed)
        notes = {**self._number_note(next_number(draft, changes)), **self.attached}
        if not same:
            notes = {**notes, RULES: note_of(draft.since)}
        removed = draft.relations_lost_since(self._workspace.committed)
        segment = self.state.prepare(self._tables(draft, changes))
        self._publish(segment, text, notes, removed)

    def _publish(self, segment: Segment, text: str, notes: Mapping[str, Any], removed: Collection[str]) -> None:
        """Commit a segment, or discard it if that fails."""
        if removed:
            self._stop_background()
        try:
            self.state.publish(segment, text, notes, {*removed, *(f"{SHOWN}{name}" for name in removed)})
        except BaseException:
            self.state.discard(segment)
            raise

    def _number_note(self, following: int) -> Mapping[str, Any]:
        """Return the note of the next number of counters, if it is a new one."""
        known = self.state.manifest.notes.get(NUMBERS, {}).get("next", 0)
        return {NUMBERS: {"next": following}} if following > known else {}

    def _tables(self, draft: Draft, changes: Mapping[str, RowChange[Words]]) -> FactTables:
        """Return changes as tables of a segment."""
        return {
            (name, asserts): facts_table(relation_of(draft, name), self._workspace.dictionary, words)
            for name, change in changes.items()
            for asserts, words in ((True, change.inserted), (False, change.deleted))
            if len(words)
        }

    def note_epoch(self, engine: EmbeddedEngine, seconds: float) -> None:
        """Write a checkpoint if the epochs since the last one have taken longer than that would."""
        if self._recovering:
            self._date_facts(engine)
            self._recovering, self.spent, self._recorded = False, seconds, None
            return
        self.spent += seconds
        self.state.drop_old(_FEW)
        if self._background is not None and self._background.is_written:
            self._take_background(self._background)
        if GONE in self.state.manifest.notes:
            self.write_checkpoint(engine)
        elif self._background is None and self._is_checkpoint_due():
            if self.in_background:
                with suppress(MemoryError):
                    self._background = BackgroundCheckpoint(self.state, engine)
                    self.spent = 0.0
            else:
                self.write_checkpoint(engine)

    def _is_checkpoint_due(self) -> bool:
        """Return True if the epochs since the last checkpoint have taken longer than the next one will, or are many."""
        patience = _PATIENCE if self.in_background else 1.0
        least = self.least if self.state.manifest.covers_rules else 0.0
        return self.spent > max(least, patience * self.price) or self.state.is_scattered(patience)

    def _take_background(self, written: BackgroundCheckpoint) -> None:
        """Let the checkpoint that another thread has written be the last one."""
        self._background, self.price = None, written.seconds
        with suppress(UsageError, MemoryError):
            written.take()

    def _date_facts(self, engine: EmbeddedEngine) -> None:
        """Give the facts that have come back the epochs in which they came."""
        self._workspace.known_since = None
        for name, changes in self._dated.items():
            name = engine.program.candidates.get(name, name)
            if name in engine.asserted:
                date_changes(engine.asserted[name], changes)
        self._dated.clear()

    def write_checkpoint(self, engine: EmbeddedEngine) -> None:
        """Write everything as of now in place of the segments, if the disk takes it."""
        self._stop_background()
        started = time.perf_counter()
        # The epoch is safe without, and the next try is due when as much time has been spent again.
        with suppress(UsageError, MemoryError):
            self.state.checkpoint(EngineImage(engine, self.state.manifest.text).write)
        self.price, self.spent = time.perf_counter() - started, 0.0

    # --- opening -----------------------------------------------------------------------------------------------------

    def recover(self, workspace: Workspace[FactCall]) -> EmbeddedEngine | None:
        """Come back to the checkpoint, and let what was committed since wait."""
        self._workspace, manifest = workspace, self.state.manifest
        if not manifest.epoch:
            return None
        self._recovering, engine = True, None
        workspace.known_since = known_since(manifest.notes.get(RULES), manifest.number)
        started = time.perf_counter()
        with self.state.open_checkpoint() as file:
            if file is not None:
                epoch = int(manifest.checkpoint[0]) if manifest.checkpoint else 0
                engine = self._restore(checkpoint.Checkpoint(self.state.checkpoint_path, file, epoch))
        self.price = time.perf_counter() - started
        if not workspace.programs or placed_text(workspace.programs) != manifest.text:
            workspace.replace(_read_program(workspace, manifest.text))
        self._recorded = self._recorded or RecordedRows(workspace.dictionary)
        workspace.facts.extend(self._facts_since(self._recorded))
        engine = engine or EmbeddedEngine(workspace.dictionary, workspace.committed.core)
        engine.recorded = self._recorded.rows(engine.views)
        engine.next_number = max(engine.next_number, manifest.notes.get(NUMBERS, {}).get("next", 0))
        return engine

    def _restore(self, saved: checkpoint.Checkpoint) -> EmbeddedEngine | None:
        """Return the engine of a checkpoint. Where that was another tidelog's, or has relations that have gone since,
        its facts wait."""
        workspace = self._workspace
        draft = workspace.replace(_read_program(workspace, saved.program))
        saved.fill(workspace.dictionary)
        removed = self.state.manifest.notes.get(GONE, {})
        engine = None if removed else saved.restore(draft.core, workspace.dictionary)
        if engine is not None:
            workspace.settle(draft)
        else:
            known = draft.checked.relations.keys() - removed.keys()
            for name, words, epochs in saved.facts():
                if name in known:
                    workspace.facts.append(FactCall(name, True, words))
                    self._dated.setdefault(name, []).append((True, words, epochs))
            self._recorded = RecordedRows(workspace.dictionary)
            for name, words in saved.views(lambda name: name.startswith(NUMBERED) and name in draft.core.relations):
                self._recorded.change(name, draft.core.relations[name].columns, True, words)
            for name, words in saved.views(known.intersection(draft.core.choices).__contains__):
                self._recorded.change(name, draft.checked.relations[name].columns, True, words)
        return engine

    def _facts_since(self, recorded: RecordedRows) -> Iterator[FactCall]:
        """Yield the changes of facts since the checkpoint; `recorded` gets those of the numbers of counters, and of the
        tuples that choices show."""
        core, dictionary = self._workspace.draft().core, self._workspace.dictionary
        for epoch, name, asserts, table in self.state.dated_tables():
            if name.startswith(NUMBERED):
                if name in core.relations and not isinstance(table, PartFolder):
                    numbers = numbered_relation(core, name)
                    # A former rule of this name may have had other variables, or variables of other types.
                    if table.column_names == [column.name for column in numbers.columns]:
                        with suppress(DataError):
                            recorded.change(name, numbers.columns, asserts, encode(table, numbers, dictionary))
                continue
            relation = self._workspace.program.relations.get(name.removeprefix(SHOWN))
            if relation is None or isinstance(table, PartFolder):
                name = name.removeprefix(SHOWN)
                raise damage_error(self.state.folder, f"it has facts of {name}, which the program does not declare")
            if name.startswith(SHOWN):
                recorded.change(relation.name, relation.columns, asserts, encode(table, relation, dictionary))
                continue
            if relation.columns:
                words = encode(table, relation, dictionary)
            else:
                words = numpy.empty((min(table.num_rows, 1), 0), numpy.int64)
            epochs = numpy.full(len(words), epoch, numpy.int64)
            self._dated.setdefault(name, []).append((asserts, words, epochs))
            yield FactCall(name, asserts, words)

    # --- the rest ----------------------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Return the folder, the number of the last epoch since it was made, that of the checkpoint, or None, and the
        number of segments after it."""
        manifest = self.state.manifest
        return {
            "folder": self.state.address,
            "epoch": manifest.number,
            "checkpoint": int(manifest.checkpoint[0]) if manifest.checkpoint else None,
            "segments": self.state.segments,
        }

    def _stop_background(self) -> None:
        """Let no other thread write a checkpoint. After a fork, there is no such thread."""
        running, self._background = self._background, None
        if running is not None and self.state.is_own:
            running.stop()

    def close(self) -> None:
        """Let others have the folder."""
        self._stop_background()
        self.state.close()


def changes_of(
    draft: Draft, facts: Mapping[str, RowChange[Words]], prospect: Prospect[AnyRows]
) -> Mapping[str, RowChange[Words]]:
    """Return the changes of an epoch that a segment has: those of facts, of the numbers of counters, and of the tuples
    that relations with choice-domains show."""
    found = dict(facts)
    others = {rule.head: rule.head for rule in draft.core.counters} | {
        f"{SHOWN}{name}": name for name in draft.core.choices
    }
    for name, relation in others.items():
        change = prospect.deltas.get(relation)
        if change is not None:
            inserted, deleted = (rows_of(rows).astype(numpy.int64) for rows in (change.inserted, change.deleted))
            found[name] = RowChange(inserted, deleted)
    return found


def next_number(draft: Draft, changes: Mapping[str, RowChange[Words]]) -> int:
    """Return the number behind the last one that counters have given in some changes, 0 without any."""
    given = [changes[rule.head].inserted[:, -1] for rule in draft.core.counters if rule.head in changes]
    return max((int(numbers.max()) + 1 for numbers in given if len(numbers)), default=0)


def relation_of(draft: Draft, name: str) -> RelationType:
    """Return the relation of the changes of this name, see `changes_of`."""
    if name.startswith(NUMBERED):
        return numbered_relation(draft.core, name)
    return draft.checked.relations[name.removeprefix(SHOWN)]


def note_of(since: Mapping[str, int]) -> dict[str, Any]:
    """Return the note of the epochs in which rules came: the one of most, and others by name."""
    usual = Counter(since.values()).most_common(1)[0][0] if since else 0
    return {"usual": usual, "others": {name: epoch for name, epoch in since.items() if epoch != usual}}


def known_since(note: Mapping[str, Any] | None, epoch: int) -> Callable[[str], int]:
    """Return the epoch of a rule by its name, as a note says, or without one that it came in an epoch or before."""
    if note is None:
        return lambda name: -epoch
    usual, others = note["usual"], note["others"]
    return lambda name: int(others.get(name, usual))


def _read_program(workspace: Workspace[FactCall], text: str) -> Reading:
    return workspace.read_program(f"{text}\n", STORE)
