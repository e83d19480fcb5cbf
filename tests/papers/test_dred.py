"""Delete and re-derive on small programs, with the derivations that it visits."""

from __future__ import annotations

from papers.dred import DRed
from tests.suite import compiled

EDGES = ".decl e(x: number, y: number)\n.decl f(x: number, y: number)\n.decl p(x: number, y: number)\n"
CLOSURE = EDGES + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."


def test_hops_with_an_alternative_come_back() -> None:
    # Example 1.1 of Gupta, Mumick and Subrahmanian, with a to e as 1 to 5.
    core = compiled(EDGES + "p(x, z) :- e(x, y), e(y, z).")
    engine = DRed(core, {"e": {(1, 2), (2, 3), (2, 5), (1, 4), (4, 3)}})
    assert engine.views["p"] == {(1, 3), (1, 5)}
    start = engine.visited
    engine.epoch({}, {"e": {(1, 2)}})
    assert engine.views["p"] == {(1, 3)}
    assert engine.visited - start == 3, "two lost, and one that brings (1, 3) back"


def test_a_cycle_does_not_hold_itself_up() -> None:
    engine = DRed(compiled(CLOSURE + " p(x, y) :- p(y, x)."), {"e": {(1, 2)}})
    assert engine.views["p"] == {(1, 2), (2, 1), (2, 2)}
    engine.epoch({}, {"e": {(1, 2)}})
    assert engine.views["p"] == set()


def test_an_asserted_fact_of_a_derived_relation_stays() -> None:
    engine = DRed(compiled(CLOSURE), {"e": {(1, 2), (2, 3), (3, 4)}, "p": {(1, 3)}})
    start = engine.visited
    engine.epoch({}, {"e": {(1, 2)}})
    assert engine.views["p"] == {(1, 3), (1, 4), (2, 3), (2, 4), (3, 4)}
    # Lost: p(1, 2), and p(1, 3) by it, which is asserted; p(1, 4), which needs p(1, 3) alone, is not looked at.
    assert engine.visited - start == 2
    engine.epoch({}, {"p": {(1, 3)}})
    assert engine.views["p"] == {(2, 3), (2, 4), (3, 4)}


def test_what_comes_denies_and_what_goes_permits() -> None:
    core = compiled(EDGES + "p(x, y) :- e(x, y), !f(x, _). p(x, z) :- p(x, y), p(y, z).")
    engine = DRed(core, {"e": {(1, 2), (2, 3)}, "f": {(1, 7), (1, 8)}})
    assert engine.views["p"] == {(2, 3)}
    engine.epoch({}, {"f": {(1, 7)}})
    assert engine.views["p"] == {(2, 3)}, "f(1, 8) is still there"
    start = engine.visited
    engine.epoch({}, {"f": {(1, 8)}})
    assert engine.views["p"] == {(1, 2), (2, 3), (1, 3)}
    assert engine.visited - start == 4, "lost: that f(1, _) holds; new: p(1, 2), first as an edge of p, and p(1, 3)"
    engine.epoch({"f": {(2, 9), (2, 8)}}, {})
    assert engine.views["p"] == {(1, 2)}


def test_an_edge_at_the_end_of_a_chain_visits_one_derivation_for_each_tuple() -> None:
    engine = DRed(compiled(CLOSURE), {"e": {(i, i + 1) for i in range(20)}})
    assert engine.visited == 20 * 21 // 2
    for insert, delete in (({"e": {(20, 21)}}, {}), ({}, {"e": {(20, 21)}})):
        start = engine.visited
        engine.epoch(insert, delete)
        assert engine.visited - start == 21


def test_each_derivation_is_visited_once_on_the_way_in_and_on_the_way_out() -> None:
    engine = DRed(compiled(EDGES + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."), {})
    chain = {(i, i + 1) for i in range(5)}
    for insert, delete in (({"e": chain}, {}), ({}, {"e": chain})):
        start = engine.visited
        engine.epoch(insert, delete)
        assert engine.visited - start == 5 + 4 * 1 + 3 * 2 + 2 * 3 + 1 * 4, "each edge, each path at each node inside"


def test_a_derivation_lost_or_won_for_two_reasons_is_visited_once() -> None:
    core = compiled(EDGES + "p(x, y) :- e(x, y), !f(x, y).")
    engine = DRed(core, {"e": {(1, 2)}})
    lost = ({"f": {(1, 2)}}, {"e": {(1, 2)}}, set[tuple[int, int]]())
    won = ({"e": {(1, 2)}}, {"f": {(1, 2)}}, {(1, 2)})
    for insert, delete, expected in (lost, won):
        start = engine.visited
        engine.epoch(insert, delete)
        assert engine.views["p"] == expected
        assert engine.visited - start == 1
