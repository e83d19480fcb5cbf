"""What would change a view: `what_if`, `why_not`, `undo` and `repair`, by hand and against brute force."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, combinations
from pathlib import Path

import pytest

import tidelog
from tests.depth import cases
from tests.explain.test_proofs import FACTS, PROGRAM
from tests.explain.test_random_proofs import small
from tests.generate import Row
from tests.suite import FIRST_SEED, evaluate_naive, loaded
from tests.texts import goldens, python


@pytest.fixture
def db() -> tidelog.Database:
    return loaded(PROGRAM, FACTS)


def state(db: tidelog.Database) -> dict[str, object]:
    return {name: dict(db.births(name)) for name in db.relations} | {"rules": list(db.rules)}


def test_a_trial_shows_the_change_and_takes_it_back(db: tidelog.Database) -> None:
    told: list[object] = []
    db.subscribe("ok", told.append)
    before = state(db)
    with db.what_if() as trial:
        trial.delete("e", [("a", "b")])
        trial.rules.add("new: ok(x, 77) :- blocked(x).")
    assert trial.change is not None
    assert set(trial.change["ok"].inserted) == {("a", 2), ("d", 77)}
    assert set(trial.change["ok"].deleted) == {("a", 3)}
    assert state(db) == before
    assert not db.has_pending
    assert not told
    db.delete("e", [("a", "b")])
    db.rules.add("new: ok(x, 77) :- blocked(x).")
    change = db.commit()
    assert change.report.updates
    for name in db.relations:
        assert set(change[name].inserted) == set(trial.change[name].inserted)
        assert set(change[name].deleted) == set(trial.change[name].deleted)


def test_a_dry_run_is_a_trial(db: tidelog.Database) -> None:
    with db.transaction(dry_run=True) as transaction:
        transaction.insert("blocked", [("a",)])
    assert transaction.change is not None
    assert ("a", "b") in transaction.change["r"].deleted
    assert ("a", "b") in db["r"]


def test_a_trial_writes_nothing(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store") as db:
        db.load(PROGRAM)
        db.insert("e", FACTS["e"])
        db.commit()
        files = {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()}
        with db.what_if() as trial:
            trial.clear("e")
        assert {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()} == files
        db.insert("e", [("q", "r")])
        db.commit()
    with tidelog.connect(tmp_path / "store") as db:
        assert set(db["e"]) == {*FACTS["e"], ("q", "r")}


def test_a_trial_that_fails_changes_nothing(db: tidelog.Database) -> None:
    before = state(db)
    db.options(max_rows=1)
    with pytest.raises(tidelog.LimitError), db.what_if() as trial:
        trial.insert("e", [("d", f"n{i}") for i in range(50)])
    assert state(db) == before
    assert not db.has_pending


# --- why not ---------------------------------------------------------------------------------------------------------

ABSENCES = {python(goal): text for goal, text in goldens(__file__, "absences")}


@pytest.mark.parametrize("goal", ABSENCES, ids=lambda goal: goal[0])
def test_an_absence_names_the_first_literal_without_a_match(
    db: tidelog.Database, goal: tuple[str, tuple[object, ...]]
) -> None:
    absence = db.why_not(*goal)
    assert str(absence) == ABSENCES[goal]
    assert absence.to_dict()["tuple"] == list(goal[1])


def test_a_missing_tuple_is_explained_to_a_depth() -> None:
    db = loaded(
        ".decl a(x: number) .decl b(x: number) .decl c(x: number) .decl d(x: number) "
        "one: d(x) :- c(x). two: c(x) :- b(x). three: b(x) :- a(x)."
    )
    absence = db.why_not("d", (1,), depth=1)
    (attempt,) = absence.attempts
    assert attempt.below is not None
    assert attempt.below.relation == "c"
    assert attempt.below.attempts[0].below is None


def test_a_tuple_that_holds_is_not_absent(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.UsageError, match="E0672"):
        db.why_not("e", ("a", "b"))
    with pytest.raises(tidelog.UsageError, match="E0672"):
        db.ways_to_derive("e", ("a", "b"))


def test_the_members_of_an_aggregate_wait_for_the_values_that_they_need() -> None:
    db = loaded(
        ".decl talk(p: symbol, s: number, e: number) .decl heard(p: symbol, s: number, e: number)\n"
        "next: heard(p, s, e) :- s = min z : { talk(p, z, _), z >= now }, heard(p, _, now), talk(p, s, e).",
        {"talk": [("a", 1, 3), ("a", 5, 7)], "heard": [("a", 1, 3)]},
    )
    assert (
        str(db.why_not("heard", ("a", 1, 7)))
        == """\
heard("a", 1, 7) does not hold: no rule derives it
  [next at <text>:2:1]
    fails: talk("a", 1, 7)
    near: talk("a", 5, 7), talk("a", 1, 3)"""
    )
    db.insert("talk", [("a", 2, 7)])
    db.commit()
    assert (
        str(db.why_not("heard", ("a", 2, 7)))
        == """\
heard("a", 2, 7) does not hold: no rule derives it
  [next at <text>:2:1]
    holds: talk("a", 2, 7)
    holds: heard("a", 1, 3)
    fails: 2 = min z : { talk("a", z, _), z >= 3 } (for 2 bindings, the first one shown)"""
    )


def test_a_counter_comes_after_what_it_counts() -> None:
    db = loaded(
        '.decl e(x: symbol) .decl id(x: symbol, n: number)\nid(x, autoinc()) :- e(x), x != "b".',
        {"e": [("a",), ("b",)]},
    )
    assert db["id"] == {("a", 0)}
    reasons = [db.why_not("id", row).attempts[0].failed for row in (("a", 1), ("c", 0), ("b", 0))]
    assert reasons == ["1 = autoinc()", 'e("c")', '"b" != "b"']


# --- what ends it, what begins it ------------------------------------------------------------------------------------


def test_what_ends_a_tuple(db: tidelog.Database) -> None:
    found = list(db.ways_to_remove("r", ("a", "d")))
    assert [each.facts for each in found] == [
        (("e", ("c", "d")),),
        (("e", ("a", "b")), ("e", ("a", "c"))),
        (("e", ("a", "c")), ("e", ("b", "c"))),
    ]
    assert [each.rules for each in db.ways_to_remove("r", ("a", "d"), rules=True)] == [("direct",), ("step",)]


def test_a_rule_of_a_declaration_stays() -> None:
    db = loaded(
        ".decl e(x: symbol, y: symbol) .decl s(x: symbol, y: symbol) eqrel\nmerged: s(x, y) :- e(x, y).",
        {"e": [("a", "b")]},
    )
    assert [each.rules for each in db.ways_to_remove("s", ("b", "a"), rules=True)] == [("merged",)]


def test_what_begins_a_tuple(db: tidelog.Database) -> None:
    assert list(db.ways_to_derive("closed", ("zz", "b")))[:2] == [(("e", ("zz", "b")),), (("e", ("zz", "a")),)]
    assert list(db.ways_to_derive("r", ("d", "b"))) == []


def subsets(facts: list[tuple[str, Row]], most: int) -> Iterator[frozenset[tuple[str, Row]]]:
    return map(frozenset, chain.from_iterable(combinations(facts, size) for size in range(1, most + 1)))


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(5)))
def test_what_ends_tuples_is_what_brute_force_finds(seed: int) -> None:
    db, facts, rng = small(seed, 4)
    text = "\n".join(map(str, db.workspace.programs))
    every = [(name, row) for name, rows in facts.items() for row in sorted(rows)]
    goals = [("t", row) for row in db["t"]]
    for goal in rng.sample(goals, min(2, len(goals))):
        expected: set[frozenset[tuple[str, Row]]] = set()
        for gone in subsets(every, len(every)):
            if not any(each <= gone for each in expected):
                left = {name: {row for row in rows if (name, row) not in gone} for name, rows in facts.items()}
                if goal[1] not in evaluate_naive(text, left)[goal[0]]:
                    expected.add(gone)
        found = [frozenset(each.facts) for each in db.ways_to_remove(*goal)]
        assert set(found) == expected
        assert [len(each) for each in found] == sorted(map(len, found))


CLOSED = """
.decl e(x: number, y: number) .decl f(x: number, y: number) .decl t(x: number, y: number) .decl p(x: number, y: number)
one: t(x, y) :- e(x, y).
two: t(x, z) :- t(x, y), t(y, z).
three: p(x, y) :- <(e/^f)+>(x, y).
four: p(x, y) :- t(x, y), f(y, _).
"""


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(4)))
def test_what_ends_pairs_of_closures_and_paths_is_what_brute_force_finds(seed: int) -> None:
    rng, db = random.Random(seed), tidelog.connect()
    db.load(CLOSED)
    every = sorted({(rng.choice("eef"), (rng.randrange(4), rng.randrange(4))) for _ in range(8)})
    for name, row in every:
        db.insert(name, [row])
    db.commit()

    def holds(goal: tuple[str, Row], gone: frozenset[tuple[str, Row]], text: str = CLOSED) -> bool:
        left = {name: {row for other, row in every if other == name and (name, row) not in gone} for name in "ef"}
        return goal[1] in evaluate_naive(text, left)[goal[0]]

    for name in ("t", "p"):
        for goal in [(name, row) for row in rng.sample(sorted(db[name]), min(2, len(db[name])))]:
            ends = [gone for gone in subsets(every, len(every)) if not holds(goal, gone)]
            found = {frozenset(each.facts) for each in db.ways_to_remove(*goal)}
            assert found == {gone for gone in ends if not any(other < gone for other in ends)}
            lines = CLOSED.splitlines()
            single = {
                line.partition(":")[0]
                for line in lines[2:]
                if not holds(goal, frozenset(), "\n".join(each for each in lines if each is not line))
            }
            assert {each.rules[0] for each in db.ways_to_remove(*goal, rules=True) if len(each.rules) == 1} == single


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(4)))
def test_what_begins_tuples_does(seed: int) -> None:
    """Each answer makes the tuple hold, no smaller one does, and single facts are all found."""
    db, facts, _ = small(seed, 3)
    text = "\n".join(map(str, db.workspace.programs))
    rng = random.Random(seed)
    absent = [(x, y) for x in range(3) for y in range(3) if (x, y) not in db["t"]]
    possible = [("e", (x, y)) for x in range(3) for y in range(3)] + [("f", (x,)) for x in range(3)]
    for row in rng.sample(absent, min(2, len(absent))):

        def holds(added: frozenset[tuple[str, Row]], row: Row = row) -> bool:
            more = {name: rows | {each for other, each in added if other == name} for name, rows in facts.items()}
            return row in evaluate_naive(text, more)["t"]

        found = [frozenset(each) for each in db.ways_to_derive("t", row)]
        single = {frozenset([fact]) for fact in possible if holds(frozenset([fact]))}
        assert {each for each in found if len(each) == 1} == single
        for each in found:
            assert holds(each)
            assert not any(holds(each - {fact}) for fact in each)


def test_an_absence_takes_tuples_first_that_have_a_bound_variable() -> None:
    """`m` has the fewest open variables, and each of its tuples would be a binding."""
    db = loaded(
        ".decl m(z: number) .decl e(x: number, y: number, z: number) .decl q(y: number) .decl p(x: number) "
        "p(x) :- m(z), e(x, y, z), q(y).",
        {"m": [(i,) for i in range(50)], "e": [(1, 2, 3)]},
    )
    (attempt,) = db.why_not("p", (1,)).attempts
    assert (attempt.met, attempt.failed, attempt.bindings) == (("e(1, 2, 3)", "m(3)"), "q(2)", 1)


def test_tuples_near_a_missing_one_are_in_the_order_of_their_values() -> None:
    db = loaded(".decl e(x: number, y: number)", {"e": [(1, 10), (1, 9), (1, 2), (1, 11)]})
    assert db.why_not("e", (1, 5)).near == ("e(1, 2)", "e(1, 9)", "e(1, 10)")
