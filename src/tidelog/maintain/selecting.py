"""Hyper-nodes that read selected tuples only: updates in loops, until no shown row is beaten.

    1. Deletions, as in every update: who loses the last derivation that counts dies. Nothing takes its place meanwhile;
       otherwise two tuples might support each other with ever worse values.
    2. Re-derivation. Keys that have lost shown rows show the best candidates that are left, with new births: nobody has
       read these, so nobody has counted on their old ones.
    3. Insertions. A better candidate is shown from the next round on; the beaten one stays until nothing is born.
    4. Beaten rows are lost like deleted ones: once more from 1.

`kernels/selections.py` does the steps between the rounds. Where rules never improve a value that they start from, the
values are right after the first loop, and another one or two tidy births. Where they do, values may follow from
themselves for ever; after some loops the engine then reads all candidates instead.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy

from tidelog.common.arrays import AnyWords, Words
from tidelog.kernels import layout
from tidelog.kernels.layout import AFTER, NOW, WITH
from tidelog.maintain.assemble import Sight
from tidelog.maintain.bootstrap import internal_atoms
from tidelog.maintain.machine import Inputs, Interpreter, Job
from tidelog.maintain.searching import credit, search, selection_words
from tidelog.maintain.statistics import LiveStatistics
from tidelog.maintain.update import ShowingUpdate, at_round, is_shown
from tidelog.maintain.update_plans import Maintained, NodeChange, prepare, states_of
from tidelog.rules.core import CoreAtom, CoreRule, HyperNode, NodeSelection
from tidelog.rules.plans import plan_changes
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

MOST_LOOPS = 12
"""Loops after which a hyper-node is taken not to settle. Where no rule improves a value that it starts from, random
programs take three at most."""
TIDY = "tidy"
"""The group of plans for rows that are beaten."""


class UnsettledError(Exception):
    """The loops of a hyper-node have no end in sight; the argument has its relations that select."""


def prepare_selecting(
    node: HyperNode, change: NodeChange, inputs: Inputs, before: Maintained | None = None
) -> Maintained:
    """Plan and assemble the code for the change of this epoch, see `update.prepare`, and for the loops behind it."""
    maintained = prepare(node, change, inputs, before)
    internal, statistics = frozenset(node.relations), LiveStatistics(inputs.relations, frozenset())
    rules = [rule for rule in node.rules if isinstance(rule, CoreRule) and maintained.note_missing(rule, [(TIDY, -1)])]
    if rules or TIDY not in maintained.machine.plans:
        maintained.add(
            Job(plan, _sight_of_beaten(rule, i, internal), TIDY)
            for rule in rules
            for i, plans in plan_changes(rule, internal_atoms(rule, internal), statistics).items()
            for plan in plans
        )
        maintained.machine.plans.setdefault(TIDY, numpy.empty(0, numpy.int64))
    return maintained


def update_selecting(
    node: HyperNode, change: NodeChange, inputs: Inputs, maintained: Maintained, seconds: float
) -> int:
    """Update the relations of `node`, which are open, in place; return the last round number in use. Raise
    UnsettledError, and what `update.update` raises."""
    run = _Selecting(node, inputs, maintained, seconds)
    run.delete(change)
    return run.settle(run.insert(change))


def bootstrap_selecting(node: HyperNode, inputs: Inputs, facts: Mapping[str, AnyWords]) -> int:
    """Evaluate `node` into its relations, which are empty, from these facts; return the number of rounds. The relations
    stay open, with the rows that died on the way. Raise UnsettledError, and what `bootstrap.bootstrap` raises.

    Where keys have one row each, a search finds these first, and mostly also births for them (`credit`). Otherwise
    rounds find the births, but show no other rows, so that none dies.
    """
    for name in node.relations:
        stored = inputs.relations[name]
        stored.marks.keep_births()
        if not is_shown(name, node):
            stored.marks.keep_supports()
        stored.open()
    rules = [rule for rule in node.rules if isinstance(rule, CoreRule)]
    change = NodeChange({name: words.astype(numpy.int64) for name, words in facts.items()}, {}, rules)
    best = None
    if not any(each.front for each in node.selects):
        done = search(node, inputs, facts)
        rounds = credit(done)
        if rounds is not None:
            return rounds
        best = done.found
        for each in node.selects:
            inputs.relations[each.shown].ensure(best[each.shown].rows)
    maintained = prepare_selecting(node, change, inputs)
    run = _Selecting(node, inputs, maintained, float("inf"), best)
    last = run.insert(change)
    if best is None:
        last = run.settle(last)
    elif any(inputs.relations[name].rows < found.rows for name, found in best.items()):
        raise UnsettledError(tuple(each.shown for each in node.selects))
    return last - inputs.round


class _Selecting(ShowingUpdate):
    """One update of one hyper-node that selects."""

    def __init__(
        self,
        node: HyperNode,
        inputs: Inputs,
        maintained: Maintained,
        seconds: float,
        best: Mapping[str, StoredRelation] | None = None,
    ) -> None:
        self.blocks = [_words(each, inputs, best) for each in node.selects]
        self.selections = numpy.array([block.address for block in self.blocks], numpy.int64)
        self.loops = 0
        self.deaths = 0
        super().__init__(node, inputs, maintained, seconds)
        self.demote()  # It has nothing to do yet, but a kernel to load.
        self.deadline = time.thread_time() + seconds

    def run(self, machine: Interpreter, group: str, inserting: bool, once: bool, current: int) -> int:
        """Run a group of plans, see `NodeUpdate.run`, and let what is shown follow each round."""
        if once:
            return super().run(machine, group, inserting, once, current)
        from tidelog.kernels.selections import run_selections

        state = at_round(machine, current)
        self.run_kernel(machine, run_selections, group, state, (self.selections, inserting), inserting)
        last = int(machine.levels[layout.S_ROUND])
        if not inserting:
            self.deaths = last
        return last

    def settle(self, current: int) -> int:
        """Let beaten rows die, re-derive and insert, until none is beaten; return the last round of births."""
        while True:
            for selection, block in zip(self.node.selects, self.blocks, strict=True):
                journal = self.derived[selection.shown].journal
                _view(block)[layout.X_DIED] = journal.list_length(layout.OUT)
            starts = {name: stored.journal.list_length(layout.OUT) for name, stored in self.derived.items()}
            self.deaths += 1
            if not self.demote():
                return current
            self.loops += 1
            if self.loops > MOST_LOOPS:
                raise UnsettledError(tuple(each.shown for each in self.node.selects))
            for selection, block in zip(self.node.selects, self.blocks, strict=True):
                _view(block)[layout.X_BORN] = self.derived[selection.shown].journal.list_length(layout.IN)
            self.run(self.machine, TIDY, False, False, self.deaths)
            current += 1
            self.rederive(current, starts)
            self.look()
            current = self.run(self.machine, "insert", True, False, current)

    def demote(self) -> bool:
        """Let the rows die that a newly shown one beats; whether there are any."""
        from tidelog.kernels.selections import demote

        before = [self.derived[each.shown].journal.list_length(layout.OUT) for each in self.node.selects]
        state = numpy.zeros(layout.N_FIELDS, numpy.int64)
        self.machine.levels[layout.S_ROUND] = self.deaths
        arguments = "", self.opened, state, (self.selections,)
        self.machine.converse(demote, *arguments, self.look)
        return before != [self.derived[each.shown].journal.list_length(layout.OUT) for each in self.node.selects]


def _words(selection: NodeSelection, inputs: Inputs, best: Mapping[str, StoredRelation] | None) -> Block:
    """Return the block by which kernels know a selection; its indexes are made where they are missing. Where the `best`
    rows are known, none is needed."""
    block = selection_words(selection, inputs.relations)
    words = _view(block)
    if best is not None:
        words[layout.X_BEST] = best[selection.shown].number
        return block
    for field, name in ((layout.X_INDEX, selection.shown), (layout.X_OFFERS, selection.candidates)):
        stored = inputs.relations[name]
        index = stored.index(selection.keys)
        index.extend(stored.rows)
        words[field] = index.number
    return block


def _view(block: Block) -> Words:
    return block.view(numpy.int64, layout.X_WORDS)


def _sight_of_beaten(rule: CoreRule, i: int, internal: frozenset[str]) -> Sight:
    """Return the sight of a plan for rows of body atom `i` that die because they are beaten. All that other hyper-nodes
    have changed has been charged before."""
    states = states_of(rule, lambda j: AFTER if j < i else WITH, lambda j: NOW, lambda j: NOW, internal)
    states[i] = layout.EVER
    assert isinstance(rule.body[i], CoreAtom)
    return Sight(layout.OUT, tuple(states))
