"""Memory that an epoch does not need at the moment, which goes into files first where there is too little."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.maintain.epoch import EpochState
from tidelog.rules.core import HyperNode
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation


def cold(state: EpochState, node: HyperNode, position: int) -> Iterator[Block]:
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
