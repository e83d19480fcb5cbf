"""The state of Bootstrap and Update on small programs, worked out by hand from the paper's algorithms."""

from __future__ import annotations

from papers.elastic import Elastic
from tests.suite import Facts, compiled

POINTS_TO = """
.decl new(v: symbol, l: symbol)
.decl assign(v: symbol, w: symbol)
.decl store(y: symbol, f: symbol, w: symbol)
.decl load(v: symbol, x: symbol, f: symbol)
.decl vpt(v: symbol, l: symbol)
.decl alias(v: symbol, w: symbol)
r1: vpt(v, l) :- new(v, l).
r2: vpt(v, l) :- assign(v, w), vpt(w, l).
r3: vpt(v, l) :- load(v, x, f), store(y, f, w), vpt(w, l), vpt(x, m), vpt(y, m).
r4: alias(v, w) :- vpt(v, l), vpt(w, l), v != w.
"""
RUNNING_EXAMPLE: Facts = {
    "new": {("a", "L1"), ("c", "L3"), ("d", "L4")},
    "assign": {("a", "b"), ("b", "a")},
    "store": {("c", "f", "a")},
    "load": {("e", "d", "f"), ("b", "c", "f")},
}

EDGES = ".decl e(x: number, y: number)\n.decl p(x: number, y: number)\np(x, y) :- e(x, y). "
LINEAR = EDGES + "p(x, z) :- p(x, y), e(y, z)."


def test_bootstrap_of_the_running_example_gives_the_multisets_of_section_3_1() -> None:
    engine = Elastic(compiled(POINTS_TO), RUNNING_EXAMPLE)
    assert engine.numbers("vpt") == {("a", "L1"): (1, 1), ("c", "L3"): (1, 1), ("d", "L4"): (1, 1), ("b", "L1"): (2, 2)}
    assert engine.numbers("alias") == {("a", "b"): (1, 1), ("b", "a"): (1, 1)}


def test_update_takes_the_lost_derivation_from_the_count() -> None:
    engine = Elastic(compiled(POINTS_TO), RUNNING_EXAMPLE)
    start = engine.visited
    engine.epoch({}, {"load": {("b", "c", "f")}})
    assert engine.numbers("vpt")["b", "L1"] == (2, 1)
    assert engine.visited - start == 1, "the one derivation by r3"
    engine.epoch({}, {"load": {("e", "d", "f")}, "new": {("a", "L1")}})
    assert engine.views["vpt"] == {("c", "L3"), ("d", "L4")}, "assign(a, b) and assign(b, a) do not hold each other up"
    assert engine.views["alias"] == set()


def test_a_shorter_derivation_moves_a_tuple_to_an_earlier_iteration() -> None:
    engine = Elastic(compiled(LINEAR), {"e": {(1, 2), (2, 3), (3, 4)}})
    assert engine.numbers("p")[1, 4] == (3, 1)
    engine.epoch({"e": {(1, 3)}}, {})
    assert engine.numbers("p")[1, 3] == (1, 1), "the derivation of iteration 2 is no longer counted: sparsification"
    assert engine.numbers("p")[1, 4] == (2, 1)


def test_re_discovery_finds_the_longer_derivation() -> None:
    engine = Elastic(compiled(LINEAR), {"e": {(1, 2), (2, 3), (1, 3), (3, 4)}})
    engine.epoch({}, {"e": {(1, 3)}})
    assert engine.numbers("p")[1, 3] == (2, 1)
    assert engine.numbers("p")[1, 4] == (3, 1)


def test_a_fact_of_a_derived_relation_is_of_iteration_0() -> None:
    engine = Elastic(compiled(LINEAR), {"e": {(1, 2)}, "p": {(1, 2), (7, 1)}})
    assert engine.numbers("p") == {(1, 2): (0, 1), (7, 1): (0, 1), (7, 2): (1, 1)}
    engine.epoch({}, {"p": {(1, 2), (7, 1)}})
    assert engine.numbers("p") == {(1, 2): (1, 1)}


REACHED = """
.decl a(x: number)
.decl s(x: number, y: number)
.decl n(x: number)
.decl p(x: number)
p(x) :- a(x).
p(x) :- s(x, y), p(y), !n(x).
"""


def test_what_a_new_tuple_denies_is_not_re_discovered() -> None:
    engine = Elastic(compiled(REACHED), {"a": {(1,), (2,)}, "s": {(1, 2)}})
    engine.epoch({"n": {(1,)}}, {"a": {(1,)}})
    assert engine.numbers("p") == {(2,): (1, 1)}


def test_what_a_lost_tuple_permits_is_counted_once() -> None:
    engine = Elastic(compiled(REACHED), {"a": {(1,), (2,)}, "s": {(1, 2)}, "n": {(1,)}})
    engine.epoch({}, {"a": {(1,)}, "n": {(1,)}})
    assert engine.numbers("p") == {(2,): (1, 1), (1,): (2, 1)}


def test_an_insertion_takes_away_what_it_denies() -> None:
    engine = Elastic(compiled(REACHED), {"a": {(2,)}, "s": {(1, 2), (3, 1)}})
    assert engine.views["p"] == {(1,), (2,), (3,)}
    engine.epoch({"n": {(1,)}}, {})
    assert engine.views["p"] == {(2,)}
    engine.epoch({}, {"n": {(1,)}})
    assert engine.numbers("p") == {(2,): (1, 1), (1,): (2, 1), (3,): (3, 1)}


def test_an_edge_at_the_end_of_a_chain_visits_one_derivation_for_each_tuple() -> None:
    chain = {(i, i + 1) for i in range(20)}
    engine = Elastic(compiled(LINEAR), {"e": chain})
    assert engine.visited == 20 * 21 // 2
    for insert, delete in (({"e": {(20, 21)}}, {}), ({}, {"e": {(20, 21)}})):
        start = engine.visited
        engine.epoch(insert, delete)
        assert engine.visited - start == 21


def test_an_epoch_without_change_visits_nothing() -> None:
    engine = Elastic(compiled(LINEAR), {"e": {(1, 2), (2, 3)}})
    start = engine.visited
    engine.epoch({"e": {(1, 2)}}, {"e": {(5, 6)}})
    assert engine.visited == start


def test_the_switch_gives_up_a_dear_update_and_bootstraps() -> None:
    chain = {(i, i + 1) for i in range(10)}
    engine = Elastic(compiled(LINEAR), {"e": chain}, switch=0.3)
    start = engine.visited
    engine.epoch({}, {"e": {(9, 10)}})
    assert (engine.updates, engine.bootstraps, engine.visited - start) == (1, 1, 10)
    start = engine.visited
    engine.epoch({}, {"e": {(0, 1), (4, 5)}})
    assert (engine.updates, engine.bootstraps) == (1, 2)
    assert engine.visited - start == 17 + 6 + 10, "16.5 are allowed; then chains of 3 and of 4 edges"
    assert engine.views["p"] == {(i, j) for i in range(1, 5) for j in range(i + 1, 5)} | {
        (i, j) for i in range(5, 10) for j in range(i + 1, 10)
    }
