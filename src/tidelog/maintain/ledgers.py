"""Ledgers: what threads that share a plan of an update have deferred, and how they apply it (`kernels/deferred.py`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy

from tidelog.common.arrays import Words
from tidelog.kernels import layout
from tidelog.storage.catalog import Catalog, Descriptor
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

ENTRIES = 1 << 20
"""Entries for which a thread has room in its ledgers: to apply as many takes far longer than to begin and to end it."""
OWNED = 10
"""So many neighbouring rows belong to one thread, in bits: two threads rarely write the same cache line."""


class Ledgers:
    """The ledgers of so many threads, and for each thread a descriptor of the relation whose rows it owns a part of."""

    def __init__(self, catalog: Catalog, threads: int) -> None:
        self.room, self.owned = ENTRIES // threads, OWNED
        self.blocks = [Block(8 * self.room * threads) for _ in range(threads)]
        self._descriptors = [Descriptor(catalog) for _ in range(threads)]

    def apply(
        self,
        head: StoredRelation,
        entries: Words,
        task: int,
        current: int,
        run: Callable[[list[Callable[[], None]]], object],
    ) -> None:
        """CHARGE or CREDIT what is in the ledgers to the rows of `head`, in round `current`. `run` gets a function for
        each thread, which does that for the rows that the thread owns. `entries` are the lengths of the ledgers: a row
        for each thread that wrote them, and a column for each owner. MemoryError before anything has changed."""
        # Each owner lists its changes in a part of the lists and of the journal, with room for all of its entries.
        # A row is in a list once, and in the journal at most twice.
        table, sizes = head.catalog.table, numpy.minimum(entries.sum(axis=0), 2 * head.rows).tolist()
        head.journal.expect(sum(sizes))
        starts = [sum(sizes[:owner]) for owner in range(len(sizes))]
        for descriptor, start in zip(self._descriptors, starts, strict=True):
            table[descriptor.number] = table[head.number]
            head.journal.part(start, descriptor)

        def work(owner: int) -> None:
            from tidelog.kernels.deferred import apply_deferred

            for block, count in zip(self.blocks, entries[:, owner].tolist(), strict=True):
                ledger = block.address + 8 * self.room * owner
                apply_deferred(table, self._descriptors[owner].number, ledger, count, task == layout.CREDIT, current)

        run([partial(work, owner) for owner in range(len(sizes))])
        head.journal.join(starts, self._descriptors)
