"""Hyper-nodes of one aggregate rule: groups that gained or lost members get new values, and substitutions get numbers.

The number of a counter is never used again: the engine knows the next one (`EngineState.next_number`), and the view
itself has those that were given. So a bootstrap of a counter does not exist: what is new gets numbers, what is gone
loses them. New substitutions are numbered in the order of their values, so that equal programs over equal facts give
equal numbers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.language.syntax import Kind
from tidelog.maintain.aggregates import update_aggregate
from tidelog.maintain.component_folds import update_folded
from tidelog.maintain.deltas import Delta, ends_of, rows_of
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.large_groups import LargeGroups
from tidelog.maintain.machine import Inputs
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.strategies.rows import evaluate, inputs_of
from tidelog.maintain.strategies.situation import Situation, is_broken_up, situation_of
from tidelog.maintain.structure import report_of, skip_report
from tidelog.maintain.threads import WidenError
from tidelog.maintain.user_aggregates import OwnGroups
from tidelog.rules.core import AggregateRule, HyperNode
from tidelog.storage.changes import change_facts
from tidelog.storage.closed_relation import ClosedMembers
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.ordering import order_of
from tidelog.storage.record_text import format_value
from tidelog.storage.rows import narrow, positions
from tidelog.storage.stored import StoredRelation


def visit_aggregate(node: HyperNode, state: EpochState) -> NodeReport:
    """Skip, update or bootstrap the hyper-node of an aggregate rule."""
    return evaluate(node, state, update_groups)


def update_groups(node: HyperNode, state: EpochState, situation: Situation, inputs: Inputs) -> tuple[int, str]:
    """Update the groups that this epoch changes, or all where the rule is new; an `Update`."""
    rule, name = node.rules[0], node.relations[0]
    assert isinstance(rule, AggregateRule)
    state.open(state.views[name])
    everything = bool(situation.added)
    if everything:
        state.large.pop(name, None)
    if isinstance(inputs.relations[rule.inner], ClosedMembers):
        update_folded(rule, inputs, None if everything else changed_groups(node, state))
        return 1, ""
    large = state.large.setdefault(name, LargeGroups() if rule.own is None else OwnGroups())
    state.grouped.append(large)
    update_aggregate(rule, inputs, large, everything=everything)
    return 1, ""


def changed_groups(node: HyperNode, state: EpochState) -> Words:
    """Return the groups, not all distinct, whose pairs have changed in the closure that an aggregate folds."""
    rule = node.rules[0]
    assert isinstance(rule, AggregateRule)
    assert node.folds is not None
    members = state.views[rule.inner]
    assert isinstance(members, ClosedMembers)
    none = numpy.empty((0, 2), numpy.int64)
    delta = state.deltas.get(node.folds, Delta(none, none))
    column = 1 if members.backward else 0
    ends = numpy.concatenate([ends_of(rows, column) for rows in (delta.deleted, delta.inserted)])
    return ends.reshape(-1, 1)[:, : rule.groups].astype(numpy.int64)


def visit_counter(node: HyperNode, state: EpochState) -> NodeReport:
    """Number the substitutions that are new, and forget the numbers of those that are gone."""
    started, rule, name = time.perf_counter(), node.rules[0], node.relations[0]
    assert isinstance(rule, AggregateRule)
    situation = situation_of(node, state)
    everything = bool(situation.added) or is_broken_up(node, state) or name in state.engine.recorded
    state.kept.append(node)
    if situation.reason is None and not everything:
        return skip_report(node)
    inputs_of(node, state, situation.dropped)
    head = state.changeable(name)
    removed, inserted = _changes_of_all(rule, head, state) if everything else _changes(rule, head, state)
    if state.engine.catalog.bits == 32 and not narrow(inserted):
        raise WidenError
    state.watch.look(len(inserted))
    change_facts(state.open(head), removed, inserted)
    impact = state.note(name, head)
    state.watch.derived += impact
    strategy = "bootstrap" if everything else "update"
    seconds, reason = time.perf_counter() - started, situation.reason or "its numbers came back"
    return report_of(node, state.choice.name_of(strategy), reason, impact, seconds)


def _changes(rule: AggregateRule, head: StoredRelation, state: EpochState) -> tuple[Words, Words]:
    """Return the numbers of the rows of a counter to delete, and the rows to insert, for the changes of an epoch."""
    history, groups = state.history(rule.inner), rule.groups
    removed, inserted = (rows_of(rows).astype(numpy.int64) for rows in (history.deleted, history.inserted))
    return head.select(tuple(range(groups)), removed), _with_numbers(rule, inserted, state)


def _changes_of_all(rule: AggregateRule, head: StoredRelation, state: EpochState) -> tuple[Words, Words]:
    """Return the same from all substitutions: those with a number keep it, or have the number again that was kept for
    them on the disk."""
    groups = rule.groups
    wanted = rows_of(state.history(rule.inner).now()).astype(numpy.int64)
    live = head.live()
    known = head.take(live).astype(numpy.int64)
    again = state.engine.recorded.get(rule.head, known[:0])
    desired = [known[:0]]
    for given in (again, known):
        place = positions(given[:, :groups], wanted)
        desired.append(numpy.concatenate([wanted, given[place, -1:]], axis=1)[place >= 0] if len(given) else given)
        wanted = wanted[place < 0]
    desired.append(_with_numbers(rule, wanted, state))
    rows = numpy.concatenate(desired)
    return live[positions(rows, known) < 0], rows[positions(known, rows) < 0]


def _with_numbers(rule: AggregateRule, rows: Words, state: EpochState) -> Words:
    """Return substitutions with the next numbers, in the order of their values."""
    kinds = [column.kind for column in state.program.relations[rule.inner].columns]
    ranks = [
        _ranks(numpy.ascontiguousarray(rows[:, i]), kind, state.engine.dictionary, state.watch.look)
        for i, kind in enumerate(kinds)
    ]
    ordered = rows[order_of(ranks, state.watch.look)] if ranks and len(rows) else rows
    first = state.next_number
    state.next_number += len(rows)
    return numpy.concatenate([ordered, numpy.arange(first, state.next_number)[:, None]], axis=1)


def _ranks(words: Words, kind: Kind, dictionary: Dictionary, look: Look) -> NDArray[numpy.generic]:
    """Return an array that orders words of a kind as their values, records by their text."""
    if kind in ("number", "unsigned", "float"):
        return words.view({"number": numpy.int64, "unsigned": numpy.uint64, "float": numpy.float64}[kind])
    distinct, place = numpy.unique(words, return_inverse=True)
    look()
    ranks = numpy.empty(len(distinct), numpy.int64)
    ranks[_order(_texts(distinct, kind, dictionary))] = numpy.arange(len(distinct))
    ordered: Words = ranks[place]
    return ordered


def _texts(words: Words, kind: Kind, dictionary: Dictionary) -> Sequence[str]:
    if kind == "symbol":
        return dictionary.strings(words)
    return [format_value(value) for value in dictionary.decode_list(words, kind)]


def _order(texts: Sequence[str]) -> list[int]:
    return sorted(range(len(texts)), key=texts.__getitem__)
