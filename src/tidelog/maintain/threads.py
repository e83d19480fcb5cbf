"""Work that the threads of a bootstrap share: the rows of a plan's scan, and indexes that get new rows.

The threads end with each piece of work, so that in between one thread has everything for itself, as ever. The first of
them is the one that evaluates the epoch; it looks at limits and interrupts for all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Thread
from typing import TypeVar

import numpy

from tidelog.arrays import Words
from tidelog.kernels import layout
from tidelog.looking import Look, unlimited
from tidelog.maintain.lanes import BATCH, Lane, WidenError
from tidelog.storage.memory import Block, Pinned
from tidelog.storage.stored import StoredRelation

SHARED_FROM = 1 << 14
"""Rows from which on threads share work: to begin and to end, they take some tenths of a millisecond."""
_PARTS = 16
"""Each thread takes about so many parts of a scan, because some take longer than others, but at most _CHUNK rows."""
_CHUNK = 4096
_PATIENCE = 0.05
"""Seconds between two looks of a thread that waits for the others."""

Result = TypeVar("Result")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def together(works: Sequence[Callable[[], Result]], look: Look, stop: Callable[[], object]) -> list[Result]:
    """Run the first of `works` in this thread and each other one in its own, as far as the system starts threads; run
    the rest here. Return their results when all have ended. When a work or `look` raises, call `stop`, which makes the
    others end soon."""
    results: dict[int, Result] = {}
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            results[number] = works[number]()
        except BaseException as error:
            errors.append(error)
            stop()

    others: list[Thread] = []
    with suppress(RuntimeError):  # There are as many threads as the system allows, or Python is about to end.
        for number in range(1, len(works)):
            thread = Thread(target=run, args=(number,))
            thread.start()
            others.append(thread)
    try:
        for number in (0, *range(1 + len(others), len(works))):
            results[number] = works[number]()
        for thread in others:
            while thread.is_alive():
                look()
                thread.join(_PATIENCE)
    except BaseException:
        stop()
        raise
    finally:
        for thread in others:
            thread.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(works))]


def extend_indexes(relations: Iterable[StoredRelation], ends: Iterable[int], threads: int, look: Look) -> None:
    """Extend the indexes of each relation to its end, a row number. A thread takes one index after the other."""
    lacking = [
        (end - index.done, index, end)
        for stored, end in zip(relations, ends, strict=True)
        for index in stored.indexes.values()
        if index.done < end
    ]
    many = sum(rows for rows, _, _ in lacking) >= SHARED_FROM
    lacking.sort(key=lambda each: -each[0])
    waiting = iter(lacking)

    def run() -> None:
        hashes = Block(8 * BATCH)
        for _, index, end in waiting:
            index.extend(end, hashes.address)

    together([run] * (max(1, min(threads, len(lacking))) if many else 1), look, lacking.clear)


def share_plan(plan: int, low: int, high: int, head: StoredRelation, lanes: Sequence[Lane], look: Look) -> None:
    """Run the plan at an address on the rows of its scan from number `low` to below `high`, on a thread for each lane.

    Raise WidenError where a value does not fit, and what `look` raises; the head is whole then, and has some of the
    rows."""
    share = _Share(plan, low, high, head, lanes, look)
    statuses = {layout.GROW_RELATION}
    while statuses != {layout.DONE}:
        if layout.WIDEN in statuses:
            raise WidenError
        head.ensure(2 * len(lanes) * layout.RESERVED)
        statuses = share.go_on()


class _Share:
    """A plan that threads run together."""

    def __init__(self, plan: int, low: int, high: int, head: StoredRelation, lanes: Sequence[Lane], look: Look) -> None:
        self._plan = plan
        self._head = head
        self._lanes = lanes
        self._look = look
        self._block = Block(8 * layout.T_WORDS)
        self._shared: Words = self._block.view(numpy.int64, layout.T_WORDS)
        self._shared[layout.T_CURSOR], self._shared[layout.T_END] = low, high
        self._shared[layout.T_CHUNK] = min(_CHUNK, 1 + (high - low) // (_PARTS * len(lanes)))
        self._shared[layout.T_THREADS] = len(lanes)
        for lane in lanes:
            lane.levels[layout.S_LEVEL] = -1

    def go_on(self) -> set[int]:
        """Let the threads run until all are done or one wants something; return their statuses."""
        fields = self._head.fields
        own = [numpy.zeros(layout.O_WORDS, numpy.int64) for _ in self._lanes]
        self._shared[layout.T_STOP] = 0
        self._shared[layout.T_ROWS], self._shared[layout.T_USED] = fields[layout.R_N], fields[layout.R_USED]

        def work(number: int) -> Callable[[], int]:
            return lambda: self._run(self._lanes[number], own[number], self._look if number == 0 else unlimited)

        try:
            return set(together([work(i) for i in range(len(own))], self._look, self._stop))
        finally:
            close_gaps(self._head, int(self._shared[layout.T_ROWS]), own)
            fields[layout.R_USED] = int(self._shared[layout.T_USED])
            fields[layout.R_EMITTED] += sum(int(each[layout.O_EMITTED]) for each in own)

    def _stop(self) -> None:
        self._shared[layout.T_STOP] = 1

    def _run(self, lane: Lane, own: Words, look: Look) -> int:
        from tidelog.kernels.threads import run_share

        catalog = self._head.catalog
        memory = lane.registers.address, lane.scratch.address, lane.buffer.address, lane.hashes.address
        while True:
            status: int = run_share(
                catalog.table, self._plan, lane.levels, *memory, own, self._block.address, BATCH, catalog.tag
            )
            if status != layout.LOOK:
                if status not in (layout.DONE, layout.PAUSED):
                    self._stop()
                return status
            lane.levels[layout.S_WORK] = 0
            look()


def close_gaps(head: StoredRelation, end: int, own: Sequence[Words]) -> None:
    """Give the last rows below `end` the numbers that threads have reserved as their `own` and not used, so that no
    number is without a row."""
    from tidelog.kernels.threads import move_rows

    gaps = numpy.concatenate([numpy.arange(each[layout.O_NEXT], each[layout.O_END]) for each in own])
    rows = end - len(gaps)
    targets = gaps[gaps < rows]
    sources = numpy.setdiff1d(numpy.arange(rows, end), gaps)
    at, to = Pinned(sources), Pinned(targets)
    move_rows(head.catalog.table, head.number, at.address, to.address, len(sources), head.catalog.tag)
    head.fields[layout.R_N] = rows
