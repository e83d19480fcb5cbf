"""Update: a hyper-node follows the changes of its inputs, its facts and its rules in place, by birth-ranked counting.

    1. Deletions. Every derivation that a deletion takes away is charged once to its head, if it counted there; heads
       without any left die, and their derivations are charged in the next round.
    2. Re-derivation. A tuple that died and has derivations left, whether they counted or not, is re-derived in a fresh
       round, in which all of them count.
    3. Insertions. In the same round the derivations that insertions and new rules bring; then semi-naively from the
       newly born. A new birth is above all others, so that no old tuple changes any more.

Source: Algorithm 3 and Section 4.1 of the elastic paper, with births instead of iteration numbers as in docs/theory.md.
`update_plans` has the plans.

Some hyper-nodes show a selection or a choice of their candidates (`ShowingUpdate`). The candidates are derived, die and
are re-derived like all rows. What is shown follows them, after each round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from types import MappingProxyType

import numpy

from tidelog.common.arrays import Words
from tidelog.kernels import layout
from tidelog.kernels.calling import at_each_stage
from tidelog.kernels.changes import run_changes, weigh
from tidelog.kernels.layout import AT_START, NOW, UP_TO
from tidelog.maintain.machine import Inputs, Interpreter, Job, OpenRelations
from tidelog.maintain.statistics import LiveStatistics
from tidelog.maintain.structure import sizes_of
from tidelog.maintain.threads import shared_from
from tidelog.maintain.update_plans import Maintained, NodeChange, plan, reads_empty, sight_of_rule
from tidelog.maintain.user_functors import refuse_impure
from tidelog.profiling.recorder import INDEXES, PLANNING, step
from tidelog.rules.core import CoreRule, HyperNode
from tidelog.rules.plans import plan_full
from tidelog.storage.changes import (
    RelationGroup,
    assert_facts,
    bear_supported,
    field_total,
    retract,
    with_nonzero,
)

WORK_BEFORE_LOOK = 100_000
_WEIGHED = 1_000
"""Rows that have to have changed before it pays to find out how many derivations that concerns."""
_SAMPLE = 256
_FEW = 500_000
"""So many derivations are followed at once: a bootstrap has its price as well."""
_DEARER = 2
"""A derivation that is lost or won costs as much as so many of a bootstrap."""
_ready: set[int] = set()
"""The sizes of words, in bits, for which this process has loaded the kernels of updates."""
at_each_stage(_ready.clear)


class CutOffError(Exception):
    """The update is, or has become, dearer than evaluating the hyper-node anew; the text has the basis of the
    estimate."""


def update(node: HyperNode, change: NodeChange, inputs: Inputs, maintained: Maintained, seconds: float) -> int:
    """Update the relations of `node` in place, and open those that change; return the last round number in use.

    Raise CutOffError when it takes longer than `seconds`, or would cost more than a bootstrap in any case if there is
    such a bound; WidenError, LimitError, KeyboardInterrupt. The caller then has to undo the relations.
    """
    run = NodeUpdate(node, inputs, maintained, seconds)
    if not node.recursive:
        if seconds < inf and not (change.added or change.dropped):
            run.weigh(change)
        run.delete(change)
        return run.insert(change)
    with inputs.watch.progress.report_growth(run.growth):
        run.delete(change)
        return run.insert(change)


class NodeUpdate:
    """One update of one hyper-node."""

    def __init__(self, node: HyperNode, inputs: Inputs, maintained: Maintained, seconds: float) -> None:
        self.node = node
        self.inputs = inputs
        self.maintained = maintained
        self.machine = maintained.machine
        self.machine.threads = inputs.threads
        self.derived, self.others = maintained.derived, maintained.others
        self.scanned = [name for name in maintained.scanned if inputs.relations[name].changing]
        for name in self.scanned:
            maintained.scanned[name] -= 1
        self.changed = [stored for stored in self.others.values() if stored.changing]
        lists = maintained.lists
        self.losing, self.winning = maintained.effects(lists)
        """True if plans for derivations lost, or for those won, may find any in the changes of other hyper-nodes."""
        self.opened = OpenRelations(self.derived.values(), self.changed, inputs.open)
        if lists and len(self.derived) == 1:  # A kernel would ask for it: with one head, that is known beforehand.
            for stored in self.derived.values():
                self.opened.add(stored)
        with step(INDEXES):
            maintained.other_group.settle()
            for stored in self.changed:
                stored.journal.show_all()
            maintained.own_group.extend_lagging()
        # Indexes made here for the first time serve all later updates, and so do the kernels, which calls that have
        # nothing to do load from the cache: they are not held against this one.
        self.deadline = inf
        if inputs.catalog.bits not in _ready:
            self.run(self.machine, "", False, True, 0)
            self.rederive(0)
            _ready.add(inputs.catalog.bits)
        self.first = 0
        """The round of deaths, or of births, with which the last run of plans has begun."""
        self.seconds, self.deadline = seconds, time.thread_time() + seconds

    def weigh(self, change: NodeChange) -> None:
        """Raise if a bootstrap is cheaper, judging by the derivations lost and won. If it is not, and none can be lost,
        take all the time that the update needs: a bootstrap would make all its derivations, and the others as well."""
        if field_total(self.changed, layout.R_OUT_N) + field_total(self.changed, layout.R_IN_N) < _WEIGHED:
            return
        machine = self.machine
        machine.levels[:] = 0
        machine.levels[layout.S_BUDGET] = WORK_BEFORE_LOOK

        def estimate_work(most: int) -> list[int]:
            return [machine.call(weigh, group, _SAMPLE, most) for group in ("delete", "insert")]

        if sum(estimate_work(_FEW + 1)) > _FEW:
            now = sum(stored.marks.derivations() for stored in self.derived.values())
            lost, won = estimate_work(2 * max(now, _FEW))
            if _DEARER * (lost + won) > now - lost + won:
                raise CutOffError(f"at once, to lose some {lost:,} and win some {won:,} derivations of {now:,}")
        if not (self.losing or change.deleted):
            self.deadline = inf

    def delete(self, change: NodeChange) -> None:
        """Charge lost derivations to the heads, until no more rows die."""
        for name, words in change.deleted.items():
            self.opened.add(self.derived[name])
            retract(self.derived[name], words)
        if change.dropped:
            self.evaluate_once(change.dropped, AT_START, AT_START, False, 0)
        if not (self.losing or field_total(self.opened.stored, layout.R_OUT_N)):
            return
        self.scan("delete", layout.OUT, False, 0)
        self.run(self.machine, "delete", False, False, 0)
        if field_total(self.opened.stored, layout.R_ABSENT):
            for name, stored in self.derived.items():
                if stored.changing and stored.fields[layout.R_ABSENT]:
                    refuse_impure(self.node, name)

    def insert(self, change: NodeChange) -> int:
        """Re-derive rows, then insert new ones, until no more rows are born."""
        current = self.inputs.round + 1
        self.rederive(current)
        for stored in self.opened.stored:
            stored.journal.show_nothing()
        for name, words in change.inserted.items():
            self.opened.add(self.derived[name])
            assert_facts(self.derived[name], words, current)
        if change.added:
            self.evaluate_once(change.added, UP_TO, NOW, True, current)
        if not (self.winning or field_total(self.opened.stored, layout.R_IN_N)):
            return current
        self.scan("insert", layout.IN, True, current)
        for stored in self.changed:
            stored.journal.show_all()
        return self.run(self.machine, "insert", True, False, current)

    def rederive(self, current: int) -> None:
        """Re-derive the rows that died and have derivations left."""
        for stored in with_nonzero(self.opened.stored, layout.R_OUT_N):
            bear_supported(stored, current)

    def scan(self, group: str, version: int, inserting: bool, current: int) -> None:
        """Scan for the changes of the relations that have no plans of another kind."""
        for name in self.scanned:
            if self.inputs.relations[name].journal.list_length(version):
                self.machine.mark(name, version)
                self.run(self.machine, f"{group} {name}", inserting, True, current)

    def evaluate_once(self, rules: Sequence[CoreRule], own: int, other: int, inserting: bool, current: int) -> None:
        """Evaluate added or dropped rules once, in the current round; `own` and `other` are the states they see."""
        inputs, internal = self.inputs, frozenset(self.derived)
        rules = [rule for rule in rules if not reads_empty(rule, inputs.relations)]
        if not rules:
            return
        statistics = LiveStatistics(inputs.relations, frozenset())
        with step(PLANNING):
            jobs = [Job(plan_full(rule, statistics), sight_of_rule(rule, own, other, internal)) for rule in rules]
            machine = Interpreter(
                inputs.catalog, inputs.dictionary, inputs.relations, self.node.relations, jobs, inputs.threads
            )
        RelationGroup(self.others.values()).settle()
        RelationGroup(self.derived.values()).extend_lagging()
        self.run(machine, "", inserting, True, current)

    def run(self, machine: Interpreter, group: str, inserting: bool, once: bool, current: int) -> int:
        """Run a group of plans, once or round by round from round `current`; return the last round."""
        self.first = current
        self.run_kernel(machine, run_changes, group, at_round(machine, current), (inserting, once), inserting)
        return int(machine.levels[layout.S_ROUND])

    def growth(self) -> tuple[int, Mapping[str, int]]:
        """Return how many rounds of deaths, or of births, there have been, and the rows so far."""
        return max(0, int(self.machine.levels[layout.S_ROUND]) - self.first), sizes_of(self.derived)

    def run_kernel(
        self,
        machine: Interpreter,
        kernel: Callable[..., int],
        group: str,
        state: Words,
        arguments: tuple[object, ...],
        inserting: bool,
    ) -> int:
        """Let a kernel run the rounds of a group of plans, and plan what it asks for; return its last status."""
        task = layout.CREDIT if inserting else layout.CHARGE
        told = kernel, group, self.opened, state, arguments, self.look
        while (status := machine.converse(*told, task=task)) == layout.REPLAN:
            self.plan_own(layout.IN if inserting else layout.OUT)
        return status

    def plan_own(self, version: int) -> None:
        """Add the plans that are missing for tuples of the hyper-node itself in these lists. They serve all later
        updates and are not held against this one."""
        started, kept = time.thread_time(), self.maintained
        changed = [
            name for name, stored in self.derived.items() if stored.changing and stored.journal.list_length(version)
        ]
        with step(PLANNING):
            plan(kept, {(name, version) for name in changed})
        with step(INDEXES):
            kept.own_group.extend_lagging()
            kept.other_group.extend_lagging()
        self.deadline += time.thread_time() - started

    def look(self) -> None:
        """Raise if a limit has been reached, or the price of an evaluation from scratch."""
        self.look_at_limits()
        if self.deadline < inf and time.thread_time() > self.deadline:
            raise CutOffError(f"after {self.seconds:.3f} s")

    def look_at_limits(self) -> None:
        """Raise if a limit has been reached. Kernels are compiled whatever the price: an update that did not get that
        far would be given up each time."""
        watch = self.inputs.watch
        watch.look(field_total(self.opened.stored, layout.R_IN_N))
        if watch.sizes:
            for name, stored in self.derived.items():
                watch.look_at(name, int((stored.marks.counts_in_place() > 0).sum()))


class ShowingUpdate(NodeUpdate):
    """One update of such a hyper-node. Rows that die on the way may be re-derived."""

    def __init__(self, node: HyperNode, inputs: Inputs, maintained: Maintained, seconds: float) -> None:
        super().__init__(node, inputs, maintained, seconds)
        self.losing = self.winning = True  # What is shown follows in each run.
        for stored in self.derived.values():
            stored.repeats = True

    def rederive(self, current: int, starts: Mapping[str, int] = MappingProxyType({})) -> None:
        """Re-derive the rows that have derivations left, except those that are shown: they follow their candidates.
        `starts` says from where on in the lists of deaths."""
        for name, stored in self.derived.items():
            if not is_shown(name, self.node):
                bear_supported(stored, current, starts.get(name, 0))

    def look_at_limits(self) -> None:
        """Raise if a limit has been reached. Rows that are shown for a while do not count for the size of a
        relation."""
        sizes, self.inputs.watch.sizes = self.inputs.watch.sizes, {}
        try:
            super().look_at_limits()
        finally:
            self.inputs.watch.sizes = sizes


def is_shown(name: str, node: HyperNode) -> bool:
    """Return True if a relation of a hyper-node shows a selection or a choice."""
    return any(name == each.shown for each in node.selects)


def at_round(machine: Interpreter, current: int) -> Words:
    """Let the kernels of an update begin at round `current`; return their state."""
    machine.levels[:] = 0
    machine.levels[layout.S_BUDGET] = WORK_BEFORE_LOOK
    machine.levels[layout.S_ROUND] = current
    state = numpy.zeros(layout.N_FIELDS, numpy.int64)
    state[layout.N_SHARE] = shared_from(machine.threads, update=True)
    return state
