"""Profiles of interpreters: the counts of their plans, and those of threads that share a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.kernels import layout
from tidelog.kernels.compiling import hearing_of_loads
from tidelog.maintain.assemble import Code, Sight
from tidelog.maintain.threads import Lane
from tidelog.profiling.counts import CountedPlan, PlanCounts, end_run, start_of
from tidelog.profiling.recorder import JOINS, Recorder
from tidelog.rules.plans import Plan
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation


def counted_plan(plan: Plan, sight: Sight | None, code: Code) -> CountedPlan:
    """Return the description of an assembled plan for profiles."""
    source, version = plan.source, code.version
    if sight is not None and sight.sifted is not None:
        source = sight.sifted
        version = layout.OUT if sight.states[source] == layout.GONE else layout.IN
    return CountedPlan(plan.rule, start_of(plan.rule, source, version), code.kinds, code.literals, plan.fanouts)


_UNCOUNTED = nullcontext()


class Counting:
    """The recorder that counts plans, if there is one. They begin at `starts` in the words of their `code`. The memory
    of their counts lasts as long as the code."""

    def __init__(self, code: Words, starts: Iterable[Sequence[int]]) -> None:
        self._code = code
        self._starts = starts
        self._counts: PlanCounts | None = None
        self._attempt: object | None = None
        """The attempt of the recorder that counts."""
        self._shared = 0
        """The address of the counts of the plan that threads share."""

    def by(
        self, recorder: Recorder | None, table: NDArray[numpy.int64], levels: Words, make: Callable[[], PlanCounts]
    ) -> AbstractContextManager[None]:
        """Return the block in which kernels count plans for a recorder. `table` is that of the catalog, `levels` are
        the state of the kernels, `make` returns memory for counts."""
        if recorder is None and self._attempt is None:
            return _UNCOUNTED
        return self._by(recorder, table, levels, make)

    @contextmanager
    def _by(
        self, recorder: Recorder | None, table: NDArray[numpy.int64], levels: Words, make: Callable[[], PlanCounts]
    ) -> Iterator[None]:
        if recorder is None or recorder.attempt is not self._attempt:
            self._begin(recorder, make)
        if recorder is None:
            yield
            return
        recorder.enter(JOINS)
        try:
            with hearing_of_loads(partial(self._leave_out, levels)):
                yield
        except BaseException:
            if self._counts is not None:
                self._counts.end(table)
            raise
        finally:
            recorder.leave()

    def _begin(self, recorder: Recorder | None, make: Callable[[], PlanCounts]) -> None:
        """Let the code know where its plans are counted from now on."""
        fields = [start + layout.P_COUNTS for starts in self._starts for start in starts]
        if recorder is None:
            self._attempt = None
            self._code[fields] = 0
            return
        if self._counts is None:
            self._counts = make()
        else:
            self._counts.reset()
        self._attempt = recorder.attempt
        self._code[fields] = self._counts.addresses
        recorder.count(self._counts)

    def _leave_out(self, levels: Words, nanoseconds: int) -> None:
        """Leave out of the run of a plan that is under way what it took to load a kernel."""
        address = self._shared or int(levels[layout.S_COUNTS])
        if self._counts is not None and address:
            counts = self._counts.at(address)
            counts[layout.K_BEGAN] += nanoseconds if counts[layout.K_BEGAN] else 0

    @contextmanager
    def together(self, address: int, lanes: Sequence[Lane], head: StoredRelation) -> Iterator[None]:
        """Let each of the threads that share a plan in the block count for itself. At the end of the block, add this to
        the counts at `address`, if that is not 0, and end the run of the plan."""
        if self._counts is None or not address:
            yield
            return
        whole = self._counts.at(address)
        blocks = [Block(8 * len(whole)) for _ in lanes]
        for lane, block in zip(lanes, blocks, strict=True):
            lane.levels[layout.S_COUNTS] = block.address
        self._shared = address
        try:
            yield
        finally:
            self._shared = 0
            for lane, block in zip(lanes, blocks, strict=True):
                lane.levels[layout.S_COUNTS] = 0
                whole[layout.K_LEVELS :] += block.view(numpy.int64, len(whole))[layout.K_LEVELS :]
            end_run(whole, head.catalog.table[head.number], time.clock_gettime_ns(time.CLOCK_MONOTONIC))
