"""Relations without rules: a relation that loses its last rule is reduced to its asserted facts."""

from __future__ import annotations

import numpy

from tidelog.maintain.deltas import Delta
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.report import names_of, prepares, shown
from tidelog.maintain.strategies.pairs import forget, own, told
from tidelog.storage.changes import absorb
from tidelog.storage.members import ClosedMembers
from tidelog.storage.stored import StoredRelation


def drop_relations(state: EpochState) -> list[NodeReport]:
    """Reduce the relations without rules to their asserted facts, without evaluating anything."""
    reports = []
    for node in state.engine.nodes if state.is_new else ():
        gone = [name for name in node.relations if name not in state.derived]
        for name in gone:
            drop(state, name)
        if not prepares(gone):
            impact = sum(len(state.deltas.get(name, ())) for name in gone)
            reason = told(state, gone, "it lost its last rule")
            reports.append(NodeReport(shown(gone), names_of(node), "drop", reason, 0.0, impact))
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
        forget(state, name)
        return
    if old is not facts:
        own(state, name)
        forget(state, name)
        old = state.changeable(name)
        absorb(state.open(old), facts)
        state.date_facts(old, facts)
        state.views[name] = state.asserted[name] = old
        state.note(name, old)
