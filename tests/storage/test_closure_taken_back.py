"""Changes of a closure that are stopped at one look of the kernels after the other, and taken back."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy
import pytest

from tests.storage.test_closure import REBUILD, UPDATE, Pair, held, reachable, words
from tests.storage.test_closure_sieve import FAN, HUB
from tests.suite import FIRST_SEED
from tidelog.common.arrays import AnyWords
from tidelog.kernels.layout import FAMILIES, GIVEN_UP, NOTED, USED
from tidelog.storage import closure as module
from tidelog.storage.closure import Closure
from tidelog.storage.memory import Stop


class StoppedError(Exception):
    """The error that a limit raises here."""


def no_edges() -> list[AnyWords]:
    raise AssertionError("taking back asks for the edges")


def stop_after(
    closure: Closure, looks: int, gone: Sequence[Pair], came: Sequence[Pair], seconds: float = UPDATE
) -> tuple[set[Pair], set[Pair]]:
    """Change a closure until kernels have looked so often; the differences, if they never look that often."""
    stop = Stop()
    stop.give(looks)

    def look(pairs: int) -> None:
        if stop.is_given:
            assert stop.looks < looks + 20, "kernels went on"
            raise StoppedError

    died, born, _ = closure.change(words(gone), words(came), seconds, look, stop)
    return {(x, y) for x, y in died.words().tolist()}, {(x, y) for x, y in born.words().tolist()}


def check_room(closure: Closure) -> None:
    """Nothing is noted any more, and the pool is the room of all lists and what was given up."""
    assert closure._used[NOTED] == 0
    assert not closure._lists[FAMILIES:, :, 2].any()
    assert closure._lists[:FAMILIES, :, 2].sum() + closure._used[GIVEN_UP] == closure._used[USED]


def stop_everywhere(closure: Closure, gone: Sequence[Pair], came: Sequence[Pair], seconds: float = UPDATE) -> int:
    """Take a change back at every look and once it is complete, and make it at last; how often it was stopped."""
    before = held(closure)
    for looks in range(1, 5_000):
        try:
            died, born = stop_after(closure, looks, gone, came, seconds)
        except StoppedError:
            closure.take_back(no_edges)
            assert held(closure) == before, looks
            check_room(closure)
            continue
        after = held(closure)
        assert (died, born) == (before - after, after - before)
        closure.take_back(no_edges)
        assert held(closure) == before
        check_room(closure)
        assert stop_after(closure, 10**9, gone, came, seconds) == (died, born)
        assert held(closure) == after
        closure.keep()
        check_room(closure)
        return looks - 1
    raise AssertionError("it never ends")


@pytest.mark.parametrize("seconds", [UPDATE, REBUILD])
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 6))
def test_random_changes(seed: int, seconds: float) -> None:
    rng = random.Random(seed)
    symmetric, irreflexive = rng.random() < 0.3, rng.random() < 0.4
    closure, stops = Closure(symmetric, irreflexive), 0
    edges: list[Pair] = []
    closure.build([words([])])
    for _ in range(6):
        gone = rng.sample(edges, rng.randint(0, min(len(edges), 4)))
        came = [(rng.randrange(16), rng.randrange(16)) for _ in range(rng.randint(0, 8))]
        for edge in gone:
            edges.remove(edge)
        edges += came
        stops += stop_everywhere(closure, gone, came, seconds)
        assert held(closure) == reachable(edges, symmetric, irreflexive)
    assert stops > 20


CHAIN = [(x, x + 1) for x in range(60)]


@pytest.mark.parametrize(
    ("gone", "came", "least"),
    [
        ([(30, 31)], [], 31),  # one look for each node before the cut
        ([], [(60, 0)], 61),  # one circle of all
        ([], [(60, 70), (80, 0)], 60),
    ],
)
def test_one_edge_looks_as_often_as_components_change(gone: list[Pair], came: list[Pair], least: int) -> None:
    closure = Closure()
    closure.build([words(CHAIN)])
    assert stop_everywhere(closure, gone, came) >= least


def test_a_circle_that_comes_apart() -> None:
    closure = Closure()
    closure.build([words([*CHAIN, (60, 0)])])
    assert stop_everywhere(closure, [(30, 31)], []) >= 61


@pytest.mark.parametrize("nodes", [3, 3_000])
def test_many_nodes_of_one_component_with_as_many_of_another(nodes: int) -> None:
    """An edge between two circles gives the product of their nodes, which is one run until somebody reads it."""
    first, second = ([*((x, x + 1) for x in range(at, at + nodes - 1)), (at + nodes - 1, at)] for at in (0, 10_000))
    closure, stop = Closure(), Stop()
    closure.build([words([*first, *second])])
    size = len(closure)
    died, born, _ = closure.change(words([]), words([(0, 10_000)]), UPDATE, stop=stop)
    assert (len(died), len(born)) == (0, nodes * nodes)
    assert {(x // 10_000, y // 10_000) for x, y in born.words()[::nodes].tolist()} == {(0, 1)}
    closure.take_back(no_edges)
    assert len(closure) == size
    check_room(closure)


def test_a_component_whose_members_are_searched() -> None:
    """The search for another way, and that for the components, look as well."""
    closure, stop = Closure(), Stop()
    closure.build([words([(x, (x + 1) % 5_000) for x in range(5_000)])], stop=stop)
    assert stop.looks > 4
    looks = stop.looks
    stop.give(looks + 1)
    closure.change(words([(7, 8)]), words([]), UPDATE, stop=stop)
    assert stop.is_given
    closure.take_back(no_edges)
    assert len(closure) == 5_000 * 5_000
    check_room(closure)


def test_the_search_for_another_way_looks() -> None:
    """On a ring that can be gone round both ways, the other way is the whole ring."""
    ring = [(x, (x + 1) % 9_000) for x in range(9_000)]
    closure, stop = Closure(), Stop()
    closure.build([words([*ring, *((y, x) for x, y in ring)])])
    died, born, _ = closure.change(words([(7, 8)]), words([]), UPDATE, stop=stop)
    assert (len(died), len(born)) == (0, 0)
    assert stop.looks > 8


def test_one_of_many_leaves() -> None:
    """What is lost is little against the reach sets, which are not formed anew but sieved."""
    closure = Closure()
    closure.build([words(FAN)])
    assert stop_everywhere(closure, [(HUB, 150)], []) > 4


def test_memory_that_runs_out_in_a_kernel_makes_it_be_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    closure = Closure()
    closure.build([words(CHAIN)])

    def fails(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(module, "until_look", fails)
        with pytest.raises(MemoryError):
            closure.change(words([(30, 31)]), words([]), UPDATE)
    closure.take_back(lambda: [words(CHAIN)])
    closure.restore()
    assert held(closure) == reachable(CHAIN)


def test_nodes_that_are_numbered_anew_keep_their_pairs() -> None:
    """A chain of 700 nodes goes when another with a circle and a loop comes, so that few nodes have edges."""
    first = [(x, x + 1) for x in range(700)]
    second = [*((x, x + 1) for x in range(1_000, 1_500)), (1_450, 1_400), (1_500, 1_500)]
    closure = Closure()
    closure.change(words([]), words(first), REBUILD)
    closure.change(words(first), words(second), REBUILD)
    assert closure.nodes == 1_202
    before = held(closure)
    closure.change(words([(1_250, 1_251)]), words([(5, 1_480)]), UPDATE)
    assert closure.nodes == 502
    after = held(closure)
    assert after == reachable({*second, (5, 1_480)} - {(1_250, 1_251)})
    closure.take_back(no_edges)
    assert held(closure) == before
    check_room(closure)
    closure.change(words([(1_250, 1_251)]), words([(5, 1_480)]), UPDATE)
    assert held(closure) == after


@pytest.mark.parametrize("seconds", [UPDATE, REBUILD])
def test_a_change_makes_the_one_before_it_last(seconds: float) -> None:
    closure = Closure()
    closure.build([words(CHAIN)])
    closure.change(words([(10, 11)]), words([(40, 20)]), seconds)
    between = held(closure)
    closure.change(words([(30, 31)]), words([(60, 0)]), seconds)
    closure.take_back(no_edges)
    assert held(closure) == between
    check_room(closure)
    closure.take_back(no_edges)  # once is enough
    assert held(closure) == between


def test_words_of_a_stop() -> None:
    stop = Stop()
    assert (stop.looks, stop.is_given) == (0, False)
    stop.give(1)
    early = stop.is_given
    stop.give()
    assert (early, stop.is_given) == (False, True)
    assert isinstance(stop.looks, int)
    assert numpy.int64(stop.address) == stop.address
