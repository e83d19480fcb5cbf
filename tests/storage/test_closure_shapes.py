"""Closures of graphs whose reach sets are runs: chains, combs, grids, layers, circles that join and come apart.

The differences of each change, and the pairs after it, are those of a search from every node. No change is made by
building everything anew. Names of nodes are shuffled, so that runs come from the order of components alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy
import pytest

from tests.depth import cases
from tests.storage.test_closure import UPDATE, Pair, held, reachable, words
from tests.suite import FIRST_SEED
from tidelog.kernels.components import REACH
from tidelog.kernels.lists import LENGTH
from tidelog.storage.changed_pairs import ChangedPairs
from tidelog.storage.closure import Closure


def chain(rng: random.Random) -> list[Pair]:
    return [*pairwise(range(40))]


def comb(rng: random.Random) -> list[Pair]:
    """A chain with a chain of three at each node."""
    teeth = [[x, 100 + x, 200 + x, 300 + x] for x in range(12)]
    return [*pairwise(range(12)), *(edge for tooth in teeth for edge in pairwise(tooth))]


def grid(rng: random.Random) -> list[Pair]:
    """Edges to the right and down."""
    places = [(x, y) for x in range(6) for y in range(6)]
    return [(6 * x + y, 6 * u + v) for x, y in places for u, v in ((x + 1, y), (x, y + 1)) if u < 6 and v < 6]


def layers(rng: random.Random) -> list[Pair]:
    return [(10 * i + rng.randrange(10), 10 * (i + 1) + rng.randrange(10)) for i in range(3) for _ in range(20)]


def circles(rng: random.Random) -> list[Pair]:
    """Circles of five nodes, one behind the other."""
    found = [(5 * i + x, 5 * i + (x + 1) % 5) for i in range(6) for x in range(5)]
    return [*found, *((5 * i + rng.randrange(5), 5 * i + 5 + rng.randrange(5)) for i in range(5))]


def acyclic(rng: random.Random) -> list[Pair]:
    pairs = [(rng.randrange(30), rng.randrange(30)) for _ in range(50)]
    return [(min(pair), max(pair)) for pair in pairs if len({*pair}) == 2]


SHAPES = (chain, comb, grid, layers, circles, acyclic)


def rows(pairs: ChangedPairs) -> set[Pair]:
    """Return the pairs, each once, as many as there are said to be, with words that are held."""
    said = len(pairs)
    of_words = {word for row in pairs.words_in_use().tolist() for word in row}
    found = [(x, y) for x, y in pairs.words().tolist()]
    assert len(found) == len(set(found)) == said
    assert of_words >= {word for pair in found for word in pair}
    return set(found)


def follow(seed: int, shape: Callable[[random.Random], list[Pair]]) -> None:
    rng = random.Random(f"{shape.__name__} {seed}")
    names = rng.sample(range(1_000), 400)
    edges = [(names[x], names[y]) for x, y in shape(rng)]
    nodes = sorted({node for edge in edges for node in edge})
    irreflexive = rng.random() < 0.3
    closure = Closure(irreflexive=irreflexive)
    closure.build([words(edges)])
    before = reachable(edges, irreflexive=irreflexive)
    late: list[tuple[ChangedPairs, set[Pair]]] = []
    for _ in range(8):
        gone = rng.sample(edges, min(len(edges), rng.choice((0, 1, 1, 2, 5))))
        for edge in gone:
            edges.remove(edge)
        came = [*rng.sample(gone, rng.randint(0, len(gone)))]
        came += [(rng.choice(nodes), rng.choice(nodes)) for _ in range(rng.choice((0, 0, 1, 1, 3)))]
        edges += came
        died, born, rebuilt = closure.change(words(gone), words(came), UPDATE)
        assert not rebuilt
        for pairs, expected in late:  # They stay those of their change, although nobody has read them before.
            assert rows(pairs) == expected, seed
        now = reachable(edges, irreflexive=irreflexive)
        assert (len(died), len(born)) == (len(before - now), len(now - before)), seed
        late = [(died, before - now), (born, now - before)]
        if rng.random() < 0.5:
            assert rows(died) == before - now, seed
            assert rows(born) == now - before, seed
        assert held(closure) == now, seed
        asked = [(rng.choice(nodes), rng.choice(nodes)) for _ in range(20)]
        assert closure.holds(words(asked)).tolist() == [pair in now for pair in asked], seed
        before = now


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape.__name__))
def test_random_changes(shape: Callable[[random.Random], list[Pair]]) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(12)):
        follow(seed, shape)


def reach_room(closure: Closure) -> int:
    """Return how many values the reach sets have in all."""
    return int(closure._lists[REACH, :, LENGTH].sum())


def shuffled(edges: Iterable[Pair], count: int) -> list[Pair]:
    rng = random.Random(FIRST_SEED)
    names = rng.sample(range(10 * count), count)
    found = [(names[x], names[y]) for x, y in edges]
    rng.shuffle(found)
    return found


MANY = 3_000


def test_a_node_of_a_chain_has_one_run_before_and_after_its_edges_go_and_come() -> None:
    edges = shuffled(pairwise(range(MANY)), MANY)
    closure = Closure()
    closure.build([words(edges)])
    assert reach_room(closure) <= 3 * MANY
    memory, size = closure.bytes(), len(closure)
    assert size == MANY * (MANY - 1) // 2
    for edge in edges[:20]:
        died, _, rebuilt = closure.change(words([edge]), words([]), UPDATE)
        assert not rebuilt
        before = next(k for k in range(MANY) if len(died) == (k + 1) * (MANY - 1 - k))
        assert reach_room(closure) <= 3 * MANY, before
        _, born, _ = closure.change(words([]), words([edge]), UPDATE)
        assert len(born) == len(died)
        assert len(closure) == size
        assert reach_room(closure) <= 3 * MANY
    assert closure.bytes() < memory + 10 * 4 * 3 * MANY


def test_a_tree_needs_a_run_for_each_node_and_a_grid_one_for_each_column() -> None:
    tree, square = Closure(), Closure()
    tree.build([words(shuffled([(x // 2, x) for x in range(1, 500)], 500))])
    assert reach_room(tree) <= 3 * 500
    across = [(30 * x + y, 30 * x + y + 1) for x in range(30) for y in range(29)]
    square.build(
        [words(shuffled([*across, *((30 * x + y, 30 * x + y + 30) for x in range(29) for y in range(30))], 900))]
    )
    assert reach_room(square) <= 900 * (2 * 30 + 1)
    assert len(square) == (30 * 31 // 2) ** 2 - 900


def test_no_reach_set_takes_more_room_than_its_numbers() -> None:
    rng = random.Random(FIRST_SEED)
    edges = [(rng.randrange(300), 300 + rng.randrange(300)) for _ in range(2_000)]
    closure = Closure()
    closure.build([words(edges)])
    assert reach_room(closure) <= len(closure) + 300


def test_pairs_of_a_change_do_not_change_when_the_closure_does() -> None:
    """Few pairs are written before the next change, of many only the members of components are kept."""
    closure = Closure()
    closure.build([words(pairwise(range(200)))])
    died, _, _ = closure.change(words([(100, 101)]), words([]), UPDATE)
    few, none, _ = closure.change(words([(198, 199)]), words([]), UPDATE)
    closure.change(words([]), words([(150, 120), (90, 60), (100, 101)]), UPDATE)
    closure.change(words([]), words([(199, 0)]), UPDATE)
    assert rows(died) == {(x, y) for x in range(101) for y in range(101, 200)}
    assert rows(few) == {(x, 199) for x in range(101, 199)}
    assert rows(none) == set()


def test_components_that_come_apart_and_join_in_one_change() -> None:
    """A circle of six becomes two of three, and one of its nodes leaves."""
    closure = Closure()
    closure.build([words([*((x, (x + 1) % 6) for x in range(6)), (9, 0), (5, 8)])])
    before = held(closure)
    gone, came = [(2, 3), (5, 0), (5, 8)], [(2, 0), (5, 3), (7, 7)]
    died, born, _ = closure.change(words(gone), words(came), UPDATE)
    after = reachable([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (9, 0), (7, 7)])
    assert held(closure) == after
    assert (rows(died), rows(born)) == (before - after, after - before)
    assert numpy.array_equal(died.words(), died.words())
