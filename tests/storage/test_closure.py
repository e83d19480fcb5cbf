"""`Closure`: what each change of the edges does to the pairs, with results written by hand and against a plain search.

Graphs are written as words of two digits: "12 23" are the edges (1, 2) and (2, 3).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy.typing import NDArray

from tests.depth import cases
from tests.suite import FIRST_SEED, chunks
from tidelog.errors import LimitError, Problem
from tidelog.storage import closure as module
from tidelog.storage.catalog import Catalog
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.closure import Closure

Pair = tuple[int, int]
INT64 = numpy.dtype(numpy.int64)
UPDATE, REBUILD = 1e9, 0.0
"""Seconds that an update may take."""


def pairs(text: str) -> set[Pair]:
    return {(int(word[0]), int(word[1])) for word in text.split()}


def words(edges: Iterable[Pair]) -> NDArray[numpy.int64]:
    return numpy.array(list(edges), numpy.int64).reshape(-1, 2)


def edges_of(text: str) -> NDArray[numpy.int64]:
    """Edges in the order of the text, as often as they are there."""
    return words((int(word[0]), int(word[1])) for word in text.split())


def closed(text: str = "", symmetric: bool = False, irreflexive: bool = False) -> Closure:
    closure = Closure(symmetric, irreflexive)
    closure.build([edges_of(text)])
    return closure


def held(closure: Closure) -> set[Pair]:
    """The pairs of a closure, each once, as many as it says."""
    found = [(x, y) for batch in closure.batches(INT64) for x, y in batch.tolist()]
    assert len(found) == len(set(found)) == len(closure)
    return set(found)


def change(closure: Closure, gone: str = "", came: str = "", seconds: float = UPDATE) -> tuple[set[Pair], set[Pair]]:
    """The pairs that died and that were born; the closure holds what it held and that difference."""
    before = held(closure)
    died, born, rebuilt = closure.change(edges_of(gone), edges_of(came), seconds)
    assert rebuilt == (seconds == REBUILD and bool(gone or came))
    lost, won = ({(x, y) for x, y in rows.words().tolist()} for rows in (died, born))
    assert (len(lost), len(won)) == (len(died), len(born))
    assert held(closure) == before - lost | won
    assert lost <= before
    assert not won & before
    return lost, won


EITHER = pytest.mark.parametrize("seconds", [UPDATE, REBUILD], ids=["update", "rebuild"])


# --- edges that come -------------------------------------------------------------------------------------------------


def test_an_empty_closure() -> None:
    closure = closed()
    assert held(closure) == set()
    assert not closure.has((1, 2))
    assert closure.lengths(edges_of("")).tolist() == []
    assert change(closure) == (set(), set())


def test_build_finds_all_ways() -> None:
    assert held(closed("12 23 34")) == pairs("12 13 14 23 24 34")
    assert held(closed("12 23 31 34")) == pairs("11 12 13 14 21 22 23 24 31 32 33 34")


@pytest.mark.parametrize("spread", [1, 10**12])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_closure_built_at_once_is_that_of_edges_one_by_one(symmetric: bool, spread: int) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(20)):
        rng = random.Random(f"built {seed}")
        edges = [(rng.randrange(-4, 8) * spread, rng.randrange(-4, 8) * spread) for _ in range(rng.randint(0, 16))]
        whole, grown = Closure(symmetric), Closure(symmetric)
        whole.build([words(edges[:5]), words(edges[5:])])
        for edge in edges:
            grown.change(words([]), words([edge]), UPDATE)
        assert held(whole) == held(grown), seed
        for edge in rng.sample(edges, len(edges) // 2):
            for closure in (whole, grown):
                closure.change(words([edge]), words([]), UPDATE)
            assert held(whole) == held(grown), seed


@EITHER
def test_an_edge_joins_what_lies_before_it_with_what_lies_behind(seconds: float) -> None:
    assert change(closed("12 34"), came="23", seconds=seconds) == (set(), pairs("13 14 23 24"))


@EITHER
def test_an_edge_beside_another_way_adds_nothing(seconds: float) -> None:
    assert change(closed("12 23"), came="13", seconds=seconds) == (set(), set())


@EITHER
def test_an_edge_inside_of_a_component_adds_nothing(seconds: float) -> None:
    assert change(closed("12 23 31"), came="21", seconds=seconds) == (set(), set())


@EITHER
def test_components_merge_through_a_cycle(seconds: float) -> None:
    closure = closed("12 21 23 34 43 45 06")
    lost, won = change(closure, came="41", seconds=seconds)
    assert (lost, won) == (set(), pairs("31 32 41 42"))
    assert held(closure) == {(x, y) for x in (1, 2, 3, 4) for y in (1, 2, 3, 4, 5)} | pairs("06")


@EITHER
def test_single_nodes_of_a_new_cycle_reach_themselves(seconds: float) -> None:
    assert change(closed("12 23"), came="31", seconds=seconds) == (set(), pairs("11 21 22 31 32 33"))


@EITHER
def test_nodes_before_and_behind_a_new_cycle(seconds: float) -> None:
    closure = closed("01 12 29 89")
    assert change(closure, came="21", seconds=seconds) == (set(), pairs("11 21 22"))
    assert change(closure, came="90", seconds=seconds)[1] == pairs("00 10 20 90 91 92 99 80 81 82")


# --- edges that go ---------------------------------------------------------------------------------------------------


@EITHER
def test_the_only_way_goes(seconds: float) -> None:
    assert change(closed("12 23 34"), gone="23", seconds=seconds) == (pairs("13 14 23 24"), set())


@EITHER
def test_one_of_two_ways_goes(seconds: float) -> None:
    closure = closed("12 13 24 34 45")
    assert change(closure, gone="24", seconds=seconds) == (pairs("24 25"), set())
    assert change(closure, gone="13", seconds=seconds) == (pairs("13 14 15"), set())


@EITHER
def test_a_shortcut_goes(seconds: float) -> None:
    assert change(closed("12 23 13"), gone="13", seconds=seconds) == (set(), set())


@EITHER
def test_what_lies_far_before_loses_its_pairs_too(seconds: float) -> None:
    closure = closed("01 12 23 34 14")
    assert change(closure, gone="34", seconds=seconds) == (pairs("24 34"), set())
    assert change(closure, gone="14", seconds=seconds) == (pairs("04 14"), set())


@EITHER
def test_an_edge_inside_of_a_component_goes_and_nothing_else(seconds: float) -> None:
    assert change(closed("12 21 23 31"), gone="21", seconds=seconds) == (set(), set())


@EITHER
def test_a_component_parts_in_two(seconds: float) -> None:
    closure = closed("12 21 23 34 43 32")
    assert change(closure, gone="32", seconds=seconds) == (pairs("31 32 41 42"), set())


@EITHER
def test_a_component_parts_in_three(seconds: float) -> None:
    closure = closed("12 21 23 34 43 45 56 65 61 07 01 68")
    lost, won = change(closure, gone="61", seconds=seconds)
    assert won == set()
    assert lost == pairs("31 32 41 42 51 52 53 54 61 62 63 64")


@EITHER
def test_a_cycle_parts_into_single_nodes(seconds: float) -> None:
    closure = closed("01 12 23 31 34")
    assert change(closure, gone="23", seconds=seconds) == (pairs("03 04 11 13 14 21 22 23 24 33"), set())


@EITHER
def test_a_node_leaves_a_component(seconds: float) -> None:
    closure = closed("12 21 23 32 04")
    assert change(closure, gone="32", seconds=seconds) == (pairs("31 32 33"), set())
    assert change(closure, gone="21", seconds=seconds) == (pairs("11 21 22"), set())


# --- loops, directions, numbers --------------------------------------------------------------------------------------


@EITHER
def test_a_loop_is_a_pair_unless_there_is_a_cycle(seconds: float) -> None:
    closure = closed("12")
    assert change(closure, came="11", seconds=seconds) == (set(), pairs("11"))
    assert change(closure, came="21", seconds=seconds) == (set(), pairs("21 22"))
    assert change(closure, gone="11", seconds=seconds) == (set(), set())
    assert change(closure, came="11", gone="21", seconds=seconds) == (pairs("21 22"), set())
    assert change(closure, gone="11", seconds=seconds) == (pairs("11"), set())


@EITHER
def test_an_irreflexive_closure_has_loops_only_where_they_are_edges(seconds: float) -> None:
    closure = closed("12 21", irreflexive=True)
    assert held(closure) == pairs("12 21")
    assert change(closure, came="11", seconds=seconds) == (set(), pairs("11"))
    assert change(closure, came="23 32", seconds=seconds) == (set(), pairs("13 23 31 32"))
    assert change(closure, gone="11", seconds=seconds) == (pairs("11"), set())
    assert change(closure, gone="12", seconds=seconds) == (pairs("12 13"), set())


@EITHER
def test_edges_of_a_symmetric_closure_lead_both_ways(seconds: float) -> None:
    closure = closed("12 32", symmetric=True)
    assert held(closure) == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)}
    assert change(closure, gone="32", seconds=seconds) == (pairs("13 23 31 32 33"), set())
    assert change(closure, came="21", seconds=seconds) == (set(), set())
    assert change(closure, gone="12", seconds=seconds) == (set(), set())
    assert change(closure, gone="21", seconds=seconds) == (pairs("11 12 21 22"), set())


@EITHER
def test_a_symmetric_and_irreflexive_closure(seconds: float) -> None:
    closure = closed("12", symmetric=True, irreflexive=True)
    assert held(closure) == pairs("12 21")
    assert change(closure, came="22 23", seconds=seconds) == (set(), pairs("22 23 32 13 31"))
    assert change(closure, gone="12", seconds=seconds) == (pairs("12 21 13 31"), set())


@EITHER
def test_an_edge_that_is_there_twice_goes_twice(seconds: float) -> None:
    closure = closed("12 12 33 33")
    assert change(closure, gone="12 33", seconds=seconds) == (set(), set())
    assert change(closure, gone="12 33", seconds=seconds) == (pairs("12 33"), set())


@EITHER
def test_what_dies_and_comes_back_in_one_change_has_not_changed(seconds: float) -> None:
    closure = closed("12 23 34")
    assert change(closure, gone="23", came="24 63", seconds=seconds) == (pairs("13 23"), pairs("63 64"))
    assert change(closure, gone="24", came="24", seconds=seconds) == (set(), set())


def test_new_nodes_in_every_change() -> None:
    closure = Closure()
    for last in range(1, 200):
        died, born, _ = closure.change(words([]), words([(last - 1, last)]), UPDATE)
        assert not len(died)
        assert {(x, y) for x, y in born.words().tolist()} == {(x, last) for x in range(last)}
    assert len(closure) == 199 * 200 // 2


def test_nodes_are_words_of_64_bits() -> None:
    closure = Closure()
    closure.build([words([(-(2**63), 2**63 - 1)]), words([(2**63 - 1, -7)])])
    assert held(closure) == {(-(2**63), 2**63 - 1), (2**63 - 1, -7), (-(2**63), -7)}
    assert closure.has((-(2**63), -7))


# --- building anew ---------------------------------------------------------------------------------------------------


def test_a_change_that_runs_out_of_time_is_finished_by_building_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stops at every number of chunks in turn, among deletions and among insertions."""
    monkeypatch.setattr(module, "_AT_ONCE", 0)
    start, gone, came = "12 23 34 41 45 56 67", "34 56 12", "17 73 31 58"
    expected = closed("23 41 45 67 17 73 31 58")
    before = held(closed(start))
    rebuilds = []
    for number in range(9):
        closure = closed(start)
        times = iter([0.0] * (number + 1) + [1.0] * 20)
        with monkeypatch.context() as patch:
            patch.setattr(time, "thread_time", lambda times=times: next(times))
            died, born, rebuilt = closure.change(edges_of(gone), edges_of(came), 0.5)
        rebuilds.append(rebuilt)
        assert held(closure) == held(expected)
        assert {(x, y) for x, y in died.words().tolist()} == before - held(expected)
        assert {(x, y) for x, y in born.words().tolist()} == held(expected) - before
    assert rebuilds[0]
    assert not rebuilds[-1]
    assert 4 < sum(rebuilds) < 9


def test_limits_are_looked_at_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 0)

    def look(pairs: int) -> None:
        looks.append(pairs)
        if len(looks) == 3:
            raise LimitError(Problem("E0502", "a limit of the test"))

    looks: list[int] = []
    with pytest.raises(LimitError):
        closed("12").change(edges_of(""), edges_of("23 34 45 56"), UPDATE, look)
    assert looks == [2, 3, 4]
    looks = []
    with pytest.raises(LimitError):
        Closure().build([edges_of("12 23 34 45")], look)
    assert looks == [0, 0, 0]  # What is read at the start has not been derived.


def test_memory_stays_level_while_edges_come_and_go() -> None:
    rng = random.Random(FIRST_SEED)
    edges = [(rng.randrange(150), rng.randrange(150)) for _ in range(300)]
    closure = Closure()
    closure.build([words(edges)])
    sizes = []
    for _ in range(120):
        gone, edges = edges[:40], edges[40:]
        came = [(rng.randrange(150), rng.randrange(150)) for _ in range(40)]
        edges += came
        closure.change(words(gone), words(came), UPDATE)
        sizes.append(closure.bytes())
    assert max(sizes[60:]) <= 1.5 * max(sizes[:60])
    assert held(closure) == reachable(edges)


@pytest.mark.parametrize(("symmetric", "irreflexive"), [(False, False), (True, False), (True, True)])
def test_memory_stays_level_while_nodes_come_and_go(symmetric: bool, irreflexive: bool) -> None:
    rng = random.Random(FIRST_SEED)
    closure = Closure(symmetric, irreflexive)
    edges: list[Pair] = []
    sizes: list[int] = []
    for first in range(0, 6_000, 3):
        gone, edges = edges[:-40], edges[-40:]
        came = [(first + rng.randrange(6), first + rng.randrange(6)) for _ in range(3)]
        edges += came
        closure.change(words(gone), words(came), UPDATE)
        sizes.append(closure.bytes())
    assert max(sizes[1_000:]) <= 1.5 * max(sizes[:1_000])
    assert held(closure) == reachable(edges, symmetric, irreflexive)
    assert len(closure) == len(held(closure))


# --- reading ---------------------------------------------------------------------------------------------------------


def test_batches_are_cut_between_first_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", 3)
    closure = closed("12 13 14 15 23 67")
    batches = [batch.tolist() for batch in closure.batches(numpy.dtype(numpy.int32))]
    assert [len(batch) for batch in batches] == [4, 2]
    assert sorted((x, y) for batch in batches for x, y in batch) == sorted(pairs("12 13 14 15 23 67"))
    assert len(list(closure.batches(INT64, 1))) == 1


def test_has_knows_pairs_and_nothing_else() -> None:
    closure = closed("12 23 31 34 55")
    for x in range(8):
        for y in range(8):
            assert closure.has((x, y)) == ((x, y) in held(closure))


def test_lengths_are_those_of_shortest_ways() -> None:
    closure = closed("12 23 34 14 43 55 51 15")
    rows = "12 13 14 23 24 33 34 55 53 11 15"
    assert closure.lengths(edges_of(rows)).tolist() == [1, 2, 1, 1, 2, 2, 1, 1, 3, 2, 1]


def test_lengths_after_a_change() -> None:
    closure = closed("12 23 34 14")
    closure.change(edges_of("14"), edges_of("42"), UPDATE)
    assert closure.lengths(edges_of("14 22 44 43")).tolist() == [3, 3, 3, 2]


def test_a_relation_without_rows_shows_them_and_writes_them() -> None:
    relation = ClosedRelation(Catalog(32), closed("12 23"))
    assert len(relation) == 3
    assert relation.has((1, 3))
    assert not relation.has((3, 1))
    assert relation.words().dtype == numpy.int32
    assert {tuple(row) for row in relation.words().tolist()} == pairs("12 13 23")
    assert len(relation.words(2)) == 2
    assert relation.bytes() > 0
    written = relation.write()
    assert len(written) == written.rows == 3
    assert (written.find(edges_of("12 23 13")) >= 0).all()


@pytest.mark.parametrize(("symmetric", "irreflexive"), [(False, False), (False, True), (True, True)])
def test_rows_near_a_node(symmetric: bool, irreflexive: bool) -> None:
    """Those that begin or end there, whatever was asked for before."""
    text = "12 23 31 34 45 54 66 07 78 89"
    closure = closed(text, symmetric, irreflexive)
    relation, view = ClosedRelation(Catalog(64), closure), reachable(pairs(text), symmetric, irreflexive)
    for node in (9, 0, 4, 1, 6, 2, 8, 5, 3, 7):
        for column in (1, 0):
            near = [(x, y) for x, y in relation.near({column: node}).tolist()]
            assert sorted(near) == sorted(row for row in view if row[column] == node)
    assert relation.near({1: 77}).tolist() == []


# --- random changes against a plain search ---------------------------------------------------------------------------


def reachable(edges: Iterable[Pair], symmetric: bool = False, irreflexive: bool = False) -> set[Pair]:
    """The closure by a search from every node."""
    every = {*edges, *((y, x) for x, y in edges)} if symmetric else set(edges)
    behind: dict[int, set[int]] = {}
    for x, y in every:
        behind.setdefault(x, set()).add(y)
    found = set()
    for start, waiting in behind.items():
        seen, waiting = set(waiting), set(waiting)
        while waiting:
            new = behind.get(waiting.pop(), set()) - seen
            seen |= new
            waiting |= new
        found |= {(start, node) for node in seen}
    return {(x, y) for x, y in found if x != y or not irreflexive or (x, x) in every}


@dataclass(frozen=True)
class Sizes:
    """Of random graphs: how many nodes, edges to begin with, and edges in a change."""

    nodes: tuple[int, ...]
    edges: tuple[float, ...]
    changes: int


SMALL = Sizes((3, 5, 8, 14), (0.5, 1.0, 2.0), 4)
"""Edges are given as so many for each node."""
LARGE = Sizes((70, 150), (0.7, 1.0, 1.3), 12)


def follow(seed: int, sizes: Sizes, epochs: int) -> None:
    """Random changes, updated or rebuilt: pairs, differences, lengths and probes are right after each."""
    rng = random.Random(seed)
    options: dict[str, Any] = {"symmetric": rng.random() < 0.3, "irreflexive": rng.random() < 0.4}
    nodes = rng.choice(sizes.nodes)
    forward = rng.random() < 0.3  # so that there are no cycles

    def edge() -> Pair:
        x, y = rng.randrange(nodes), rng.randrange(nodes)
        return (min(x, y), max(x, y)) if forward else (x, y)

    closure = Closure(**options)
    edges = [edge() for _ in range(int(nodes * rng.choice(sizes.edges)))]
    closure.build([words(edges)])
    view = reachable(edges, **options)
    ways = (UPDATE,) if rng.random() < 0.5 else (UPDATE, REBUILD)
    for _ in range(epochs):
        assert held(closure) == view, seed
        for x, y in [edge() for _ in range(4)]:
            assert closure.has((x, y)) == ((x, y) in view), seed
        gone = rng.sample(edges, rng.randint(0, min(len(edges), sizes.changes)))
        came = [edge() for _ in range(rng.randint(0, sizes.changes))]
        for each in gone:
            edges.remove(each)
        edges += came
        died, born, _ = closure.change(words(gone), words(came), rng.choice(ways))
        before, view = view, reachable(edges, **options)
        assert sorted(map(tuple, died.words().tolist())) == sorted(before - view), seed
        assert sorted(map(tuple, born.words().tolist())) == sorted(view - before), seed
    rows = sorted(view)
    lengths = distances(edges, options["symmetric"])
    assert closure.lengths(words(rows)).tolist() == [lengths[row] for row in rows], seed


def distances(edges: Iterable[Pair], symmetric: bool) -> dict[Pair, int]:
    """The lengths of shortest ways, by a search in breadth."""
    every = {*edges, *((y, x) for x, y in edges)} if symmetric else set(edges)
    behind: dict[int, set[int]] = {}
    for x, y in every:
        behind.setdefault(x, set()).add(y)
    found = {}
    for start, layer in behind.items():
        seen: dict[int, int] = {}
        length = 1
        while layer:
            seen |= dict.fromkeys(layer, length)
            layer = {node for each in layer for node in behind.get(each, ())} - seen.keys()
            length += 1
        found.update({(start, node): far for node, far in seen.items()})
    return found


@pytest.mark.parametrize("seeds", chunks(FIRST_SEED, 150, 25))
def test_random_changes(seeds: range) -> None:
    for seed in seeds:
        follow(seed, SMALL, 10)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(5)))
def test_random_changes_of_larger_graphs(seed: int) -> None:
    follow(seed, LARGE, 5)


def test_random_changes_without_compilation() -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.storage.test_closure import LARGE, SMALL, follow
for seed in range({FIRST_SEED}, {FIRST_SEED} + {cases(15)}):
    follow(seed, SMALL, 6)
for seed in range({FIRST_SEED}, {FIRST_SEED} + {cases(1)}):
    follow(seed, LARGE, 3)
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", program], env=environment, check=True)
