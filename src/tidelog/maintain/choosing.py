"""Hyper-nodes that choose: bodies read the chosen tuples, and nothing chosen is demoted.

    1. Deletions, as in every update: who loses the last derivation that counts dies, and nothing takes its place.
    2. If chosen rows have died: re-derivation and insertion, in which candidates are chosen only if they were before.
       So all rows stay that still follow from each other.
    3. Then the other candidates that are free, the oldest first, of one age the least tuple. They are chosen with new
       births: nobody has read them, so nobody has counted on their old ones.
    4. Insertions: of the candidates that a round brings, those that are free, the least first.

An evaluation from scratch is step 4. Where a choice was there before, it is steps 2 to 4, so that it keeps the same
tuples as an update. `kernels/choices.py` does the steps between the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from tidelog.common.arrays import AnyWords, Words
from tidelog.kernels import layout
from tidelog.maintain.machine import Inputs, Interpreter
from tidelog.maintain.update import ShowingUpdate, at_round
from tidelog.maintain.update_plans import Maintained, NodeChange, prepare
from tidelog.rules.core import CoreRule, HyperNode, NodeSelection
from tidelog.storage.memory import Block
from tidelog.storage.ordering import order_of_words
from tidelog.storage.stored import StoredRelation


def update_choosing(node: HyperNode, change: NodeChange, inputs: Inputs, maintained: Maintained, seconds: float) -> int:
    """Update the relations of `node`, which are open, in place; return the last round number in use. It may take longer
    than `seconds`, because another evaluation would not know which candidates are the oldest. Raise WidenError,
    LimitError, KeyboardInterrupt."""
    run = _Choosing(node, inputs, maintained)
    run.delete(change)
    return run.insert(change)


def bootstrap_choosing(
    node: HyperNode, inputs: Inputs, facts: Mapping[str, AnyWords], former: Mapping[str, AnyWords]
) -> int:
    """Evaluate `node` into its relations, which are empty, from these facts, and choose `former` tuples where they are
    derived; return the number of rounds. The relations stay open, with rows that are dead. Raise what `update_choosing`
    raises."""
    for name in node.relations:
        stored = inputs.relations[name]
        stored.marks.keep_births()
        if name in former:
            stored.insert(former[name])
            stored.marks.counts_in_place()[:] = -1
        else:
            stored.marks.keep_supports()
        stored.open()
        stored.journal.ensure(stored.rows)
        stored.journal.show(numpy.arange(stored.rows), numpy.empty(0, numpy.int64))
    rules = [rule for rule in node.rules if isinstance(rule, CoreRule)]
    change = NodeChange({name: words.astype(numpy.int64) for name, words in facts.items()}, {}, rules)
    return _Choosing(node, inputs, prepare(node, change, inputs)).insert(change) - inputs.round


class _Choosing(ShowingUpdate):
    """One update of one hyper-node that chooses. While `former` holds, only rows that were chosen before are chosen."""

    def __init__(self, node: HyperNode, inputs: Inputs, maintained: Maintained) -> None:
        self.blocks = [_words(each, inputs) for each in node.selects]
        self.choices = numpy.array([block.address for block in self.blocks], numpy.int64)
        self.former = False
        super().__init__(node, inputs, maintained, float("inf"))

    def insert(self, change: NodeChange) -> int:
        """Re-derive rows and insert new ones, first among the former choices if some of these have died."""
        self.former = any(self.derived[each.shown].journal.list_length(layout.OUT) for each in self.node.selects)
        current = super().insert(change)
        if self.former:
            self.former = False
            current = self.run(self.machine, "insert", True, False, self.promote(current))
        return current

    def run(self, machine: Interpreter, group: str, inserting: bool, once: bool, current: int) -> int:
        """Run a group of plans, see `NodeUpdate.run`, and let what is chosen follow each round."""
        if once:
            return super().run(machine, group, inserting, once, current)
        from tidelog.kernels.choices import run_choices

        state = at_round(machine, current)
        arguments = self.choices, inserting, self.former
        while self.run_kernel(machine, run_choices, group, state, arguments, inserting) == layout.ORDER:
            selection = self.node.selects[int(state[layout.N_SELECTION])]
            stored = self.derived[selection.candidates]
            start = stored.fields[layout.R_IN_HIGH]
            free = stored.journal.rows(layout.IN)[start : start + int(state[layout.N_FREE])]
            free[:] = self.in_order(free, selection, stored)
        return int(machine.levels[layout.S_ROUND])

    def promote(self, current: int) -> int:
        """Choose among the candidates that may have become free, in round `current`; return the next one."""
        from tidelog.kernels.choices import promote

        lists = [self.find_candidates(selection) for selection in self.node.selects]
        blocks = [Block(8 * len(numbers)) for numbers in lists]
        for block, numbers in zip(blocks, lists, strict=True):
            block.view(numpy.int64, len(numbers))[:] = numbers
        addresses = numpy.array([block.address for block in blocks], numpy.int64)
        arguments = self.choices, addresses, numpy.array([*map(len, lists)], numpy.int64)
        state = numpy.zeros(layout.N_FIELDS, numpy.int64)
        self.machine.levels[layout.S_ROUND] = current
        if self.machine.converse(promote, "", self.opened, state, arguments, self.look) == layout.REPLAN:
            self.plan_own(layout.IN)
        return int(self.machine.levels[layout.S_ROUND])

    def find_candidates(self, selection: NodeSelection) -> Words:
        """Return the candidates that may have become free, the oldest first: those born in this update, and those that
        agree with a row in a domain that was shown before and is not any more."""
        shown, candidates = self.derived[selection.shown], self.derived[selection.candidates]
        removed = shown.journal.rows(layout.OUT)
        words = shown.take(removed[~shown.marks.alive(removed)]).astype(numpy.int64)
        found = [candidates.journal.rows(layout.IN)]
        for domain in selection.domains:
            keys = _keys(domain)
            found.append(candidates.select(keys, numpy.unique(words[:, keys], axis=0)))
        numbers = numpy.unique(numpy.concatenate(found))
        numbers = self.in_order(numbers[candidates.marks.alive(numbers)], selection, candidates)
        return numbers[numpy.argsort(candidates.marks.births()[numbers], kind="stable")]

    def in_order(self, numbers: Words, selection: NodeSelection, stored: StoredRelation) -> Words:
        """Return the numbers of rows in the order of their tuples."""
        kinds = [kind for _, _, kind in selection.orders]
        return numbers[order_of_words(stored.take(numbers).astype(numpy.int64), kinds, self.inputs.dictionary)]


def _keys(domain: tuple[int, ...]) -> tuple[int, ...]:
    """Return the columns of a domain that an index takes."""
    return domain[: layout.MAX_KEYS]


def _words(selection: NodeSelection, inputs: Inputs) -> Block:
    """Return the block by which kernels know a choice; its indexes are made where they are missing."""
    shown = inputs.relations[selection.shown]
    words = [shown.number, inputs.relations[selection.candidates].number, len(selection.domains)]
    for domain in selection.domains:
        index = shown.index(_keys(domain))
        index.extend(shown.rows)
        words += [index.number, len(domain), *domain]
    block = Block(8 * len(words))
    block.view(numpy.int64, len(words))[:] = words
    return block
