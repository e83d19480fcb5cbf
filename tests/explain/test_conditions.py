"""What the steps of a proof say besides their premises: members and witnesses of aggregates, absent tuples, rivals."""

from __future__ import annotations

import pytest

import tidelog
from tests.suite import loaded
from tests.texts import goldens, python
from tidelog.explain.steps import Condition
from tidelog.explain.views import EngineViews

PROGRAM = """
.decl w(x: symbol, y: symbol, n: number)
.decl t(x: symbol, n: number)
.decl best(x: symbol, n: number)
.decl top(x: symbol, n: number)
.decl near(x: symbol, y: symbol)
.decl twice(x: symbol, n: number)
.decl cheapest(x: symbol, y: symbol)
.decl hop(x: symbol, y: symbol) inline
.decl two(x: symbol, z: symbol)
.decl alone(x: symbol)
.decl k(x: symbol, y: symbol) choice-domain x
.decl c(x: symbol, n: number)
base: t(x, n) :- w(x, _, n).
more: t(x, n + 10) :- t(x, n), n < 5.
best: best(x, m) :- w(x, _, 1), m = min n : { t(x, n), n > 2 }.
top: top(x, max n : { t(x, n) }) :- w(x, _, 1).
near: near(x, y) :- w(x, _, 1), y = argmin(z, n) : { w(x, z, n) }.
twice: twice(x, 2 + m) :- w(x, _, 1), 2 + m = 2 + max n : { t(x, n) }, t(x, m).
cheapest: cheapest(x, y) :- w(x, _, 1), _ = min n : { w(x, y, n) }.
hop: hop(x, y) :- w(x, y, n), n < 2.
two: two(x, z) :- hop(x, y), hop(y, z).
alone: alone(x) :- w(x, y, 1), !w(y, x, 1 + 1), !w(x, x, _).
choice: k(x, y) :- w(x, y, _).
count: c(x, n) :- w(x, _, 1), n = count : { t(x, _) }.
"""
ROWS = [("a", "b", 4), ("a", "c", 1), ("b", "d", 3), ("c", "d", 9), ("c", "b", 1), ("d", "a", 3)]
PROOFS = {python(goal): text for goal, text in goldens(__file__, "proofs")}


@pytest.fixture
def db() -> tidelog.Database:
    return loaded(PROGRAM, {"w": ROWS})


@pytest.mark.parametrize("goal", PROOFS, ids=lambda goal: goal[0])
def test_proofs_with_witnesses_and_rivals(db: tidelog.Database, goal: tuple[str, tuple[object, ...]]) -> None:
    proof = db.explain(*goal)
    assert str(proof) == PROOFS[goal]
    assert not proof.check(db).granted


def test_a_witness_is_a_premise(db: tidelog.Database) -> None:
    goal = db.explain("twice", ("a", 16)).goal
    (condition,) = goal.conditions
    assert condition.text == '2 + 14 = 2 + max n : { t("a", n) }'
    steps = db.explain("best", ("a", 4)).steps
    (shown,) = steps[-1].conditions
    assert [steps[i].values for i in shown.witness] == [("a", 4)]
    assert set(shown.witness) < set(steps[-1].premises)
    assert steps[-1].to_dict()["conditions"][0]["witness"] == list(shown.witness)
    assert f"c0 -> s{shown.witness[0]};" in db.explain("best", ("a", 4)).to_dot()


def test_what_ends_a_minimum_is_its_witness(db: tidelog.Database) -> None:
    assert [each.facts for each in db.ways_to_remove("best", ("a", 4))] == [
        (("w", ("a", "b", 4)),),
        (("w", ("a", "c", 1)),),
    ]


def test_all_members_are_shown_on_request(db: tidelog.Database) -> None:
    def count(members: int | None) -> Condition:
        (condition,) = db.explain("c", ("a", 4), members=members).goal.conditions
        return condition

    every = ('t("a", 1)', 't("a", 4)', 't("a", 11)', 't("a", 14)')
    assert count(None) == Condition("aggregate", '4 = count : { t("a", _) }', 4, every)
    assert count(2).first == every[:2]
    assert count(0).line == '4 = count : { t("a", _) }   [4 members]'
    (proof,) = db.explain("c", ("a", 4), all=True, members=None)
    assert proof.goal.conditions[0].first == every


def test_an_absent_tuple_is_one_call_away_from_its_reason(db: tidelog.Database) -> None:
    first, second = db.explain("alone", ("a",)).goal.conditions
    assert first.absent == ("w", ("c", "a", 2))
    assert second.absent is None
    assert str(db.why_not(*first.absent)).startswith('w("c", "a", 2) does not hold: it is not asserted')
    assert first.to_dict()["absent"] == ["w", ["c", "a", 2]]


SELECTING = {
    "best": (".decl d(x: number, c: number) min(c)\nd(x, c) :- e(x, c), !f(x).\nd(x, c - 1) :- d(x, c), c > 1.", 4, 1),
    "dominance": (
        ".decl d(x: number, c: number)\nd(x, c) :- e(x, c).\nd(x, c - 1) :- d(x, c), c > 1.\n"
        "d(x, c) <= d(x, b) :- b < c, !f(b).",
        4,
        1,
    ),
}


@pytest.mark.parametrize("form", SELECTING)
def test_a_candidate_names_the_tuple_that_is_preferred(form: str) -> None:
    text, worst, best = SELECTING[form]
    db = tidelog.connect()
    db.load(".decl e(x: number, c: number) .decl f(x: number)")
    db.load(text)
    db.insert("e", [(0, worst)])
    db.commit()
    assert set(db["d"]) == {(0, best)}
    proof = db.explain("d", (0, best))
    candidates = [step for step in proof.steps if step.is_candidate]
    assert [step.values for step in candidates] == [(0, c) for c in range(worst, best, -1)]
    assert {step.better for step in candidates} == {(0, best)}
    assert f"not shown by its selection: d(0, {best}) is preferred" in str(proof)
    assert candidates[0].to_dict()["better"] == [0, best]
    assert not proof.check(db).granted


def test_a_recursion_that_chooses_reads_the_candidates_of_others() -> None:
    db = loaded(
        ".decl e(x: number, c: number) .decl d(x: number, c: number) min(c) .decl t(x: number, c: number) "
        ".decl k(x: number, c: number) choice-domain x "
        "d(x, c) :- e(x, c). t(x, c) :- d(x, c). d(x, c - 1) :- t(x, c), c > 1. k(x, c) :- t(x, c). "
        "t(x, c + 9) :- k(x, c).",
        {"e": [(0, 3)]},
    )
    assert set(db["d"]) == {(0, 1)}
    for row in db["t"]:
        assert not db.explain("t", row).check(db).granted
        assert not db._explainer.founded_proof("t", row, EngineViews(db.engine)).is_partial
    assert [step.values for step in db.explain("t", (0, 3)).steps if step.is_candidate] == [(0, 3)]


def test_a_choice_names_what_it_passed_over() -> None:
    db = loaded(
        ".decl k(x: number, y: number) choice-domain x .decl e(x: number, y: number) k(x, y) :- e(x, y).",
        {"e": [(1, y) for y in range(6)]},
    )
    (shown,) = db["k"]
    goal = db.explain("k", shown).goal
    others = [(1, y) for y in range(6) if (1, y) != shown]
    assert (goal.rivals, goal.first_rivals) == (5, tuple(others[:3]))
    assert goal.reason.endswith("chosen before k(1, 1), k(1, 2), k(1, 3) and 2 others")
    assert goal.to_dict()["rivals"] == 5


def test_rules_of_declarations_have_no_invented_names() -> None:
    db = tidelog.connect()
    db.load(".decl same(x: number, y: number) eqrel .decl e(x: number, y: number) same(x, y) :- e(x, y).")
    db.load("same(x, y) :- same(y, x), e(x, x).")
    db.insert("e", [(1, 2), (2, 3)])
    db.commit()
    assert "#" not in str(db.explain("same", (3, 1)))


def test_members_along_a_path_have_each_wildcard_of_their_own() -> None:
    """That in the record at the end of a path had the name of that in the atom before it."""
    db = loaded(
        ".type P = [a: number, b: number] .decl e(p: P, q: P) .decl w(x: number, y: number) .decl n(c: number)\n"
        "counted: n(c) :- c = count : { w(x, _), <e+>([_, 1], q) }.",
        {"e": [((5, 1), (6, 2)), ((6, 2), (7, 3))], "w": [(1, 5), (1, 8), (2, 9)]},
    )
    proof = db.explain("n", (6,), members=None)
    assert proof.goal.conditions[0].members == 6
    assert len(set(proof.goal.conditions[0].first)) == 6
    assert proof.check(db).granted == ()
