"""Rules with paths on the references and on the engine; automata judge."""

from __future__ import annotations

import random
from collections.abc import Set
from typing import Any

import pytest

from tests.paths.automata import pairs, random_path
from tests.suite import (
    FIRST_SEED,
    Evaluate,
    Views,
    chunks,
    difference,
    evaluate_embedded,
    evaluate_naive,
    evaluate_seminaive,
)

EVALUATORS = {"naive": evaluate_naive, "semi-naive": evaluate_seminaive, "embedded": evaluate_embedded}
EDGES = "".join(f".decl {name}(x: number, y: number)\n" for name in "abc")

PLACES = """
.decl dom(x: number)
.decl all, unrelated, two, swapped(x: number, y: number)
.decl from_one, into_two, loop, begins, stuck(x: number)
.decl reached()
.decl many, most(x: number, n: number)
all(x, y) :- <P>(x, y).
swapped(y, x) :- <P>(x, y), x < 9.
from_one(y) :- <P>(1, y).
into_two(x) :- <P>(x, 1 + 1).
loop(x) :- <P>(x, x).
begins(x) :- <P>(x, _).
reached() :- <P>(0, 3).
two(x, z) :- <P>(x, y), <P>(y, z).
unrelated(x, y) :- dom(x), dom(y), !<P>(x, y).
stuck(x) :- dom(x), !<P>(x, _).
many(x, n) :- dom(x), n = count : { <P>(x, _) }.
most(x, n) :- dom(x), n = max y : { <P>(x, y) ; <P>(y, x), y < 3 }.
"""


def in_all_places(path: Set[tuple[int, int]], domain: set[int]) -> Views:
    """The views of PLACES for a path that connects these pairs."""
    after = {x: {y for other, y in path if other == x} for x in domain}
    found: Views = {
        "all": set(path),
        "swapped": {(y, x) for x, y in path},
        "from_one": {(y,) for x, y in path if x == 1},
        "into_two": {(x,) for x, y in path if y == 2},
        "loop": {(x,) for x, y in path if x == y},
        "begins": {(x,) for x, _ in path},
        "reached": {()} if (0, 3) in path else set(),
        "two": {(x, z) for x, y in path for other, z in path if y == other},
        "unrelated": {(x, y) for x in domain for y in domain if (x, y) not in path},
        "stuck": {(x,) for x in domain if not after[x]},
        "many": {(x, len(after[x])) for x in domain},
    }
    best = {x: after[x] | {y for y, other in path if other == x and y < 3} for x in domain}
    return found | {"most": {(x, max(ys)) for x, ys in best.items() if ys}}


@pytest.mark.parametrize("seeds", chunks(FIRST_SEED, 240, 40))
@pytest.mark.parametrize("evaluate", EVALUATORS.values(), ids=EVALUATORS)
def test_random_paths_everywhere_in_rules(evaluate: Evaluate, seeds: range) -> None:
    for seed in seeds if evaluate is not evaluate_naive else seeds[::4]:
        rng = random.Random(seed)
        path = random_path(rng, "abc")
        graph = {name: {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(7))} for name in "abc"}
        nodes = {value for edges in graph.values() for edge in edges for value in edge}
        domain = set(range(5))
        facts: dict[str, set[tuple[Any, ...]]] = {**graph, "dom": {(x,) for x in domain}}
        found = evaluate(EDGES + PLACES.replace("<P>", f"<{path}>"), facts)
        problem = difference(found, in_all_places(pairs(path, graph, nodes), domain))
        assert not problem, f"seed {seed}, {path}, {graph}\n{problem}"


@pytest.mark.parametrize("seeds", chunks(FIRST_SEED, 240, 40))
@pytest.mark.parametrize("evaluate", EVALUATORS.values(), ids=EVALUATORS)
def test_random_paths_over_derived_relations_and_through_recursion(evaluate: Evaluate, seeds: range) -> None:
    """`d` is derived and has values that no given relation has; `r` is the least relation that holds its own path."""
    for seed in seeds:
        rng = random.Random(seed)
        over_derived, recursive = random_path(rng, "abd"), random_path(rng, "abr", 2)
        graph = {name: {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(6))} for name in "ab"}
        given = {value for edges in graph.values() for edge in edges for value in edge}
        graph["d"] = {(x + 3, y + 3) for x, y in graph["a"]}
        r = set(graph["b"])
        while not r >= (more := pairs(recursive, graph | {"r": r}, given)):
            r |= more
        text = (
            ".decl a, b, d, r, v(x: number, y: number)\n"
            "d(x + 3, y + 3) :- a(x, y).\nr(x, y) :- b(x, y).\n"
            f"r(x, y) :- <{recursive}>(x, y).\nv(x, y) :- <{over_derived}>(x, y)."
        )
        found = evaluate(text, {name: graph[name] for name in "ab"})
        problem = difference(found, {"v": pairs(over_derived, graph, given), "r": r})
        assert not problem, f"seed {seed}\n{text}\n{graph}\n{problem}"


# --- nodes -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=list(EVALUATORS.values()), ids=list(EVALUATORS))
def evaluate(request: pytest.FixtureRequest) -> Evaluate:
    found: Evaluate = request.param
    return found


def test_nodes_are_those_of_all_given_binary_relations(evaluate: Evaluate) -> None:
    text = """
    .decl a, b, derived(x: number, y: number)
    .decl apart(x: number, y: number) no_nodes
    .decl one(x: number)
    .decl three(x: number, y: number, z: number)
    .decl mixed(x: number, y: symbol)
    .decl v(x: number, y: number)
    a(1, 2). b(3, 4). apart(11, 2). one(5). three(6, 6, 6). mixed(7, "seven").
    b(1 + 7, 9).
    derived(x, 10) :- a(x, _).
    v(x, y) :- a*(x, y).
    """
    loops = {(node, node) for node in (1, 2, 3, 4, 7, 8, 9)}
    assert evaluate(text, {})["v"] == loops | {(1, 2)}


def test_nodes_have_the_type_of_the_path(evaluate: Evaluate) -> None:
    text = """
    .type Person <: symbol
    .type City <: symbol
    .type Capital <: City
    .decl lives(x: Person, y: City)
    .decl near(x: City, y: City)
    .decl rules(x: Capital, y: City)
    .decl label(x: symbol, y: Person)
    .decl v, w(x: City, y: City)
    .decl p(x: Person, y: Person)
    lives("ann", "oslo"). near("oslo", "moss"). rules("rome", "ostia"). label("some text", "bob").
    v(x, y) :- near?(x, y).
    w(x, y) :- rules*(x, y).
    p(x, y) :- <(lives/^lives)*>(x, y).
    """
    cities = {(city, city) for city in ("oslo", "moss", "rome", "ostia")}
    found = evaluate(text, {})
    assert found["v"] == cities | {("oslo", "moss")}
    assert found["w"] == cities | {("rome", "ostia")}
    assert found["p"] == {("ann", "ann"), ("bob", "bob")}


def test_nodes_may_be_records(evaluate: Evaluate) -> None:
    text = """
    .type Point = [x: number, y: number]
    .decl step(a: Point, b: Point)
    .decl v(a: Point, b: Point)
    .decl from_origin(b: Point)
    .decl row(n: number)
    step([0, 0], [0, 1]). step([0, 1], [0, 2]). step([5, 5], nil).
    v(a, b) :- step+(a, b).
    from_origin(b) :- step*([0, 0], b).
    row(n) :- step*(nil, nil), step+([_, n], [0, _]).
    """
    found = evaluate(text, {})
    assert found["v"] == {((0, 0), (0, 1)), ((0, 1), (0, 2)), ((0, 0), (0, 2)), ((5, 5), None)}
    assert found["from_origin"] == {((0, 0),), ((0, 1),), ((0, 2),)}
    assert found["row"] == {(0,), (1,)}


def test_paths_between_types(evaluate: Evaluate) -> None:
    text = """
    .decl author(book: symbol, person: symbol)
    .decl year(book: symbol, year: number)
    .decl active(person: symbol, year: number)
    .decl peers(x: number, y: number)
    author("emma", "austen"). year("emma", 1815). author("ulysses", "joyce"). year("ulysses", 1922).
    author("persuasion", "austen"). year("persuasion", 1817).
    active(x, y) :- <^author/year>(x, y).
    peers(x, y) :- <(^year/author/^author/year)+>(x, y), x < y.
    """
    found = evaluate(text, {})
    assert found["active"] == {("austen", 1815), ("austen", 1817), ("joyce", 1922)}
    assert found["peers"] == {(1815, 1817)}


def test_a_sequence_in_an_aggregate_counts_pairs_and_in_a_body_derives_once(evaluate: Evaluate) -> None:
    text = """
    .decl a, v(x: number, y: number)
    .decl n(c: number)
    a(1, 2). a(1, 3). a(2, 4). a(3, 4).
    v(x, y) :- <a/a>(x, y).
    n(c) :- c = count : { <a/a>(_, _) }.
    """
    found = evaluate(text, {})
    assert (found["v"], found["n"]) == ({(1, 4)}, {(1,)})
