"""The pairs of a closure as a relation, whose rows are written only when a caller reads them; folds over the pairs.

`ClosedMembers` are those pairs that are the members of an aggregate's groups. A fold goes by components, without the
pairs (kernels/folds.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.common.looking import Look, ignore_limits
from tidelog.kernels import layout
from tidelog.kernels.calling import expect, until_look
from tidelog.storage.catalog import Catalog
from tidelog.storage.closure import Closure
from tidelog.storage.memory import Pinned, Stop
from tidelog.storage.stored import StoredRelation

_AT_ONCE = 1_000_000
"""Numbers read between two looks at limits."""
_FEW = 16
"""Of one in so many nodes, distinct components are found by sorting."""


class ClosedRelation(StoredRelation):
    """The pairs of a closure as a relation that kernels probe (kernels/closed.py) without their ever being written.

    It has rows of its own only between `show` and `close` or `take_back`: the pairs that an epoch has changed.
    """

    def __init__(self, catalog: Catalog, closure: Closure) -> None:
        super().__init__(catalog, 2)
        self.graph = closure
        """The closure, as it is."""

    @property
    def closure(self) -> Closure:
        """The closure, whole. Raises MemoryError if a change of it was given up and it cannot be restored."""
        self.graph.restore()
        return self.graph

    def __len__(self) -> int:
        return len(self.closure)

    @property
    def form(self) -> str:
        return "compressed"

    @property
    def identity(self) -> int:
        return id(self.graph)

    def words(self, count: int | None = None) -> AnyWords:
        if count is None:
            return self.closure.words(self.catalog.dtype)
        batches = list(self.closure.batches(self.catalog.dtype, count))
        return numpy.concatenate([numpy.empty((0, 2), self.catalog.dtype), *batches])[:count]

    def batches(self) -> Iterator[AnyWords]:
        return self.closure.batches(self.catalog.dtype)

    def near(self, constants: Mapping[int, int]) -> AnyWords:
        """Yield pairs that include all those with these words in these columns."""
        if 0 in constants:
            return self.closure.pairs_from(constants[0], self.catalog.dtype)
        return self.closure.pairs_to(constants[1], self.catalog.dtype) if 1 in constants else self.words()

    def rows_with(self, keys: tuple[int, ...], groups: AnyWords) -> AnyWords:
        """Return the pairs whose columns `keys` are one of the distinct rows of `groups`."""
        if len(keys) == 2:
            return groups[[self.has(group) for group in groups.tolist()]]
        parts = [numpy.empty((0, 2), self.catalog.dtype)]
        for group in groups.tolist():
            rows = self.near(dict(zip(keys, group, strict=True)))
            parts.append(rows[rows[:, keys[0]] == group[0]] if keys else rows)
        return numpy.concatenate(parts)

    def snapshot(self) -> ClosedRelation:
        """Return the pairs as they are now, independent of later changes."""
        return ClosedRelation(self.catalog, self.closure.copy())

    @property
    def has_dying_rows(self) -> bool:
        return False

    def settle(self) -> None:
        """Let kernels find the closure as it is now."""
        super().settle()
        self.fields[layout.R_CLOSURE] = self.closure.publish()

    def show(self, died: AnyWords, born: AnyWords) -> None:
        """Show kernels the pairs that this epoch has removed from the closure, and those that it has added."""
        self.changing = True  # From the first row on, there is something to take back.
        self.insert(died)
        self.open()
        self.marks.counts_in_place()[:] = -1
        self.insert(born)
        self.journal.ensure(self.rows)
        numbers = numpy.arange(self.rows)
        self.journal.show(numbers[: len(died)], numbers[len(died) :])

    def removals(self) -> list[Callable[[int], None]]:
        """Return nothing: `finish` forgets all rows."""
        return []

    def finish(self) -> None:
        """Forget the changes."""
        self.changing = False
        self.forget()

    def take_back(self) -> None:
        """Forget the changes; another relation restores the closure."""
        self.finish()

    def has(self, words: Sequence[int]) -> bool:
        return self.closure.has(words)

    def bytes(self) -> int:
        return super().bytes() + self.closure.bytes()

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = ignore_limits) -> StoredRelation:
        return ClosedRelation(catalog, self.closure)

    def write(self, look: Look = ignore_limits) -> StoredRelation:
        """Return the same pairs as rows, for a relation that rules derive from now on. An exception of `look` ends the
        work."""
        written = StoredRelation(self.catalog, 2)
        for batch in self.batches():
            look()
            written.insert(batch)
        written.settle()
        return written


class ClosedMembers(ClosedRelation):
    """The pairs of a closure that begin with a tuple of `asked`, a relation of one column or of none. With `backward`
    pairs are turned round, so that they end with it in the closure."""

    def __init__(self, pairs: ClosedRelation, asked: StoredRelation, backward: bool) -> None:
        super().__init__(pairs.catalog, pairs.closure)
        self.pairs = pairs
        self.asked = asked
        self.backward = backward

    def __len__(self) -> int:
        if not self.asked.arity:
            return len(self.pairs) if len(self.asked) else 0
        counts = fold_closure(
            self.closure, self._nodes(), ClosureFold("count", self.backward), lambda rows: None, Stop()
        )
        return int(counts.sum())

    @property
    def identity(self) -> int:
        return id(self)

    def _nodes(self) -> NDArray[numpy.int64]:
        """Return the nodes asked for, by their numbers."""
        nodes = self.closure.numbers_of(self.asked.words()[:, 0])
        return nodes[nodes >= 0]

    def _turn(self, rows: AnyWords) -> AnyWords:
        return numpy.ascontiguousarray(rows[:, ::-1]) if self.backward else rows

    def _mask_of_asked(self, rows: AnyWords) -> NDArray[numpy.bool_]:
        """Return a mask of the rows whose group is asked for."""
        if not self.asked.arity:
            return numpy.full(len(rows), len(self.asked) > 0)
        found = self.asked.find(rows[:, :1])
        there: NDArray[numpy.bool_] = found >= 0
        there[there] = self.asked.marks.alive(found[there])
        return there

    def words(self, count: int | None = None) -> AnyWords:
        return numpy.concatenate([numpy.empty((0, 2), self.catalog.dtype), *self.batches()])[:count]

    def batches(self) -> Iterator[AnyWords]:
        if not self.asked.arity:
            yield from map(self._turn, self.pairs.batches() if len(self.asked) else ())
        elif self.backward:
            for (word,) in self.asked.words().tolist():
                yield self._turn(self.pairs.near({1: word}))
        else:
            yield from self.closure.batches(self.catalog.dtype, nodes=self._nodes())

    def near(self, constants: Mapping[int, int]) -> AnyWords:
        columns = {1 - column if self.backward else column: word for column, word in constants.items()}
        rows = self._turn(self.pairs.near(columns)) if columns else self.words()
        return rows[self._mask_of_asked(rows)]

    def has(self, words: Sequence[int]) -> bool:
        row = numpy.array([words], numpy.int64)
        return bool(self._mask_of_asked(row)[0]) and self.pairs.has(self._turn(row)[0].tolist())

    def snapshot(self) -> ClosedRelation:
        asked = self.asked.snapshot() or self.asked.copy_to(self.catalog)
        return ClosedMembers(self.pairs.snapshot(), asked, self.backward)

    def bytes(self) -> int:
        return StoredRelation.bytes(self)

    def copy_to(self, catalog: Catalog, counted: bool = False, look: Look = ignore_limits) -> StoredRelation:
        pairs = self.pairs.copy_to(catalog)
        assert isinstance(pairs, ClosedRelation)
        return ClosedMembers(pairs, self.asked.copy_to(catalog, look=look), self.backward)


@dataclass(frozen=True)
class ClosureFold:
    """A fold of the nodes that a node is paired with: their number, the sum of their words, or the one whose word is
    first in the order of `word ^ flip`. With `ranks`, a function from words to their places in another order,
    the first one is that of the least rank. `backward` folds the nodes that lead to a node."""

    what: Literal["count", "sum", "first"]
    backward: bool = False
    flip: int = 0
    ranks: Callable[[AnyWords], Words] | None = None


def fold_closure(closure: Closure, nodes: Words, fold: ClosureFold, look: Callable[[int], None], stop: Stop) -> Words:
    """Return the fold for each of `nodes`, where -1 is a node without pairs: a number, a sum without its overflow, or
    the number of a node, where -1 is no node. Once `stop` has stopped a kernel, `look` must raise."""
    from tidelog.kernels import folds

    what = {"count": folds.COUNT, "sum": folds.SUM, "first": folds.FIRST}[fold.what]
    pool, lists, component, loops, irreflexive = closure.state()
    room, known = len(component), nodes[nodes >= 0]
    wanted = numpy.zeros(room, bool)
    wanted[component[known]] = True
    few = len(known) * _FEW < room
    components = numpy.unique(component[known]).astype(numpy.int64) if few else numpy.flatnonzero(wanted)
    expect(len(nodes) if few and not fold.backward else closure.nodes)
    places = room + room // folds.BLOCK + 1
    first, second, behind = (numpy.empty(places, numpy.int64) for _ in range(3))
    behind[0 if fold.backward else room :] = -1 if fold.what == "first" else 0
    done = numpy.zeros(places, numpy.uint8)
    words, tag = closure.words_in_place()
    pinned = None
    if fold.ranks is not None:
        pinned = Pinned(_ranks(closure, components, fold))
        words, tag = pinned.address, numpy.int64(0)
    shared = what, words, fold.flip, first, second, behind, done, stop.address, tag
    at = 0
    while at < (room if fold.backward else len(components)):
        look(0)
        if fold.backward:
            steps = until_look(folds.fold_behind, _AT_ONCE)
            at = folds.fold_behind(pool, lists, wanted, at, steps, *shared)
        else:
            steps = until_look(folds.fold_ahead, _AT_ONCE)
            at = folds.fold_ahead(pool, lists, components, at, steps, *shared)
    look(0)
    result = numpy.empty(len(nodes), numpy.int64)
    folds.fold_nodes(
        lists, component, loops, irreflexive, nodes, what, words, fold.flip, first, second, behind, result, tag
    )
    return result


def _ranks(closure: Closure, components: NDArray[Any], fold: ClosureFold) -> Words:
    """Return the ranks of the nodes that a fold of `components` looks at, in an array with room for all nodes."""
    from tidelog.kernels.folds import BLOCK, members_ahead

    assert fold.ranks is not None
    pool, lists, component, _, _ = closure.state()
    found = numpy.arange(closure.nodes)
    if not fold.backward:
        stamps = numpy.zeros(len(component) + len(component) // BLOCK + 1, numpy.uint8)
        found = numpy.empty(len(component), numpy.int64)
        found = found[: members_ahead(pool, lists, components, stamps, 1, found)]
    ranks = numpy.zeros(len(component), numpy.int64)
    ranks[found] = fold.ranks(closure.words_at(found))
    return ranks
