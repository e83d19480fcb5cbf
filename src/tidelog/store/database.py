"""`StoredDatabase`: what `tidelog.connect("views.tide")` gives, a Database whose epochs last in a folder.

An epoch's facts are on the disk before it is evaluated, and the manifest is replaced when it is worked out and nothing
else can fail: from then on the epoch has happened, also for a process that is killed right then. Views are kept as a
checkpoint, which is written anew once following the epochs since the last one has taken longer than writing it did; so
that opening never takes much longer than reading one, and checkpoints never more time than the epochs themselves.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy

from tidelog.arrays import Words
from tidelog.change import Change
from tidelog.database import Database
from tidelog.durable.damage import damaged
from tidelog.durable.files import Files
from tidelog.errors import UsageError
from tidelog.io import encode
from tidelog.language import read
from tidelog.language.syntax import Program
from tidelog.limits.interrupts import Interrupts
from tidelog.limits.watch import WithinMemory
from tidelog.maintain.deltas import Delta
from tidelog.maintain.report import Report
from tidelog.pending import Pending
from tidelog.storage.stored import StoredRelation
from tidelog.store import checkpoint
from tidelog.store.state import StateFolder, text_of
from tidelog.store.tables import facts_table

_OPENING = WithinMemory("the folder is as it was; open it on a machine with more memory")


class StoredDatabase(Database):
    """A database in a folder, which is made if need be. One process at a time can have it.

    Raises UsageError where another process has it (E0680) or it cannot be used (E0681), DataError where it is damaged
    (E0682), LimitError where memory does not suffice to open it (E0503).
    """

    opening: Report | None = None
    """What was done to come back to the last epoch; None for a new folder."""

    @_OPENING
    def __init__(self, folder: str | os.PathLike[str], *, read_only: bool = False, files: Files | None = None) -> None:
        super().__init__()
        self._state = StateFolder(folder, read_only=read_only, files=files)
        self._reopening = False
        self._spent = 0.0
        """Seconds of the epochs since the last checkpoint."""
        self._price = 0.0
        """Seconds that writing the last checkpoint has taken, or reading it."""
        try:
            self._reopen()
        except BaseException:
            self._state.close()
            raise

    @property
    def folder(self) -> Path:
        """Where the database is."""
        return self._state.folder

    def commit(self) -> Change:
        """See Database; the epoch is on the disk when this returns. Raises UsageError (E0681) where the disk does not
        take it, and then nothing has changed."""
        return super().commit()

    def stats(self) -> dict[str, Any]:
        """See Database; `store` has the folder, the number of the last epoch since the folder was made, that of the
        checkpoint, or None, the segments after it, and what `opening` it has taken."""
        with self.turns.using:
            manifest = self._state.manifest
            store = {
                "folder": str(self.folder),
                "epoch": manifest.epoch,
                "checkpoint": int(manifest.checkpoint[0]) if manifest.checkpoint else None,
                "segments": len(manifest.segments),
                "opening": {} if self.opening is None else _work(self.opening),
            }
            return {**super().stats(), "store": store}

    def close(self) -> None:
        """Give the memory back, and let others have the folder."""
        with self.turns.changing:
            super().close()
            self._state.close()

    # --- committing --------------------------------------------------------------------------------------------------

    def _epoch(self, interrupts: Interrupts) -> Change:
        change = super()._epoch(interrupts)
        self._spent += change.report.seconds
        if not self._reopening and (self._spent > self._price or self._state.is_scattered):
            self._write_checkpoint()
        return change

    def _seal(
        self,
        pending: Pending,
        net: Mapping[str, tuple[Words, Words]],
        views: Mapping[str, StoredRelation],
        deltas: dict[str, Delta],
    ) -> None:
        if self._reopening:
            return
        state, tables = self._state, {}
        for name, changes in net.items():
            for asserts, words in zip((True, False), changes, strict=True):
                if len(words):
                    tables[name, asserts] = facts_table(pending.checked.relations[name], self._dictionary, words)
        same = pending.programs is self._programs
        text = state.manifest.text if same else text_of(pending.programs)
        segment = state.prepare(tables)
        try:
            state.publish(segment, text, {})
        except BaseException:
            state.discard(segment)
            raise

    def _write_checkpoint(self) -> None:
        started, text = time.perf_counter(), self._state.manifest.text
        # The epoch is safe without, and the next try is due when as much time has been spent again.
        with suppress(UsageError, MemoryError):
            self._state.checkpoint(lambda file: checkpoint.write(self._engine, text, file))
        self._price, self._spent = time.perf_counter() - started, 0.0

    # --- opening -----------------------------------------------------------------------------------------------------

    def _reopen(self) -> None:
        """Come back to the last epoch: to the checkpoint, and from there by one epoch to what was committed since."""
        manifest = self._state.manifest
        if not manifest.epoch:
            return
        started = time.perf_counter()
        with self._state.saved() as file:
            if file is not None:
                self._restore(checkpoint.Checkpoint(self._state.checkpoint_path, file))
        self._price = time.perf_counter() - started
        facts = self._pending.facts
        if not self._programs or text_of(self._programs) != manifest.text:
            self._pending = self._leading_to(_parsed(manifest.text))
        self._pending.facts = facts + self._facts_since()
        self._reopening = True
        self.opening = self.commit().report
        self._reopening, self._spent, self._epochs = False, self.opening.seconds, 0

    def _restore(self, saved: checkpoint.Checkpoint) -> None:
        """Be as when a checkpoint was written. Where that was another tidelog's, its facts become pending."""
        pending = self._leading_to(_parsed(saved.program))
        saved.fill(self._dictionary)
        assert pending.core is not None
        engine = saved.restore(pending.core, self._dictionary)
        if engine is not None:
            self._engine, self._programs, self._checked = engine, pending.programs, pending.checked
            self._pending = self._nothing()
        else:
            facts = ((name, words) for name, words in saved.facts() if name in pending.checked.relations)
            self._pending.facts = [(name, True, words) for name, words in facts]

    def _leading_to(self, program: Program) -> Pending:
        """The pending change to a program that replaces the one that there is."""
        checked = self._checker.check(program)
        self._dictionary.add_records(checked.records)
        return Pending(self._checker.programs, checked, self._compiler.compile(checked))

    def _facts_since(self) -> list[tuple[str, bool, Words]]:
        """The changes of facts since the checkpoint."""
        changes = []
        for name, asserts, table in self._state.tables():
            relation = self._pending.checked.relations.get(name)
            if relation is None or isinstance(table, Path):
                raise damaged(self.folder, f"it has facts of {name}, which the program does not declare")
            if relation.columns:
                words = encode(table, relation, self._dictionary)
            else:
                words = numpy.empty((min(table.num_rows, 1), 0), numpy.int64)
            changes.append((name, asserts, words))
        return changes


def _work(report: Report) -> dict[str, Any]:
    return {"seconds": report.seconds, "bootstraps": report.bootstraps, "updates": report.updates}


def _parsed(text: str) -> Program:
    return read(f"{text}\n", name="<store>")
