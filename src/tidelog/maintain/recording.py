"""Profiles of hyper-nodes: what a visit took, and the indexes that it extended."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from tidelog.maintain.epoch import EpochState
from tidelog.maintain.protocol import NodeReport
from tidelog.maintain.strategies.table import visit
from tidelog.profiling.profile import IndexProfile
from tidelog.profiling.recorder import recording
from tidelog.rules.core import HyperNode
from tidelog.storage.index import Index


def visit_recorded(node: HyperNode, state: EpochState) -> NodeReport:
    """Bring a hyper-node up to date, and note it where somebody records the epoch."""
    recorder = recording()
    if recorder is None:
        return visit(node, state)
    # A relation that is evaluated anew drops its indexes: nothing here keeps them.
    before: WeakKeyDictionary[Index, int] = WeakKeyDictionary()
    before.update({index: index.done for _, index in _indexes(node, state)})
    recorder.begin_node(node)
    try:
        report = visit(node, state)
        recorder.note(report.relations, report.strategy, report.rounds)
        for name, index in _indexes(node, state):
            rows = index.done - before.get(index, 0)
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
