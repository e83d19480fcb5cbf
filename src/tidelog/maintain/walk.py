"""The walk of an epoch: asserted facts first, then the hyper-nodes in order, each by the strategy of its kind.

Only those hyper-nodes are visited for which something may have changed. `strategies` decides how. Where memory is
short, relations that a hyper-node does not need go into files first (`cold_blocks`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from weakref import WeakKeyDictionary

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.common.collecting import pause_collection
from tidelog.errors import LimitError
from tidelog.kernels import layout
from tidelog.maintain.assemble import UNIT
from tidelog.maintain.deltas import AnyRows, Delta, rows_of
from tidelog.maintain.endless import relations_text, with_relations
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.protocol import NodeReport, Outcome, Prospect, RowChange, Seal
from tidelog.maintain.strategies.aggregates import visit_aggregate, visit_counter
from tidelog.maintain.strategies.closures import (
    is_closure,
    reads_closure,
    shares_closure,
    visit_closure,
    visit_members,
    visit_mirror,
)
from tidelog.maintain.strategies.rows import drop_relations
from tidelog.maintain.strategies.rules import visit_rules
from tidelog.profiling.profile import IndexProfile
from tidelog.profiling.recorder import recording, step
from tidelog.rules.core import HyperNode
from tidelog.storage.catalog import Catalog, Index
from tidelog.storage.changes import change_facts
from tidelog.storage.memory import Block
from tidelog.storage.rows import distinct_numbers
from tidelog.storage.stored import StoredRelation

_NO_NUMBERS = numpy.empty(0, numpy.int64)


def cold_blocks(state: EpochState, node: HyperNode, position: int) -> Iterator[Block]:
    """Yield the memory of relations that a hyper-node neither derives nor reads, the coldest first: indexes, then the
    relations that no later hyper-node reads, then all others."""
    finished: list[StoredRelation] = []
    waiting: list[StoredRelation] = []
    for name in dict.fromkeys((*state.views, *state.asserted)):
        readers = state.readers(name)
        if name in node.relations or position in readers:
            continue
        found = waiting if any(reader > position for reader in readers) else finished
        found += [table[name] for table in (state.views, state.asserted) if name in table]
    for stored in (*finished, *waiting):
        for index in stored.indexes.values():
            yield from index.blocks()
    for stored in (*finished, *waiting):
        yield from stored.blocks()


def visit(node: HyperNode, state: EpochState) -> NodeReport:
    """Bring a hyper-node up to date by the strategy of its kind, and report it. What cannot be kept as a graph in this
    epoch is evaluated by its rules."""
    match node.kind:
        case "closure" if is_closure(node, state):
            return visit_closure(node, state)
        case "mirrors" if shares_closure(node, state):
            return visit_mirror(node, state)
        case "members" if reads_closure(node, state):
            return visit_members(node, state)
        case "counter":
            return visit_counter(node, state)
        case "aggregate":
            return visit_aggregate(node, state)
        case _:
            return visit_rules(node, state)


def visit_recorded(node: HyperNode, state: EpochState) -> NodeReport:
    """Bring a hyper-node up to date, and note it where somebody records the epoch."""
    recorder = recording()
    if recorder is None:
        return visit(node, state)
    # A relation that is evaluated anew drops its indexes: nothing here keeps them.
    before: WeakKeyDictionary[Index, int] = WeakKeyDictionary()
    before.update({index: index.rows_entered for _, index in _indexes(node, state)})
    recorder.begin_node(node)
    try:
        report = visit(node, state)
        recorder.note(report.relations, report.strategy, report.rounds)
        for name, index in _indexes(node, state):
            rows = index.rows_entered - before.get(index, 0)
            if rows > 0:
                recorder.note_index(IndexProfile(name, index.keys, rows, index.bytes()))
        return report
    finally:
        recorder.end_node()


def _indexes(node: HyperNode, state: EpochState) -> Iterator[tuple[str, Index]]:
    for name in dict.fromkeys((*node.relations, *node.reads)):
        stored = state.views.get(name)
        if stored is not None:
            yield from ((name, index) for index in stored.indexes.values())


def run(state: EpochState, changes: Mapping[str, RowChange[AnyRows]], seal: Seal[AnyRows]) -> Outcome[AnyRows]:
    """Apply the changes of asserted facts, bring all hyper-nodes up to date, and make the result last.

    `changes` are rows to assert and rows to retract by relation. Whatever is raised, the caller has to take the state
    back.
    """
    note_sizes(state, state.engine.mirrors)  # They change with the closures that they show.
    with step("facts"):
        if UNIT not in state.views:
            state.views[UNIT] = StoredRelation(state.engine.catalog, 0)
            state.views[UNIT].insert(numpy.empty((1, 0), numpy.int64))
        state.views[UNIT].settle()
        place_relations(state)
        for name, change in fact_changes(state, changes).items():
            note_sizes(state, (name,))
            assert_facts(state, name, rows_of(change.inserted), rows_of(change.deleted))
        look_at_sizes(state, state.deltas)
    dropped = tuple(drop_relations(state))
    visited = walk(state)
    replaced = state.other_state() if state.is_new or state.split else {}
    state.watch.look()
    state.engine.readers.close(state.list_deaths)
    seal(prospect_of(state.deltas, state.views))
    with step("end"):
        return state.finish(replaced, dropped, visited)


def prospect_of(deltas: Mapping[str, RowChange[AnyRows]], views: Mapping[str, StoredRelation]) -> Prospect[AnyRows]:
    """Return what an epoch leads to, before it lasts: what changes, and the views."""
    return Prospect(deltas, partial(words_of, views), lambda name: len(words_of(views, name)))


def words_of(views: Mapping[str, StoredRelation], name: str) -> AnyRows:
    """Return the rows of a view. In the midst of an epoch, rows that died still count in its length."""
    return views[name].words()


def walk(state: EpochState) -> dict[int, NodeReport]:
    """Visit the hyper-nodes for which something may have changed, in their order; their reports by position."""
    if state.choice.closures is not state.engine.compressing:
        waiting = list(range(len(state.structure.nodes)))
    else:
        changed = {state.derived[name] for name in state.facts if name in state.derived}
        changed |= {state.derived[name] for name in (*state.renewed, *state.engine.recorded) if name in state.derived}
        waiting = sorted(changed.union(changed_nodes(state), *map(state.readers, (*state.deltas, *state.reshaped))))
    seen = set(waiting)
    room = state.engine.catalog.room
    reports = {}
    while waiting:
        position = heapq.heappop(waiting)
        node, state.kept = state.structure.nodes[position], []
        step_text = state.structure.labels_of(node).step
        state.watch.progress.at(step_text, position, len(state.structure.nodes))
        note_sizes(state, node.relations)
        try:
            if room.folder is None:
                reports[position] = visit_recorded(node, state)
            else:
                with room.allow_spilling(partial(cold_blocks, state, node, position)):
                    reports[position] = visit_recorded(node, state)
        except LimitError as error:
            raise with_relations(error, node) from None
        except MemoryError as error:  # The same one: a new one would keep alive what fills the memory.
            error.args = (f"{error}{relations_text(node)}",)
            raise
        look_at_sizes(state, node.relations)
        if len(state.kept) != 1 or state.kept[0] is not node:
            state.split[position] = state.kept
        for name in node.derives.intersection(state.deltas) | node.derives.intersection(state.views.changed):
            for reader in state.readers(name):
                if reader not in seen:
                    seen.add(reader)
                    heapq.heappush(waiting, reader)
    return reports


def note_sizes(state: EpochState, names: Iterable[str]) -> None:
    """Note the sizes of relations with a `.limitsize` that the epoch is about to change."""
    for name in state.watch.sizes.keys() & names if state.watch.sizes else ():
        state.watch.present.setdefault(name, len(state.engine.views.get(name, ())))


def look_at_sizes(state: EpochState, names: Iterable[str]) -> None:
    """Raise LimitError (E0504) if a relation has become larger than its `.limitsize`."""
    for name in state.watch.sizes.keys() & names if state.watch.sizes else ():
        stored = state.views[name]
        dead = stored.journal.list_length(layout.OUT) if stored.changing else 0
        state.watch.look_at(name, len(stored) - dead)


def changed_nodes(state: EpochState) -> Iterator[int]:
    """Return the positions of the hyper-nodes that other rules may have changed: all except those that are the same
    objects. A relation that shows a closure depends on rules that read it, too."""
    if state.is_new:
        before = {id(node) for node in state.engine.nodes}
        for position, node in enumerate(state.structure.nodes):
            if id(node) not in before or node.mirrors is not None:
                yield position


def place_relations(state: EpochState) -> None:
    """Give every relation of the program its storage; facts and view part where a relation has become derived."""
    if not state.is_new:
        return
    with pause_collection():
        relations = state.program.relations
        for name in {
            *state.described,
            *state.reshaped,
            *(state.derived.keys() ^ state.before.keys()),
        } & relations.keys():
            info = relations[name]
            if name not in state.asserted:
                state.asserted[name] = StoredRelation(state.engine.catalog, len(info.columns))
            if name not in state.derived and name not in state.before:
                state.views[name] = state.asserted[name]
            elif name not in state.views:
                state.views[name] = StoredRelation(state.engine.catalog, len(info.columns))
            elif name in state.derived and state.views[name] is state.asserted[name]:
                state.asserted[name] = state.views[name].copy_to(state.engine.catalog)


def fact_changes(state: EpochState, changes: Mapping[str, RowChange[AnyRows]]) -> Mapping[str, RowChange[AnyRows]]:
    """Return the changes of asserted facts with those of a relation that selects as changes of its candidates; facts
    move along when a relation begins or ceases to select."""
    before, now = state.engine.program.candidates, state.program.candidates
    moved: dict[str, RowChange[AnyRows]] = {}
    for name in {**before, **now} if state.is_new and before != now else ():
        source, target = before.get(name, name), now.get(name, name)
        if source != target and source in state.engine.asserted and target in state.program.relations:
            rows = state.engine.asserted[source].words()
            moved[target] = RowChange(rows, rows[:0])
            if source in state.program.relations:
                moved[source] = RowChange(rows[:0], rows)
    if not now and not moved:
        return changes
    for name, change in changes.items():
        target = now.get(name, name)
        moved[target] = _merge_changes(moved[target], change) if target in moved else change
    return moved


def _merge_changes(first: RowChange[AnyRows], second: RowChange[AnyRows]) -> RowChange[AnyRows]:
    """Return two changes, of which the first one inserts only, as one."""
    deleted = StoredRelation(Catalog(64), rows_of(second.deleted).shape[1])
    deleted.insert(rows_of(second.deleted))
    rows = rows_of(first.inserted)
    kept = rows[deleted.find(rows) < 0] if len(deleted) else rows
    return RowChange(numpy.concatenate([kept, rows_of(second.inserted)]), rows_of(second.deleted))


def assert_facts(state: EpochState, name: str, insert: AnyWords, delete: AnyWords) -> None:
    """Apply the net change of the asserted facts of a relation."""
    stored = state.asserted[name]
    removed = _NO_NUMBERS
    if len(delete):
        present = stored.find(delete)
        removed = distinct_numbers(present[present >= 0])
    new = insert[stored.find(insert) < 0] if len(insert) and len(stored) else insert
    if not len(removed) and not len(new):
        return
    lost = stored.take(removed)
    start = stored.rows
    change_facts(state.open(stored), removed, new)
    if len(new):
        state.note_epoch(stored, start)
    if name not in state.derived and name not in state.before:
        inserted = stored.take(numpy.arange(start, stored.rows)) if start else state.engine.whole(stored)
        state.deltas[name] = Delta(inserted, lost)
    else:
        state.facts[name] = stored.take(numpy.arange(start, stored.rows)), lost
