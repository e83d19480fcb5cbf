"""Hyper-nodes whose relations have rows of their own: skipped, updated by the strategy of their kind, or bootstrapped.

`rules` and `aggregates` differ in how they update (`Update`); all else is here. A relation that loses its last rule is
reduced to its asserted facts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.errors import LimitError
from tidelog.maintain.assemble import UNIT
from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.choosing import bootstrap_choosing
from tidelog.maintain.deltas import Delta
from tidelog.maintain.endless import explain_limit
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.machine import Inputs
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.searching import best_of
from tidelog.maintain.selecting import bootstrap_selecting
from tidelog.maintain.strategies.closures import (
    build,
    can_be_kept,
    forget_closure,
    reason_with_writing,
    take_own_rows,
    write_pairs,
)
from tidelog.maintain.strategies.situation import Situation, estimate, is_broken_up, situation_of
from tidelog.maintain.structure import prepares, rule_names, skip_report, user_relations
from tidelog.maintain.update_plans import forget_indexes
from tidelog.rules.closures import find_copy_source
from tidelog.rules.core import AggregateRule, CoreRule, HyperNode
from tidelog.storage.changes import LISTED, absorb, difference, start, with_nonzero
from tidelog.storage.closed_relation import ClosedMembers
from tidelog.storage.stored import StoredRelation

_DIFFERING = 2e-7
"""Seconds per tuple that telling what has changed adds to the next bootstrap, as long as there has been none."""

Update: TypeAlias = Callable[[HyperNode, EpochState, Situation, Inputs], tuple[int | None, str]]
"""Updates a hyper-node in place. Returns the number of rounds, or None and the reason why it was given up, with no
trace."""


def evaluate(node: HyperNode, state: EpochState, update: Update) -> NodeReport:
    """Skip, update or bootstrap a hyper-node whose relations have rows of their own."""
    started = time.perf_counter()
    situation = situation_of(node, state)
    reason, anew = situation.reason, is_broken_up(node, state)
    if anew:
        reason = "its hyper-node could not be kept"
    reduced = state.is_new and is_reduced(node, state)
    may_show_closure = state.is_new or node.kind != "rules"
    if may_show_closure and take_own_rows(node, state, changed=bool(situation.added or situation.dropped)):
        anew, reason = True, "its closure could not be kept"
    if not state.engine.recorded.keys().isdisjoint(node.relations):
        anew, reason = True, "its choice came back"
    if reason is None:
        state.kept.append(node)
        return skip_report(node)
    inputs = inputs_of(node, state, situation.dropped)
    strategy, first = ("bootstrap", "") if anew else estimate(node, state, situation)
    rounds = None
    if strategy == "update":
        first = obstacle_to_update(node, state)
        if not first:
            rounds, first = update(node, state, situation, inputs)
    if rounds is None:
        strategy, reason = "bootstrap", f"{reason}; {first}" if first else reason
        rounds = bootstrap_parts(node, state, inputs)
        if reduced:
            strategy, reason = "drop", "it lost its recursive rules and keeps its edges"
        impact = sum(len(state.deltas.get(name, ())) for name in node.relations if not is_hidden(name, node))
    else:
        state.kept.append(node)
        views = zip(state.views.several(node.relations), node.relations, strict=True)
        opened = {each: name for each, name in views if each.changing}
        impact = 0
        for stored in with_nonzero(opened, *LISTED):
            count = state.note(opened[stored], stored)
            impact += 0 if is_hidden(opened[stored], node) else count
        reason = reason_with_writing(state, node.relations, reason)
    state.watch.derived += impact if strategy == "update" else sum(len(state.views[name]) for name in node.relations)
    labels = state.structure.labels_of(node)
    reason = labels.with_mode(labels.with_demand(reason), node, state.program.obstacles, state.unsettled)
    return NodeReport(labels.shown, labels.names, strategy, reason, time.perf_counter() - started, impact, rounds)


def is_reduced(node: HyperNode, state: EpochState) -> bool:
    """Return True if a closure has lost its recursive rules and keeps only rules that copy its edges."""
    if node.relations[0] not in state.closures or node.recursive:
        return False
    return all(isinstance(rule, CoreRule) and find_copy_source(rule) for rule in node.rules)


def inputs_of(node: HyperNode, state: EpochState, dropped: Sequence[CoreRule | AggregateRule]) -> Inputs:
    """Return the inputs of a hyper-node, with marks on those that this epoch changes."""
    # What only dropped rules read may be gone already; they see it as the epoch found it.
    views = state.engine.views
    relations = {name: views[name] for rule in dropped for name, _ in rule.reads}
    names = (*node.touches, UNIT)
    relations |= zip(names, state.views.several(names), strict=True)
    start([stored for name, stored in relations.items() if views.get(name) is stored])
    return _inputs(relations, state)


def _inputs(relations: Mapping[str, StoredRelation], state: EpochState) -> Inputs:
    """Return relations as the inputs of a hyper-node in the next round of an epoch."""
    engine = state.engine
    return Inputs(engine.catalog, engine.dictionary, relations, state.watch, state.round, state.threads, state.open)


def obstacle_to_update(node: HyperNode, state: EpochState) -> str:
    """Return the reason why the relations of a hyper-node cannot be updated, empty where they can."""
    saturated = False
    for stored in state.views.several(node.relations):
        if not stored.marks.has_counts:
            return "nothing was counted"
        saturated |= stored.marks.saturated
    return "a count is saturated" if saturated else ""


def bootstrap_parts(node: HyperNode, state: EpochState, inputs: Inputs) -> int:
    """Evaluate the hyper-nodes of the program that a node is made of; return the number of rounds."""
    places = state.structure.places
    parts = [state.structure.parts[i] for i in sorted({places[name] for name in node.relations if name in places})]
    for name in set(node.relations).difference(*(part.relations for part in parts)):
        drop(state, name)
    before = state.round
    for part in parts:
        relations = {**inputs.relations, **{name: state.views[name] for name in node.relations}}
        part_inputs = _inputs(relations, state)
        if part.selects:
            bootstrap_rows(part, state, part_inputs)
        elif can_be_kept(part, state):
            build(part, state)
        else:
            bootstrap_rows(part, state, part_inputs)
    state.kept += parts
    return state.round - before


def is_hidden(name: str, node: HyperNode) -> bool:
    """Return True for the candidates of a relation that shows a selection of them."""
    return bool(node.selects) and any(name == each.candidates for each in node.selects)


def compact(stored: StoredRelation, state: EpochState) -> StoredRelation:
    """Return a relation that is open without the rows that have died, which others would take for live ones."""
    if stored.changing and not stored.has_dying_rows:
        stored.close()
        stored.settle()
        stored.marks.look_for_saturation()
    if not stored.changing:
        return stored
    copy = stored.copy_to(state.engine.catalog)
    copy.settle()
    copy.marks.look_for_saturation()
    return copy


def is_read_elsewhere(node: HyperNode, state: EpochState, name: str) -> bool:
    """Return True if a hyper-node other than the one that a part of the program belongs to reads a relation."""
    return any(state.structure.nodes[i].relations != node.relations for i in state.readers(name))


def former_choice(name: str, state: EpochState) -> AnyWords:
    """Return the tuples that a relation which chooses has shown so far."""
    recorded = state.engine.recorded.get(name)
    return state.views[name].words() if recorded is None else recorded


def bootstrap_rows(
    node: HyperNode,
    state: EpochState,
    inputs: Inputs,
) -> None:
    """Evaluate a node into new relations, and replace the old ones by these. If another node reads a relation, replace
    only its rows, which have to keep their places."""
    started = time.thread_time()
    relations = dict(inputs.relations)
    read = state.choice.maintain and any(is_read_elsewhere(node, state, name) for name in node.relations)
    if not read:
        forget_indexes(state.engine.maintained, [state.views[name] for name in node.relations])
    for name in node.relations:
        counted = state.choice.maintain or bool(node.selects)
        new = relations[name] = StoredRelation(state.engine.catalog, state.views[name].arity, counted)
        if len(state.asserted[name]) and not node.selects:
            new.insert(state.asserted[name].words())
    inputs = _inputs(relations, state)
    if state.choice.early_projection == "auto":
        inputs = replace(inputs, at_work=state.engine.early_choice.counter(node))
    facts = {name: state.asserted[name].words() for name in node.relations}
    try:
        if node.chooses:
            rounds = bootstrap_choosing(
                node, inputs, facts, {each.shown: former_choice(each.shown, state) for each in node.selects}
            )
        elif node.selects:
            rounds = bootstrap_selecting(node, inputs, facts)
        else:
            rounds = bootstrap(node, inputs)
    except LimitError as error:
        raise explained_limit(error, node, state, inputs) from None
    relations = {name: compact(stored, state) for name, stored in relations.items() if name in node.relations}
    state.round += rounds
    differing = 0.0
    for name in node.relations:
        old, new = state.views[name], relations[name]
        state.large.pop(name, None)
        if not old.rows:
            differing += _DIFFERING * len(new)
            state.views[name] = new
            state.note_new(name)
        elif read:
            old = state.changeable(name)
            absorb(state.open(old), new)
            state.note(name, old)
        else:
            state.views[name] = new
            deleted, inserted = difference(old, new)
            if len(deleted) or len(inserted):
                state.deltas[name] = Delta(inserted, deleted)
    seconds = (time.thread_time() - started + differing) / len(node.relations)
    state.costs |= dict.fromkeys(node.relations, seconds)


def drop_relations(state: EpochState) -> list[NodeReport]:
    """Reduce the relations without rules to their asserted facts, without evaluating anything."""
    reports = []
    for node in state.engine.nodes if state.is_new else ():
        removed = [name for name in node.relations if name not in state.derived]
        for name in removed:
            drop(state, name)
        if not prepares(removed):
            impact = sum(len(state.deltas.get(name, ())) for name in removed)
            reason = reason_with_writing(state, removed, "it lost its last rule")
            reports.append(NodeReport(user_relations(removed), rule_names(node), "drop", reason, 0.0, impact))
    return reports


def drop(state: EpochState, name: str) -> None:
    """Reduce a relation to its asserted facts."""
    old = state.views[name]
    facts = state.asserted.get(name)
    if facts is None or (not len(facts) and not state.readers(name)):
        if not isinstance(old, ClosedMembers) and len(old):  # Only an aggregate reads members, and it goes as well.
            none = numpy.empty((0, old.arity), numpy.int64)
            whole = state.engine.whole(old)
            if name in state.mirrors:  # What it showed may live on, and change.
                whole.keep()
            state.deltas[name] = Delta(none, whole)
        state.views[name] = state.asserted[name] = StoredRelation(state.engine.catalog, old.arity)
        forget_closure(state, name)
        return
    if old is not facts:
        write_pairs(state, name)
        forget_closure(state, name)
        old = state.changeable(name)
        absorb(state.open(old), facts)
        state.date_facts(old, facts)
        state.views[name] = state.asserted[name] = old
        state.note(name, old)


def explained_limit(error: LimitError, node: HyperNode, state: EpochState, inputs: Inputs) -> LimitError:
    """Return the error of a limit, reached while a hyper-node was evaluated into the relations of `inputs`, with its
    reason. A hyper-node that reads all candidates is explained like one that drops dominated tuples."""
    names = {*node.relations}
    others = (*state.program.dropping, *(each.dropping for each in state.program.obstacles.values() if each.dropping))
    selecting = node if node.selects else next((each for each in others if _is_whole(each, names)), None)
    if selecting is None or selecting.chooses:
        return explain_limit(error, node, inputs)
    shown, candidates = ({(each.shown, each.candidates)[i] for each in selecting.selects} for i in range(2))
    read = names.intersection(selecting.relations) - (candidates if node.selects else shown)
    relations = {each.shown: inputs.relations[each.candidates] for each in selecting.selects} | {**inputs.relations}
    relations |= {name: state.views[name] for name in selecting.reads_set - relations.keys() if name in state.views}
    if not selecting.reads_set <= relations.keys():
        return explain_limit(error, node, inputs)  # Parts of bodies that only the other hyper-node would read.
    inputs = replace(inputs, relations=relations)
    best = best_of(selecting, inputs, {name: relations[name].words() for name in read})
    return explain_limit(error, selecting, inputs, best)


def _is_whole(selecting: HyperNode, names: set[str]) -> bool:
    return any(names == {*part.relations} for part in selecting.whole)
