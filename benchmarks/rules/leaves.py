"""A leaf hyper-node whose last rule goes: it is dropped without evaluating anything, whatever its size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from benchmarks.rules.updates import Pair, State, Step

_DECLARATIONS = ".decl e(x: number, y: number)\n.decl leaf(x: number, y: number)"
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def leaves(sizes: tuple[int, ...] = SIZES) -> Iterator[Pair]:
    """Yield a leaf of each size, a copy of its input."""
    for size in sizes:
        column = numpy.arange(size)
        facts = {"e": numpy.stack([column, column + 1], axis=1)}
        more = State(_DECLARATIONS, {"l": "l: leaf(x, y) :- e(x, y)."}, facts)
        steps = Step("add a leaf"), Step("delete a leaf", "instant")
        yield Pair(f"leaf of {size:,} tuples", more.without("l"), more, *steps)
