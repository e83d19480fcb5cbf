"""Work that threads share in bootstraps and updates: the rows of a plan's scan, and indexes that get new rows.

The threads end with each piece of work, so that in between one thread has everything for itself, as ever. The first of
them is the one that evaluates the epoch; it looks at limits and interrupts for all. A thread runs plans in the memory
of a `Lane`, a batch of bindings at a time. What threads defer in an update is in `Ledgers` (`kernels/deferred.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import TypeVar

import numpy

from tidelog.common.arrays import Words
from tidelog.common.looking import Look, ignore_limits
from tidelog.kernels import layout
from tidelog.storage.catalog import Catalog, Descriptor
from tidelog.storage.memory import Block, Pinned
from tidelog.storage.stored import StoredRelation

BATCH = 512
"""Bindings in a batch: registers of this length stay in the first two levels of cache."""
FEW = 64
"""Bindings in a batch of plans that read at most as many rows of each relation: the heads of thousands of such plans
need room for a batch each."""
CALLED_BATCH = 8_192
"""Bindings in a batch where plans call functions in Python: one call takes as long as joins of hundreds."""
ENTRIES = 1 << 20
"""Entries for which a thread has room in its ledgers: to apply as many takes far longer than to begin and to end it."""
OWNED = 10
"""So many neighbouring rows belong to one thread, in bits: two threads rarely write the same cache line."""
SHARED_FROM = 1 << 14
"""Rows, or bindings, from which on threads share work: to begin and to end, they take some tenths of a millisecond."""
UPDATED_FROM = 1 << 17
"""The same for plans of updates: threads defer changes, and pause whenever the head grows."""
_PARTS = 16
"""Each thread takes about so many parts of a scan, because some take longer than others, but at most _CHUNK rows."""
_CHUNK = 4096
_PATIENCE = 0.05
"""Seconds between two looks of a thread that waits for the others."""
Result = TypeVar("Result")


class WidenError(Exception):
    """A value does not fit into 32 bits: the database needs words of 64."""


@dataclass(frozen=True)
class Lane:
    """The memory of one thread for batches of `batch` bindings: the state of the `levels` of the plan under way, the
    `registers`, `scratch` for each level, and a `buffer` for a batch of the head with its `hashes`. The bindings that
    it has `tried` in shared plans are an array of one."""

    batch: int
    levels: Words
    registers: Block
    scratch: Block
    buffer: Block
    hashes: Block
    tried: Words = field(default_factory=lambda: numpy.zeros(1, numpy.int64), kw_only=True)


class Ledgers:
    """The ledgers of so many threads, and for each thread a descriptor of the relation whose rows it owns a part of."""

    def __init__(self, catalog: Catalog, threads: int) -> None:
        self.room, self.owned = ENTRIES // threads, OWNED
        self.blocks = [Block(8 * self.room * threads) for _ in range(threads)]
        self._descriptors = [Descriptor(catalog) for _ in range(threads)]

    def apply(
        self,
        head: StoredRelation,
        entries: Words,
        task: int,
        current: int,
        run: Callable[[list[Callable[[], None]]], object],
    ) -> None:
        """CHARGE or CREDIT what is in the ledgers to the rows of `head`, in round `current`. `run` gets a function for
        each thread, which does that for the rows that the thread owns. `entries` are the lengths of the ledgers: a row
        for each thread that wrote them, and a column for each owner. MemoryError before anything has changed."""
        # Each owner lists its changes in a part of the lists and of the journal, with room for all of its entries.
        # A row is in a list once, and in the journal at most twice.
        table, sizes = head.catalog.table, numpy.minimum(entries.sum(axis=0), 2 * head.rows).tolist()
        head.journal.expect(sum(sizes))
        starts = [sum(sizes[:owner]) for owner in range(len(sizes))]
        for descriptor, start in zip(self._descriptors, starts, strict=True):
            table[descriptor.number] = table[head.number]
            head.journal.part(start, descriptor)

        def work(owner: int) -> None:
            from tidelog.kernels.deferred import apply_deferred

            for block, count in zip(self.blocks, entries[:, owner].tolist(), strict=True):
                ledger = block.address + 8 * self.room * owner
                apply_deferred(table, self._descriptors[owner].number, ledger, count, task == layout.CREDIT, current)

        run([partial(work, owner) for owner in range(len(sizes))])
        head.journal.join(starts, self._descriptors)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_from(threads: int, *, update: bool = False) -> int:
    """Return the rows, or bindings, from which on so many threads share work, or a plan of an update; 0 for never."""
    return 0 if threads < 2 else UPDATED_FROM if update else SHARED_FROM


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
    # There are as many threads as the system or the memory allows, or Python is about to end.
    with suppress(RuntimeError, MemoryError):
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
        (end - index.rows_entered, index, end)
        for stored, end in zip(relations, ends, strict=True)
        for index in stored.indexes.values()
        if index.rows_entered < end
    ]
    if not lacking:
        return
    many = sum(rows for rows, _, _ in lacking) >= SHARED_FROM
    lacking.sort(key=lambda each: -each[0])
    waiting = iter(lacking)

    def run() -> None:
        hashes = Block(8 * BATCH)
        for _, index, end in waiting:
            index.extend(end, hashes.address)

    together([run] * (max(1, min(threads, len(lacking))) if many else 1), look, lacking.clear)


def share_removals(works: Sequence[Callable[[int], None]], rows: int, threads: int, hashes: int) -> None:
    """Call each of `works`, which take `rows` out of indexes and slots, with the address of 1,024 hashes, in this
    thread `hashes`. This does not fail where memory runs out."""
    others = min(threads, len(works)) - 1 if rows >= shared_from(threads) > 0 else 0
    if not others:
        for work in works:
            work(hashes)
        return
    waiting = iter(works)

    def run(address: int = hashes) -> None:
        for work in waiting:
            work(address)

    def run_too() -> None:
        with suppress(MemoryError):  # Then the others take all.
            block = Block(8 * 1024)
            run(block.address)

    together([run, *[run_too] * others], ignore_limits, lambda: None)


@dataclass(frozen=True)
class SharedPlan:
    """A plan at an address, of which threads share the rows of the scan from `low` to below `high`. Its bindings change
    `head` as `task` says: INSERT, CHARGE or CREDIT."""

    address: int
    low: int
    high: int
    head: StoredRelation
    task: int


def share_plan(plan: SharedPlan, lanes: Sequence[Lane], ledgers: Ledgers | None, look: Look) -> None:
    """Run a plan on a thread for each lane; the first lane may have bindings of it under way. For updates there are
    `ledgers`, which are empty.

    Raise WidenError where a value does not fit, and what `look` raises; the head is whole then, and has some of the
    changes."""
    share = _Share(plan, lanes, ledgers, look)
    statuses = {layout.PAUSED}
    while statuses != {layout.DONE}:
        if layout.WIDEN in statuses:
            raise WidenError
        if plan.task != layout.CHARGE:
            plan.head.ensure(2 * len(lanes) * layout.RESERVED)
        statuses = share.run_until_pause()


class _Share:
    """A plan that threads run together."""

    def __init__(self, plan: SharedPlan, lanes: Sequence[Lane], ledgers: Ledgers | None, look: Look) -> None:
        self._plan = plan
        self._head = plan.head
        self._lanes = lanes
        self._look = look
        self._ledgers = ledgers
        self._block = Block(8 * layout.T_WORDS)
        self._shared: Words = self._block.view(numpy.int64, layout.T_WORDS)
        low, high = plan.low, plan.high
        self._shared[layout.T_CURSOR], self._shared[layout.T_END] = low, high
        part = 1 + (high - low) // (_PARTS * len(lanes))
        self._shared[layout.T_CHUNK] = min(_CHUNK, part if part < BATCH else -(-part // BATCH) * BATCH)
        self._shared[layout.T_THREADS], self._shared[layout.T_TASK] = len(lanes), plan.task

    def run_until_pause(self) -> set[int]:
        """Let the threads run until all are done or one wants something, and apply what they have deferred; return
        their statuses."""
        fields, shared = self._head.fields, self._shared
        # A row is longer than what is used of it, so that threads do not wait for each other's cache lines.
        own = numpy.zeros((len(self._lanes), layout.O_WORDS + len(self._lanes)), numpy.int64)
        if self._ledgers is not None:
            own[:, layout.O_LEDGERS] = [block.address for block in self._ledgers.blocks]
            shared[layout.T_ROOM], shared[layout.T_OWNED] = self._ledgers.room, self._ledgers.owned
        shared[layout.T_STOP] = 0
        first = shared[layout.T_ROWS] = fields[layout.R_N]
        shared[layout.T_USED] = fields[layout.R_USED]

        def work(number: int) -> Callable[[], int]:
            return lambda: self._run(number, own[number], self._look if number == 0 else ignore_limits)

        try:
            statuses = set(together([work(i) for i in range(len(own))], self._look, self._stop))
            self._apply(own)  # before rows move
        finally:
            if shared[layout.T_ROWS] > first:
                close_gaps(self._head, int(shared[layout.T_ROWS]), own)
            fields[layout.R_USED] = int(shared[layout.T_USED])
            fields[layout.R_EMITTED] += int(own[:, layout.O_EMITTED].sum())
        if self._ledgers is not None and self._head.rows > first:
            self._head.journal.list_born(int(first), self._head.rows)
        return statuses

    def _apply(self, own: Words) -> None:
        """Let the threads apply what they have deferred. Once they have begun, nothing can fail."""
        if self._ledgers is not None:
            entries = own[:, layout.O_ENTRIES : layout.O_ENTRIES + len(own)]
            current = int(self._lanes[0].levels[layout.S_ROUND])
            many = int(entries.sum()) >= SHARED_FROM

            def run(works: list[Callable[[], None]]) -> None:
                if many:
                    together(works, ignore_limits, lambda: None)
                else:
                    for work in works:
                        work()

            self._ledgers.apply(self._head, entries, self._plan.task, current, run)

    def _stop(self) -> None:
        self._shared[layout.T_STOP] = 1

    def _run(self, number: int, own: Words, look: Look) -> int:
        from tidelog.kernels.threads import run_share

        catalog, lane = self._head.catalog, self._lanes[number]
        memory = lane.registers.address, lane.scratch.address, lane.buffer.address, lane.hashes.address
        begun = int(lane.levels[layout.S_WORK])
        while True:
            shared = own, self._block.address, lane.batch
            status: int = run_share(catalog.table, self._plan.address, lane.levels, *memory, *shared, catalog.tag)
            if status == layout.LOOK or number > 0:  # Who runs the plans counts the rest of the first lane.
                lane.tried[0] += int(lane.levels[layout.S_WORK]) - begun
            if status != layout.LOOK:
                if status not in (layout.DONE, layout.PAUSED):
                    self._stop()
                return status
            lane.levels[layout.S_WORK] = begun = 0
            look()


def close_gaps(head: StoredRelation, end: int, own: Words) -> None:
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
