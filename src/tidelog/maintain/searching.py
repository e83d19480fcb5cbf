"""The best rows of a hyper-node that selects, from scratch: one per key, with births and counts (docs/theory.md).

A search (`kernels/frontier.py`) reads the rows in the order of their costs, so that most are read once, and a better
row takes the place of another. It ends with the selection from the least model where the rules are monotone, whether
or not each of these rows has a derivation from others that were there before.

`credit` looks at that and fills the relations of the hyper-node. The search has noted each derivation from a row that
it read, with the round as birth. Where a row was read before a better one took its place, these derivations are
uncounted. The state is right then, unless some best row has no derivation from rows that were born before it: a row
that got the same value again, from a row that was read once more, may be older than the row that it follows from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.errors import LimitError
from tidelog.kernels import layout
from tidelog.maintain.assemble import Sight
from tidelog.maintain.bootstrap import internal_atoms, sight_of
from tidelog.maintain.endless import explain_limit, refuse_endless
from tidelog.maintain.functors import KINDS
from tidelog.maintain.machine import Inputs, Interpreter, Job
from tidelog.maintain.statistics import LiveStatistics
from tidelog.maintain.update_plans import states_of
from tidelog.rules.core import CoreAtom, CoreRule, HyperNode, NodeSelection
from tidelog.rules.plans import Plan, plan_deltas, plan_full
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

_WORK_BEFORE_LOOK = 1_000_000
_FIRST, _FURTHER = "first", "further"
_FRONT, _BEATEN, STALE = "#front.", "#beaten.", "#stale."
_CHUNKS = 256
_DOUBTFUL, _IMPROVED = 1_000_000, 16
"""A search may have no end if so many rows got better, and so many times as many as there are."""
_STALE_ROWS = 100_000
"""A search counts no longer if it has read so many rows, and as many as there are, before better ones took their
places: rounds then find derivations sooner than it takes these back."""


def search(node: HyperNode, inputs: Inputs, facts: Mapping[str, AnyWords]) -> CostSearch:
    """Return a search that has found the rows that each relation of `node` has in the end, from these facts. The
    relations of candidates, which are open and empty, get all others. Raise WidenError, LimitError,
    KeyboardInterrupt."""
    found = CostSearch(node, inputs)
    for name, words in facts.items():
        found.offer(name, words)
    try:
        found.run(_FIRST)
        found.run(_FURTHER)
    except LimitError as error:
        raise explain_limit(error, node, inputs, found.best()) from None
    return found


def best_of(node: HyperNode, inputs: Inputs, rows: Mapping[str, AnyWords]) -> dict[str, AnyWords]:
    """Return the best of some rows for each relation of `node`, without candidates."""
    found = CostSearch(node, inputs, counted=False)
    for name, words in rows.items():
        found.offer(name, words)
    return found.best()


class CostSearch:
    """One search.

    `found` are the best rows, born in the round in which they were read, with counts and supports; those of relations
    that select are found by their keys only, and have supports and births behind their words (`kernels/marked.py`).
    `beaten` are the other candidates, with supports, by the relation that is shown; `stale` are the rows that were read
    before better ones took their places, with births. Derivations from these have been noted with all others.

    Only the rows of `found` are right if the search is not `counted`. It is not where a body has two atoms of the
    hyper-node, which are read in other orders than the search knows, and where rows are read again and again.
    """

    def __init__(self, node: HyperNode, inputs: Inputs, *, counted: bool = True) -> None:
        self.node, self.inputs = node, inputs
        self.doubtful = _DOUBTFUL
        by_shown = {each.shown: each for each in node.selects}
        heads = {each.candidates: each.shown for each in node.selects}
        self.names = [name for name in node.relations if name not in heads]
        self.heads = heads | {name: name for name in self.names}
        self.rules = [rule for rule in node.rules if isinstance(rule, CoreRule)]
        self.internal = frozenset(node.relations)
        self.counted = counted and all(len(internal_atoms(rule, self.internal)) < 2 for rule in self.rules)
        self.arity = {name: inputs.relations[name].arity for name in self.names}
        self.found = {name: self._relation_for_best(name, name in by_shown) for name in self.names}
        self.fronts, self.stale = (
            {name: StoredRelation(inputs.catalog, arity, counted=False) for name, arity in self.arity.items()}
            for _ in range(2)
        )
        kept = by_shown.items() if self.counted else ()
        self.beaten = {name: inputs.relations[each.candidates] for name, each in kept}
        self.relations = {**inputs.relations, **self.found}
        self.relations |= {name: self.found[shown] for name, shown in heads.items()}
        self.growing = {f"{_BEATEN}{name}": beaten for name, beaten in self.beaten.items()}
        self.growing |= {f"{STALE}{name}": stale for name, stale in self.stale.items()}
        self.relations |= self.growing | {f"{_FRONT}{name}": front for name, front in self.fronts.items()}
        for stale in self.stale.values():
            stale.marks.keep_births()
        self.blocks = {name: self._block(each) for name, each in by_shown.items()}
        self.chunks, self.queue = Block(8 * layout.CHUNK * _CHUNKS), Block(8 * layout.F_WORDS)
        self.words = self.queue.view(numpy.int64, layout.F_WORDS)
        self.words[layout.F_LEAST] = numpy.iinfo(numpy.int64).min
        self.words[layout.F_CHUNKS], self.words[layout.F_ROOM] = self.chunks.address, _CHUNKS
        self.words[layout.F_ROUND] = inputs.round
        self.numbers = numpy.array([self.found[name].number for name in self.names], numpy.int64)
        self.front_numbers = numpy.array([self.fronts[name].number for name in self.names], numpy.int64)
        addresses = [self.blocks[name].address if name in self.blocks else 0 for name in self.names]
        self.selections = numpy.array(addresses, numpy.int64)
        self.machine = self._assemble()
        for front in self.fronts.values():
            front.ensure(self.machine.batch)

    def _relation_for_best(self, name: str, selects: bool) -> StoredRelation:
        """Return the relation for the best rows of a relation."""
        marked = layout.MARKED if selects else 0
        found = StoredRelation(self.inputs.catalog, self.arity[name] + marked)
        found.fields[layout.R_MARKED] = marked
        found.overwritten = selects
        if not selects:
            found.marks.keep_births()
            found.marks.keep_supports()
        return found

    def _block(self, selection: NodeSelection) -> Block:
        """Return the block by which kernels know a selection."""
        found, block = self.found[selection.shown], selection_words(selection, self.inputs.relations)
        words = block.view(numpy.int64, layout.X_WORDS)
        words[layout.X_SHOWN], words[layout.X_STALE] = found.number, self.stale[selection.shown].number
        found.fields[layout.R_KEYED] = block.address
        if not self.counted:
            words[layout.X_CANDIDATES] = -1
        return block

    def _assemble(self) -> Interpreter:
        """Return the interpreter of the rules: once over everything, and from rows of the frontier."""
        internal = self.internal
        statistics = LiveStatistics(self.relations, internal)
        deltas = [(rule, i) for rule in self.rules for i in internal_atoms(rule, internal)]
        first = [plan_full(rule, statistics) for rule in self.rules if not internal_atoms(rule, internal)]
        plans = [(plan, _FIRST) for plan in first]
        plans += [(_from_front(plan), _FURTHER) for plan in plan_deltas(deltas, internal, statistics)]
        jobs = [Job(plan, sight_of(plan, self.relations), group) for plan, group in plans]
        inputs = self.inputs
        heads = [*internal, *self.growing]
        machine = Interpreter(inputs.catalog, inputs.dictionary, self.relations, heads, jobs)
        for name, stored in inputs.relations.items():
            if name not in internal:
                stored.settle()
        return machine

    def best(self) -> dict[str, AnyWords]:
        """Return the best rows of each relation so far."""
        return {name: stored.words()[:, : self.arity[name]] for name, stored in self.found.items()}

    def offer(self, name: str, words: AnyWords) -> None:
        """Offer asserted facts of a relation."""
        from tidelog.kernels.frontier import offer_rows

        catalog, shown = self.inputs.catalog, self.heads[name]
        place, stored, done = self.names.index(shown), self.found[shown], 0
        buffer, selection = catalog.stage(words), int(self.selections[place])
        while done < len(words):
            for each in (stored, *self.growing.values()):
                each.ensure()
            start = done
            done = offer_rows(
                catalog.table, stored.number, place, selection, self.queue.address, buffer.address, start, len(words),
                catalog.hashes, catalog.tag,
            )  # fmt: skip
            if done == start:  # The relations have room.
                self.grow()

    def run(self, group: str) -> None:
        """Run a group of plans: the first once, the others until no row waits."""
        from tidelog.kernels.frontier import run_search

        state = numpy.zeros(layout.N_FIELDS, numpy.int64)
        self.machine.levels[:] = 0
        self.machine.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
        arguments = self.front_numbers, self.selections, self.queue.address, group == _FIRST
        self.machine.converse(run_search, group, self.numbers, state, arguments, self.look, self.grow)

    def look(self) -> None:
        """Raise if a limit has been reached, rows that got better count as derived, or if the search will never end."""
        better, rows = int(self.words[layout.F_BETTER]), sum(map(len, self.found.values()))
        self.inputs.watch.look(max(better, rows + sum(stored.rows for stored in self.beaten.values())))
        if self.counted and sum(stored.rows for stored in self.stale.values()) > _STALE_ROWS + rows:
            self.counted = False
            for block in self.blocks.values():
                block.view(numpy.int64, layout.X_WORDS)[layout.X_CANDIDATES] = -1
        if better > self.doubtful + _IMPROVED * rows:
            self.doubtful = 2 * better
            refuse_endless(self.node, self.inputs, self.best())

    def grow(self) -> None:
        """Make room for twice as many waiting rows."""
        room = 2 * int(self.words[layout.F_ROOM])
        self.chunks.grow(8 * layout.CHUNK * room)
        self.words[layout.F_CHUNKS], self.words[layout.F_ROOM] = self.chunks.address, room


def _from_front(plan: Plan) -> Plan:
    """Return a plan that scans the rows of the frontier."""
    assert plan.source is not None
    atom, body = plan.rule.body[plan.source], plan.rule.body
    assert isinstance(atom, CoreAtom)
    read = replace(atom, relation=f"{_FRONT}{atom.relation}")
    rule = replace(plan.rule, body=(*body[: plan.source], read, *body[plan.source + 1 :]))
    return replace(plan, rule=rule, delta=False)


def selection_words(selection: NodeSelection, relations: Mapping[str, StoredRelation]) -> Block:
    """Return the block by which kernels know a selection, without indexes and best rows."""
    block = Block(8 * layout.X_WORDS)
    words = block.view(numpy.int64, layout.X_WORDS)
    words[layout.X_SHOWN] = relations[selection.shown].number
    words[layout.X_CANDIDATES] = relations[selection.candidates].number
    words[layout.X_INDEX] = words[layout.X_OFFERS] = words[layout.X_BEST] = words[layout.X_STALE] = -1
    words[layout.X_FRONT] = selection.front
    words[layout.X_KEYS] = len(selection.keys)
    words[layout.X_KEY : layout.X_KEY + len(selection.keys)] = selection.keys
    words[layout.X_ORDERS] = len(selection.orders)
    for number, (column, op, kind) in enumerate(selection.orders):
        at = layout.X_ORDER + 3 * number
        words[at : at + 3] = column, op == "max", KINDS[kind]
    return block


def credit(search: CostSearch) -> int | None:
    """Fill the relations that are open and have, so far, the other candidates only; return the number of rounds. Return
    None, with empty relations, if the births of the search do not do. Raise WidenError, LimitError,
    KeyboardInterrupt."""
    inputs = search.inputs
    if search.counted:
        _take_back(search)
        if all(bool((found.marks.counts_in_place() > 0).all()) for found in search.found.values()):
            last = int(search.words[layout.F_ROUND])
            for name in search.names:
                _fill(search, name, last)
            return last - inputs.round
    for name in search.internal:
        stored = inputs.relations[name]
        rows = stored.rows
        stored.forget()
        stored.open()
        stored.ensure(rows)
    return None


def _take_back(search: CostSearch) -> None:
    """Take back the derivations from rows that were read before better ones took their places."""
    from tidelog.kernels.results import run_charges

    inputs, relations = search.inputs, search.relations
    if not any(stale.rows for stale in search.stale.values()):
        return
    statistics = LiveStatistics(relations, frozenset())
    rules = [_over_stale(rule, i, search) for rule in search.rules for i in internal_atoms(rule, search.internal)]
    jobs = [Job(plan_full(rule, statistics), _sight(rule)) for rule in rules]
    machine = Interpreter(inputs.catalog, inputs.dictionary, relations, [*search.internal, *search.growing], jobs)
    others = [stored for name, stored in inputs.relations.items() if name not in search.internal]
    for stored in (*others, *search.stale.values()):
        stored.settle()
    machine.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
    state = numpy.zeros(layout.N_FIELDS, numpy.int64)
    machine.converse(run_charges, "", search.numbers, state, (search.selections,), search.look)


def _over_stale(rule: CoreRule, i: int, search: CostSearch) -> CoreRule:
    """Return a rule that reads stale rows at body atom `i`."""
    atom = rule.body[i]
    assert isinstance(atom, CoreAtom)
    name = search.heads[atom.relation]
    return replace(rule, body=(*rule.body[:i], replace(atom, relation=f"{STALE}{name}"), *rule.body[i + 1 :]))


def _sight(rule: CoreRule) -> Sight:
    """Return the sight of a plan that evaluates a rule over all live rows, and takes note of the births of stale
    ones."""
    stale = frozenset(atom.relation for atom in rule.body if isinstance(atom, CoreAtom) and STALE in atom.relation)
    now = layout.NOW
    return Sight(now, tuple(states_of(rule, lambda _: now, lambda _: now, lambda _: now, stale)))


def _fill(search: CostSearch, name: str, last: int) -> None:
    """Fill a relation, and that of its candidates, of which those that are beaten are born in round `last`."""
    from tidelog.kernels.results import copy_found, mark_beaten

    found, shown, catalog = search.found[name], search.inputs.relations[name], search.inputs.catalog
    targets = [(shown, name in search.beaten)]
    if name in search.beaten:
        candidates = search.beaten[name]
        mark_beaten(catalog.table, candidates.number, last)
        if search.stale[name].rows:
            candidates.remove(numpy.flatnonzero(candidates.marks.counts_in_place() == 0))
        targets.append((candidates, False))
    for stored, one in targets:
        stored.ensure(found.rows)
        copy_found(catalog.table, found.number, stored.number, one, catalog.hashes, catalog.tag)
