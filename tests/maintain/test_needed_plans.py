"""Plans, and the indexes that they look rows up by, are made when a change first needs them."""

from __future__ import annotations

import tidelog
from tidelog.kernels.layout import IN, OUT

PROGRAM = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl n(x: number)
.decl t(x: number, y: number)
t(x, y) :- a(x, y), !n(x).
t(x, z) :- t(x, y), b(y, z).
t(x, z) :- b(x, y), a(y, z), !n(z).
"""
KEY = ("t",)


def loaded() -> tidelog.Database:
    db = tidelog.connect()
    db.options(strategy="update")
    db.load(PROGRAM)
    db.insert("a", [(i, i + 1) for i in range(9)])
    db.insert("b", [(i, i + 2) for i in range(9)])
    db.insert("n", [(20,)])
    db.commit()
    return db


def planned(db: tidelog.Database) -> set[tuple[str, str]]:
    """The lists for which there are plans, by relation."""
    return {(name, {OUT: "out", IN: "in"}[version]) for name, version in db.engine.maintained[KEY].planned}


def test_a_change_gets_the_plans_that_it_needs_and_no_others() -> None:
    db = loaded()
    assert not db.engine.maintained
    db.insert("a", [(30, 0)])
    db.commit()
    assert planned(db) == {("a", "in"), ("t", "in")}
    assert {group: len(plans) for group, plans in db.engine.maintained[KEY].machine.plans.items()} == {"insert": 3}
    assert not db.engine.views["n"].indexes
    machine = db.engine.maintained[KEY].machine
    db.delete("b", [(0, 2)])
    db.commit()
    assert planned(db) == {("a", "in"), ("t", "in"), ("b", "out"), ("t", "out")}
    assert db.engine.maintained[KEY].machine is machine
    assert {group: len(plans) for group, plans in machine.plans.items()} == {"insert": 3, "delete": 3}
    db.delete("b", [(1, 3)])
    db.commit()
    assert {group: len(plans) for group, plans in machine.plans.items()} == {"insert": 3, "delete": 3}


def test_what_enters_a_negated_relation_deletes() -> None:
    db = loaded()
    db.insert("n", [(1,)])
    db.commit()
    assert planned(db) == {("n", "in"), ("t", "in"), ("t", "out")}
    assert not set(db["t"]) & {(1, 2)}
    db.delete("n", [(1,)])
    db.commit()
    assert planned(db) == {("n", "in"), ("n", "out"), ("t", "in"), ("t", "out")}
    assert (1, 2) in set(db["t"])


def test_asserted_facts_of_the_node_itself_need_no_plans_of_others() -> None:
    db = loaded()
    db.insert("t", [(50, 0)])
    db.commit()
    assert planned(db) == {("t", "in")}
    assert (50, 4) in set(db["t"])
    db.delete("t", [(50, 0)])
    db.commit()
    assert planned(db) == {("t", "in"), ("t", "out")}
    assert not [row for row in db["t"] if row[0] == 50]


def test_views_are_right_whichever_relation_changes_first() -> None:
    changes = {"a": (3, 0), "b": (5, 1), "n": (4,), "t": (7, 7)}
    for first in changes:
        db, other = loaded(), loaded()
        for name in [first, *changes]:
            db.insert(name, [changes[name]])
            assert db.commit().report.bootstraps == 0
        for name, row in changes.items():
            other.insert(name, [row])
        other.options(strategy="bootstrap")
        other.commit()
        assert set(db["t"]) == set(other["t"])
        for name in [*changes, first]:
            db.delete(name, [changes[name]])
            db.commit()
        assert set(db["t"]) == set(loaded()["t"])
