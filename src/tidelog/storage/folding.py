"""Folds over the pairs of a closure by its components, without the pairs (kernels/folds.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.kernels.calling import expect, until_look
from tidelog.storage.closure import Closure
from tidelog.storage.memory import Pinned, Stop

_AT_ONCE = 1_000_000
"""Numbers read between two looks at limits."""
_FEW = 16
"""Of one in so many nodes, distinct components are found by sorting."""


@dataclass(frozen=True)
class ClosureFold:
    """A fold of the nodes that a node is paired with: their number, the sum of their words, or the one whose word is
    first in the order of `word ^ flip`. With `ranks`, a function from words to their places in another order,
    the first one is that of the least rank. `backward` folds the nodes that lead to a node."""

    what: Literal["count", "sum", "first"]
    backward: bool = False
    flip: int = 0
    ranks: Callable[[AnyWords], Words] | None = None


def folded(closure: Closure, nodes: Words, fold: ClosureFold, look: Callable[[int], None], stop: Stop) -> Words:
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
