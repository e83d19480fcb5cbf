"""Bootstrap: semi-naive evaluation of one hyper-node from its inputs, with births and counts.

The first round evaluates the rules without atoms of the node itself over everything; each later round evaluates the
others once for the delta of each of their internal atoms. All rounds run in the kernel, which comes back to grow
memory, to have a Python functor applied, to look at limits, or to be given new plans when relations have outgrown the
sizes that the plans were made for. Source: "Bootstrap" in Section 4 of the elastic paper; births and counts as in
docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from tidelog.kernels import layout
from tidelog.maintain import aggregates
from tidelog.maintain.assemble import Assembler, Call, Code, Registers
from tidelog.maintain.limits import Watch
from tidelog.maintain.statistics import LiveStatistics
from tidelog.rules.core import AggregateRule, Atom, HyperNode, Rule
from tidelog.rules.plans import Plan, plan_deltas, plan_full
from tidelog.storage.catalog import Catalog
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.memory import Block
from tidelog.storage.stored import SPARE, StoredRelation

BATCH = 512
"""Bindings in a batch: registers of this length stay in the first two levels of cache."""
_WORK_BEFORE_LOOK = 10_000_000
_OUTGROWN = 8
_FIRST_PLANS_LAST = 2_000


class WidenError(Exception):
    """A value does not fit into 32 bits: the database has to go on with 64."""


@dataclass(frozen=True)
class Inputs:
    """What a hyper-node is evaluated in: `relations` it reads, by name, including those that it derives, which hold
    their asserted facts and nothing else; `round` is the last round number in use."""

    catalog: Catalog
    dictionary: Dictionary
    relations: Mapping[str, StoredRelation]
    watch: Watch
    round: int


def bootstrap(node: HyperNode, inputs: Inputs) -> int:
    """Evaluate `node` into its (so far only asserted) relations; returns the number of rounds.

    Raises WidenError, LimitError, KeyboardInterrupt; the node's relations are then worthless.
    """
    derived = [inputs.relations[name] for name in node.relations]
    for stored in derived:
        stored.born = [(0, inputs.round + 1)]
    run = _Run(node, inputs)
    internal = frozenset(node.relations)
    first: list[Rule] = []
    recursive: list[Rule] = []
    for rule in node.rules:
        if isinstance(rule, AggregateRule):
            _aggregate(rule, inputs)
        else:
            (recursive if _internal_atoms(rule, internal) else first).append(rule)
    if first or recursive:
        run.rounds(lambda statistics: [plan_full(rule, statistics) for rule in first], 1)
    if recursive:
        deltas = [(rule, i) for rule in recursive for i in _internal_atoms(rule, internal)]
        run.rounds(lambda statistics: plan_deltas(deltas, internal, statistics), None)
    for stored in derived:
        stored.settle()
    return max(1, run.round)


def _internal_atoms(rule: Rule, internal: frozenset[str]) -> list[int]:
    return [
        i
        for i, literal in enumerate(rule.body)
        if isinstance(literal, Atom) and not literal.negated and literal.relation in internal
    ]


def _aggregate(rule: AggregateRule, inputs: Inputs) -> None:
    outer, inner = inputs.relations[rule.outer], inputs.relations[rule.inner]
    rows = aggregates.evaluate(rule, outer.words().astype(numpy.int64), inner.words().astype(numpy.int64))
    if inputs.catalog.bits == 32 and not _narrow(rows):
        raise WidenError
    inputs.relations[rule.head].insert(rows)
    inputs.watch.look(len(rows))


def _narrow(words: NDArray[numpy.int64]) -> bool:
    return not words.size or (words.min() >= -(2**31) and words.max() < 2**31)


class _Run:
    """The kernel's memory for one hyper-node, and the conversation with it."""

    def __init__(self, node: HyperNode, inputs: Inputs) -> None:
        self.inputs = inputs
        self.catalog = inputs.catalog
        self.internal = frozenset(node.relations)
        self.names = node.relations
        self.derived = [inputs.relations[name] for name in node.relations]
        self.round = 0
        self.log = Block(8 * 64 * len(self.derived))
        self.state = numpy.zeros(layout.N_LOG_CAPACITY + 1, numpy.int64)
        self.state[layout.N_LOG], self.state[layout.N_LOG_CAPACITY] = self.log.address, 64
        self.hashes = Block(8 * BATCH)

    def rounds(self, plan: Callable[[LiveStatistics], Sequence[Plan]], limit: int | None) -> None:
        """Run rounds with the plans that `plan` makes: `limit` of them, or until nothing is born.

        Plans are made anew when a relation has grown much; a round is never interrupted for it.
        """
        from tidelog.kernels.fixpoint import run_rounds

        target = self.round + limit if limit is not None else -1
        while True:
            codes = self.assemble(plan)
            status = self.converse(run_rounds, codes, target)
            if status != layout.REPLAN:
                break
        self.note_births()

    def assemble(self, plan: Callable[[LiveStatistics], Sequence[Plan]]) -> list[Code]:
        """Plan for the sizes of now, assemble, and lay out registers and code for the kernel."""
        relations = self.inputs.relations
        statistics = LiveStatistics(relations, self.internal)
        registers = Registers()
        assembler = Assembler(relations, self.internal, self.inputs.dictionary, registers)
        codes = [assembler.assemble(p) for p in plan(statistics)]
        self.place = registers.place
        words: list[int] = []
        starts: list[int] = []
        for code in codes:
            starts.append(len(words))
            words += code.words(registers.place)
        self.code = Block(8 * len(words) + 8)
        self.code.view(numpy.int64, len(words))[:] = words
        self.plans = self.code.address + 8 * numpy.array(starts, numpy.int64)
        self.register_count = registers.used + len(registers.constants)
        self.registers = Block(self.register_count * BATCH * self.catalog.dtype.itemsize)
        columns = self.columns()
        for word, register in registers.constants.items():
            if self.catalog.bits == 32 and not -(2**31) <= word < 2**31:
                raise WidenError
            columns[registers.place(register)] = word
        deepest = max((len(code.levels) for code in codes), default=1)
        self.scratch = Block(16 * BATCH * deepest)
        self.buffer = Block(BATCH * max(1, *(r.arity for r in self.derived)) * self.catalog.dtype.itemsize)
        self.levels = numpy.zeros(layout.S_LEVELS + 4 * deepest, numpy.int64)
        self.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
        for name, stored in relations.items():
            if name not in self.internal:
                stored.settle()
        for stored in self.derived:
            outgrown = max(_FIRST_PLANS_LAST, stored.rows * _OUTGROWN)
            self.catalog.table[stored.number, layout.R_REPLAN] = outgrown
        return codes

    def columns(self) -> NDArray[numpy.signedinteger]:
        """The registers as an array, one row each."""
        flat = self.registers.view(self.catalog.dtype, self.register_count * BATCH)
        return flat.reshape(self.register_count, BATCH)

    def converse(self, kernel: Callable[..., int], codes: Sequence[Code], target: int) -> int:
        """Call the kernel until it is done or wants new plans, and give it what it asks for in between."""
        numbers = numpy.array([stored.number for stored in self.derived], numpy.int64)
        indexes = {index.number: index for stored in self.derived for index in stored.indexes.values()}
        by_number = {stored.number: stored for stored in self.derived}
        index_numbers = numpy.array(list(indexes), numpy.int64)
        while True:
            status = kernel(
                self.catalog.table,
                self.plans,
                numbers,
                index_numbers,
                self.state,
                self.levels,
                target,
                self.registers.address,
                self.scratch.address,
                self.buffer.address,
                self.hashes.address,
                BATCH,
                self.catalog.tag,
            )
            self.round = int(self.state[layout.N_ROUND])
            concerned = int(self.state[layout.N_OBJECT])
            self.look()
            match status:
                case layout.DONE | layout.REPLAN:
                    return status
                case layout.GROW_RELATION:
                    by_number[concerned].ensure(SPARE)
                case layout.GROW_DIRECTORY | layout.GROW_ARENA:
                    indexes[concerned].grow(status)
                case layout.GROW_LOG:
                    self.grow_log()
                case layout.CALL_OUT:
                    self.call_out(codes[int(self.state[layout.N_POSITION])])
                case layout.LOOK:
                    self.levels[layout.S_WORK] = 0
                case layout.WIDEN:
                    raise WidenError

    def look(self) -> None:
        """Raise if a limit has been reached."""
        watch = self.inputs.watch
        watch.look(sum(stored.rows for stored in self.derived))
        if watch.sizes:
            for name, stored in zip(self.names, self.derived, strict=True):
                watch.look_at(name, stored.rows)

    def grow_log(self) -> None:
        """Make room for the ends of four times as many rounds."""
        capacity = int(self.state[layout.N_LOG_CAPACITY]) * 4
        self.log.grow(8 * capacity * len(self.derived))
        self.state[layout.N_LOG], self.state[layout.N_LOG_CAPACITY] = self.log.address, capacity

    def call_out(self, code: Code) -> None:
        """Apply the Python function that a CALL level waits for to its batch."""
        level = int(self.levels[layout.S_LEVEL])
        at = layout.S_LEVELS + 4 * level
        m = int(self.levels[at + layout.S_IN])
        call = code.call(level, self.place)
        kept = self.apply(call, m)
        self.levels[at + layout.S_CURSOR], self.levels[at + layout.S_INNER] = -2, kept

    def apply(self, call: Call, m: int) -> int:
        """Run a function on the first `m` bindings, store its results, drop what has none; returns the number left."""
        columns = self.columns()
        mask, results = call.function([columns[r, :m].astype(numpy.int64) for r in call.arguments])
        for register, result in zip(call.targets, results, strict=True):
            if self.catalog.bits == 32 and not _narrow(result if mask is None else result[mask]):
                raise WidenError
            columns[register, :m] = result
        if mask is None or mask.all():
            return m
        kept = int(mask.sum())
        for register in call.live:
            columns[register, :kept] = columns[register, :m][mask]
        return kept

    def note_births(self) -> None:
        """Turn the kernel's log of row numbers into births: rows between two rounds' ends were born in the later."""
        rounds, width = self.round, len(self.derived)
        ends = self.log.view(numpy.int64, rounds * width).reshape(rounds, width)
        for i, stored in enumerate(self.derived):
            starts = numpy.concatenate([[0], ends[:-1, i]])
            some = ends[:, i] > starts
            births = self.inputs.round + 1 + numpy.flatnonzero(some)
            stored.born = list(zip(starts[some].tolist(), births.tolist(), strict=True)) or [(0, self.inputs.round + 1)]
