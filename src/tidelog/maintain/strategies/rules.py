"""Hyper-nodes of ordinary rules: each follows the changes of its inputs, its facts and its rules by counting."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from tidelog.errors import LimitError
from tidelog.maintain.choosing import update_choosing
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.machine import Inputs
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.selecting import prepare_selecting, update_selecting
from tidelog.maintain.strategies.closures import show_changed_pairs
from tidelog.maintain.strategies.rows import evaluate, explained_limit
from tidelog.maintain.strategies.situation import Situation, budget
from tidelog.maintain.update import CutOffError, is_shown, update
from tidelog.maintain.update_plans import NodeChange, prepare
from tidelog.profiling.recorder import PLANNING, step
from tidelog.rules.core import AggregateRule, CoreRule, HyperNode


def visit_rules(node: HyperNode, state: EpochState) -> NodeReport:
    """Skip, update or bootstrap a hyper-node of ordinary rules."""
    return evaluate(node, state, update_rules)


def update_rules(node: HyperNode, state: EpochState, situation: Situation, inputs: Inputs) -> tuple[int | None, str]:
    """Update a hyper-node in place until that is dearer than a bootstrap; an `Update`."""
    old = situation.old
    merge(node, state, old)
    relations = state.views.several(node.relations)
    if inputs.round != state.round:
        inputs = replace(inputs, round=state.round)
    recursive = node.recursive or (state.is_new and any(other.recursive for other in old))
    for name, stored in zip(node.relations, relations, strict=True) if recursive else ():
        if not stored.marks.keeps_births:
            stored.marks.keep_births()
        if not stored.marks.keeps_supports and not is_shown(name, node):
            stored.marks.keep_supports()
    for stored in relations if node.selects else ():
        state.open(stored)
    new, removed = _core_rules(situation.added), _core_rules(situation.dropped)
    fresh = set(map(id, new))
    kept = (rule for rule in node.rules if isinstance(rule, CoreRule) and id(rule) not in fresh)
    show_changed_pairs(state, inputs.relations, chain(kept, removed))
    key = node.derives  # Other rules may put the same relations in another order.
    inserted, deleted = {}, {}
    for name in node.derives.intersection(state.facts):
        inserted[name], deleted[name] = state.facts[name]
    change = NodeChange(inserted, deleted, new, removed)
    # Taken out while it is worked on: half of what it gets would do no good to a later epoch.
    maintained = state.engine.maintained.pop(key, None)
    preparing, following = (prepare_selecting, update_selecting) if node.selects else (prepare, update)
    if node.chooses:
        preparing, following = prepare, update_choosing
    with step(PLANNING):
        maintained = preparing(node, change, inputs, maintained)
    seconds = budget(node, state) if state.choice.strategy == "auto" else float("inf")
    before, started = state.round, time.thread_time()
    try:
        state.round = following(node, change, inputs, maintained, seconds)
    except LimitError as error:
        raise explained_limit(error, node, state, inputs) from None
    except CutOffError as cut:
        state.engine.maintained[key] = maintained
        for stored in relations:
            if stored.changing:
                stored.take_back()
                state.opened.pop(id(stored), None)
        state.wasted += time.thread_time() - started
        return None, f"an update was given up {cut}"
    state.engine.maintained[key] = maintained
    return state.round - before, ""


def merge(node: HyperNode, state: EpochState, old: list[HyperNode]) -> None:
    """Put the births of several old nodes, now one, one after the other in the old order: every derivation that
    counted still counts, and no other. What no rule derived before has birth 0, before all others."""
    if len(old) < 2 and not (node.recursive and old and not old[0].recursive):
        return
    order = [n for n in state.engine.nodes if any(n is other for other in old)]
    offset = 1
    for other in order:
        relations = [state.views[name] for name in other.relations if name in node.relations]
        for stored in relations:
            state.open(stored)
            stored.marks.keep_births()
            state.shifted.append((stored, offset))
            stored.marks.shift_births(offset)
        offset = max([offset, *(stored.marks.youngest for stored in relations)]) + 1
    state.round = max(state.round, offset)


def _core_rules(rules: Iterable[CoreRule | AggregateRule]) -> list[CoreRule]:
    return [rule for rule in rules if isinstance(rule, CoreRule)]
