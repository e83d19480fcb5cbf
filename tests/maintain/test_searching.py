"""From scratch, a search finds the best row of each key before any candidate is kept; then changes are followed."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

import numpy
import pytest

import tidelog
from tests.recount import mistakes, state_of
from tidelog.certificate import certificate_of, check
from tidelog.maintain import searching, selecting

DISTANCES = """
.decl e(x: number, y: number, w: number)
.decl d(x: number, c: number) min(c)
d(0, 0).
d(y, c + w) :- d(x, c), e(x, y, w).
"""
LABELS = """
.decl e(x: number, y: number)
.decl l(x: number, c: number) min(c)
l(x, x) :- e(x, _).
l(y, c) :- l(x, c), e(x, y).
l(y, c) :- l(x, c), e(y, x).
"""
Edge = tuple[int, int, int]


def evaluated(text: str, edges: Iterable[tuple[int, ...]], **options: int) -> tidelog.Database:
    db = tidelog.connect()
    db.load(text)
    db.options(**options)
    db.insert("e", list(edges))
    report = db.commit().report
    assert any(node.reason.endswith("dominated tuples are dropped") for node in report.nodes)
    return db


def random_edges(seed: int, nodes: int, edges: int, longest: int) -> list[Edge]:
    rng = numpy.random.default_rng(seed)
    columns = rng.integers(0, nodes, edges), rng.integers(0, nodes, edges), rng.integers(0, longest + 1, edges)
    return sorted({(int(x), int(y), int(w)) for x, y, w in zip(*columns, strict=True)})


def best_values(
    edges: Iterable[Edge], first: int, follow: Callable[[int, int], int], better: Callable[[int], int]
) -> set[tuple[int, int]]:
    """Return the best value of each node from node 0 on, by one node after the other in the order of their values."""
    after: dict[int, list[tuple[int, int]]] = {}
    for x, y, w in edges:
        after.setdefault(x, []).append((y, w))
    found: dict[int, int] = {}
    waiting = [(better(first), 0, first)]
    while waiting:
        _, x, c = heapq.heappop(waiting)
        if x not in found:
            found[x] = c
            for y, w in after.get(x, ()):
                heapq.heappush(waiting, (better(follow(c, w)), y, follow(c, w)))
    return set(found.items())


def shortest(edges: Iterable[Edge]) -> set[tuple[int, int]]:
    return best_values(edges, 0, lambda c, w: c + w, lambda c: c)


@pytest.mark.parametrize("longest", [0, 3, 1_000, 400_000_000])
def test_distances_and_their_changes(longest: int) -> None:
    """Short edges give many rows of one cost, long ones costs that differ in high bits, the longest need wide words."""
    edges = random_edges(longest, 3_000, 12_000, longest)
    db = evaluated(DISTANCES, edges, max_rows=40_000)
    assert set(db["d"]) == shortest(edges)
    db.options(strategy="update")
    rng = numpy.random.default_rng(1)
    for number in rng.integers(0, len(edges), 12).tolist():
        edge = edges[number]
        db.delete("e", [edge])
        assert not db.commit().report.bootstraps
        assert set(db["d"]) == shortest([*edges[:number], *edges[number + 1 :]])
        db.insert("e", [edge])
        assert not db.commit().report.bootstraps
    assert set(db["d"]) == shortest(edges)
    check(certificate_of(db.engine, db.workspace.committed.checked))


def test_widest_ways() -> None:
    """A narrow edge gives the same value for a better way, so that a row may be found before what it follows from."""
    edges = random_edges(5, 2_000, 9_000, 40)
    db = evaluated(
        ".decl e(x: number, y: number, w: number)\n.decl d(x: number, c: number) max(c)\n"
        "d(0, 50).\nd(y, min(c, w)) :- d(x, c), e(x, y, w).",
        edges,
    )
    assert set(db["d"]) == best_values(edges, 50, min, lambda c: -c)
    check(certificate_of(db.engine, db.workspace.committed.checked))


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that notes for each search whether its births do."""
    noted: list[bool] = []
    real = searching.credit

    def noting(search: searching.CostSearch) -> int | None:
        rounds = real(search)
        noted.append(rounds is not None)
        return rounds

    monkeypatch.setattr(selecting, "credit", noting)
    return noted


def wrong(db: tidelog.Database, edges: Iterable[Edge], facts: Iterable[tuple[int, ...]]) -> str:
    return mistakes(db, state_of(db), {"e": set(edges), "d": set(facts)})


@pytest.mark.parametrize("longest", [0, 2, 9, 60, 900, 10**10])
@pytest.mark.parametrize(
    ("selection", "rules"),
    [
        ("min(c)", "d(y, c + w) :- d(x, c), e(x, y, w)."),
        ("min(c)", "d(y, c + w) :- d(x, c), e(x, y, w). d(y, c) :- d(x, c), e(y, x, w), w < 2. d(x, 7) :- e(x, _, 1)."),
        ("min(c)", "d(y, c + w) :- near(x), d(x, c), e(x, y, w). near(x) :- d(x, c), c < 90000."),
        ("min(c), min(n)", "d(y, c + w, n + 1) :- d(x, c, n), e(x, y, w)."),
    ],
    ids=["one rule", "three rules", "a join with itself", "two orders"],
)
def test_derivations_are_counted_by_the_search(selection: str, rules: str, longest: int, passes: list[bool]) -> None:
    edges, hops = random_edges(longest % 97, 70, 300, longest), "n" in selection.replace("min", "")
    facts = [(*fact, 0) if hops else fact for fact in ((3, 1), (5, 0), (8, 400))]
    db = tidelog.connect()
    db.load(
        ".decl e(x: number, y: number, w: number)\n.decl near(x: number)\n"
        f".decl d(x: number, c: number{', n: number' if hops else ''}) {selection}\n{rules}"
    )
    db.insert("e", edges)
    db.insert("d", facts)
    db.commit()
    assert passes == ["near(x), d" not in rules]
    assert not wrong(db, edges, facts)
    db.options(strategy="update")
    for edge in edges[::60]:
        db.delete("e", [edge])
        assert not db.commit().report.bootstraps
        assert not wrong(db, [other for other in edges if other != edge], facts)
        db.insert("e", [edge])
        assert not db.commit().report.bootstraps
    assert not wrong(db, edges, facts)


def test_a_row_may_be_older_than_the_one_that_it_follows_from(passes: list[bool]) -> None:
    """Node 3 has its value before the better way to node 1 is found, and keeps it: its edge is the narrowest. Then
    rounds find the births."""
    edges = [(0, 1, 34), (0, 2, 40), (2, 1, 38), (1, 3, 34)]
    db = evaluated(
        ".decl e(x: number, y: number, w: number)\n.decl d(x: number, c: number) max(c)\n"
        "d(0, 50).\nd(y, min(c, w)) :- d(x, c), e(x, y, w).",
        edges,
    )
    assert passes == [False]
    assert set(db["d"]) == {(0, 50), (1, 38), (2, 40), (3, 34)}
    assert not wrong(db, edges, [(0, 50)])


def test_each_row_is_read_about_once() -> None:
    """Round by round, the least label would take half of all the ways: millions of better rows."""
    nodes = 4_000
    db = evaluated(LABELS, [(x, (x + 1) % nodes) for x in range(nodes)], max_rows=8 * nodes)
    assert set(db["l"]) == {(x, 0) for x in range(nodes)}


def test_edges_that_shorten_a_way() -> None:
    """Each of 14 nodes in a row can be reached a little cheaper once all before it have been; the cheapest rows first
    would be read again and again, twice as often for each node."""
    steps, edges = 14, list[Edge]()
    for i in range(steps):
        gain = 2 ** (steps - i)
        edges += [(2 * i, 2 * i + 2, 0), (2 * i, 2 * i + 1, gain), (2 * i + 1, 2 * i + 2, -2 * gain)]
    db = evaluated(DISTANCES, edges, max_rows=3_000)
    assert set(db["d"]) >= {(2 * i, -sum(2 ** (steps - j) for j in range(i))) for i in range(steps + 1)}


def test_rules_that_join_a_selection_with_itself() -> None:
    """Rows of the second atom get better after they have been entered into its index."""
    edges = [(x, y, abs(x - y) ** 2) for x in range(14) for y in range(14) if x != y]
    text = DISTANCES.replace("d(0, 0).", ".decl p(x: number, y: number, c: number) min(c)")
    text = text.replace(
        "d(y, c + w) :- d(x, c), e(x, y, w).", "p(x, y, w) :- e(x, y, w).\np(x, z, a + b) :- p(x, y, a), p(y, z, b)."
    )
    db = evaluated(text, edges)
    assert set(db["p"]) == {(x, y, abs(x - y) if x != y else 2) for x in range(14) for y in range(14)}


def test_two_rows_that_both_get_better() -> None:
    db = evaluated(
        DISTANCES
        + ".decl t(x: number, c: number) min(c)\n.decl three(x: number, y: number, z: number)\nthree(1, 3, 9)."
        "\nt(z, a + b) :- d(x, a), d(y, b), three(x, y, z).\nd(x, c) :- t(x, c).",
        [(0, 1, 10), (0, 2, 1), (2, 1, 1), (0, 3, 20), (2, 3, 5)],
    )
    assert set(db["t"]) == {(9, 8)}
    assert set(db["d"]) == {(0, 0), (1, 2), (2, 1), (3, 6), (9, 8)}


def test_relations_beside_a_selection() -> None:
    """Rows of a relation that selects nothing wait for their turn as well, and may bring better ones."""
    db = evaluated(
        DISTANCES + ".decl open(x: number)\nopen(y) :- d(x, c), e(x, y, _), c < 100.\nd(y, 1) :- open(x), e(x, y, 7).",
        [(0, 1, 50), (1, 2, 60), (2, 3, 60), (1, 3, 7), (3, 4, 7)],
    )
    assert set(db["d"]) == {(0, 0), (1, 50), (2, 110), (3, 1), (4, 1)}
    assert set(db["open"]) == {(1,), (2,), (3,), (4,)}


def test_floats_and_texts_beside_them() -> None:
    db = evaluated(
        ".decl e(x: number, y: number)\n.decl d(name: symbol, c: float) max(c)\n"
        'd("a", 0.5).\nd(cat(x, to_string(y)), c - 0.5) :- d(x, c), e(1, y), c > 0.0.\nd("a", -2.5) :- e(_, _).',
        [(1, 1), (1, 2)],
    )
    assert set(db["d"]) == {("a", 0.5), ("a1", 0.0), ("a2", 0.0)}


def test_rows_that_no_earlier_one_derives() -> None:
    """The best row follows from itself only. The search finds it; the engine reads all candidates to maintain it."""
    db = tidelog.connect()
    db.load(
        ".decl e(x: number, c: number)\n.decl d(x: number, c: number) min(c)\n"
        "d(x, c) :- e(x, c).\nd(x, max(c - 1, 0)) :- d(x, c)."
    )
    db.insert("e", [(1, 5), (2, 3)])
    assert any("did not settle" in node.reason for node in db.commit().report.nodes)
    assert set(db["d"]) == {(1, 0), (2, 0)}


def test_a_search_without_end_meets_the_limit() -> None:
    """Rows that get better count as derived, though they take the places of others."""
    with pytest.raises(tidelog.LimitError, match="its limit is 100,000"):
        evaluated(DISTANCES, [(0, 1, -1), (1, 0, 0)], max_rows=100_000)


def test_a_search_that_reads_rows_again_and_again_counts_no_longer(
    passes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_STALE_ROWS", -100)
    monkeypatch.setattr(searching, "_WORK_BEFORE_LOOK", 50)
    edges = random_edges(3, 70, 300, 60)
    db = evaluated(DISTANCES, edges)
    assert passes == [False]
    assert set(db["d"]) == shortest(edges)
    assert not wrong(db, edges, [(0, 0)])
