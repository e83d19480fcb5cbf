"""Folds over closures with long runs, whose components are folded in blocks, beside sets of all pairs."""

from __future__ import annotations

import random
from collections.abc import Callable, Set
from itertools import pairwise
from typing import Literal

import numpy
import pytest

from tests.depth import cases
from tests.kernels_in_python import kernels_in_python
from tidelog.kernels.folds import BLOCK
from tidelog.storage.closed_relation import ClosureFold, fold_closure
from tidelog.storage.closure import Closure
from tidelog.storage.memory import Stop

NODES = 3 * BLOCK + 40
VALUES: tuple[tuple[Literal["count", "sum", "first"], Callable[[Set[int]], int]], ...] = (
    ("count", len),
    ("sum", sum),
    ("first", lambda others: min(others, default=-1)),
)


def edges_of(rng: random.Random) -> list[tuple[int, int]]:
    """A chain in a random order of numbers, with some edges missing, some turned around and some in between."""
    order = rng.sample(range(NODES), NODES) if rng.random() < 0.5 else list(range(NODES))
    edges = [(x, y) for x, y in pairwise(order) if rng.random() < 0.99]
    edges += [(y, x) for x, y in rng.sample(edges, rng.choice((0, 3)))]
    edges += [(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(rng.choice((0, 2)))]
    return edges or [(0, 1)]


def pairs_of(edges: list[tuple[int, int]]) -> dict[int, set[int]]:
    """The nodes that each node leads to."""
    following: dict[int, list[int]] = {}
    for x, y in edges:
        following.setdefault(x, []).append(y)
    found = {}
    for start in range(NODES):
        seen, waiting = set[int](), list(following.get(start, ()))
        while waiting:
            if (node := waiting.pop()) not in seen:
                seen.add(node)
                waiting += following.get(node, ())
        found[start] = seen
    return found


@pytest.mark.parametrize("seed", range(cases(20)))
def test_folds_are_those_of_the_pairs(seed: int) -> None:
    assert_folds_are_those_of_the_pairs(seed)


@pytest.mark.parametrize("seed", range(2))
def test_python_folds_the_same(seed: int) -> None:
    with kernels_in_python():
        assert_folds_are_those_of_the_pairs(seed)


def assert_folds_are_those_of_the_pairs(seed: int) -> None:
    rng = random.Random(seed)
    edges = edges_of(rng)
    closure = Closure(False, bits=32)
    closure.build([numpy.array(edges)])
    ahead = pairs_of(edges)
    behind: dict[int, set[int]] = {node: set() for node in range(NODES)}
    for x, others in ahead.items():
        for y in others:
            behind[y].add(x)
    some = sorted(rng.sample(range(NODES), rng.choice((3, NODES))))
    nodes = closure.numbers_of(numpy.array(some)[:, None])
    for backward, pairs in ((False, ahead), (True, behind)):
        for what, value in VALUES:
            for ranks in (None, lambda words: numpy.argsort(numpy.argsort(words))) if what == "first" else (None,):
                fold = ClosureFold(what, backward, ranks=ranks)
                result = fold_closure(closure, nodes, fold, lambda _: None, Stop())
                if what == "first":
                    words = closure.words_at(numpy.arange(closure.nodes))
                    result = numpy.array([words[each] if each >= 0 else -1 for each in result])
                assert result.tolist() == [value(pairs[node]) for node in some], (what, backward, ranks)
