"""The embedded engine behind the protocol of `engines`, and the database on the driver that it evaluates in.

`Front` is that database. It is there whichever engine runs, because it reads and checks programs, collects pending
rules and local data, and keeps the dictionary; only `Embedded` has it evaluate anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tidelog.arrays import Words
from tidelog.change import Change
from tidelog.database import Database
from tidelog.limits.interrupts import Deferring
from tidelog.maintain.deltas import Delta, Outcome
from tidelog.maintain.report import Report
from tidelog.pending import Pending
from tidelog.relation import Relation
from tidelog.relation import WordRows as LocalRows
from tidelog.rules.core import CoreProgram
from tidelog.spark.engines import Draft, Epoch, Prospect, RowChange, SealRows, sealed_at_once
from tidelog.spark.frames.deferred import is_over
from tidelog.spark.rows import DriverRows, Rows, no_rows
from tidelog.storage.stored import StoredRelation

LocalChanges = list[tuple[str, bool, Words]]


class Front(Database):
    """A Database whose pending changes can be taken away, to be committed elsewhere or at another time."""

    _core: CoreProgram | None = None
    _kept: Sequence[LocalRows] = ()
    _sealing: SealRows

    @property
    def epoch(self) -> int:
        """A number that is another one whenever views may have changed."""
        return self._epochs

    def rows_of(self, name: str, epoch: int) -> LocalRows:
        """The rows of a relation as of an epoch, in any thread. UsageError (E0687) where that is over."""
        with self.turns.using:
            if self.turns.closed or self._epochs != epoch:
                raise is_over()
            return LocalRows(self._relation(name).columns, self.interned, self.words_of(self[name]))

    def words_of(self, relation: Relation) -> Words:
        """The rows of a relation of this database as they are now; the caller lets something hold their words."""
        words = relation.words_in(self.interned)
        assert words is not None
        return np.array(words)

    @property
    def draft(self) -> Draft:
        """The program that the pending changes lead to."""
        return self._draft(self._pending)

    @property
    def unchanged(self) -> Draft:
        """The program as it is."""
        return self._draft(self._nothing())

    def take_facts(self) -> LocalChanges:
        """The pending facts in the order of the calls; they are pending no more."""
        facts, self._pending.facts = self._pending.facts, []
        self.keep((name, words) for name, _, words in facts)
        return facts

    def keep(self, facts: Iterable[tuple[str, Words]]) -> None:
        """Keep the words of facts that are pending elsewhere, until `keep_no_more`."""
        for name, words in facts:
            self._kept = [*self._kept, LocalRows(self._relation(name).columns, self.interned, words)]

    def keep_no_more(self) -> None:
        """The facts that `keep` was for are pending no more."""
        self._kept = ()

    def settle(self, draft: Draft) -> None:
        """From now on the program is that of `draft`, which another engine has evaluated; all else pending stays."""
        self._programs, self._checked, self._core = draft.programs, draft.checked, draft.core
        if self._pending.programs is draft.programs:
            self._pending = self._nothing()

    def evaluate(self, draft: Draft, facts: LocalChanges, seal: SealRows) -> Change:
        """Make `draft` and `facts` one epoch here, which `seal` lets last; other pending changes stay so."""
        with Deferring():
            self._sealing = seal
            pending, core = self._pending, self._core
            self._pending, self._core = Pending(draft.programs, draft.checked, draft.core, facts), None
            try:
                change = self.commit()
            except BaseException:
                self._pending, self._core = pending, core
                raise
            if pending.programs is not draft.programs:
                self._pending = pending
            return change

    def _seal(
        self,
        pending: Pending,
        net: Mapping[str, tuple[Words, Words]],
        views: Mapping[str, StoredRelation],
        deltas: dict[str, Delta],
    ) -> None:
        @cache
        def relation(name: str) -> Rows:
            if name not in views:
                return no_rows(len(pending.checked.relations[name].columns))
            return DriverRows(np.array(views[name].words(), np.int64))

        change = Change(pending.checked, self._dictionary, Outcome(deltas, Report(0.0, ())), self.turns)
        self._sealing(Prospect(_Changes(change, self), relation, lambda name: relation(name).count()))

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """See Database."""
        if self._core is None:
            return super().hyper_nodes
        return tuple(tuple(dict.fromkeys(rule.origin for rule in node.rules)) for node in self._core.nodes)

    def asserted(self, name: str) -> Words:
        """The asserted facts of a relation."""
        width = len(self._checked.relations[name].columns)
        if name not in self._engine.asserted:
            return np.empty((0, width), np.int64)
        return np.array(self._engine.asserted[name].words(), np.int64)

    def facts(self) -> int:
        """The number of asserted facts of all relations."""
        return sum(len(stored) for name, stored in self._engine.asserted.items() if not name.startswith("#"))

    def compared(self, name: str, words: Words) -> tuple[Words, Words]:
        """Which of `words` are no asserted facts of a relation, and which of these are not among `words`."""
        stored = self._engine.asserted[name]
        found = stored.find(words)
        gone = np.setdiff1d(stored.live(), found)
        return words[found < 0], np.array(stored.take(gone), np.int64)

    def empty(self) -> None:
        """Give the memory of facts and views back; the program stays."""
        with self.turns.using:
            self._core = self._engine.program
            self._engine = type(self._engine)(self._dictionary, self._core)
            self._epochs += 1

    def _nothing(self) -> Pending:
        return Pending(self._programs, self._checked, self._core or self._engine.program)

    def _draft(self, pending: Pending) -> Draft:
        core = pending.core or self._compiler.compile(pending.checked)
        return Draft(pending.programs, pending.checked, core)


class Embedded:
    """The engine on the driver."""

    name = "embedded"

    def __init__(self, front: Front) -> None:
        self._front = front

    def epoch(
        self,
        draft: Draft,
        facts: Mapping[str, RowChange],
        options: Mapping[str, Any],
        seal: SealRows = sealed_at_once,
    ) -> Epoch:
        self._front.options(**options)
        calls = [(name, True, change.inserted.local()) for name, change in facts.items()]
        calls += [(name, False, change.deleted.local()) for name, change in facts.items()]
        change = self._front.evaluate(draft, [call for call in calls if len(call[2])], seal)
        return Epoch(_Changes(change, self._front), change.report)

    def relation(self, name: str) -> Rows:
        return DriverRows(self._front.words_of(self._front[name]))

    def asserted(self, name: str) -> Rows:
        return DriverRows(self._front.asserted(name))

    def size(self, name: str) -> int:
        return len(self._front[name])

    def stats(self) -> Mapping[str, Any]:
        return Database.stats(self._front)

    def explain(self) -> str:
        from tidelog.rules.describe import describe

        return describe(self._front.unchanged.core)

    def close(self) -> None:
        self._front.empty()


class _Changes(Mapping[str, RowChange]):
    """The changes of an epoch; rows are copied when somebody asks for them."""

    def __init__(self, change: Change, front: Front) -> None:
        self._change = change
        self._front = front
        self._names = tuple(change)

    def __getitem__(self, name: str) -> RowChange:
        if name not in self._names:
            raise KeyError(name)
        change = self._change[name]
        return RowChange.of_words(self._front.words_of(change.inserted), self._front.words_of(change.deleted))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names
