"""The object that a user holds: an embedded database of facts, rules and the views that follow from them.

Changes wait in a `Workspace` until `commit` makes them one epoch of `maintain.engine`; a `Change` says what the epoch
did. Reading never waits: relations show the last committed epoch.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy

from tidelog.common.arrays import Words
from tidelog.common.markup import table
from tidelog.database.relation_verbs import RelationVerbs
from tidelog.database.snapshots import EmbeddedReads, FrozenEpoch, Snapshot, is_unused
from tidelog.errors import Problem, UsageError
from tidelog.functions.callables import FunctorSource, collect_functions
from tidelog.language.syntax import CheckedProgram, RelationType, Value
from tidelog.limits.interrupts import Interrupts
from tidelog.limits.watch import changing_within_memory, reading_within_memory
from tidelog.maintain.deltas import AnyRows, rows_of
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.protocol import FactCall, Outcome, Prospect, Report, RowChange, TakenBackError, net_changes
from tidelog.maintain.state import EngineState
from tidelog.profiling.profile import Profile
from tidelog.profiling.recorder import Profiler, step
from tidelog.queries.answers import Answers
from tidelog.queries.meanings import Meanings
from tidelog.queries.pattern import Pattern
from tidelog.storage.rows import distinct, positions
from tidelog.storage.stored import StoredRelation
from tidelog.workspace.change import MOST_SHOWN, Change, RelationChange
from tidelog.workspace.options import DatabaseOptions
from tidelog.workspace.workspace import Draft, Workspace


class EpochKeeper(Protocol):
    """Lets the epochs of a `Database` last elsewhere, see `store.keeper.FolderKeeper`."""

    def recover(self, workspace: Workspace[Any]) -> EmbeddedEngine | None:
        """Return an engine in the state of an earlier epoch; the workspace has that program, and what was committed
        since waits there. The database makes that its first epoch, which need not be sealed. None where nothing is
        kept."""

    def seal(self, draft: Draft, facts: Mapping[str, RowChange[Words]], prospect: Prospect[AnyRows]) -> None:
        """Let the epoch that these changes of facts lead to last; `prospect` has the numbers that counters give. What
        this raises takes the epoch back."""

    @property
    def next_epoch(self) -> int:
        """Return the number of the epoch that is being made, which may be the one that comes back."""

    def note_epoch(self, engine: EmbeddedEngine, seconds: float) -> None:
        """Note that an epoch is over, which has taken so long, and compact what is kept if it is time to."""

    def stats(self) -> Mapping[str, Any]:
        """Return the keeper's part of `db.stats()`."""

    def close(self) -> None:
        """Let others have what is kept."""


SealDraft: TypeAlias = Callable[[Draft, Mapping[str, RowChange[Words]], Prospect[Any]], None]
"""Commits an epoch to where it lasts: the program, the net change of asserted facts, and the state to come."""


class Database(EmbeddedReads, RelationVerbs[Change, RelationChange, FactCall]):
    """Facts, rules and views, in memory or with a keeper that lets them last. Threads may share one: each call has the
    database for itself, and a transaction keeps changes of others waiting until it ends."""

    engine: EmbeddedEngine

    instead = "copy its relations, or open a store in the other process"

    def __init__(self, keeper: EpochKeeper | None = None, functors: FunctorSource = ()) -> None:
        if keeper is not None and not hasattr(keeper, "recover"):
            hint = "call `tidelog.connect()` or `tidelog.connect(folder)`, and `db.load(text)` for rules"
            message = (
                f"expected an EpochKeeper as the keeper of a database, found a value of type {type(keeper).__name__}"
            )
            raise UsageError(Problem("E0635", message, hint=hint))
        super().__init__(Workspace(FactCall))
        for given in collect_functions(functors):
            self.workspace.give(given)
        self.engine = EmbeddedEngine(self.workspace.dictionary, self.workspace.committed.core)
        self._options = DatabaseOptions()
        self._epochs = 0
        self._number = 0
        """The number of the last epoch since the keeper's first one: what the keeper has may be an epoch further."""
        self._changed: Mapping[str, tuple[int, int]] = {}
        """The numbers of tuples that the last epoch inserted and deleted, by relation."""
        self._profiler = Profiler()
        self._keeper = keeper
        self._answers = Answers(self.workspace)
        self._meanings = Meanings(self.workspace.programs)
        """The meanings of the texts of queries, which snapshots share."""
        self._recovering = False
        """True while the keeper's last epoch comes back, which no limit may stop."""
        self._frozen: weakref.ref[FrozenEpoch] | None = None
        """The last epoch as snapshots read it, if there is one."""
        self.numbered: int | None = None
        """The number of the next epochs for `blame`, where another object counts them."""
        self.sealing: Callable[[Draft, Prospect[AnyRows]], None] | None = None
        """Called with each epoch that is about to happen, unless it raises: for modules of this package."""
        self.opening: Report | None = None
        """The report of how the keeper's last epoch came back; None where there was none."""
        if keeper is not None:
            try:
                self._recover(keeper)
            except BaseException:
                keeper.close()
                raise
        self.turns.is_unused = partial(is_unused, self.engine.readers, self.workspace.dictionary)
        room = self.engine.catalog.room
        self.turns.is_apart = lambda: room.is_apart

    def _recover(self, keeper: EpochKeeper) -> None:
        engine = keeper.recover(self.workspace)
        if engine is not None:
            self.engine, self._recovering = engine, True
            self.opening, self._recovering = self.commit().report, False
            self._epochs = 0

    def _epoch(self, interrupts: Interrupts) -> Change:
        if not self._options.profile:
            return self._commit_epoch(interrupts)
        with self._profiler.epoch() as recorder:
            change = self._commit_epoch(interrupts)
            recorder.number = self.workspace.epoch_number
        return change

    def _commit_epoch(self, interrupts: Interrupts) -> Change:
        workspace, engine, keeper = self.workspace, self.engine, self._keeper
        settling, sealed, number = self.turns.settling, False, self._next_number()

        def seal(draft: Draft, facts: Mapping[str, RowChange[Words]], prospect: Prospect[Any]) -> None:
            nonlocal sealed
            self._seal(draft, facts, prospect)
            sealed = settling.acquire()

        try:
            draft, outcome = self._evaluate_epoch(interrupts, seal)
            if workspace.duplicates:
                outcome = replace(outcome, report=replace(outcome.report, duplicates=workspace.duplicates))
            workspace.settle(draft)
            self._epochs, self._number, self._frozen = self._epochs + 1, number, None
            self._changed = {name: (len(each.inserted), len(each.deleted)) for name, each in outcome.deltas.items()}
        finally:
            if sealed:
                settling.release()
        workspace.note_deleted(outcome)
        self._answers.release(engine)
        change = self._to_change(draft.checked, outcome)
        if keeper is not None:
            with step("store"):
                keeper.note_epoch(engine, outcome.report.seconds)
        return change

    def _dry_run(self, interrupts: Interrupts) -> tuple[CheckedProgram, Outcome[Words]]:
        started, deltas = time.perf_counter(), dict[str, RowChange[Words]]()

        def seal(draft: Draft, facts: Mapping[str, RowChange[Words]], prospect: Prospect[AnyRows]) -> None:
            for name, each in prospect.deltas.items():
                deltas[name] = RowChange(rows_of(each.inserted).copy(), rows_of(each.deleted).copy())
            drafts.append(draft)
            raise TakenBackError

        drafts: list[Draft] = []
        try:
            draft, _ = self._evaluate_epoch(interrupts, seal)
        except TakenBackError:
            (draft,) = drafts
        report = Report(time.perf_counter() - started, (), duplicates=self.workspace.duplicates)
        return draft.checked, Outcome(deltas, report)

    def _to_change(self, program: CheckedProgram, outcome: Outcome[AnyRows]) -> Change:
        return Change(program, self.workspace.dictionary, outcome, self.turns)

    def _evaluate_epoch(self, interrupts: Interrupts, seal: SealDraft) -> tuple[Draft, Outcome[AnyRows]]:
        """Evaluate the pending changes as an epoch; the program that they lead to, and the result."""
        workspace, engine = self.workspace, self.engine
        workspace.epoch_number = engine.epoch_number = self._next_number() if self.numbered is None else self.numbered
        sizes = {} if self._recovering else workspace.program.size_limits
        watch = self._options.watch(sizes, interrupts)
        with changing_within_memory, watch.report_end():
            workspace.sweep(engine, ((name, words) for name, _, words in workspace.facts))
            with step("program"):
                draft = workspace.draft(watch.look)
            with step("facts"):
                net = net_changes(workspace.due(self._retraction))
            if net or draft.core is not engine.source_program or workspace.given.aggregates_to_recompute:
                workspace.check_given(draft)
            return draft, engine.epoch(draft.core, net, watch, self._options, partial(seal, draft, net))

    def _next_number(self) -> int:
        return self._epochs + 1 if self._keeper is None else self._keeper.next_epoch

    def _retraction(self, relation: str) -> FactCall:
        return FactCall(relation, False, rows_of(self.engine.facts(relation)).astype(numpy.int64))

    def _seal(self, draft: Draft, facts: Mapping[str, RowChange[Words]], prospect: Prospect[Any]) -> None:
        if self.sealing is not None:
            self.sealing(draft, prospect)
        if self._keeper is not None:
            with step("store"):
                self._keeper.seal(draft, facts, prospect)

    def _retract(self, pattern: Pattern) -> None:
        workspace, kept = self.workspace, self.engine.program.candidates
        stored = self.engine.asserted.get(kept.get(pattern.relation, pattern.relation))
        known = pattern.words(workspace.dictionary)
        waiting = [words for name, asserts, words in workspace.facts if asserts and name == pattern.relation]
        if stored is not None and len(known) == len(pattern.constants):
            waiting.append(stored.near(known))
        for words in waiting:
            rows = numpy.ascontiguousarray(pattern.select(words, workspace.dictionary), numpy.int64)
            if len(rows):
                workspace.change_words(pattern.relation, rows, asserts=False)

    def _change_keys(self, relation: RelationType, columns: tuple[int, ...], words: Words, *, asserts: bool) -> None:
        workspace, name = self.workspace, relation.name
        if not asserts or len(columns) < len(relation.columns):
            keys = distinct(words[:, list(columns)] if asserts else words)
            waiting = [rows for each, asserted, rows in workspace.facts if asserted and each == name]
            found = [rows[positions(keys, rows[:, list(columns)]) >= 0] for rows in waiting]
            stored = self._facts(name)
            if stored is not None:
                found.append(numpy.array(stored.rows_with(columns, keys), numpy.int64))
            for rows in found:
                workspace.change_words(name, rows, asserts=False)
        if asserts:
            workspace.change_words(name, words, asserts=True)

    def options(self, **options: Any) -> Any:
        """Set limits of an epoch, and the way in which views follow; None for no limit. Without arguments, return the
        options in a dict.

        `timeout` is in seconds, `max_rows` the number of tuples derived in all, `memory` what the process may have, in
        bytes or as a text such as "8GB". Arrays that do not fit go into files in the folder `spill`, if there is one:
        the commit goes on instead of ending with E0503.

        `strategy` is "auto", "update" or "bootstrap". In auto, an update of a hyper-node stops for a bootstrap before
        it takes longer than the node's last one. All stopped updates of an epoch together take at most `switch` (0.2)
        of a bootstrap of everything.

        With `maintain` False, evaluations keep no state for later changes, and every change of their input evaluates
        from scratch: for results that are used once. With `closures` False, hyper-nodes that are transitive closures
        are evaluated like all others; the views are the same.

        With `profile`, the epochs from now on are recorded for `profile()`.

        Raise UsageError for another name or value (E0603), or a folder that cannot be used (E0656); then set nothing.
        """
        if not options:
            return self._options.to_dict()
        changed = self._options.with_options(options)
        with self.turns.using:
            self._options = changed
        return None

    def _end(self) -> None:
        self.engine.close()
        if self._keeper is not None:
            self._keeper.close()

    # --- reading -------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the last committed epoch for reading: it stays as it is, whatever is committed later, and can be read
        from any thread. Neither this call nor reads wait for a commit. See docs/how-to/snapshots.md.

        Use it in a `with` block, or `close` it: until then the database keeps what it needs.
        """
        with self.turns.settling:
            self._check_usable()
            frozen = None if self._frozen is None else self._frozen()
            if frozen is None:
                self._meanings = self._meanings.of(self.workspace.committed.programs)
                frozen = FrozenEpoch(self.engine, self.workspace, self._number, self._meanings)
                self._frozen = weakref.ref(frozen)
            return Snapshot(frozen, self.turns, self._options)

    def _plans(self) -> EngineState:
        return self.engine

    def _rows(self, name: str) -> StoredRelation | None:
        return self.engine.views.get(name)

    def _facts(self, name: str) -> StoredRelation | None:
        return self.engine.asserted.get(self.engine.program.candidates.get(name, name))

    def stats(self) -> dict[str, Any]:
        """Sizes and totals since the database was opened.

        `relations` maps names to rows; `forms` says which of them are "compressed", closures whose pairs are not
        written, and which "written"; `memory` is in bytes, for rows, indexes and dictionary; `word_bits` is 32 or 64;
        `derivations` counts the rows that were inserted or met again, in the relations as they are stored now. `store`,
        of a database in a folder, has the folder, the number of the last epoch since the folder was made, that of the
        checkpoint, or None, the segments after it, and what `opening` it has taken.
        """
        with self._hold_turn(), reading_within_memory:
            found = self.engine.stats()
            kept = {} if self._keeper is None else {**self._keeper.stats(), "opening": _work(self.opening)}
            return {
                "relations": {name: self.engine.size(name) for name in self.relations},
                **found,
                "forms": {name: found["forms"].get(name, "written") for name in self.relations},
                "epochs": self._epochs,
                **({"store": kept} if kept else {}),
            }

    def _overview(self) -> tuple[str, list[tuple[str, str, str]]]:
        """Return a caption, and for each relation its signature, its size and what the last epoch changed."""
        if self.turns.closed:
            return f"{type(self).__name__}: closed", []
        with self._hold_turn():
            rows = []
            for name, relation in self.workspace.program.relations.items():
                inserted, deleted = self._changed.get(name, (0, 0))
                columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
                change = f"+{inserted:,} -{deleted:,}" if inserted or deleted else ""
                rows.append((f"{name}({columns})", f"{self.engine.size(name):,}", change))
            waits = "; changes wait for commit()" if self.has_pending else ""
            count = "1 relation" if len(rows) == 1 else f"{len(rows):,} relations"
            return f"{type(self).__name__}: {count}, epoch {self._number}{waits}", rows

    def __repr__(self) -> str:
        caption, rows = self._overview()
        lines = [f"  {name}  {size}{f'  ({change})' if change else ''}" for name, size, change in rows[:MOST_SHOWN]]
        more = [f"  and {len(rows) - MOST_SHOWN:,} more"] if len(rows) > MOST_SHOWN else []
        return "\n".join([f"<{caption}>", *lines, *more])

    def _repr_html_(self) -> str:
        caption, rows = self._overview()
        more = [(f"and {len(rows) - MOST_SHOWN:,} more", "", "")] if len(rows) > MOST_SHOWN else []
        return table(caption, ("relation", "tuples", "last change"), [*rows[:MOST_SHOWN], *more])

    def profile(self) -> Profile:
        """Return where the time of the last epochs went, at most 100 of them: by rule, plan and level. Only epochs are
        recorded that were committed with the option `profile`, see docs/how-to/profiles.md."""
        with self._hold_turn():
            recorded, recording = tuple(self._profiler.epochs), self._options.profile
            rules = self.workspace.committed.checked.texts
        texts = {str(rule.name): str(rule) for rule in rules}  # Commits do not wait for it.
        return Profile(tuple(each.profile for each in recorded), texts, recording)

    def births(self, name: str) -> Mapping[tuple[Value, ...], tuple[int, int]]:
        """Return the birth and the count of every tuple of a relation: see docs/theory.md. For tests and
        certificates."""
        with self._hold_turn(), reading_within_memory:
            relation = self[name]
            if name not in self.engine.views:
                return {}
            births, counts = self.engine.births(name).tolist(), self.engine.counts(name).tolist()
            return dict(zip(relation, zip(births, counts, strict=True), strict=True))


def _work(report: Report | None) -> dict[str, Any]:
    if report is None:
        return {}
    return {"seconds": report.seconds, "bootstraps": report.bootstraps, "updates": report.updates}
