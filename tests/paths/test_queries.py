"""Queries along paths: evaluated when they are asked, and nothing is kept."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.paths.automata import pairs, random_path
from tests.suite import FIRST_SEED

EDGES = ".decl a, b, d, v(x: number, y: number)\n.decl s(from: symbol, to: symbol)\n"


@pytest.fixture
def db() -> tidelog.Database:
    found = tidelog.connect()
    found.load(EDGES + "d(x, y) :- a(x, z), b(z, y).\nv(x, y) :- <(a|b)+>(x, y), y < 9.\n")
    found.insert("a", [(1, 2), (2, 3), (3, 1)])
    found.insert("b", [(3, 4), (7, 8)])
    found.insert("s", [("one", "two"), ("two", "one")])
    found.commit()
    return found


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("a+(1, X)", {(1, 1), (1, 2), (1, 3)}),
        ("a+(X, X).", {(1, 1), (2, 2), (3, 3)}),
        ("^b(8, _)", {(8, 7)}),
        ("<a/b>(X, Y)", {(2, 4)}),
        ("<(a|b)+>(7, Y)", {(7, 8)}),
        ("d?(X, 4)", {(2, 4), (4, 4)}),
        ("b*(8, X)", {(8, 8)}),
        ("<a>(1, X)", {(1, 2)}),
        ("a+(1, 5)", set()),
    ],
)
def test_query_along_a_path(db: tidelog.Database, query: str, answer: set[tuple[int, int]]) -> None:
    assert set(db.query(query)) == answer


def test_random_queries() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + 40):
        rng = random.Random(seed)
        path, other = random_path(rng, "abd"), random_path(rng, "ab")
        graph = {name: {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(1, 7))} for name in "ab"}
        nodes = {value for edges in graph.values() for edge in edges for value in edge}
        db = tidelog.connect()
        db.load(f"{EDGES}d(x, y) :- <{other}>(x, y).\nv(x, y) :- <{path}>(y, x).")
        for name, edges in graph.items():
            db.insert(name, edges)
        db.commit()
        views = {name: len(stored) for name, stored in db.engine.views.items()}
        graph["d"] = pairs(other, graph, nodes)
        for asked in (path, f"({path})+", other, f"({other})?", random_path(rng, "abd")):
            assert set(db.query(f"<{asked}>(X, Y)")) == pairs(asked, graph, nodes), f"seed {seed}, {asked}"
        assert {name: len(stored) for name, stored in db.engine.views.items()} == views


def test_random_queries_with_constants_are_selections() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + 6):
        rng = random.Random(seed)
        path, other = random_path(rng, "abd"), random_path(rng, "ab")
        graph = {name: {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(1, 7))} for name in "ab"}
        db = tidelog.connect()
        db.load(f"{EDGES}d(x, y) :- <{other}>(x, y).\nv(x, y) :- <{path}>(y, x).\nv(x, y) :- <^b+>(x, y).")
        for name, edges in graph.items():
            db.insert(name, edges)
        db.commit()
        for asked in (path, f"^({path})", f"({other})*", "^b+|b", "v+", random_path(rng, "abd")):
            whole = set(db.query(f"<{asked}>(X, Y)"))
            case = f"seed {seed}, {asked}"
            for node in (*range(5), 77):
                assert set(db.query(f"<{asked}>({node}, Y)")) == {(x, y) for x, y in whole if x == node}, case
                assert set(db.query(f"<{asked}>(_, {node})")) == {(x, y) for x, y in whole if y == node}, case
            assert set(db.query(f"<{asked}>(1, 2)")) == whole & {(1, 2)}, case
            assert set(db.query(f"<{asked}>(3, 3)")) == whole & {(3, 3)}, case
            assert set(db.query(f"<{asked}>(X, X)")) == {(x, y) for x, y in whole if x == y}, case


@pytest.mark.parametrize("loaded", ["", "v(x, y) :- <(a|b)+>(x, y)."])
def test_queries_with_constants_search_from_there(loaded: str) -> None:
    length, islands = 2_000, 1_000
    db = tidelog.connect()
    db.load(EDGES + loaded)
    db.insert("a", [(i, i + 1) for i in range(length)])
    db.insert("b", [(10_000 + 10 * i + j, 10_000 + 10 * i + j + 1) for i in range(islands) for j in range(9)])
    db.commit()
    db.options(max_rows=6 * length)  # the nodes that are reached, once for each part of a path; of two million pairs
    assert len(db.query("a+(0, Y)")) == length
    assert len(db.query(f"a*(X, {length})")) == length + 1
    assert len(db.query(f"^a+({length}, Y)")) == length
    assert len(db.query("<(a|b)+/a>(0, Y)")) == length - 1
    db.options(max_rows=80)  # of 9,000 edges and 45,000 pairs
    assert len(db.query("b+(10000, Y)")) == 9
    assert len(db.query("<(a|b)*/b?/^b>(X, 10005)")) == 7
    assert set(db.query("b*(10000, 10009)")) == {(10_000, 10_009)}


def test_values_of_relations_without_nodes_are_no_nodes_of_queries(db: tidelog.Database) -> None:
    db.load(".decl apart(x: number, y: number) no_nodes\napart(80, 90).")
    db.commit()
    assert {80, 90}.isdisjoint(x for x, _ in db.query("a*(x, y)"))


def test_the_answer_is_a_relation(db: tidelog.Database) -> None:
    answer = db.query('s+("one", X)')
    assert (answer.name, [column.name for column in answer.columns]) == ("s+", ["x", "y"])
    assert sorted(answer.to_arrow().to_pylist(), key=str) == [{"x": "one", "y": "one"}, {"x": "one", "y": "two"}]


def test_a_query_sees_the_last_committed_epoch(db: tidelog.Database) -> None:
    db.insert("a", [(4, 5)])
    db.rules.remove("r1")
    assert set(db.query("a*(4, X)")) == {(4, 4)}
    assert set(db.query("d(X, Y)")) == {(2, 4)}
    db.commit()
    assert set(db.query("a*(4, X)")) == {(4, 4), (4, 5)}


def test_limits_hold_for_queries(db: tidelog.Database) -> None:
    db.insert("a", [(i, i + 1) for i in range(10, 1000)])
    db.commit()
    db.options(max_rows=1000)
    with pytest.raises(tidelog.LimitError) as raised:
        db.query("a+(X, Y)")
    assert raised.value.code == "E0502"
    assert set(db.query("<a/a>(10, X)")) == {(10, 12)}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("t+(1, X)", "E0201"),
        ("<a/s>(1, X)", "E0224"),
        ("a?(1)", "E0208"),
        ('a+("one", X)', "E0211"),
        ("<a/>(1, X)", "E0113"),
        ("a+(1 + Z, X)", "E0217"),
        ("!a+(1, X)", "E0216"),
        ("a+(1, X), b(X, Y", "E0101"),
    ],
)
def test_wrong_queries(db: tidelog.Database, query: str, code: str) -> None:
    with pytest.raises(tidelog.TidelogError) as raised:
        db.query(query)
    assert raised.value.code == code
    assert "#query" not in str(raised.value)
