"""Plans, and the indexes that they look rows up by, are made when a change first needs them."""

from __future__ import annotations

from itertools import permutations

import pytest

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
KEY = frozenset(["t"])


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
    rules = db.engine.maintained[KEY].planned.values()
    return {(name, {OUT: "out", IN: "in"}[version]) for _, lists in rules for name, version in lists}


def test_a_change_gets_the_plans_that_it_needs_and_no_others() -> None:
    db = loaded()
    assert planned(db) == {("t", "in")}
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


def test_plans_of_other_rules_stay_when_a_rule_comes_and_goes() -> None:
    db = loaded()
    db.insert("a", [(30, 0)])
    db.commit()
    before, machine = set(db["t"]), db.engine.maintained[KEY].machine
    for _ in range(3):
        others = machine.plans["insert"].size
        db.load("last: t(y, 99) :- t(0, y), a(y, z), !n(z).")
        assert db.commit().report.bootstraps == 0
        assert machine.plans["insert"].size == others + 1
        assert set(db["t"]) - before == {(1, 99), (3, 99), (5, 99), (7, 99)}
        db.insert("n", [(2,)])  # The rule gets plans for what it read when it came.
        db.delete("a", [(5, 6)])
        assert db.commit().report.bootstraps == 0
        assert {(x, y) for x, y in db["t"] if y == 99} == {(3, 99), (7, 99)}
        db.delete("n", [(2,)])
        db.insert("a", [(5, 6)])
        db.rules.remove("last")
        assert db.commit().report.bootstraps == 0
        assert set(db["t"]) == before
        assert machine is db.engine.maintained[KEY].machine
        assert len(db.engine.maintained[KEY].planned) == 3
    db.check()


def test_plans_are_made_anew_once_many_rules_have_come() -> None:
    db = loaded()
    for i in range(150):
        db.load(f"next: t(x, {100 + i}) :- t(x, 11).")
        db.commit()
        db.rules.remove("next")
        db.commit()
    assert set(db["t"]) == set(loaded()["t"])
    assert len(db.engine.maintained[KEY].machine._registry.constants) < 150


def test_rules_that_come_when_all_rules_have_gone_get_plans() -> None:
    """The hyper-node of a relation with a choice-domain stays, with the lists that all its rules had plans for."""
    with tidelog.connect() as db:
        db.options(strategy="update")
        db.load(".decl e(x: number, y: number)  .decl k(x: number, y: number) choice-domain (x, y)")
        first, second = "r0: k(x, y) :- e(x, y).", "r1: k(x, z) :- k(x, y), k(y, z)."
        db.load(first)
        db.insert("e", [(1, 2), (2, 3)])
        db.insert("k", [(3, 4)])
        db.commit()
        db.rules.remove("r0")
        db.commit()
        db.delete("k", [(3, 4)])
        db.insert("k", [(4, 5)])
        db.commit()
        db.load(first + second)
        db.insert("e", [(3, 4)])
        db.commit()
        assert set(db["k"]) == {(i, j) for i in range(1, 5) for j in range(i + 1, 6)}
        db.check()


def test_rules_that_go_and_come_leave_the_plans_of_a_hyper_node_in_whichever_order_its_relations_are() -> None:
    db = tidelog.connect()
    db.options(strategy="update")
    db.load("""
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl p(x: number, y: number)
.decl q(x: number, y: number)
first: p(x, y) :- a(x, y), x = 0.
q(x, z) :- p(x, y), b(y, z).
p(x, z) :- q(x, y), a(y, z).
p(x, y) :- a(x, y), x > 5.
""")
    db.insert("a", [(i, i + 1) for i in range(9)])
    db.insert("b", [(i, i + 1) for i in range(9)])
    db.commit()
    db.delete("b", [(8, 9)])
    db.commit()
    [(key, kept)] = db.engine.maintained.items()
    machine, orders = kept.machine, {db.engine.nodes[-1].relations}
    for _ in range(3):
        db.rules.remove("first")
        db.commit()
        orders.add(db.engine.nodes[-1].relations)
        assert (0, 1) not in db["p"]
        assert (6, 8) in db["q"]
        db.load("first: p(x, y) :- a(x, y), x = 0.")
        db.insert("a", [(7, 7)])
        db.commit()
        db.delete("a", [(7, 7)])
        db.commit()
        orders.add(db.engine.nodes[-1].relations)
        assert {(0, 1), (0, 3)} <= set(db["p"])
    assert orders == {("p", "q"), ("q", "p")}
    db.rules.remove("first")
    db.load("first: q(x, y) :- a(x, y), x = 0.")
    db.commit()
    assert db.engine.maintained.keys() == {key}
    assert db.engine.maintained[key].machine is machine
    db.check()


CALLS = """
.decl call(f: number, g: number)
.decl entry(f: number)
.decl open(f: number)
.decl reached(f: number)
.decl tainted(f: number)
.decl warned(f: number)
reached(f) :- entry(f).
reached(g) :- reached(f), call(f, g).
tainted(f) :- reached(f), open(f).
tainted(g) :- tainted(f), call(f, g).
reached(f) :- warned(f).
warned(g) :- tainted(g), warned(f), call(f, g).
"""


def calls() -> tidelog.Database:
    db = tidelog.connect()
    db.options(strategy="update")
    db.load(CALLS)
    db.insert("call", [(i, i + 1) for i in range(6)])
    db.insert("entry", [(0,)])
    db.commit()
    return db


def planned_of(db: tidelog.Database) -> set[str]:
    (kept,) = [kept for nodes, kept in db.engine.maintained.items() if "reached" in nodes]
    return {name for _, lists in kept.planned.values() for name, _ in lists}


def test_of_mutually_recursive_rules_those_that_a_change_reaches_get_plans() -> None:
    db = calls()
    db.delete("entry", [(0,)])
    db.insert("entry", [(1,)])
    assert db.commit().report.bootstraps == 0
    assert planned_of(db) == {"entry", "reached"}
    assert set(db["reached"]) == {(i,) for i in range(1, 7)}
    db.insert("open", [(3,)])
    assert db.commit().report.bootstraps == 0
    assert planned_of(db) == {"entry", "reached", "open", "tainted"}
    assert set(db["tainted"]) == {(3,), (4,), (5,), (6,)}
    db.insert("warned", [(3,)])
    assert db.commit().report.bootstraps == 0
    assert set(db["warned"]) == {(3,), (4,), (5,), (6,)}
    db.delete("warned", [(3,)])
    db.delete("entry", [(1,)])
    assert db.commit().report.bootstraps == 0
    assert not [*db["warned"], *db["tainted"], *db["reached"]]
    db.check()


def test_a_rule_that_comes_while_tuples_die_gets_no_plans_for_these() -> None:
    """Its derivations from them never counted."""
    db = calls()
    db.load("late: tainted(f) :- reached(f), f < 4.")
    db.delete("call", [(1, 2)])
    assert db.commit().report.bootstraps == 0
    assert set(db["reached"]) == set(db["tainted"]) == {(0,), (1,)}
    db.check()
    db.delete("entry", [(0,)])
    assert db.commit().report.bootstraps == 0
    assert not [*db["tainted"], *db["reached"]]
    db.check()


def test_choices_get_plans_for_what_is_chosen_only_when_it_is() -> None:
    with tidelog.connect() as db:
        db.options(strategy="update")
        db.load("""
.decl edge(x: number, y: number)
.decl tree(x: number, y: number) choice-domain y
.decl far(x: number)
root: tree(0, 0) :- edge(0, _).
tree(x, y) :- tree(_, x), edge(x, y).
tree(x, x) :- far(x).
far(y) :- tree(x, y), far(x).
""")
        db.insert("edge", [(i, i + 1) for i in range(5)])
        db.commit()
        db.insert("edge", [(5, 6)])
        assert db.commit().report.bootstraps == 0
        (kept,) = [kept for nodes, kept in db.engine.maintained.items() if "far" in nodes]
        assert "far" not in {name for _, lists in kept.planned.values() for name, _ in lists}
        assert len(db["tree"]) == 7
        db.insert("far", [(3,)])
        assert db.commit().report.bootstraps == 0
        assert set(db["far"]) == {(3,), (4,), (5,), (6,)}
        db.delete("edge", [(1, 2)])
        assert db.commit().report.bootstraps == 0
        db.check()


# --- rules that read a relation without rows --------------------------------------------------------------------------

MET = """
.decl seen(x: number)
.decl step(x: number, y: number)
.decl open(x: number)
.decl key(x: number, y: number)
.decl at(x: number)
.decl holds(x: number, y: number)
.decl out(x: number)
at(x) :- seen(x).
at(y) :- at(x), step(x, y).
holds(x, k) :- at(x), key(x, k).
at(y) :- holds(_, y), open(y).
out(k) :- holds(x, k), open(x), at(k).
at(x) :- out(x).
"""
CHANGES = [("seen", (0,)), ("step", (0, 1)), ("key", (1, 7)), ("open", (7,)), ("step", (7, 8)), ("open", (1,))]


def dormant(db: tidelog.Database) -> set[str]:
    (kept,) = [kept for nodes, kept in db.engine.maintained.items() if "at" in nodes]
    assert not kept.dormant.keys() & kept.planned.keys()
    return {str(rule) for rule in kept.dormant.values()}


def met(*, came_late: bool = False) -> tidelog.Database:
    """A database in which `at` has rows, and `key` and `open` have none; its rules `came_late` if updates have met them
    as new ones."""
    db = tidelog.connect()
    db.load(MET)
    for name, row in CHANGES[:2]:
        if came_late or name == "step":
            db.options(strategy="update")
        db.insert(name, [row])
        db.commit()
    return db


@pytest.mark.parametrize("came_late", [False, True])
@pytest.mark.parametrize("order", [*permutations(range(2, 6))])
def test_a_rule_follows_all_it_reads_once_its_last_empty_relation_has_rows(
    order: tuple[int, ...], came_late: bool
) -> None:
    db = met(came_late=came_late)
    assert len(dormant(db)) == (4 if came_late else 2)
    facts: dict[str, list[tuple[int, ...]]] = {name: [] for name in ("seen", "step", "key", "open")}
    for name, row in CHANGES[:2]:
        facts[name].append(row)
    for i in order:
        name, row = CHANGES[i]
        facts[name].append(row)
        db.insert(name, [row])
        assert db.commit().report.bootstraps == 0
        assert_views(db, facts)
    assert not dormant(db)
    for name, row in CHANGES:  # What was settled while a rule was dormant changes now.
        facts[name].remove(row)
        db.delete(name, [row])
        assert db.commit().report.bootstraps == 0
        assert_views(db, facts)
        facts[name].append(row)
        db.insert(name, [row])
        assert db.commit().report.bootstraps == 0
        assert_views(db, facts)
    db.check()


def assert_views(db: tidelog.Database, facts: dict[str, list[tuple[int, ...]]]) -> None:
    other = tidelog.connect()
    other.load(MET)
    for name, rows in facts.items():
        other.insert(name, rows)
    other.commit()
    for name in ("at", "holds", "out"):
        assert set(db[name]) == set(other[name]), name


def test_a_relation_that_loses_its_last_row_takes_what_was_derived_from_it() -> None:
    db = met()
    db.insert("key", [(1, 7)])
    db.commit()
    assert set(db["holds"]) == {(1, 7)}
    db.delete("key", [(1, 7)])
    db.delete("seen", [(0,)])
    assert db.commit().report.bootstraps == 0
    assert not [*db["holds"], *db["at"]]
    db.check()


def test_a_rule_goes_with_the_last_row_that_it_reads() -> None:
    db = met()
    db.load("more: at(x) :- at(y), key(y, x).")
    db.insert("key", [(1, 7)])
    db.commit()
    assert (7,) in set(db["at"])
    db.rules.remove("more")
    db.delete("key", [(1, 7)])
    assert db.commit().report.bootstraps == 0
    assert set(db["at"]) == {(0,), (1,)}
    db.check()


def test_a_rule_that_comes_while_a_relation_is_empty_again_follows_it_later() -> None:
    db = met()
    for change in (db.insert, db.delete):
        change("key", [(1, 7)])
        db.commit()
    db.load("more: at(x) :- at(y), key(y, x), !open(x).")
    assert db.commit().report.bootstraps == 0
    for row in [(1, 5), (5, 6)]:
        db.insert("key", [row])
        assert db.commit().report.bootstraps == 0
    assert set(db["at"]) == {(0,), (1,), (5,), (6,)}
    db.insert("open", [(5,)])
    assert db.commit().report.bootstraps == 0
    db.insert("seen", [(5,)])
    db.delete("step", [(0, 1)])
    assert db.commit().report.bootstraps == 0
    assert set(db["at"]) == {(0,), (5,), (6,)}
    db.check()
