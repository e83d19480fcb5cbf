"""The transitive closure of a binary relation, kept as components and reach sets while edges change.

74 million pairs of a graph whose nodes nearly all reach each other are a few kilobytes here. The algorithms are in
kernels/reach.py. `closed_relation` shows a closure as a relation.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import is_
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.common.looking import Look, ignore_limits
from tidelog.kernels import layout
from tidelog.kernels.calling import expect, until_look
from tidelog.kernels.layout import ENTRIES, FAMILIES, GIVEN_UP, NOTED, SAVED, USED
from tidelog.storage.catalog import Catalog
from tidelog.storage.changed_pairs import ChangedPairs, compare_closures
from tidelog.storage.memory import Pinned, Stop
from tidelog.storage.stored import StoredRelation

Ids = NDArray[numpy.int32]
"""Pairs of node numbers, shape (n, 2)."""

_NO_STOP = Stop()
_AT_ONCE = 1_000_000
"""Numbers written between two looks at limits."""
_PAIRS_AT_ONCE = 2_000_000


def _never(pairs: int) -> None:
    """Impose no limit."""


class Closure:
    """The closure of a graph: `change` its edges, read its pairs.

    In a `symmetric` one every edge leads both ways; an `irreflexive` one has (x, x) only where that is an edge itself.
    Edges count: one that has been added twice has to be removed twice. AnyWords of nodes have `bits` bits.
    """

    def __init__(self, symmetric: bool = False, irreflexive: bool = False, bits: int = 64) -> None:
        self.symmetric = symmetric
        self.irreflexive = irreflexive
        self.size = 0
        self._tidied = 0
        self._nodes = StoredRelation(Catalog(bits), 1)
        self._pool = numpy.empty(64, numpy.int32)
        self._used = numpy.zeros(ENTRIES, numpy.int64)
        self._clock = numpy.zeros(1, numpy.int64)
        self._lists = numpy.zeros((FAMILIES + SAVED, 0, 3), numpy.int64)
        self._component = numpy.empty(0, numpy.int32)
        self._label = numpy.empty(0, numpy.int32)
        self._loops = numpy.zeros(0, numpy.int32)
        self._scratch = numpy.empty((6, 1), numpy.int32)
        self._marks = numpy.zeros((4, 0), numpy.int64)
        self._asked = numpy.empty(4, numpy.int64)
        self._fields = numpy.empty(layout.C_FIELDS, numpy.int64)
        self._pinned: tuple[Pinned, ...] = ()
        self._published: tuple[NDArray[Any], ...] = ()
        """The arrays whose addresses kernels have."""
        self._edges_before: Callable[[], Sequence[AnyWords]] | None = None
        self._before: int | None = None
        """The number of pairs before the last change, if it can be taken back."""
        self._edges_taken: list[tuple[Ids, bool]] = []
        """The edges that the last change has added and, with True, removed one by one, in their order."""
        self._replaced: tuple[Any, ...] | None = None
        """The parts that the last change has built anew, as they were."""
        self._torn = False
        """True if a change has ended with an error, in a place that nobody knows."""
        self._changed: tuple[weakref.ref[ChangedPairs], ...] = ()
        """The pairs that the last change has removed and added, if somebody still has them."""

    def __len__(self) -> int:
        return self.size

    def bytes(self) -> int:
        """Return the bytes of memory held."""
        arrays = self._pool, self._lists, self._component, self._label, self._loops, self._scratch, self._marks
        return self._nodes.bytes() + sum(array.nbytes for array in arrays)

    def copy(self, bits: int | None = None) -> Closure:
        """Return the closure as it is now, for reading only. Nodes never change their numbers, so both may share
        those; with words of `bits` bits there are others, for another thread."""
        copy = Closure(self.symmetric, self.irreflexive)
        copy.__dict__.update(
            {name: x.copy() if isinstance(x, numpy.ndarray) else x for name, x in self.__dict__.items()}
        )
        copy._pinned, copy._changed = (), ()
        if bits is not None:
            copy._nodes = self._nodes.copy_to(Catalog(bits))
        return copy

    @property
    def is_whole(self) -> bool:
        """Return False after a change that was given up, until the closure is restored."""
        return self._edges_before is None and not self._torn

    @property
    def nodes(self) -> int:
        """The number of nodes, among them some that have no edges any more."""
        return self._nodes.rows

    @property
    def bits(self) -> int:
        """The size of the words of nodes."""
        return self._nodes.catalog.bits

    def wide_nodes(self, look: Look = ignore_limits) -> StoredRelation:
        """Return the nodes in words of 64 bits, with which to `widen`. An exception of `look` ends the work."""
        return self._nodes.copy_to(Catalog(64), look=look)

    def widen(self, nodes: StoredRelation) -> None:
        """Switch to words of 64 bits."""
        self._nodes = nodes

    def keep(self) -> None:
        """Keep the last change, which cannot be undone afterwards."""
        from tidelog.kernels.lists import end_notes

        end_notes(self._lists, self._used, False)
        self._edges_taken, self._replaced, self._before = [], None, None

    def take_back(self, edges: Callable[[], Sequence[AnyWords]]) -> None:
        """Undo the last change, complete or stopped, without allocating memory. A change that ended with an error of
        its own leaves the closure invalid until `restore`; `edges` returns those from before."""
        from tidelog.kernels.reach import take_back, take_edges

        if self._torn:
            self._edges_before = edges
        if self._torn or self._before is None:
            return
        if self._replaced is not None:
            self._pool, self._lists, self._component, self._label, self._loops, self._used = self._replaced
        for ids, gone in reversed(self._edges_taken):
            take_edges(self._pool, self._lists, self._used, self._loops, ids, not gone)
        take_back(self._pool, self._lists, self._used, self._component)
        self.size = self._before
        for known in filter(None, [each() for each in self._changed]):
            known.drop()
        self._edges_taken, self._replaced, self._before = [], None, None

    def restore(self, look: Callable[[int], None] = _never, stop: Stop = _NO_STOP) -> None:
        """Undo a change that left the closure invalid, if there was one. Build everything anew, which may need more
        memory than there was then. After MemoryError, or an exception of `look`, the caller can try again."""
        if self._edges_before is not None:
            fresh = Closure(self.symmetric, self.irreflexive, self.bits)
            fresh.build(self._edges_before(), look, stop)
            self.__dict__.update(fresh.__dict__)

    # --- changing ----------------------------------------------------------------------------------------------------

    def change(
        self,
        gone: AnyWords,
        came: AnyWords,
        seconds: float,
        look: Callable[[int], None] = _never,
        stop: Stop = _NO_STOP,
    ) -> tuple[ChangedPairs, ChangedPairs, bool]:
        """Remove the edges `gone`, all there, then add `came`, int64 words of shape (n, 2): the pairs that died and
        that were born on balance, and whether that was found by building everything anew, as it is from the beginning
        with `seconds` = 0 or once an update has taken longer. Once `stop` has stopped a kernel, `look` must raise.
        This keeps the change before. The new one can be undone, complete or stopped.
        """
        from tidelog.kernels.reach import add_edges, remove_edges

        for known in filter(None, [each() for each in self._changed]):
            known.keep()
        self._changed = ()
        self.keep()
        self._tidy()
        self._before = self.size
        self._torn = True  # unless an error comes from `look`, where everything is in order
        edges = self._edges(came), self._edges(gone)
        started, rebuilt = time.thread_time(), False
        rest = self._loops, self._scratch, self._marks, self._clock
        for kernel, ids, label in ((remove_edges, edges[1], (self._label,)), (add_edges, edges[0], ())):
            at = 0
            while at < len(ids) and time.thread_time() - started < seconds:
                first = at
                self._pool, at, pairs_at_least = kernel(
                    self._pool, self._lists, self._used, self._component, *label, *rest, ids, at,
                    until_look(kernel, _AT_ONCE), stop.address,
                )  # fmt: skip
                self._edges_taken.append((ids[first:at], kernel is remove_edges))
                self._look(look, pairs_at_least)
            left = ids[at:]
            if len(left):
                self._rebuild(*((left, edges[0]) if kernel is remove_edges else (left[:0], left)), look, stop)
                rebuilt = True
                break
        self._torn = False  # To compare changes nothing.
        before = (self._pool, self._lists) if self._replaced is None else self._replaced[:2]
        noted = None if self._replaced is not None else self._used[ENTRIES : ENTRIES + self._used[NOTED]]
        died, born = compare_closures(before, self.state(), noted, *edges, self._nodes, self._scratch, stop)
        look(len(died) + len(born))
        self.size += len(born) - len(died)
        self._changed = weakref.ref(died), weakref.ref(born)
        return died, born, rebuilt

    def _look(self, look: Callable[[int], None], pairs: int) -> None:
        """Look at limits where a stopped change can be undone."""
        self._torn = False
        look(pairs)
        self._torn = True

    def build(self, edges: Sequence[AnyWords], look: Callable[[int], None] = _never, stop: Stop = _NO_STOP) -> None:
        """Take the edges of an empty closure."""
        from tidelog.kernels.building import fill_edges

        parts = [self._numbers(words) for words in edges]
        ids = parts[0] if len(parts) == 1 else numpy.concatenate([numpy.empty((0, 2), numpy.int32), *parts])
        look(0)
        self._pool = fill_edges(self._pool, self._lists, self._used, self._loops, ids, self.symmetric)
        self._build(look, stop)
        self.size = int(self._counts(look).sum())

    def _rebuild(self, gone: Ids, came: Ids, look: Callable[[int], None], stop: Stop) -> None:
        """Change the edges and build everything anew in new memory."""
        from tidelog.kernels.components import MEMBER, REACH
        from tidelog.kernels.lists import LENGTH, compacted

        self._replaced = self._pool, self._lists, self._component, self._label, self._loops, self._used
        self._lists, self._component, self._label = self._lists.copy(), self._component.copy(), self._label.copy()
        self._loops, self._used = self._loops.copy(), self._used.copy()
        self._lists[[MEMBER, REACH], :, LENGTH] = 0
        self._pool = compacted(self._pool, self._lists, self._used)
        self._take(gone, gone=True)
        self._take(came, gone=False)
        self._build(partial(self._look, look), stop)

    def _take(self, ids: Ids, *, gone: bool) -> None:
        from tidelog.kernels.reach import take_edges

        self._pool = take_edges(self._pool, self._lists, self._used, self._loops, ids, gone)

    def _build(self, look: Callable[[int], None], stop: Stop) -> None:
        from tidelog.kernels.building import label_components
        from tidelog.kernels.components import MEMBER, REACH
        from tidelog.kernels.lists import LENGTH
        from tidelog.kernels.reach import build_components, build_reach

        self._lists[[MEMBER, REACH], :, LENGTH] = 0
        if self.symmetric:
            self._label[:] = numpy.arange(len(self._label))
            self._pool = label_components(self._pool, self._lists, self._used, self._component, stop.address)
            look(0)
            return
        shared = self._lists, self._used, self._component, self._scratch, self._marks, self._clock
        self._pool, count = build_components(self._pool, *shared[:3], self._label, *shared[3:], stop.address)
        look(0)
        at = 0
        while at < count:
            steps = until_look(build_reach, _AT_ONCE)
            self._pool, at = build_reach(self._pool, *shared, at, count, steps, stop.address)
            look(0)

    def _tidy(self) -> None:
        """Release memory of removed edges: room in the pool, and nodes once most have no edges."""
        from tidelog.kernels.lists import compacted

        if self._used[GIVEN_UP] > len(self._pool) // 2 + 10_000:
            self._pool = compacted(self._pool, self._lists, self._used)
        if self._nodes.rows > 2 * self._tidied + 1_000:
            self._renumber()
            self._tidied = self._nodes.rows

    def _renumber(self) -> None:
        """Number the nodes that have edges anew, if they are fewer than half."""
        from tidelog.kernels.components import INTO, MEMBER, OUT, REACH
        from tidelog.kernels.lists import LENGTH, put_alone, renumbered

        nodes = numpy.flatnonzero(self._lists[[OUT, INTO], :, LENGTH].any(axis=0) | (self._loops > 0))
        if 2 * len(nodes) > self._nodes.rows:
            return
        fresh = Closure(self.symmetric, self.irreflexive, self.bits)
        fresh._nodes.insert(self.words_at(nodes).reshape(-1, 1))
        fresh._make_room()
        numbers, labels = numpy.full((2, len(self._component)), -1, numpy.int32)
        numbers[nodes] = numpy.arange(len(nodes))
        labels[numpy.sort(self._label[nodes])] = numpy.arange(len(nodes))
        fresh._lists[:] = fresh._used[:] = 0
        fresh._pool = numpy.empty(self._used[USED] - self._used[GIVEN_UP] + 16, numpy.int32)
        for family, lent, given in (
            (OUT, numbers, numbers), (INTO, numbers, numbers), (MEMBER, labels, numbers), (REACH, labels, labels)
        ):  # fmt: skip
            sized = 1 if family == REACH else 0
            renumbered(self._pool, self._lists, family, lent, given, sized, fresh._pool, fresh._lists, fresh._used)
        fresh._pool = put_alone(fresh._pool, fresh._lists, fresh._used, MEMBER, len(nodes), len(fresh._component))
        fresh._component[: len(nodes)] = labels[self._component[nodes]]
        fresh._label[: len(nodes)] = labels[self._label[nodes]]
        fresh._loops[: len(nodes)] = self._loops[nodes]
        fresh.size = self.size
        self.__dict__.update(fresh.__dict__)

    def _edges(self, words: AnyWords) -> Ids:
        """Return edges as node numbers, in a symmetric closure in both directions."""
        ids = self._numbers(words)
        if self.symmetric:
            ids = numpy.concatenate([ids, ids[ids[:, 0] != ids[:, 1]][:, ::-1]])
        return numpy.ascontiguousarray(ids)

    def _numbers(self, words: AnyWords) -> Ids:
        """Return edges as node numbers; new nodes get the next numbers."""
        flat = numpy.ascontiguousarray(words, numpy.int64).reshape(-1, 1)
        least = int(flat.min()) if len(flat) else 0
        span = int(flat.max()) - least + 1 if len(flat) else 0
        if span <= len(flat):  # Then a table finds each number faster than the set of nodes.
            offsets = flat[:, 0] - least
            seen = numpy.zeros(span, bool)
            seen[offsets] = True
            nodes = (numpy.flatnonzero(seen) + least).reshape(-1, 1)
            self._nodes.insert(nodes)
            self._make_room()
            numbers = numpy.zeros(span, numpy.int32)
            numbers[nodes[:, 0] - least] = self._nodes.find(nodes)
            return numbers[offsets].reshape(-1, 2)
        self._nodes.insert(flat)
        self._make_room()
        return self._nodes.find(flat).astype(numpy.int32).reshape(-1, 2)

    def _make_room(self) -> None:
        """Let the arrays hold all nodes; those not used yet are components of their own."""
        from tidelog.kernels.components import MEMBER
        from tidelog.kernels.lists import put_alone

        count, have = self._nodes.rows, len(self._component)
        if count <= have:
            return
        room = max(16, 2 * have, count)
        more = numpy.arange(have, room, dtype=numpy.int32)
        self._component = numpy.concatenate([self._component, more])
        self._label = numpy.concatenate([self._label, more])
        self._loops = numpy.concatenate([self._loops, numpy.zeros_like(more)])
        self._scratch = numpy.empty((6, room + 1), numpy.int32)
        self._marks = numpy.zeros((4, room), numpy.int64)
        lists = numpy.zeros((FAMILIES + SAVED, room, 3), numpy.int64)
        lists[:, :have] = self._lists
        used = numpy.zeros(ENTRIES + SAVED * room, numpy.int64)
        used[: len(self._used)] = self._used
        self._lists, self._used = lists, used
        self._pool = put_alone(self._pool, self._lists, self._used, MEMBER, have, room)

    # --- reading -----------------------------------------------------------------------------------------------------

    def words_at(self, nodes: NDArray[Any]) -> AnyWords:
        """Return the words of these nodes, an array of any shape, dtype int64."""
        return self._nodes.take(nodes.ravel()).astype(numpy.int64).reshape(nodes.shape)

    def state(self) -> tuple[Any, ...]:
        """Return the arrays of kernels/reach.py that describe the pairs, as they are until the next change."""
        return self._pool, self._lists, self._component, self._loops, self.irreflexive

    def _counts(self, look: Callable[[int], None] = _never) -> NDArray[numpy.int64]:
        """Return the number of pairs that each node begins. An exception of `look` ends the work."""
        from tidelog.kernels.components import MEMBER
        from tidelog.kernels.lists import LENGTH
        from tidelog.kernels.pairs import count_pairs

        sums = numpy.zeros(len(self._component) + 1, numpy.int64)
        numpy.cumsum(self._lists[MEMBER, :, LENGTH], out=sums[1:])
        counts, at = numpy.empty(len(self._component), numpy.int64), 0
        weights = numpy.full(len(counts), -1, numpy.int64)
        while at < len(counts):
            look(0)
            at = count_pairs(*self.state(), sums, weights, counts, at, until_look(count_pairs, _AT_ONCE))
        return counts

    def batches(
        self, dtype: numpy.dtype[Any], count: int | None = None, nodes: NDArray[numpy.int64] | None = None
    ) -> Iterator[AnyWords]:
        """Yield the pairs as words, some millions at a time, `count` of them or more, in the order of their first
        nodes, which are all or those given."""
        nodes = numpy.arange(min(self._nodes.rows, len(self._component))) if nodes is None else nodes
        ends = numpy.cumsum(self._counts()[nodes])
        first = done = 0
        while first < len(ends) and (count is None or done < count):
            last = max(first + 1, int(numpy.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")))
            yield self._pairs(nodes[first:last], int(ends[last - 1]) - done, dtype)
            first, done = last, int(ends[last - 1])

    def _pairs(self, nodes: NDArray[numpy.int64], count: int, dtype: numpy.dtype[Any]) -> AnyWords:
        from tidelog.kernels.pairs import write_pairs

        expect(count)
        target: AnyWords = numpy.empty((count, 2), dtype)
        known = min(self._nodes.rows, len(self._component))
        write_pairs(*self.state(), self.words_at(numpy.arange(known)), nodes[nodes < known], target)
        return target

    def words_of_nodes(self) -> AnyWords:
        """Return the words of all nodes, including some that have no edges any more."""
        return self.words_at(numpy.arange(self._nodes.rows))

    def words(self, dtype: numpy.dtype[Any]) -> AnyWords:
        """Return all pairs as words."""
        return self._pairs(numpy.arange(len(self._component)), self.size, dtype)

    def pairs_from(self, word: int, dtype: numpy.dtype[Any]) -> AnyWords:
        """Return the pairs whose first node is this word."""
        node = self._node(word)
        return self._pairs(node, int(self._counts()[node].sum()), dtype)

    def pairs_to(self, word: int, dtype: numpy.dtype[Any]) -> AnyWords:
        """Return the pairs whose second node is this word."""
        from tidelog.kernels.pairs import nodes_before

        node = self._node(word)
        if not len(node):
            return numpy.empty((0, 2), dtype)
        first = self.words_at(nodes_before(*self.state(), node[0], self._scratch, self._marks, self._clock))
        return numpy.stack([first, numpy.full_like(first, word)], axis=1).astype(dtype)

    def has(self, words: Sequence[int]) -> bool:
        """Return True if the closure contains the pair."""
        return bool(self.holds(numpy.array([words], numpy.int64))[0])

    def holds(self, rows: AnyWords) -> NDArray[numpy.bool_]:
        """Return a mask of those rows, shape (n, 2), that are pairs."""
        from tidelog.kernels.pairs import are_pairs

        found = numpy.zeros(len(rows), bool)
        ids = self.numbers_of(numpy.ascontiguousarray(rows)).reshape(-1, 2)
        known = (ids >= 0).all(axis=1)
        found[known] = are_pairs(*self.state(), ids[known])
        return found

    def publish(self) -> int:
        """Return the address at which kernels find the closure as it is now (the fields C_WORDS and so on of
        kernels/layout.py), until it changes."""
        self._asked[:] = -1
        kept = (self._pool, self._lists, self._component, self._loops, self._scratch, self._marks, self._clock)
        room, nodes = len(self._component), self._nodes.fields
        fields = self._fields  # It stays where it is: all relations that show this closure have its address.
        fields[layout.C_WORDS], fields[layout.C_SLOTS] = nodes[layout.R_ROWS], nodes[layout.R_SLOTS]
        fields[layout.C_MASK], fields[layout.C_NODES] = nodes[layout.R_MASK], self.nodes
        if len(kept) == len(self._published) and all(map(is_, kept, self._published)):
            return self._pinned[-1].address
        self._pinned = ()
        pinned = tuple(Pinned(array) for array in (*kept, self._asked))
        pool, lists, component, loops, scratch, marks, clock, asked = (each.address for each in pinned)
        fields[layout.C_POOL], fields[layout.C_LISTS], fields[layout.C_ROOM] = pool, lists, room
        fields[layout.C_COMPONENT], fields[layout.C_LOOPS] = component, loops
        fields[layout.C_IRREFLEXIVE], fields[layout.C_CLOCK] = self.irreflexive, clock
        fields[layout.C_QUEUE], fields[layout.C_STAMPS] = scratch + 3 * 4 * (room + 1), marks + 3 * 8 * room
        fields[layout.C_ASKED] = asked
        self._pinned, self._published = (*pinned, Pinned(fields)), kept
        return self._pinned[-1].address

    def numbers_of(self, words: AnyWords) -> NDArray[numpy.int64]:
        """Return the number of the node with each of these words, or -1, shape (n,)."""
        found = self._nodes.find(words.reshape(-1, 1)).astype(numpy.int64)
        found[found >= len(self._component)] = -1
        return found

    def words_in_place(self) -> tuple[int, Any]:
        """Return the address of the words of nodes, by their numbers, and the type tag of their size."""
        catalog = self._nodes.catalog
        return int(catalog.table[self._nodes.number][layout.R_ROWS]), catalog.tag

    def _node(self, word: int) -> NDArray[numpy.int64]:
        """Return the number of the node, if it is one."""
        found = self.numbers_of(numpy.array([word], numpy.int64))
        return found[found >= 0]

    def lengths(self, rows: AnyWords, look: Look = ignore_limits) -> NDArray[numpy.int64]:
        """Return the number of edges on a shortest way between the nodes of each of these pairs of the closure. Call
        `look` between searches; it may raise."""
        from tidelog.kernels.pairs import lengths

        expect(len(rows) * self.nodes)
        ids = self._nodes.find(numpy.ascontiguousarray(rows, numpy.int64).reshape(-1, 1)).reshape(-1, 2)
        order = numpy.argsort(ids[:, 0], kind="stable")
        sources, counts = numpy.unique(ids[order, 0], return_counts=True)
        found = numpy.empty(len(ids), numpy.int64)
        distance = numpy.full(len(self._component), -1, numpy.int32)
        queue = numpy.empty_like(distance)  # Several threads may ask at once.
        ends, at = numpy.cumsum(counts), 0
        while at < len(sources):
            look()
            at = lengths(self._pool, self._lists, sources, ends, ids[order, 1], distance, queue, found, at, _AT_ONCE)
        result = numpy.empty_like(found)
        result[order] = found
        result[(ids[:, 0] == ids[:, 1]) & (self._loops[ids[:, 0]] > 0)] = 1
        return result
