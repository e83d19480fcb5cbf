"""Plans for questions that are asked again and again, over the same views.

All plans run in one call of a kernel, and the relations that they read and derive are used again, so that a question
with a few given rows takes some microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.limits.watch import Watch
from tidelog.maintain.lanes import WidenError, narrow
from tidelog.maintain.machine import Interpreter, Job
from tidelog.maintain.state import EngineState
from tidelog.maintain.statistics import LiveStatistics
from tidelog.rules.core import CoreRule
from tidelog.rules.plans import plan_full
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

_WORK_BEFORE_LOOK = 10_000_000


class AssembledPlans:
    """The plans of rules, assembled for the views and the words that an engine has now."""

    def __init__(
        self,
        state: EngineState,
        views: Mapping[str, StoredRelation],
        relations: Mapping[str, StoredRelation],
        goals: Mapping[int, StoredRelation],
        rules: Sequence[tuple[int, CoreRule]],
        facts: Mapping[str, AnyWords],
    ) -> None:
        """`relations` are all that the rules read, `views` those among them that the engine has. The rules derive the
        goals with their numbers. Plans suit the numbers of `facts`. Raise WidenError if a word does not fit."""
        self._catalog = state.catalog
        self._stamp = state.dictionary.stamp
        self._views = dict(views)
        self._facts = {name: relations[name] for name in facts}
        self._fill(facts)
        self._goals = dict(goals)
        self._filled: Sequence[StoredRelation] = ()
        named = {f"#goal{i}": goal for i, goal in goals.items()}
        everything = {**relations, **named}
        statistics = LiveStatistics(everything, frozenset(named))
        own = [replace(rule, head=replace(rule.head, relation=f"#goal{i}")) for i, rule in rules]
        jobs = [Job(plan_full(rule, statistics)) for rule in own]
        self._machine = Interpreter(state.catalog, state.dictionary, everything, tuple(named), jobs)
        self._machine.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
        self._numbers = numpy.array([goal.number for goal in goals.values()], numpy.int64)
        self._log = Block(8 * len(goals))
        self._indexes = [(stored, keys, index) for stored in views.values() for keys, index in stored.indexes.items()]
        self._settled = dict.fromkeys(self._views, -1)
        self._rows = {name: len(stored) for name, stored in self._views.items()}

    def is_valid(self, state: EngineState) -> bool:
        """Return True if the plans still fit: words have the same meaning, the views are the same objects with the same
        indexes, and none has outgrown the plans."""
        if self._stamp != state.dictionary.stamp:
            return False
        for name, stored in self._views.items():
            if state.views.get(name) is not stored or len(stored) > 4 * self._rows[name] + 1_000:
                return False
        return all(stored.indexes.get(keys) is index for stored, keys, index in self._indexes)

    def run(self, facts: Mapping[str, AnyWords], watch: Watch) -> dict[int, AnyWords]:
        """Return the rows of the goals. Raise WidenError where a word does not fit."""
        from tidelog.kernels.fixpoint import run_rounds

        self._fill(facts)
        for name, stored in self._views.items():
            rows = stored.rows
            if rows != self._settled[name] or stored.form != "written":
                stored.settle()
                self._settled[name] = rows
        for goal in self._filled:
            goal.restart()
        self._filled = tuple(self._goals.values())
        numbers = numpy.zeros(layout.N_FIELDS, numpy.int64)
        numbers[layout.N_LOG], numbers[layout.N_LOG_CAPACITY] = self._log.address, 1

        def look() -> None:
            watch.look(sum(self._counts()))

        self._machine.converse(run_rounds, "", self._numbers, numbers, (1,), look)
        counts = zip(self._goals.items(), self._counts(), strict=True)
        found = {i: goal.words() if count else goal.take(_NONE) for (i, goal), count in counts}
        self._filled = [self._goals[i] for i, rows in found.items() if len(rows)]
        return found

    def _counts(self) -> list[int]:
        """Return the numbers of rows of the goals."""
        counts: list[int] = self._catalog.table[self._numbers, layout.R_N].tolist()
        return counts

    def _fill(self, facts: Mapping[str, AnyWords]) -> None:
        for name, words in facts.items():
            self._facts[name].restart()
            fill(self._facts[name], words)


_NONE = numpy.empty(0, numpy.int64)


def fill(stored: StoredRelation, words: AnyWords) -> None:
    """Insert facts. Raise WidenError if they do not fit."""
    if stored.catalog.bits == 32 and not narrow(words):
        raise WidenError
    stored.insert(words)
    stored.settle()
