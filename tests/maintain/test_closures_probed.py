"""Rules that join closures read them as they are kept, compressed: every way to probe them, hand-written."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.database.database import Database

EDGES = [(1, 2), (2, 3), (3, 2), (3, 4), (5, 1), (6, 6)]
"""5 leads to 1, 1 into the circle of 2 and 3, that to 4; 6 has a loop."""
CLOSURE = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl s(x: number)
.decl n(x: number)
.decl w(x: number)
.decl p(x: number, y: number)
base: t(x, y) :- e(x, y).
step: t(x, z) :- t(x, y), t(y, z).
"""
PAIRS = {
    *{(1, 2), (1, 3), (1, 4), (2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4)},
    *{(5, 1), (5, 2), (5, 3), (5, 4), (6, 6)},
}


def opened(rules: str, closures: bool = True) -> Database:
    db = tidelog.connect()
    db.options(closures=closures)
    db.load(CLOSURE + rules)
    db.insert("e", EDGES)
    db.insert("s", [(1,), (4,)])
    db.insert("n", [(x,) for x in range(1, 8)])
    db.commit()
    return db


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("w(y) :- s(x), t(x, y).", {2, 3, 4}),
        ("w(x) :- s(y), t(x, y).", {1, 2, 3, 5}),
        ("w(x) :- n(x), t(x, x).", {2, 3, 6}),
        ("w(x) :- t(x, x).", {2, 3, 6}),
        ("w(y) :- t(1, y).", {2, 3, 4}),
        ("w(x) :- t(x, 4).", {1, 2, 3, 5}),
        ("w(x) :- n(x), t(x, 3).", {1, 2, 3, 5}),
        ("w(x) :- s(x), t(5, 4).", {1, 4}),
        ("w(x) :- s(x), t(4, 5).", set()),
        ("w(x) :- s(x), !t(5, x).", set()),
        ("w(x) :- n(x), !t(5, x).", {5, 6, 7}),
        ("w(x) :- n(x), !t(x, _).", {4, 7}),
        ("w(x) :- n(x), !t(_, x).", {5, 7}),
        ("w(x) :- t(x, _).", {1, 2, 3, 5, 6}),
        ("w(x) :- s(x), t(_, _).", {1, 4}),
        ("w(z) :- s(x), t(x, y), t(y, z), z > 2.", {3, 4}),
        ("w(y) :- s(x), t(x, y), t(y, y).", {2, 3}),
        ("w(n) :- n = count : { t(_, _) }.", {14}),
        ("w(n) :- s(x), n = max y : { t(x, y) }.", {4}),
        ("w(x) :- t(x, y), y > x, !t(y, x).", {1, 2, 3}),
        ("w(100000000000) :- t(1, 2).", {100000000000}),
    ],
)
def test_ways_to_probe(rule: str, found: set[int]) -> None:
    for closures in (True, False):
        db = opened(rule, closures)
        assert set(db["t"]) == PAIRS
        assert {x for (x,) in db["w"]} == found
        assert db.stats()["forms"]["t"] == ("compressed" if closures else "written")
        db.check()


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("p(x, y) :- s(x), n(y), t(x, y).", {(1, 2), (1, 3), (1, 4)}),
        ("p(x, y) :- t(x, y), t(y, x).", {(2, 2), (2, 3), (3, 2), (3, 3), (6, 6)}),
        ("p(y, x) :- t(x, y).", {(y, x) for x, y in PAIRS}),
        ("p(x, y) :- s(x), s(y), !t(x, y).", {(1, 1), (4, 1), (4, 4)}),
        ("p(x, n) :- s(x), n = count : { t(x, _) }.", {(1, 3), (4, 0)}),
        ("p(x, y) :- t(x, y), s(x), s(y).", {(1, 4)}),
    ],
)
def test_pairs_from_pairs(rule: str, found: set[tuple[int, int]]) -> None:
    db = opened(rule)
    assert set(db["p"]) == found
    assert db.stats()["forms"] == {"e": "written", "t": "compressed"} | dict.fromkeys("snwp", "written")
    db.check()


def test_counts_are_numbers_of_derivations() -> None:
    db = opened("w(y) :- s(x), t(x, y).\np(x, z) :- t(x, y), t(y, z).")
    assert db.births("w") == {(y,): (db.births("w")[y,][0], 1) for y in (2, 3, 4)}
    for (x, z), (_, count) in db.births("p").items():
        assert count == sum((x, y) in PAIRS and (y, z) in PAIRS for y in range(7))


@pytest.mark.parametrize("strategy", ["update", "bootstrap", "auto"])
def test_readers_follow_what_changes(strategy: str) -> None:
    db = opened("w(y) :- s(x), t(x, y).\np(x, y) :- n(x), s(y), !t(x, y).")
    db.options(strategy=strategy)
    db.delete("e", [(3, 4)])
    change = db.commit()
    assert (set(change["w"].deleted), set(change["w"].inserted)) == ({(4,)}, set())
    assert set(change["p"].inserted) == {(1, 4), (2, 4), (3, 4), (5, 4)}
    db.insert("e", [(4, 5)])
    change = db.commit()
    assert (set(change["w"].deleted), set(change["w"].inserted)) == (
        set(),
        {(1,), (2,), (3,), (4,), (5,)} - {(2,), (3,)} - {(4,)},
    )
    assert db.stats()["forms"]["t"] == "compressed"
    db.check()


def test_what_only_a_dropped_rule_read_is_seen_as_it_was() -> None:
    """The rule is taken back with the pairs that it had, while the closure changes in the same epoch."""
    db = opened("more: w(x) :- n(x), t(x, 4).\nless: w(x) :- s(x).")
    assert {x for (x,) in db["w"]} == {1, 2, 3, 4, 5}
    with db.transaction() as tx:
        tx.rules.remove("more")
        tx.delete("e", [(3, 4)])
        tx.insert("e", [(7, 4)])
    assert {x for (x,) in db["w"]} == {1, 4}
    assert {x: count for (x,), (_, count) in db.births("w").items()} == {1: 1, 4: 1}


def test_a_path_is_shown_and_dropped_with_its_reader() -> None:
    """What is left of `w` is evaluated after the path has changed; the dropped rule has to see that as it was."""
    db = opened(
        ".decl v(x: number, y: number)\nshows: v(x, y) :- e+(x, y).\nreads: w(x) :- v(x, 4)."
        "other: p(x, y) :- e+(x, y), s(x).\nstays: w(x) :- s(x), p(x, 2)."
    )
    assert db.stats()["forms"]["v"] == "compressed"
    assert {x for (x,) in db["w"]} == {1, 2, 3, 5}
    with db.transaction() as tx:
        tx.rules.remove("shows")
        tx.rules.remove("reads")
        tx.delete("e", [(2, 3)])
    assert set(db["p"]) == {(1, 2)}
    assert {x: count for (x,), (_, count) in db.births("w").items()} == {1: 1}
    db.check()


def test_long_rows_of_neighbours_take_several_batches() -> None:
    """2,000 nodes behind one and before one, in components of their own and in one circle."""
    db = tidelog.connect()
    db.load(CLOSURE + "w(y) :- s(x), t(x, y).\np(x, y) :- s(y), t(x, y).")
    many = range(1, 2001)
    db.insert("e", [(0, x) for x in many] + [(x, 9000) for x in many] + [(9000, 9001), (9001, 9000)])
    db.insert("e", [(x, x + 1) for x in range(10_000, 12_000)] + [(12_000, 10_000), (9001, 10_000)])
    db.insert("s", [(0,), (9001,), (12_000,)])
    db.commit()
    assert {x for (x,) in db["w"]} == {*many, 9000, 9001, *range(10_000, 12_001)}
    before = {0, *many, 9000, 9001}
    assert set(db["p"]) == {(x, 9001) for x in before} | {(x, 12_000) for x in {*before, *range(10_000, 12_001)}}
    db.delete("e", [(9001, 9000), (11_000, 11_001)])
    db.commit()
    assert {x for (x,) in db["w"]} == {*many, 9000, 9001, *range(10_000, 11_001)}
    assert set(db["p"]) == {(x, 9001) for x in before - {9001}} | {(x, 12_000) for x in range(11_001, 12_000)}


def test_what_shows_a_path_is_counted_once_by_the_limit_of_rows() -> None:
    """Its pairs are those of the closure, which are derived once: 3 pairs, and 2 of a reader."""
    rules = ".decl v(x: number, y: number)\nv(x, y) :- e+(x, y).\nw(y) :- v(1, y)."
    for limit, good in ((5, True), (4, False)):
        db = tidelog.connect()
        db.load(CLOSURE.split("base:", maxsplit=1)[0] + rules)
        db.options(max_rows=limit)
        db.insert("e", [(1, 2), (2, 3)])
        if good:
            assert len(db.commit()["v"].inserted) == 3
            continue
        with pytest.raises(tidelog.LimitError) as stopped:
            db.commit()
        assert stopped.value.code == "E0502"


def test_limits_stop_a_join_with_a_closure_in_its_midst() -> None:
    """10^9 ways to join a closure of 10^6 pairs with itself."""
    db = tidelog.connect()
    db.load(CLOSURE)
    db.insert("e", [(x, x + 1) for x in range(1000)] + [(1000, 0)])
    db.commit()
    db.options(timeout=0.2)
    with pytest.raises(tidelog.LimitError) as stopped, db.transaction() as transaction:
        transaction.rules.add("long: w(x) :- t(x, y), t(y, z), t(z, x), x + y + z < 0.")
    assert stopped.value.code == "E0501"
    assert len(db["t"]) == 1001**2
    assert not len(db["w"])


def test_wide_words_come_while_rules_read() -> None:
    db = opened("w(y) :- s(x), t(x, y).\np(x, y) :- s(x), n(y), !t(x, y).")
    wide = 10**12
    db.insert("e", [(4, wide), (wide, 7)])
    change = db.commit()
    assert set(change["w"].inserted) == {(wide,), (7,)}
    assert set(change["p"].deleted) == {(1, 7), (4, 7)}
    db.delete("e", [(3, 4)])
    change = db.commit()
    assert set(change["p"].inserted) == {(1, 4), (1, 7)}
    assert set(change["w"].deleted) == {(4,)}
    assert db.stats()["forms"]["t"] == "compressed"
    db.check()


def test_the_report_says_where_pairs_are_written() -> None:
    """A relation that showed a path gets a fact, and a closure loses its rules while it is read."""
    db = opened(".decl v(x: number, y: number)\nshows: v(x, y) :- e+(x, y).\nreads: w(x) :- t(x, x).")
    db.options(strategy="update")  # A machine that compiles kernels meanwhile would give updates up.
    db.insert("v", [(7, 7)])
    reasons = {name: node.reason for node in db.commit().report.nodes for name in node.relations}
    assert reasons["v"] == "its asserted facts changed; the pairs of its closure were written"
    assert db.stats()["forms"] | {"t": "compressed", "v": "written"} == db.stats()["forms"]
    with db.transaction() as transaction:
        transaction.rules.remove("base")
        transaction.rules.remove("step")
    assert transaction.change is not None
    reasons = {name: node.reason for node in transaction.change.report.nodes for name in node.relations}
    assert reasons["t"] == "it lost its last rule; the pairs of its closure were written"
    assert set(db["w"]) == set()


def test_a_large_change_of_a_closure_is_not_shown_to_those_that_read_little_of_it() -> None:
    """A bridge between two circles of 800 nodes goes, and 640,000 pairs with it; a seed alone is quicker asked anew."""
    db = tidelog.connect()
    db.load(CLOSURE + "w(y) :- s(x), t(x, y).")
    circles = [(x, x + 1) for x in range(1599) if x != 799]
    db.insert("e", [*circles, (799, 0), (1599, 800), (0, 800), (800, 0)])
    db.insert("s", [(1,)])
    db.commit()
    assert len(db["w"]) == 1600
    db.delete("e", [(0, 800)])
    change = db.commit()
    (node,) = [node for node in change.report.nodes if "w" in node.relations]
    assert (node.strategy, node.reason) == ("bootstrap", "t changed; 640,000 pairs of closures changed")
    assert set(change["w"].deleted) == {(y,) for y in range(800, 1600)}
    assert set(db["w"]) == {(y,) for y in range(800)}
