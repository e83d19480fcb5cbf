"""The pairs of closures that rules read: changes of these, and pairs written once a relation is no closure any more.

The pairs of a closure stay unwritten (`ClosedRelation`), also where rules join them. What an epoch changes in them is
shown to those that follow it (`show`). They are written only for a relation that is no closure any more (`own`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.maintain.deltas import rows_of
from tidelog.maintain.epoch import EpochState
from tidelog.rules.core import CoreRule, HyperNode
from tidelog.rules.edges import body_of
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.members import ClosedMembers
from tidelog.storage.stored import StoredRelation


def changed_pairs(state: EpochState, relations: Iterable[str]) -> int:
    """Return the number of pairs that this epoch has changed in the closures among these relations."""
    deltas = state.deltas
    changed = [name for name in relations if name in deltas and isinstance(state.views[name], ClosedRelation)]
    return sum(len(deltas[name]) for name in changed)


def show(state: EpochState, relations: Mapping[str, StoredRelation], rules: Iterable[CoreRule]) -> None:
    """Let an update see the changes of this epoch in the closures among `relations` that these rules read."""
    if not any(issubclass(each, ClosedRelation) for each in set(map(type, relations.values()))):
        return
    for name in dict.fromkeys(name for rule in rules for name, _ in body_of(rule)):
        view = relations[name]
        if isinstance(view, ClosedRelation) and not view.changing:
            changed = name
            if state.views.get(name) is not view:  # Only dropped rules read it; its graph may live on.
                changed = next((other for other in state.followed if state.closures[other][1] is view.closure), "")
            if changed in state.deltas:
                delta = state.deltas[changed]
                state.opened[id(view)] = view
                view.show(rows_of(delta.deleted), rows_of(delta.inserted))


def part_with(node: HyperNode, state: EpochState, *, changed: bool) -> bool:
    """Give the relations of a node that is evaluated by its rules rows of their own; whether it has to be evaluated
    anew: counts are unknown for former closures, and for relations that showed one when its rules have `changed`."""
    anew = False
    if state.closures.lacks(node.derives) and state.mirrors.lacks(node.derives):
        views = state.views.several(node.relations)
        if not any(isinstance(view, ClosedRelation) for view in views):
            return False
    for name in node.relations:
        anew |= name in state.closures or (name in state.mirrors and changed)
        own(state, name)
        forget(state, name)
    return anew


def told(state: EpochState, relations: Sequence[str], reason: str) -> str:
    """Return the reason for the strategy of these relations, and add that pairs had to be written for them."""
    return reason if state.written.isdisjoint(relations) else f"{reason}; the pairs of its closure were written"


def forget(state: EpochState, name: str) -> None:
    """Let a relation be no closure and no mirror."""
    state.closures.pop(name, None)
    state.mirrors.pop(name, None)


def own(state: EpochState, name: str) -> StoredRelation:
    """Give a relation rows of its own, as the epoch found them."""
    view = state.views[name]
    if isinstance(view, ClosedRelation) and len(view):
        state.written.add(name)
    if isinstance(view, ClosedMembers):
        state.views[name] = _written(state, members_before(state, name))
    elif name in state.mirrors:
        state.views[name] = _written(state, state.history(state.mirrors[name]).before())
    elif isinstance(view, ClosedRelation):
        state.views[name] = view.write(state.watch.look)
    return state.views[name]


def members_before(state: EpochState, name: str) -> AnyWords:
    """Return the members of groups that were pairs of a closure, as the epoch found them."""
    node = state.engine.structure.node_of(name)
    assert node is not None
    assert node.members is not None
    shape = node.members
    rows, asked = (state.history(each).before() for each in (shape.closure, shape.outer))
    if shape.backward:
        rows = rows[:, ::-1]
    if not asked.shape[1]:
        return rows[: len(rows) if len(asked) else 0]
    return rows[numpy.isin(rows[:, 0], asked[:, 0])]


def _written(state: EpochState, rows: AnyWords) -> StoredRelation:
    """Return a relation of its own with these rows, of which each has one derivation."""
    stored = StoredRelation(state.engine.catalog, rows.shape[1])
    stored.insert(numpy.ascontiguousarray(rows))
    stored.settle()
    return stored
