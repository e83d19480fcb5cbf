"""An edge goes whose loss concerns few of many: what lies before with a large reach set is asked for these few only.

The branch is taken where what was lost is less than a 32nd of a reach set (`look_again` in kernels/reach.py).
"""

from __future__ import annotations

import random
from itertools import pairwise

import numpy
import pytest

from tests.depth import cases
from tests.storage.test_closure import held, reachable, words
from tests.suite import FIRST_SEED
from tidelog.storage.closure import Closure

Pair = tuple[int, int]
HUB, LEAVES = 50, range(100, 300)
FOREVER = 1e9


def changed(edges: list[Pair], gone: list[Pair]) -> tuple[set[Pair], set[Pair]]:
    """The pairs that die when edges go, and those that are left; nothing is born."""
    closure = Closure()
    closure.build([words(edges)])
    died, born, rebuilt = closure.change(words(gone), words([]), FOREVER)
    assert not len(born)
    assert not rebuilt
    return {(x, y) for x, y in died.words().tolist()}, held(closure)


FAN = [(1, 2), (2, 3), (3, HUB), *((HUB, leaf) for leaf in LEAVES)]


def test_one_of_many_leaves_goes_from_all_that_lie_before() -> None:
    died, left = changed(FAN, [(HUB, 150)])
    assert died == {(x, 150) for x in (1, 2, 3, HUB)}
    assert left == reachable(set(FAN) - {(HUB, 150)})


def test_what_has_another_way_keeps_it_and_so_does_all_before() -> None:
    died, left = changed([*FAN, (2, 150)], [(HUB, 150)])
    assert died == {(3, 150), (HUB, 150)}
    assert (1, 150) in left
    assert (2, 150) in left


def test_some_of_what_is_lost_has_another_way() -> None:
    """150 leads to two leaves; one of them is also reached from 2 by itself."""
    edges = [*FAN, (150, 400), (150, 401), (2, 401)]
    died, left = changed(edges, [(HUB, 150)])
    assert died == {(x, y) for x in (1, 2, 3, HUB) for y in (150, 400, 401)} - {(1, 401), (2, 401)}
    assert left == reachable(set(edges) - {(HUB, 150)})


def test_components_of_several_nodes_before_and_behind() -> None:
    circles = [(2, 20), (20, 2), (150, 500), (500, 150)]
    died, left = changed([*FAN, *circles], [(HUB, 150)])
    assert died == {(x, y) for x in (1, 2, 20, 3, HUB) for y in (150, 500)}
    assert left == reachable({*FAN, *circles} - {(HUB, 150)})


def test_two_branches_meet_before() -> None:
    """4 lies before two hubs, of which one keeps the leaf."""
    edges = [*FAN, (4, 3), (4, 60), *((60, leaf) for leaf in LEAVES)]
    died, left = changed(edges, [(HUB, 150)])
    assert died == {(x, 150) for x in (1, 2, 3, HUB)}
    assert left == reachable(set(edges) - {(HUB, 150)})


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(12)))
def test_random_layers(seed: int) -> None:
    """Layers of nodes with a few circles, the last one wide: edges to it go and come one by one."""
    rng = random.Random(seed)
    layers = [list(range(100 * i, 100 * i + size)) for i, size in enumerate((3, 4, 4, 90))]
    edges = {(x, y) for above, below in pairwise(layers) for x in above for y in below}
    edges = {edge for edge in sorted(edges) if rng.random() < 0.6} | {(1, 0), (0, 1)}
    closure = Closure()
    closure.build([words(sorted(edges))])
    before = reachable(edges)
    for _ in range(40):
        edge = rng.choice(sorted(edges)) if rng.random() < 0.8 else (rng.choice(layers[2]), rng.choice(layers[3]))
        gone, came = ([edge], []) if edge in edges else ([], [edge])
        edges ^= {edge}
        died, born, _ = closure.change(words(gone), words(came), FOREVER)
        now = reachable(edges)
        assert {(x, y) for x, y in died.words().tolist()} == before - now
        assert {(x, y) for x, y in born.words().tolist()} == now - before
        before = now
    assert held(closure) == before


def test_which_rows_are_pairs() -> None:
    closure = Closure()
    closure.build([words(FAN)])
    rows = numpy.array([(1, 100), (100, 1), (1, 1), (1, 7), (7, 1), (HUB, 299)])
    assert closure.holds(rows).tolist() == [True, False, False, False, False, True]
    assert closure.holds(rows[:0]).tolist() == []
