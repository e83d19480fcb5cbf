"""Selections without end, and limits: errors show a cycle that improves, or the rules that make new values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy
import pytest

import tidelog
from tests.depth import cases
from tidelog.maintain import endless, searching
from tidelog.rules.core import HyperNode
from tidelog.rules.monotone import shifts

DISTANCES = """
.decl e(x: number, y: number, w: number)
.decl d(x: number, n: number) min(n)
d(0, 0).
d(y, n + w) :- d(x, n), e(x, y, w).
"""
LOOP = [(0, 1, 3), (1, 2, -5), (2, 0, 1), (0, 3, 7), (3, 4, 1)]
"""Its first three edges are a cycle of the sum -1."""


def opened(text: str, edges: Iterable[Sequence[object]], rows: int | None = None) -> tidelog.Database:
    db = tidelog.connect()
    db.load(text)
    db.options(max_rows=rows)
    db.insert("e", list(edges))
    return db


def refused(db: tidelog.Database, code: str) -> tidelog.errors.Problem:
    """Return the problem of a commit that fails and changes nothing."""
    before = {name: sorted(db[name]) for name in db.relations}
    with pytest.raises(tidelog.LimitError) as caught:
        db.commit()
    assert caught.value.code == code
    assert {name: sorted(db[name]) for name in db.relations} == before
    return caught.value.problems[0]


def cycle_in(problem: tidelog.errors.Problem, relation: str) -> list[tuple[object, ...]]:
    """Return the tuples of the cycle that a problem shows, all of one relation."""
    ((_, label),) = problem.notes
    told = re.fullmatch(rf"a cycle improves `{relation}`: (.*)", label)
    assert told is not None
    assert problem.hint == "remove the cycle, or bound the values to select by; nothing has changed"
    return [eval(each.removeprefix(relation).replace(")", ",)")) for each in told[1].split(", then ")]


def check_cycle(cycle: list[tuple[object, ...]], edges: Iterable[Sequence[object]], sign: int = 1) -> None:
    """Each tuple follows from the one before by an edge, and the last is better than the first."""
    for (x, n), (y, m) in pairwise(cycle):
        assert (x, y, m - n) in {(a, b, sign * w) for a, b, w in edges}  # type: ignore[operator]
    assert cycle[0][0] == cycle[-1][0]
    assert sign * cycle[-1][1] < sign * cycle[0][1]  # type: ignore[operator]


# --- selections ------------------------------------------------------------------------------------------------------


def test_a_cycle_that_improves_for_ever_needs_no_limit() -> None:
    db = opened(DISTANCES, LOOP)
    problem = refused(db, "E0506")
    assert problem.message == "the selection of `d` has no end"
    assert problem.notes[0][0].source.text[problem.notes[0][0].start :].startswith("d(y, n + w) :- d(x, n)")
    cycle = cycle_in(problem, "d")
    assert len(cycle) == 4
    check_cycle(cycle, LOOP)


def test_the_commit_succeeds_without_the_cycle() -> None:
    db = opened(DISTANCES, LOOP)
    refused(db, "E0506")
    db.delete("e", [(2, 0, 1)])
    db.commit()
    assert set(db["d"]) == {(0, 0), (1, 3), (2, -2), (3, 7), (4, 8)}


@pytest.mark.parametrize("strategy", ["update", "auto"])
def test_an_edge_that_closes_a_cycle(strategy: str) -> None:
    db = opened(DISTANCES, [edge for edge in LOOP if edge != (2, 0, 1)], rows=100_000)
    db.commit()
    db.options(max_rows=100_000, strategy=strategy)
    db.insert("e", [(2, 0, 1)])
    problem = refused(db, "E0502")
    assert problem.message.endswith(" derived rows, its limit is 100,000, while it derived `d`")
    check_cycle(cycle_in(problem, "d"), LOOP)
    db.rollback()
    db.insert("e", [(2, 0, 3)])
    assert db.commit().report.nodes[0].strategy == "update"
    assert set(db["d"]) == {(0, 0), (1, 3), (2, -2), (3, 7), (4, 8)}


def test_a_maximum() -> None:
    text = DISTANCES.replace("min", "max").replace("n + w", "n - w")
    check_cycle(cycle_in(refused(opened(text, LOOP), "E0506"), "d"), LOOP, sign=-1)


def test_floats_and_symbols() -> None:
    """Floats stop where adding changes them no more, so that only a limit ends them."""
    text = DISTANCES.replace("w: number", "w: float").replace("n: number", "n: float").replace("(0, 0)", "(0, 0.0)")
    edges = [(x, y, float(w)) for x, y, w in LOOP]
    check_cycle(cycle_in(refused(opened(text, edges, rows=10_000), "E0502"), "d"), edges)
    text = DISTANCES.replace("x: number", "x: symbol").replace("y: number", "y: symbol").replace("(0, 0)", '("n 0", 0)')
    named = [(f"n {x}", f"n {y}", w) for x, y, w in LOOP]
    check_cycle(cycle_in(refused(opened(text, named), "E0506"), "d"), named)


def test_two_relations_and_two_orders() -> None:
    text = (
        DISTANCES.replace("d(x, n), e", "f(x, n), e") + ".decl f(x: number, n: number) min(n) f(x, n - 1) :- d(x, n)."
    )
    problem = refused(opened(text, [(0, 1, 0), (1, 0, 0)]), "E0506")
    assert problem.message in ("the selection of `d` has no end", "the selection of `f` has no end")
    assert re.search(r"d\(0, -\d+\), then f\(0, -\d+\), then d\(1, -\d+\)", problem.notes[0][1]) is not None
    text = """
    .decl e(x: number, y: number, w: number)
    .decl d(x: number, n: number, h: number) min(n), min(h)
    d(0, 0, 0).
    d(y, n + w, h + 1) :- d(x, n, h), e(x, y, w).
    """
    problem = refused(opened(text, LOOP, rows=10_000), "E0502")
    check_cycle([(x, n) for x, n, _ in cycle_in(problem, "d")], LOOP)


def test_recursions_that_read_all_candidates() -> None:
    """One whose rules are not monotone, and one that joins two tuples, for which no end can be seen beforehand."""
    text = DISTANCES.replace("d(x, n), e", "t(x, n), e") + ".decl t(x: number, n: number) t(x, n) :- d(x, n)."
    problem = refused(opened(text, LOOP, rows=10_000), "E0502")
    assert "while it derived `d` and `t`" in problem.message
    assert re.search(r"d\((\d), -?\d+\), then t\(\1, ", problem.notes[0][1]) is not None
    text = """
    .decl e(x: number, y: number, w: number)
    .decl p(x: number, y: number, n: number) min(n)
    p(x, y, w) :- e(x, y, w).
    p(x, z, n + m) :- p(x, y, n), p(y, z, m).
    """
    cycle = cycle_in(refused(opened(text, LOOP, rows=10_000), "E0502"), "p")
    assert cycle[0][:2] == cycle[-1][:2]
    assert cycle[-1][2] < cycle[0][2]  # type: ignore[operator]


def test_a_long_cycle_is_shown_in_part() -> None:
    edges = [(i, i + 1, -1) for i in range(100)] + [(100, 0, 0)]
    problem = refused(opened(DISTANCES, edges, rows=50_000), "E0502")
    assert re.search(r"(d\(\d+, -\d+\), then ){5}96 more, then d\(\d+, -\d+\)$", problem.notes[0][1]) is not None


def test_a_condition_ends_the_recursion() -> None:
    db = opened(DISTANCES.replace("e(x, y, w).", "e(x, y, w), n > -300."), LOOP)
    db.commit()
    derived = {(0, 0)}
    while more := {(y, n + w) for x, n in derived for a, y, w in LOOP if a == x and n > -300} - derived:
        derived |= more
    assert set(db["d"]) == {(x, min(n for y, n in derived if y == x)) for x in range(5)}


def test_a_limit_without_a_cycle_shows_none() -> None:
    problem = refused(opened(DISTANCES, [(i, i + 1, 1) for i in range(1_000)], rows=500), "E0502")
    ((_, label),) = problem.notes
    assert label == "this recursive rule makes new values of `d`"


def test_the_search_for_a_cycle_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endless, "_SECONDS", 0.0)
    problem = refused(opened(DISTANCES, LOOP, rows=10_000), "E0502")
    assert [label for _, label in problem.notes] == ["this recursive rule makes new values of `d`"]


@pytest.mark.parametrize("seed", range(cases(80)))
def test_random_graphs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A selection has an end exactly if no cycle of a negative sum can be reached."""
    monkeypatch.setattr(searching, "_WORK_BEFORE_LOOK", 1_000)
    monkeypatch.setattr(searching, "_DOUBTFUL", 1_000)
    rng = numpy.random.default_rng(seed)
    rows = rng.integers([0, 0, -2], [12, 12, 10], (24, 3)).tolist()
    edges = [tuple(row) for row in rows]
    best = {0: 0}
    for _ in range(12):
        for x, y, w in edges:
            if x in best and best[x] + w < best.get(y, 10**9):
                best[y] = best[x] + w
    db = opened(DISTANCES, edges)
    if any(best[x] + w < best[y] for x, y, w in edges if x in best):
        problem = refused(db, "E0506")
        told = problem.notes[0][1]
        if " more, then" not in told:
            check_cycle(cycle_in(problem, "d"), edges)
    else:
        db.commit()
        assert set(db["d"]) == set(best.items())


# --- which recursions only add ---------------------------------------------------------------------------------------


def node_of(rules: str) -> HyperNode:
    db = tidelog.connect()
    db.load(f".decl e(x: number, y: number, w: number) .decl d(x: number, n: number) min(n) d(0, 0). {rules}")
    db.options(max_rows=1_000)
    db.commit()
    (node,) = (each for each in db.workspace.committed.core.nodes_to_evaluate() if each.selects)
    return node


@pytest.mark.parametrize(
    ("rules", "adds"),
    [
        ("d(y, n + w) :- d(x, n), e(x, y, w).", True),
        ("d(y, 3 + n - w - 1) :- d(x, n), e(x, y, w), w < 5.", True),
        ("d(y, n) :- d(x, n), e(x, y, _).", True),
        ("d(y, max(0, n + w)) :- d(x, n), e(x, y, w).", False),
        ("d(y, n + w) :- d(x, n), e(x, y, w), n < 100.", False),
        ("d(y, n * 2) :- d(x, n), e(x, y, _).", False),
        ("d(y, n + n) :- d(x, n), e(x, y, _).", False),
        ("d(y, n + m) :- d(x, n), d(y, m), e(x, y, _).", False),
        ("d(y, 5) :- d(x, _), e(x, y, _).", False),
    ],
)
def test_recursions_that_only_add(rules: str, adds: bool) -> None:
    assert shifts(node_of(rules)) is adds


# --- limits of other recursions --------------------------------------------------------------------------------------


def test_rules_that_make_values() -> None:
    db = tidelog.connect()
    db.options(max_rows=1_000)
    db.load(
        ".type L = [head: number, tail: L] .decl l(x: L) .decl n(x: number) l(nil). n(0)."
        "n(x) :- l([x, _]). l([x, t]) :- n(x), l(t)."
    )
    problem = refused(db, "E0502")
    assert "while it derived `n` and `l`" in problem.message
    assert [label for _, label in problem.notes] == ["this recursive rule makes new values of `l`"]


def test_many_relations_of_a_component() -> None:
    names = [f"r{i}" for i in range(5)]
    rules = " ".join(f".decl {name}(x: number) {name}(x + 1) :- {names[i - 1]}(x)." for i, name in enumerate(names))
    db = tidelog.connect()
    db.options(max_rows=1_000)
    db.load(f".comp C {{ {rules} r0(0). }} .init c = C")
    problem = refused(db, "E0502")
    assert re.search(r"while it derived (`c\.r\d`, ){2}`c\.r\d` and 2 more$", problem.message) is not None
    assert len(problem.notes) == 5


def test_the_reason_of_a_limit_takes_no_more_memory_than_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of rows are offered to the search for a cycle: what waits there has room for those that wait."""
    rooms = []
    grow = searching.CostSearch.grow

    def noted(search: searching.CostSearch) -> None:
        grow(search)
        rooms.append(search.chunks.size)

    monkeypatch.setattr(searching.CostSearch, "grow", noted)
    db = tidelog.connect()
    db.options(timeout=1.5)
    db.load("""
.decl adj(a: symbol, b: symbol, c: unsigned)
adj("r1", "r2", 1). adj("r2", "r3", 1). adj("r1", "r3", 5). adj("r3", "r1", 1).
.decl route(n: symbol, p: symbol, c: unsigned)
.decl best(n: symbol, p: symbol, c: unsigned) min(c)
route("r3", "net", 0).
route(n, p, c + w) :- best(m, p, c), adj(n, m, w).
best(n, p, c) :- route(n, p, c).
""")
    with pytest.raises(tidelog.TidelogError, match="E0501"):
        db.commit()
    assert max(rooms, default=0) < 100_000_000
