"""Assembled plans with the memory that they run in, and the conversation with the kernel that runs them.

A kernel comes back to grow memory, to have a Python functor applied to a batch, to open a relation that it is about to
change, and to look at limits; `converse` serves its requests and calls it again until it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.kernels import layout
from tidelog.kernels.calling import until_look
from tidelog.limits.watch import Watch
from tidelog.maintain.assemble import Assembler, Call, Code, Registers, Sight
from tidelog.maintain.counting import Counting, counted_plan
from tidelog.maintain.threads import (
    BATCH,
    CALLED_BATCH,
    FEW,
    Lane,
    Ledgers,
    SharedPlan,
    WidenError,
    extend_indexes,
    share_plan,
)
from tidelog.profiling.counts import PlanCounts
from tidelog.profiling.recorder import recording
from tidelog.rules.plans import Plan
from tidelog.storage.catalog import Catalog, Index
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.memory import Block
from tidelog.storage.rows import narrow
from tidelog.storage.stored import StoredRelation
from tidelog.storage.waiting import Waiting

_NO_PLANS = numpy.empty(0, numpy.int64)


class OpenRelations:
    """Those of the relations `derived` that are open; a kernel that is about to change another one has `opening` called
    with it. `external` are relations of other hyper-nodes that have changed."""

    def __init__(
        self,
        derived: Iterable[StoredRelation],
        external: Iterable[StoredRelation],
        opening: Callable[[StoredRelation], object],
    ) -> None:
        self.stored = [stored for stored in derived if stored.changing]
        self._numbers = [stored.number for stored in (*external, *self.stored)]
        self._opening = opening

    def add(self, stored: StoredRelation) -> bool:
        """Open a relation; return False if it is open."""
        if stored.changing:
            return False
        self._opening(stored)
        self.stored.append(stored)
        self._numbers.append(stored.number)
        return True

    @property
    def numbers(self) -> NDArray[numpy.int64]:
        """The numbers of the relations with lists, those of other hyper-nodes among them."""
        return numpy.array(self._numbers, numpy.int64)


@dataclass(frozen=True)
class Inputs:
    """The inputs of a hyper-node: `relations` it reads, by name, including those that it derives, which for a bootstrap
    contain only their asserted facts; `round` is the last round number in use, `threads` may share the work. An update
    calls `open` with each relation that it is about to change, if that is not open. A bootstrap calls
    `at_work` with them and the bindings tried so far, which may raise."""

    catalog: Catalog
    dictionary: Dictionary
    relations: Mapping[str, StoredRelation]
    watch: Watch
    round: int
    threads: int = 1
    open: Callable[[StoredRelation], object] = StoredRelation.open
    at_work: Callable[[Inputs, int], None] | None = None


@dataclass(frozen=True)
class Job:
    """A plan to assemble, and its sight; `group` is the name under which it runs together with others."""

    plan: Plan
    sight: Sight | None = None
    group: str = ""


class Interpreter:
    """The code of `jobs` over `relations`; heads are relations of `internal`, whose indexes the kernels extend.

    Raises WidenError when a constant does not fit.
    """

    def __init__(
        self,
        catalog: Catalog,
        dictionary: Dictionary,
        relations: Mapping[str, StoredRelation],
        internal: Sequence[str],
        jobs: Iterable[Job],
        threads: int = 1,
    ) -> None:
        self.catalog = catalog
        self.threads = threads
        self.relations = relations
        self.derived = [relations[name] for name in internal]
        self._by_number = {stored.number: stored for stored in self.derived}
        self._registry = Registers()
        self._assembler = Assembler(relations, frozenset(internal), dictionary, self._registry)
        self._codes: dict[str, list[Code]] = {}
        self._jobs: dict[str, list[Job]] = {}
        self._starts: dict[str, list[int]] = {}
        """For each code that is laid out, the place of its words."""
        self._code, self._length = Block(0), 0
        self._registers, self._register_count = Block(0), 0
        self._laid_for = 0, 0
        """The registers of variables, and the rows of a register, with which words and constants are laid out."""
        self.batch = self._deepest = 0
        self.levels = numpy.zeros(layout.S_LEVELS, numpy.int64)
        self._tried = 0
        """The bindings that one thread had tried when the kernel last came back to have limits looked at."""
        self._kept_lanes: list[Lane] = []
        self.add(jobs)

    @property
    def bindings_tried(self) -> int:
        """The bindings that all threads have tried, as far as kernels have come back since."""
        return self._tried + sum(int(lane.tried[0]) for lane in self._kept_lanes)

    def add(self, jobs: Iterable[Job]) -> None:
        """Take more jobs, also where a kernel asks for them. When this raises, the machine is worthless."""
        codes, batch = [], max(self.batch, FEW)
        for job in jobs:
            codes.append(self._assembler.assemble(job.plan, job.sight))
            self._codes.setdefault(job.group, []).append(codes[-1])
            self._jobs.setdefault(job.group, []).append(job)
            batch = max(batch, self._batch_of(job, codes[-1]))
        self._kept_lanes = []
        deepest = max(1, self._deepest, *(len(code.levels) for code in codes))
        if batch > self.batch:
            self._buffer = Block(batch * max(1, *(r.arity for r in self.derived)) * self.catalog.dtype.itemsize)
            self._hashes = Block(8 * batch)
        if batch > self.batch or deepest > self._deepest:
            self.batch, self._deepest = batch, deepest
            self._scratch = Block(24 * batch * deepest)
            self.levels = numpy.pad(self.levels[: layout.S_LEVELS], (0, 4 * deepest))
        self._load()

    def _batch_of(self, job: Job, code: Code) -> int:
        """Return how many bindings a batch of a plan should have. Thousands of rules that read few rows would need
        megabytes each for larger ones."""
        most = max((len(self.relations[name]) for name, _ in job.plan.rule.reads), default=0)
        if most > BATCH and code.calls:
            return CALLED_BATCH
        return BATCH if most > FEW else FEW

    def relate(self, relations: Mapping[str, StoredRelation]) -> None:
        """Go to other relations, the present ones among them as far as the code is about these."""
        self.relations = self._assembler.relations = relations

    def drop(self, rules: Collection[int]) -> None:
        """Forget the code of rules, given by their identity."""
        if not rules:
            return
        for group, jobs in self._jobs.items():
            left = [place for place, job in enumerate(jobs) if id(job.plan.rule) not in rules]
            self._jobs[group] = [jobs[place] for place in left]
            self._codes[group] = [self._codes[group][place] for place in left]
            self._starts[group] = [self._starts[group][place] for place in left]
        self._kept_lanes = []
        self._load()

    def _load(self) -> None:
        """Lay out the code of all groups and the registers, as far as that is not done. The words of code that was
        dropped stay until registers move."""
        registers = self._registry
        if self._laid_for != (registers.used, self.batch):
            self._starts, self._length = {}, 0
            self._registers, self._register_count = Block(0), registers.used
        self._laid_for = registers.used, self.batch
        words: list[int] = []
        for name, codes in self._codes.items():
            starts = self._starts.setdefault(name, [])
            for code in codes[len(starts) :]:
                starts.append(self._length + len(words))
                words += code.words(registers.place)
        end = self._length + len(words)
        if 8 * end > self._code.size:
            self._code.grow(12 * end)
        laid: Words = self._code.view(numpy.int64, end)
        laid[self._length :] = words
        self._length = end
        places = {name: numpy.array(starts, numpy.int64) for name, starts in self._starts.items()}
        self.plans = {name: self._code.address + 8 * each for name, each in places.items()}
        for each in places.values():  # Nobody counts the plans as yet.
            laid[each + layout.P_COUNTS] = 0
        self._counting = Counting(laid, self._starts.values())
        known, self._register_count = self._register_count, registers.used + len(registers.constants)
        self._registers.grow(self._register_count * self.batch * self.catalog.dtype.itemsize)
        columns = self._columns()
        for word, register in islice(registers.constants.items(), known - registers.used, None):
            if self.catalog.bits == 32 and not -(2**31) <= word < 2**31:
                raise WidenError
            columns[registers.place(register)] = word

    def _columns(self) -> NDArray[numpy.signedinteger[Any]]:
        """Return the registers as an array, one row each."""
        flat = self._registers.view(self.catalog.dtype, self._register_count * self.batch)
        return flat.reshape(self._register_count, self.batch)

    def _lanes(self) -> list[Lane]:
        """Return memory for each of the threads. The first one has a plan under way, if its batches are as small as
        those of the others."""
        if not self._kept_lanes and self.batch <= BATCH:
            own = Lane(self.batch, self.levels, self._registers, self._scratch, self._buffer, self._hashes)
            self._kept_lanes = [own]
        while len(self._kept_lanes) < self.threads:
            self._kept_lanes.append(self._lane())
        lanes = self._kept_lanes[: self.threads]
        for lane in lanes:
            if lane.levels is not self.levels:
                lane.levels[: layout.S_LEVELS] = self.levels[: layout.S_LEVELS]
                lane.levels[layout.S_LEVEL] = -1
        return lanes

    def _lane(self) -> Lane:
        """Return new memory for a thread."""
        # What two threads write is kept apart, so that they do not wait for each other's cache lines.
        levels = numpy.zeros(len(self.levels) + 16, numpy.int64)
        own = (self._registers, self._scratch, self._buffer, self._hashes)
        batch = min(self.batch, BATCH)
        blocks = [Block(block.size * batch // self.batch + 64) for block in own]
        registers = blocks[0].view(self.catalog.dtype, self._register_count * batch)
        registers.reshape(self._register_count, batch)[:] = self._columns()[:, :batch]
        return Lane(batch, levels, *blocks)

    def _counts(self) -> PlanCounts:
        """Return memory for the counts of all plans."""
        codes = [code for codes in self._codes.values() for code in codes]
        jobs = [job for jobs in self._jobs.values() for job in jobs]
        return PlanCounts(
            [len(code.levels) for code in codes],
            [code.head for code in codes],
            lambda place: counted_plan(jobs[place].plan, jobs[place].sight, codes[place]),
        )

    def mark(self, relation: str, version: int) -> None:
        """Let the values in one of a relation's lists, OUT or IN, pass the sieves for it."""
        from tidelog.kernels.live import mark

        for (name, column), block in self._assembler.sieves.items():
            if name == relation:
                number = self.relations[name].number
                mark(self.catalog.table, number, version, column, block.address, self.catalog.tag)

    def converse(
        self,
        kernel: Callable[..., int],
        group: str,
        opened: OpenRelations | NDArray[numpy.int64],
        node: NDArray[numpy.int64],
        arguments: tuple[Any, ...],
        look: Look,
        grow_log: Callable[[], None] | None = None,
        waiting: Waiting | None = None,
        task: int = layout.INSERT,
    ) -> int:
        """Run `kernel` over the plans of `group` until it is done or wants new plans; returns its last status.

        `opened` has the relations whose rounds it keeps, or is their numbers. The first change of a relation that is
        not open opens it. `node` is the state of the kernel, `arguments` come between the state of the levels and the
        memory. `look` may raise to stop it. Rows that the kernel lets wait are those of `waiting`. The `task` of
        threads that share a plan is to INSERT rows, to CHARGE lost derivations or to CREDIT new ones.
        """
        numbers = opened.numbers if isinstance(opened, OpenRelations) else opened
        indexes = _by_number(opened.stored if isinstance(opened, OpenRelations) else self.derived)
        index_numbers = numpy.array([*indexes], numpy.int64)
        stored_by_number = self._by_number
        plans = self.plans.get(group, _NO_PLANS)
        budget = int(self.levels[layout.S_BUDGET])
        ledgers: Ledgers | None = None
        with self._counting.by(recording(), self.catalog.table, self.levels, self._counts):
            while True:
                self.levels[layout.S_BUDGET] = until_look(kernel, budget)
                status = kernel(
                    self.catalog.table,
                    plans,
                    numbers,
                    index_numbers,
                    node,
                    self.levels,
                    *arguments,
                    self._registers.address,
                    self._scratch.address,
                    self._buffer.address,
                    self._hashes.address,
                    self.batch,
                    self.catalog.tag,
                )
                concerned = int(node[layout.N_OBJECT])
                self.levels[layout.S_BUDGET] = budget
                if status == layout.LOOK:
                    self._tried += int(self.levels[layout.S_WORK])
                look()
                match status:
                    case layout.DONE | layout.REPLAN | layout.ORDER:
                        return status
                    case layout.GROW_RELATION:
                        stored = stored_by_number[concerned]
                        held = int(self.levels[layout.S_HELD])
                        stored.ensure(held or self.batch, expected=2 * stored.rows)  # Few may be new ones.
                        if waiting is not None:
                            waiting.look_at(stored, node)
                    case layout.INSERT_WAITING:
                        assert waiting is not None
                        waiting.insert(concerned, look)
                    case layout.GROW_LISTS:
                        if isinstance(opened, OpenRelations) and opened.add(stored_by_number[concerned]):
                            indexes |= _by_number([stored_by_number[concerned]])
                            numbers, index_numbers = opened.numbers, numpy.array([*indexes], numpy.int64)
                        else:
                            journal = stored_by_number[concerned].journal
                            journal.grow()
                            journal.expect(self.batch)
                    case layout.GROW_DIRECTORY | layout.GROW_ARENA:
                        indexes[concerned].grow(status)
                    case layout.GROW_LOG:
                        assert grow_log is not None
                        grow_log()
                    case layout.CALL_OUT:
                        self._call_out(self._codes[group][int(node[layout.N_POSITION])], look)
                    case layout.SHARE_INDEXES:
                        ends = [stored.fields[concerned] for stored in self.derived]
                        extend_indexes(self.derived, ends, self.threads, look)
                    case layout.SHARE_PLAN:
                        position = int(node[layout.N_POSITION])
                        head = stored_by_number[self._codes[group][position].head]
                        if waiting is not None and waiting.look_at(head, node):
                            continue
                        if isinstance(opened, OpenRelations) and opened.add(head):
                            indexes |= _by_number([head])
                            numbers, index_numbers = opened.numbers, numpy.array([*indexes], numpy.int64)
                        if task != layout.INSERT and ledgers is None:
                            ledgers = Ledgers(self.catalog, self.threads)
                        low, high = (int(self.levels[layout.S_LEVELS + i]) for i in (layout.S_CURSOR, layout.S_IN))
                        self.levels[layout.S_LEVELS + layout.S_IN] = low
                        shared = SharedPlan(int(plans[position]), low, high, head, task)
                        lanes, counts = self._lanes(), int(self.levels[layout.S_COUNTS])
                        with self._counting.together(counts, lanes, head):
                            share_plan(shared, lanes, ledgers, look)
                        node[layout.N_POSITION] += 1
                        node[layout.N_INSIDE] = 0
                    case layout.LOOK:
                        node[layout.N_BEGAN] -= self.levels[layout.S_WORK]
                        self.levels[layout.S_WORK] = 0
                    case layout.WIDEN:
                        raise WidenError

    def call(self, kernel: Callable[..., int], group: str, *arguments: int) -> int:
        """Return the result of a kernel that runs over the plans of `group` and never calls back."""
        plans = self.plans.get(group, _NO_PLANS)
        memory = self._registers.address, self._scratch.address, self.batch, self.catalog.tag
        return kernel(self.catalog.table, plans, *arguments, self.levels, *memory)

    def _call_out(self, code: Code, look: Look) -> None:
        """Apply the Python function that a CALL level waits for to its batch."""
        level = int(self.levels[layout.S_LEVEL])
        at = layout.S_LEVELS + 4 * level
        m = int(self.levels[at + layout.S_IN])
        kept = self._apply(code.call(level, self._registry.place), m, look)
        self.levels[at + layout.S_CURSOR], self.levels[at + layout.S_INNER] = -2, kept

    def _apply(self, call: Call, m: int, look: Look) -> int:
        """Run a function on the first `m` bindings, store its results, drop bindings without a result; returns the
        number left.

        The function calls `look` between its rows, which may raise to stop it.
        """
        columns = self._columns()
        mask, results = call.function([columns[r, :m].astype(numpy.int64) for r in call.arguments], look)
        for register, result in zip(call.targets, results, strict=True):
            if self.catalog.bits == 32 and not narrow(result if mask is None else result[mask]):
                raise WidenError
            columns[register, :m] = result
        if mask is None or mask.all():
            return m
        mask = numpy.broadcast_to(mask, m)  # A function without parameters gives one result for all bindings.
        kept = int(mask.sum())
        for register in call.live:
            columns[register, :kept] = columns[register, :m][mask]
        return kept


def _by_number(relations: Iterable[StoredRelation]) -> dict[int, Index]:
    """Return the indexes of relations by their numbers."""
    return {index.number: index for stored in relations for index in stored.indexes.values()}
