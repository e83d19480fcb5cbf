"""The clock of an epoch that is recorded: each moment counts for one step, so that the sum is the time on the wall.

The engine names its steps by `with step(…)`. Without a recorder of this thread that does nothing. Profiles of rules
follow from the counts of their plans.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property

from tidelog.common.arrays import Words
from tidelog.kernels import layout
from tidelog.kernels.compiling import count_as
from tidelog.profiling.counts import CountedPlan, PlanCounts, PlanRuns
from tidelog.profiling.profile import (
    EpochProfile,
    IndexProfile,
    LevelProfile,
    NodeProfile,
    PlanProfile,
    RuleProfile,
    merge_plans,
)
from tidelog.rules.core import HyperNode

REMEMBERED = 100
"""Epochs that a database keeps the profiles of."""
JOINS, PLANNING, INDEXES, BOOKKEEPING, OTHER = "joins", "planning", "indexes", "bookkeeping", "other"
MACHINE_CODE = "machine code"
"""Steps: kernels that run plans, whose time is mostly that of rules; making plans; entering rows into indexes; the rest
of a hyper-node; the rest of an epoch; compiling and loading kernels."""

_current: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
recording = _current.get
"""A function that returns the recorder of this thread, None where nothing is recorded."""


@dataclass
class _Visit:
    """A hyper-node that is visited."""

    node: HyperNode
    steps: dict[str, float] = field(default_factory=dict)
    counted: list[PlanCounts] = field(default_factory=list)
    runs: list[PlanRuns] = field(default_factory=list)
    indexes: list[IndexProfile] = field(default_factory=list)
    relations: tuple[str, ...] = ()
    strategy: str = ""
    rounds: int = 0


class Recorder:
    """The record of one epoch under way."""

    def __init__(self) -> None:
        self.number = 0
        """The number of the epoch, as `db.stats()` counts."""
        self.attempt = object()
        """The identity of this attempt at the epoch."""
        self._started = self._last = time.perf_counter()
        self._steps: dict[str, float] = {}
        self._names = [OTHER]
        self._visits: list[_Visit] = []
        self._visit: _Visit | None = None

    def enter(self, name: str) -> None:
        """Begin a step; the one around it stops meanwhile."""
        self._charge()
        self._names.append(name)

    def leave(self) -> None:
        """End the step that was begun last."""
        self._charge()
        self._names.pop()

    def _charge(self) -> None:
        now, steps = time.perf_counter(), self._steps if self._visit is None else self._visit.steps
        steps[self._names[-1]] = steps.get(self._names[-1], 0.0) + now - self._last
        self._last = now

    def begin_node(self, node: HyperNode) -> None:
        """Begin to visit a hyper-node, to which all steps belong until `end_node`."""
        self.enter(BOOKKEEPING)
        self._visit = _Visit(node)

    def end_node(self) -> None:
        """End the visit; keep it if anything was done."""
        self._charge()
        visit, self._visit = self._visit, None
        if visit is not None:
            self._visits.append(visit)
        self._names.pop()

    def note(self, relations: tuple[str, ...], strategy: str, rounds: int) -> None:
        """Note the result of the visit under way: the relations that a user knows, and how they were derived."""
        if self._visit is not None:
            self._visit.relations, self._visit.strategy, self._visit.rounds = relations, strategy, rounds

    def note_index(self, index: IndexProfile) -> None:
        """Note an index that has got rows in the visit under way."""
        if self._visit is not None:
            self._visit.indexes.append(index)

    def count(self, counts: PlanCounts) -> None:
        """Note the counts of an interpreter that runs in the visit under way."""
        if self._visit is not None and not any(each is counts for each in self._visit.counted):
            self._visit.counted.append(counts)

    def restart(self) -> None:
        """Note that the epoch begins once more, and that all it did so far was in vain."""
        self._charge()
        self._steps = {"an attempt in vain": self._last - self._started}
        self._visits, self._visit, self._names, self.attempt = [], None, [OTHER], object()

    def finish(self) -> None:
        """End the record, and keep what kernels have counted."""
        self._charge()
        for visit in self._visits:
            visit.runs = [run for counts in visit.counted for run in counts.runs()]
            visit.counted.clear()

    @cached_property
    def profile(self) -> EpochProfile:
        """The profile of the epoch, made when somebody asks: a commit does not wait for it."""
        nodes = tuple(_node_profile(visit) for visit in self._visits if visit.strategy != "skip")
        steps = dict(self._steps)
        for visit in self._visits:
            if visit.strategy == "skip":
                steps[OTHER] = steps.get(OTHER, 0.0) + sum(visit.steps.values())
        return EpochProfile(self.number, self._last - self._started, steps, nodes)


def _node_profile(visit: _Visit) -> NodeProfile:
    steps, seconds = dict(visit.steps), sum(visit.steps.values())
    rules = rules_of(visit.runs)
    if rules:
        between = steps.pop(JOINS, 0.0) - sum(rule.seconds for rule in rules)
        steps[INDEXES] = steps.get(INDEXES, 0.0) + max(0.0, between)
    else:
        own = sum(steps.pop(name, 0.0) for name in (JOINS, BOOKKEEPING))
        rules = _without_plans(visit.node, own)
    return NodeProfile(
        visit.relations, visit.strategy, seconds, visit.rounds, tuple(rules), steps, tuple(visit.indexes)
    )


def _without_plans(node: HyperNode, seconds: float) -> list[RuleProfile]:
    """Return the profiles of the rules of a hyper-node that is evaluated as a whole: a closure, or an aggregate. Its
    recursive rules, or else all, share the seconds."""
    internal = frozenset(node.relations)
    recursive = [rule for rule in node.rules if any(name in internal for name, _ in rule.reads)]
    names = dict.fromkeys(rule.origin for rule in recursive or node.rules)
    return [RuleProfile(name, seconds / len(names), (), 0) for name in names]


class Profiler:
    """The profiles of the last epochs of a database."""

    def __init__(self) -> None:
        self.epochs: deque[Recorder] = deque(maxlen=REMEMBERED)
        """Their records, the oldest first."""

    @contextmanager
    def epoch(self) -> Iterator[Recorder]:
        """Record the epoch that the block makes, unless the block raises. Lack of memory loses the record only."""
        recorder = Recorder()
        token = _current.set(recorder)
        try:
            yield recorder
        finally:
            _current.reset(token)
        with suppress(MemoryError):  # The epoch has happened.
            recorder.finish()
            self.epochs.append(recorder)


def begin_again() -> None:
    """Note in the record of this thread, if there is one, that its epoch begins once more."""
    recorder = _current.get()
    if recorder is not None:
        recorder.restart()


class step:  # Used as a function: a generator takes three times as long where nothing is recorded.
    """A block that is a step of its own in the record of this thread, if there is one."""

    __slots__ = ("_name", "_recorder")

    def __init__(self, name: str) -> None:
        self._name = name
        self._recorder = _current.get()

    def __enter__(self) -> None:
        if self._recorder is not None:
            self._recorder.enter(self._name)

    def __exit__(self, *_: object) -> None:
        if self._recorder is not None:
            self._recorder.leave()


count_as(lambda: step(MACHINE_CODE))


def rules_of(runs: Iterable[PlanRuns]) -> list[RuleProfile]:
    """Return the profiles of the rules whose plans have run, from the counts of the plans."""
    found: dict[str, list[PlanProfile]] = {}
    for run in runs:
        plan = run.plan
        found.setdefault(plan.rule.origin, []).append(_plan_of(plan, run.counts))
    return [
        RuleProfile(name, sum(plan.seconds for plan in plans), merge_plans(plans), max(plan.runs for plan in plans))
        for name, plans in found.items()
    ]


def _plan_of(plan: CountedPlan, counts: Words) -> PlanProfile:
    seconds = float(counts[layout.K_SECONDS]) / 1e9
    levels = counts[layout.K_LEVELS :].reshape(-1, 4)
    spent = [_spent(level) for level in levels]
    scale = min(1.0, seconds / sum(spent)) if any(spent) else 0.0
    expected = float(levels[0][layout.K_MADE])
    profiles = []
    for i, level in enumerate(levels):
        literal = plan.literals[i]
        if i and literal is not None and plan.literals[i - 1] != literal:
            expected *= plan.fanouts.get(literal, 1.0)
        tried, made = int(level[layout.K_TRIED]), int(level[layout.K_MADE])
        profiles.append(LevelProfile(plan.text(i), tried, made, expected, spent[i] * scale))
    changed = int(counts[layout.K_BORN] + counts[layout.K_DIED])
    new = changed or int(counts[layout.K_ROWS])
    return PlanProfile(plan.start, int(counts[layout.K_RUNS]), seconds, profiles[-1].made, new, tuple(profiles))


def _spent(level: Words) -> float:
    """Return the seconds of a level as its samples have it."""
    sampled = int(level[layout.K_SAMPLED])
    if not sampled:
        return 0.0
    return float(level[layout.K_SPENT]) / sampled * float(level[layout.K_TRIED] + level[layout.K_MADE]) / 1e9
