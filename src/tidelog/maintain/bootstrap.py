"""Bootstrap: semi-naive evaluation of one hyper-node from its inputs, with births and counts.

The first round evaluates the rules without atoms of the node itself over everything; each later round evaluates the
others once for the delta of each of their internal atoms. All rounds run in the kernel, which comes back for new plans
when relations have outgrown the sizes that the plans were made for. Source: "Bootstrap" in Section 4 of the elastic
paper; births and counts as in docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy

from tidelog.common.arrays import Words
from tidelog.kernels import layout
from tidelog.maintain import aggregates, threads
from tidelog.maintain.assemble import Sight
from tidelog.maintain.component_folds import ends_of, fold_members
from tidelog.maintain.machine import Inputs, Interpreter, Job
from tidelog.maintain.statistics import LiveStatistics
from tidelog.maintain.structure import sizes_of
from tidelog.maintain.threads import CALLED_BATCH, WidenError
from tidelog.profiling.recorder import INDEXES, PLANNING, step
from tidelog.rules.core import AggregateRule, CoreAtom, CoreRule, HyperNode
from tidelog.rules.plans import Plan, plan_deltas, plan_full
from tidelog.storage.closed_relation import ClosedMembers
from tidelog.storage.grids import Grids
from tidelog.storage.memory import Block
from tidelog.storage.rows import narrow
from tidelog.storage.stored import StoredRelation
from tidelog.storage.waiting import Waiting

_MUCH = 16
"""One in so many rows is much."""
_WORK_BEFORE_LOOK = 10_000_000
_OUTGROWN = 8
_FIRST_PLANS_LAST = 2_000


def bootstrap(node: HyperNode, inputs: Inputs) -> int:
    """Evaluate `node` into its (so far only asserted) relations; return the number of rounds.

    Raise WidenError, LimitError, KeyboardInterrupt, and what `inputs.at_work` raises; the node's relations are then
    invalid.
    """
    for name in node.relations:
        inputs.relations[name].marks.runs = [(0, inputs.round + 1)]
        if node.recursive and inputs.relations[name].marks.has_counts:
            inputs.relations[name].marks.keep_supports()
    ends = ends_of(node, inputs)
    if ends is not None:
        return _take_ends(node.relations[0], *ends, inputs)
    inputs = _without_dead_rows(node, inputs)
    internal = frozenset(node.relations)
    first: list[CoreRule] = []
    recursive: list[CoreRule] = []
    for rule in node.rules:
        if isinstance(rule, AggregateRule):
            _aggregate(rule, inputs)
        else:
            (recursive if internal_atoms(rule, internal) else first).append(rule)
    useful = [rule for rule in first if can_derive(rule, inputs, internal)]
    if not useful and not any(inputs.relations[name].rows for name in node.relations):
        inputs.watch.look()
        return 2 if recursive else 1
    run = _Run(node, inputs)
    try:
        if first or recursive:
            run.rounds(lambda statistics: [plan_full(rule, statistics) for rule in useful], 1)
        if recursive:
            followed = [rule for rule in recursive if can_derive(rule, inputs, internal)]
            deltas = [(rule, i) for rule in followed for i in internal_atoms(rule, internal)]
            run.rounds(lambda statistics: plan_deltas(deltas, internal, statistics), None)
    finally:
        run.waiting.end()
        run.grids.end()
    for name in node.relations:
        inputs.relations[name].settle()
        inputs.relations[name].marks.look_for_saturation()
    return max(1, run.round)


def _take_ends(name: str, words: Words, counts: Words, inputs: Inputs) -> int:
    """Insert tuples with their counts into a relation without any; return the number of rounds."""
    stored = inputs.relations[name]
    stored.insert(words)
    if stored.marks.has_counts:
        stored.marks.counts_in_place()[:] = counts
    stored.settle()
    inputs.watch.look(stored.rows)
    return 1


def can_derive(rule: CoreRule, inputs: Inputs, internal: frozenset[str]) -> bool:
    """Return False if a relation in the body has no rows, and gets none from the hyper-node itself. Large programs have
    many such rules: most of what they read is empty at the start."""
    read = (name for name, negated in rule.reads if not negated and name not in internal)
    return all(len(inputs.relations[name]) for name in read)


def internal_atoms(rule: CoreRule, internal: frozenset[str]) -> list[int]:
    """Return the positions of the body atoms whose relations the hyper-node itself derives."""
    return [
        i
        for i, literal in enumerate(rule.body)
        if isinstance(literal, CoreAtom) and not literal.negated and literal.relation in internal
    ]


def sight_of(plan: Plan, relations: Mapping[str, StoredRelation]) -> Sight | None:
    """Return the sight of a plan. Inputs that this epoch changes in place still contain dead rows: plans read them as
    they are now."""
    changing = [
        layout.NOW if isinstance(x, CoreAtom) and relations[x.relation].has_dying_rows else None for x in plan.rule.body
    ]
    if not any(changing):
        return None
    source = layout.FULL if plan.source is None else layout.DELTA if plan.delta else layout.FULL
    return Sight(source, tuple(changing))


def _without_dead_rows(node: HyperNode, inputs: Inputs) -> Inputs:
    """Return the same inputs, with copies of the live rows in the place of relations of which much has died in this
    epoch. Scans over so many dead entries take longer, and the rows may be re-derived."""
    relations = dict(inputs.relations)
    for name, stored in inputs.relations.items():
        if (
            name not in node.relations
            and stored.has_dying_rows
            and stored.journal.list_length(layout.OUT) * _MUCH > stored.rows
        ):
            relations[name] = stored.copy_to(inputs.catalog)
    return replace(inputs, relations=relations)


def _aggregate(rule: AggregateRule, inputs: Inputs) -> None:
    outer, inner = inputs.relations[rule.outer], inputs.relations[rule.inner]
    if isinstance(inner, ClosedMembers):
        asked = outer.words().astype(numpy.int64)
        values, has = fold_members(rule, inner, asked, inputs.dictionary, inputs.watch)
        rows = numpy.concatenate([asked, values[:, None]], axis=1)[has]
    else:
        rows = aggregates.evaluate(rule, outer, inner, inputs.dictionary, inputs.watch.look)
    if inputs.catalog.bits == 32 and not narrow(rows):
        raise WidenError
    inputs.relations[rule.head].insert(rows)
    inputs.watch.look(len(rows))


class _Run:
    """The rounds of one hyper-node."""

    def __init__(self, node: HyperNode, inputs: Inputs) -> None:
        self.inputs = inputs
        self.names = node.relations
        self.internal = frozenset(node.relations)
        self.derived = [inputs.relations[name] for name in node.relations]
        self.numbers = numpy.array([stored.number for stored in self.derived], numpy.int64)
        self.round = 0
        self.tried = 0
        """The bindings that earlier machines have tried."""
        self.running: Interpreter | None = None
        self.log = Block(8 * 64 * len(self.derived))
        self.waiting = Waiting(CALLED_BATCH)
        self.grids = Grids(self.derived)
        self.state = numpy.zeros(layout.N_FIELDS, numpy.int64)
        self.state[layout.N_LOG], self.state[layout.N_LOG_CAPACITY] = self.log.address, 64
        self.state[layout.N_SHARE] = threads.shared_from(inputs.threads)

    def growth(self) -> tuple[int, Mapping[str, int]]:
        """Return the rounds so far, and the rows of the relations."""
        return int(self.state[layout.N_ROUND]), sizes_of(dict(zip(self.names, self.derived, strict=True)))

    def rounds(self, plan: Callable[[LiveStatistics], Sequence[Plan]], limit: int | None) -> None:
        """Run rounds with the plans that `plan` makes: `limit` of them, or until nothing is born.

        Plans are made anew when a relation has grown much; a round is never interrupted for it.
        """
        from tidelog.kernels.fixpoint import run_rounds

        target = self.round + limit if limit is not None else -1
        status = layout.REPLAN
        with self.inputs.watch.progress.report_growth(self.growth):
            while status == layout.REPLAN:
                machine = self.running = self.machine(plan)
                arguments = self.numbers, self.state, (target,), self.look, self.grow_log
                status = machine.converse(run_rounds, "", *arguments, waiting=self.waiting)
                self.tried, self.running = self.tried + machine.bindings_tried, None
                self.round = int(self.state[layout.N_ROUND])
        self.note_births()

    def machine(self, plan: Callable[[LiveStatistics], Sequence[Plan]]) -> Interpreter:
        """Plan for the sizes of now and assemble."""
        inputs = self.inputs
        with step(PLANNING):
            plans = plan(LiveStatistics(inputs.relations, self.internal))
            jobs = [Job(p, sight_of(p, inputs.relations)) for p in plans]
            machine = Interpreter(inputs.catalog, inputs.dictionary, inputs.relations, self.names, jobs, inputs.threads)
        machine.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
        read = [stored for name, stored in inputs.relations.items() if name not in self.internal]
        written = [stored for stored in read if stored.form == "written"]
        with step(INDEXES):
            threads.extend_indexes(written, [stored.rows for stored in written], inputs.threads, self.look)
            for stored in read:
                stored.settle()
        for stored in self.derived:
            outgrown = max(_FIRST_PLANS_LAST, stored.rows * _OUTGROWN)
            inputs.catalog.table[stored.number, layout.R_REPLAN] = outgrown
        return machine

    def look(self) -> None:
        """Raise if a limit has been reached."""
        watch = self.inputs.watch
        watch.look(sum(stored.rows for stored in self.derived))
        self.grids.look()
        if self.inputs.at_work is not None and self.running is not None:
            self.inputs.at_work(self.inputs, self.tried + self.running.bindings_tried)
        if watch.sizes:
            for name, stored in zip(self.names, self.derived, strict=True):
                watch.look_at(name, stored.rows)

    def grow_log(self) -> None:
        """Make room for the ends of four times as many rounds."""
        capacity = int(self.state[layout.N_LOG_CAPACITY]) * 4
        self.log.grow(8 * capacity * len(self.derived))
        self.state[layout.N_LOG], self.state[layout.N_LOG_CAPACITY] = self.log.address, capacity

    def note_births(self) -> None:
        """Turn the kernel's log of row numbers into births: rows between two rounds' ends were born in the later."""
        rounds, width = self.round, len(self.derived)
        ends = self.log.view(numpy.int64, rounds * width).reshape(rounds, width)
        for i, stored in enumerate(self.derived):
            starts = numpy.concatenate([[0], ends[:-1, i]])
            some = ends[:, i] > starts
            births = self.inputs.round + 1 + numpy.flatnonzero(some)
            runs = list(zip(starts[some].tolist(), births.tolist(), strict=True))
            stored.marks.runs = runs or [(0, self.inputs.round + 1)]
