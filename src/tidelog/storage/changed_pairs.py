"""The pairs that a change of a closure has removed or added: their number, and the pairs once somebody reads them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.kernels.calling import expect, until_look
from tidelog.storage.memory import Stop
from tidelog.storage.stored import StoredRelation

Nodes: TypeAlias = NDArray[numpy.int32]
"""Numbers of nodes, or lists of such."""

Lists: TypeAlias = NDArray[numpy.int64]
"""Where lists are (kernels/lists.py)."""

_NOTHING: Words = numpy.empty(0, numpy.int64)
_NO_PAIRS: AnyWords = numpy.empty((0, 2), numpy.int64)

_AT_ONCE = 1_000_000
"""Pairs written at once."""


@dataclass(frozen=True)
class Members:
    """The nodes of components, list `family` of `lists` in `pool`, and those of fragments (kernels/differences.py):
    fragment f has those of `nodes` from `begins[f]` to before `begins[f + 1]`."""

    pool: Nodes
    lists: Lists
    family: int
    nodes: Nodes
    begins: Words


class ChangedPairs:
    """Pairs that a change of a closure has removed or added, `count` in all: `records` of kernels/differences.py, and
    nodes with `themselves`. They are written when a caller reads them. Before components change that `members` refers
    to, the caller has to `keep` the pairs."""

    def __init__(
        self, count: int, records: NDArray[numpy.int32], themselves: Nodes, members: Members, nodes: StoredRelation
    ) -> None:
        self._count = count
        self._records = records
        self._themselves = themselves
        self._members: Members | None = members
        self._kept = False
        self._nodes = nodes
        self._known = nodes.rows
        self._words: AnyWords | None = None
        self._lock = threading.Lock()
        """Held while the pairs are written, which other threads may ask for, so that `keep` waits for them."""

    def __len__(self) -> int:
        return self._count

    def keep(self) -> None:
        """Make the pairs independent of the closure from now on: few are written, for many the members are copied."""
        from tidelog.kernels.differences import copied_members

        if self._count <= self._known:
            self.words()
            return
        with self._lock:
            if self._members is not None and not self._kept:
                of, places = self._members, numpy.zeros((1, self._members.lists.shape[1], 3), numpy.int64)
                pool = copied_members(of.pool, of.lists, of.family, places)
                self._members, self._kept = replace(of, pool=pool, lists=places, family=0), True

    def drop(self) -> None:
        """Have no pairs any more, because the change is undone. This asks for no memory."""
        with self._lock:
            self._count, self._words, self._members = 0, _NO_PAIRS, None

    def words_in_use(self) -> AnyWords:
        """Return rows with all words of these pairs, and no others: those of a node without edges may be given back."""
        if self._words is not None:
            return self._words
        words = numpy.concatenate([self.ends(0), self.ends(1)])
        return numpy.column_stack([words, words])

    def words(self) -> AnyWords:
        """Return the pairs as int64 words, shape (n, 2). Several threads may ask at once."""
        with self._lock:
            if self._words is None:
                self._words = self._write_pairs()
                self._members = None
            return self._words

    def ends(self, column: int) -> AnyWords:
        """Return the words of the nodes that are first (column 0) or second (column 1) in one of the pairs. Few pairs
        are written for that, whose ends may be there more than once."""
        from tidelog.kernels.differences import ends_of

        of, seen = self._members, numpy.zeros(self._known, numpy.uint8)
        if self._count <= self._known or of is None:
            return self.words()[:, column]
        seen[self._themselves] = 1
        expect(self._known)
        ends_of(self._records, column == 1, of.pool, of.lists, of.family, of.nodes, of.begins, seen)
        return self._nodes.take(numpy.flatnonzero(seen))[:, 0]

    def _write_pairs(self) -> AnyWords:
        from tidelog.kernels.differences import write_changed

        records, of = self._records, self._members
        assert of is not None
        expect(self._count)
        target = numpy.empty((self._count, 2), numpy.int64)
        at = n = 0
        while at < len(records):
            first = n
            steps = until_look(write_changed, _AT_ONCE)
            at, n = write_changed(records, at, steps, of.pool, of.lists, of.family, of.nodes, of.begins, target, n)
            target[first:n] = self._nodes.take(target[first:n].ravel()).reshape(-1, 2)
        if len(self._themselves):
            target[n:] = self._nodes.take(self._themselves)
        return target


def compare_closures(
    before: tuple[Nodes, Lists],
    state: tuple[Any, ...],
    noted: Words | None,
    came: Nodes,
    gone: Nodes,
    nodes: StoredRelation,
    scratch: Nodes,
    stop: Stop,
) -> tuple[ChangedPairs, ChangedPairs]:
    """Return the pairs that died and that were born when the edges `came` and those `gone` were changed. Some are
    missing after a `stop`.

    `before` are the pool and the lists with the state before, and `state` is `Closure.state()` now. `noted` components
    are as in `used`; None means that all have other numbers than before.
    """
    from tidelog.kernels.components import MEMBER
    from tidelog.kernels.differences import changed

    pool, lists, component, loops, irreflexive = state
    expect(len(component) if noted is None else len(noted))
    some = _NOTHING if noted is None else noted
    own, begins, lost, gained, fewer, more, died, born = changed(
        *before, pool, lists, some, noted is None, component, loops, irreflexive, came, gone, scratch, stop.address
    )
    members = Members(pool, lists, int(MEMBER), own, begins)
    return ChangedPairs(died, lost, fewer, members, nodes), ChangedPairs(born, gained, more, members, nodes)
