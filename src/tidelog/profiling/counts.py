"""Counts of the plans of one interpreter, which kernels write while an epoch is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.kernels import layout
from tidelog.rules.core import CoreAtom, CoreRule
from tidelog.storage.memory import Block

_VERBS = {
    layout.SCAN: "scan",
    layout.SCAN_LIVE: "scan",
    layout.PROBE: "join",
    layout.PROBE_LIVE: "join",
    layout.PROBE_CLOSED: "join",
    layout.CHECK: "test",
    layout.CHECK_LIVE: "test",
    layout.CHECK_CLOSED: "test",
    layout.ABSENT: "test",
    layout.ABSENT_LIVE: "test",
    layout.ABSENT_CLOSED: "test",
    layout.COMPARE: "compare",
    layout.COMPUTE: "compute",
    layout.CALL: "call",
    layout.RANGE: "count up",
    layout.SHORTEST: "take the shortest list of",
}
_FIRST = 16
"""The most runs of levels before the first one that is timed."""
_ALONE = {layout.SCAN: "begin", layout.ROUTE: "take the shorter way"}
"""Levels that are about no literal of the body."""


@dataclass(frozen=True)
class CountedPlan:
    """A plan of `rule` whose runs are counted: what it starts from (`start`), the `kinds` of its levels, the position
    in the body of the literal of each level, and how many bindings the planner expects a literal to make of one
    (`fanouts`)."""

    rule: CoreRule
    start: str
    kinds: tuple[int, ...]
    literals: tuple[int | None, ...]
    fanouts: Mapping[int, float] = field(repr=False)

    def text(self, level: int) -> str:
        """Return the text of a level."""
        kind, literal = self.kinds[level], self.literals[level]
        if literal is None:
            return _ALONE[kind]
        return f"{_VERBS[kind]} {self.rule.body[literal]}"


def start_of(rule: CoreRule, source: int | None, version: int) -> str:
    """Return what a plan starts from: the rows of a body atom in a version of `layout`."""
    atom = None if source is None else rule.body[source]
    if not isinstance(atom, CoreAtom):
        return "everything"
    match version:
        case layout.DELTA:
            return f"new tuples of {atom.relation}"
        case layout.OUT:
            return f"deletions from {atom.relation}"
        case layout.IN:
            return f"insertions into {atom.relation}"
        case _:
            return "everything"


@dataclass(frozen=True)
class PlanRuns:
    """The runs of a plan in an epoch, with a copy of its counts."""

    describe: Callable[[int], CountedPlan] = field(repr=False)
    place: int
    counts: Words

    @property
    def plan(self) -> CountedPlan:
        """The plan."""
        return self.describe(self.place)


class PlanCounts:
    """The counts of the plans of an interpreter, in memory of their own. `levels` has the number of levels of each
    plan, `heads` the number of its head in the catalog. `describe` returns a plan by its place: a commit does not wait
    for that, only a user who looks at a profile."""

    def __init__(self, levels: Sequence[int], heads: Sequence[int], describe: Callable[[int], CountedPlan]) -> None:
        self._heads = heads
        self._describe = describe
        starts = numpy.zeros(len(levels) + 1, numpy.int64)
        numpy.cumsum([layout.K_LEVELS + 4 * number for number in levels], out=starts[1:])
        self._starts = starts
        self._block = Block(8 * int(starts[-1]))
        self._words: Words = self._block.view(numpy.int64, int(starts[-1]))
        self.addresses: Words = self._block.address + 8 * starts[:-1]
        """The address of the counts of each plan."""
        places = numpy.arange(len(levels))
        self._words[starts[:-1] + layout.K_RANDOM] = places
        self._words[starts[:-1] + layout.K_NEXT] = 1 + places % _FIRST

    def reset(self) -> None:
        """Begin from zero. Which level is timed next stays as it is: in small epochs it would always be the first."""
        samples = numpy.concatenate([self._starts[:-1] + each for each in (layout.K_NEXT, layout.K_RANDOM)])
        kept = self._words[samples]
        self._words[:] = 0
        self._words[samples] = kept

    def at(self, address: int) -> Words:
        """Return the counts at one of the addresses."""
        start = (address - self._block.address) // 8
        place = int(numpy.searchsorted(self._starts, start))
        return self._words[start : self._starts[place + 1]]

    def end(self, table: NDArray[numpy.int64]) -> None:
        """End the runs that are under way and that nobody will finish. `table` is that of the catalog."""
        words, now = self._words, time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        for place in numpy.flatnonzero(words[self._starts[:-1] + layout.K_BEGAN]).tolist():
            end_run(words[self._starts[place] : self._starts[place + 1]], table[self._heads[place]], now)

    def runs(self) -> list[PlanRuns]:
        """Return the runs so far of each plan that has run."""
        words = self._words
        ran = numpy.flatnonzero(words[self._starts[:-1] + layout.K_RUNS]).tolist()
        return [PlanRuns(self._describe, i, words[self._starts[i] : self._starts[i + 1]].copy()) for i in ran]


def end_run(counts: Words, head: Words, now: int) -> None:
    """End the run under way at a time in nanoseconds, as `kernels.counting.end_counting` does. `head` has the fields of
    the plan's head."""
    counts[layout.K_SECONDS] += now - counts[layout.K_BEGAN]
    counts[layout.K_BEGAN] = 0
    for field_, rows in ((layout.K_ROWS, layout.R_N), (layout.K_BORN, layout.R_IN_N), (layout.K_DIED, layout.R_OUT_N)):
        counts[field_] += head[rows]
