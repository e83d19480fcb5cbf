"""`FolderKeeper`: the keeper by which the epochs of a database last in a folder.

An epoch's facts are on the disk before it is sealed, and the manifest is replaced when it is worked out and nothing
else can fail: from then on the epoch has happened, also for a process that is killed right then. Views are kept as a
checkpoint, which is written anew once following the epochs since the last one has taken longer than writing it did; so
that opening never takes much longer than reading one, and checkpoints never more time than the epochs themselves. A
small checkpoint would be due after a few commits: while rules stay, it waits for a quarter of a second of epochs.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy

from tidelog.common.arrays import AnyWords, Words
from tidelog.durable.damage import damaged
from tidelog.durable.files import Files
from tidelog.errors import UsageError
from tidelog.io import encode
from tidelog.language.placed import STORE, placed_text
from tidelog.language.syntax import RelationType
from tidelog.maintain.deltas import AnyRows, rows_of
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.protocol import FactCall, Prospect, RowChange
from tidelog.rules.core import NUMBERED
from tidelog.storage.changes import date_changes
from tidelog.store import checkpoint
from tidelog.store.aside import AsideCheckpoint
from tidelog.store.choices import SHOWN, RecordedChoices
from tidelog.store.image import EngineImage
from tidelog.store.manifest import new_text
from tidelog.store.numbers import RecordedNumbers, numbered_relation
from tidelog.store.segments import Segment
from tidelog.store.state import GONE, StateFolder
from tidelog.store.tables import FactTables, PartFolder, facts_table
from tidelog.workspace.programs import Reading
from tidelog.workspace.workspace import Draft, Workspace

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
        self.aside = False
        """True if another thread writes checkpoints while epochs go on: for servers, whose clients would wait."""
        self._aside: AsideCheckpoint | None = None
        self._recovering = False
        self._dated: dict[str, list[tuple[bool, Words, AnyWords]]] = {}
        """While the last epoch comes back: the facts that epochs asserted and retracted, in order, with the epochs."""
        self.attached: Mapping[str, Mapping[str, Any]] = {}
        """Notes of others that the next epoch commits with it; None removes one."""
        self._recorded: RecordedNumbers | None = None
        """The numbers of counters, while the last epoch comes back."""
        self._chosen: RecordedChoices | None = None
        """The tuples that choices showed, while the last epoch comes back."""
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
        notes = {**self._noted(next_number(draft, changes)), **self.attached}
        if not same:
            notes = {**notes, RULES: note_of(draft.since)}
        gone = draft.gone_from(self._workspace.committed)
        segment = self.state.prepare(self._tables(draft, changes))
        self._publish(segment, text, notes, gone)

    def _publish(self, segment: Segment, text: str, notes: Mapping[str, Any], gone: Collection[str]) -> None:
        """Commit a segment, or discard it if that fails."""
        if gone:
            self._stop_aside()
        try:
            self.state.publish(segment, text, notes, {*gone, *(f"{SHOWN}{name}" for name in gone)})
        except BaseException:
            self.state.discard(segment)
            raise

    def _noted(self, following: int) -> Mapping[str, Any]:
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

    def settled(self, engine: EmbeddedEngine, seconds: float) -> None:
        """Write a checkpoint if the epochs since the last one have taken longer than that would."""
        if self._recovering:
            self._date(engine)
            self._recovering, self.spent, self._recorded, self._chosen = False, seconds, None, None
            return
        self.spent += seconds
        self.state.drop_old(_FEW)
        if self._aside is not None and self._aside.is_written:
            self._take_aside(self._aside)
        if GONE in self.state.manifest.notes:
            self.write_checkpoint(engine)
        elif self._aside is None and self._is_time():
            if self.aside:
                with suppress(MemoryError):
                    self._aside = AsideCheckpoint(self.state, engine)
                    self.spent = 0.0
            else:
                self.write_checkpoint(engine)

    def _is_time(self) -> bool:
        """Return True if the epochs since the last checkpoint have taken longer than the next one will, or are many."""
        patience = _PATIENCE if self.aside else 1.0
        least = self.least if self.state.manifest.covers_rules else 0.0
        return self.spent > max(least, patience * self.price) or self.state.is_scattered(patience)

    def _take_aside(self, aside: AsideCheckpoint) -> None:
        """Let the checkpoint that another thread has written be the last one."""
        self._aside, self.price = None, aside.seconds
        with suppress(UsageError, MemoryError):
            aside.take()

    def _date(self, engine: EmbeddedEngine) -> None:
        """Give the facts that have come back the epochs in which they came."""
        self._workspace.known_since = None
        for name, changes in self._dated.items():
            name = engine.program.candidates.get(name, name)
            if name in engine.asserted:
                date_changes(engine.asserted[name], changes)
        self._dated.clear()

    def write_checkpoint(self, engine: EmbeddedEngine) -> None:
        """Write everything as of now in place of the segments, if the disk takes it."""
        self._stop_aside()
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
        with self.state.saved() as file:
            if file is not None:
                epoch = int(manifest.checkpoint[0]) if manifest.checkpoint else 0
                engine = self._restored(checkpoint.Checkpoint(self.state.checkpoint_path, file, epoch))
        self.price = time.perf_counter() - started
        if not workspace.programs or placed_text(workspace.programs) != manifest.text:
            workspace.replace(_reading(workspace, manifest.text))
        self._recorded = self._recorded or RecordedNumbers(workspace.dictionary)
        self._chosen = self._chosen or RecordedChoices(workspace.dictionary)
        workspace.facts.extend(self._facts_since(self._recorded, self._chosen))
        engine = engine or EmbeddedEngine(workspace.dictionary, workspace.committed.core)
        engine.recorded = {**self._recorded.rows(), **self._chosen.rows(engine.views)}
        engine.next_number = max(engine.next_number, manifest.notes.get(NUMBERS, {}).get("next", 0))
        return engine

    def _restored(self, saved: checkpoint.Checkpoint) -> EmbeddedEngine | None:
        """Return the engine of a checkpoint. Where that was another tidelog's, or has relations that have gone since,
        its facts wait."""
        workspace = self._workspace
        draft = workspace.replace(_reading(workspace, saved.program))
        saved.fill(workspace.dictionary)
        gone = self.state.manifest.notes.get(GONE, {})
        engine = None if gone else saved.restore(draft.core, workspace.dictionary)
        if engine is not None:
            workspace.settle(draft)
        else:
            known = draft.checked.relations.keys() - gone.keys()
            for name, words, epochs in saved.facts():
                if name in known:
                    workspace.facts.append(FactCall(name, True, words))
                    self._dated.setdefault(name, []).append((True, words, epochs))
            self._recorded = RecordedNumbers(workspace.dictionary)
            for name, words in saved.views(lambda name: name.startswith(NUMBERED) and name in draft.core.relations):
                self._recorded.change(draft.core.relations[name], True, words)
            self._chosen = RecordedChoices(workspace.dictionary)
            for name, words in saved.views(known.intersection(draft.core.choices).__contains__):
                self._chosen.change(draft.checked.relations[name], True, words)
        return engine

    def _facts_since(self, recorded: RecordedNumbers, chosen: RecordedChoices) -> Iterator[FactCall]:
        """Yield the changes of facts since the checkpoint; `recorded` gets those of the numbers of counters, and
        `chosen` those of the tuples that choices show."""
        core = self._workspace.draft().core
        for epoch, name, asserts, table in self.state.dated_tables():
            if name.startswith(NUMBERED):
                if name in core.relations and not isinstance(table, PartFolder):
                    recorded.take(core, name, asserts, table)
                continue
            relation = self._workspace.program.relations.get(name.removeprefix(SHOWN))
            if relation is None or isinstance(table, PartFolder):
                name = name.removeprefix(SHOWN)
                raise damaged(self.state.folder, f"it has facts of {name}, which the program does not declare")
            if name.startswith(SHOWN):
                chosen.take(relation, asserts, table)
                continue
            if relation.columns:
                words = encode(table, relation, self._workspace.dictionary)
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

    def _stop_aside(self) -> None:
        """Let no other thread write a checkpoint. After a fork, there is no such thread."""
        aside, self._aside = self._aside, None
        if aside is not None and self.state.is_own:
            aside.stop()

    def close(self) -> None:
        """Let others have the folder."""
        self._stop_aside()
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


def _reading(workspace: Workspace[FactCall], text: str) -> Reading:
    return workspace.reading(f"{text}\n", STORE)
