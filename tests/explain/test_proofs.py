"""Proofs as users see them: why a tuple holds, in the words of the program."""

from __future__ import annotations

import copy
import json
import random
import re
from dataclasses import fields, replace
from html import unescape
from pathlib import Path

import pytest

import tidelog
from tests.suite import loaded
from tests.texts import goldens, python
from tidelog.explain.steps import ProofStep

DOCS = Path(__file__).parents[2] / "docs"
PROGRAM = """
.decl e(a: symbol, b: symbol)
.decl w(a: symbol, b: symbol, n: number)
.decl blocked(a: symbol)
.decl closed(a: symbol, b: symbol)
.decl r(a: symbol, b: symbol)
.decl ok(a: symbol, n: number)
.decl d(a: symbol, n: number) min(n)
.decl far(a: symbol, b: symbol)
.type L = [head: number, tail: L]
.decl l(x: L)
closed(x, y) :- e(x, y).
closed(x, z) :- closed(x, y), e(y, z).
direct: r(x, y) :- e(x, y), !blocked(x).
step: r(x, z) :- r(x, y), r(y, z), (x != z ; blocked(z)).
many: ok(x, n + 1) :- e(x, _), n = count : { e(x, _) }, n > 0.
d("a", 0).
way: d(y, c + n) :- d(x, c), w(x, y, n).
far(x, y) :- <e+/^e>(x, y).
l(nil).
longer: l([n, t]) :- l(t), ok(_, n), t = nil.
"""
FACTS: dict[str, list[tuple[object, ...]]] = {
    "e": [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")],
    "w": [("a", "b", 3), ("b", "c", 4), ("a", "c", 9), ("c", "a", 1)],
    "blocked": [("d",)],
}


@pytest.fixture
def db() -> tidelog.Database:
    return made()


def made(order: int = 0) -> tidelog.Database:
    """The database, with its facts in an order of their own, some of which came and went before."""
    rng = random.Random(order)
    db = tidelog.connect()
    db.load(PROGRAM)
    for name in sorted(FACTS, key=lambda _: rng.random()):
        db.insert(name, rng.sample(FACTS[name], len(FACTS[name])))
        if order:
            db.commit()
            gone = rng.sample(FACTS[name], 1)
            db.delete(name, gone)
            db.commit()
            db.insert(name, gone)
    db.commit()
    return db


PROOFS = {python(goal): text for goal, text in goldens(__file__, "proofs")}


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("goal", PROOFS, ids=lambda goal: goal[0])
def test_equal_states_have_equal_proofs(goal: tuple[str, tuple[object, ...]], order: int) -> None:
    db = made(order)
    proof = db.explain(*goal)
    assert str(proof) == PROOFS[goal]
    assert not proof.check(db).granted


def test_a_reopened_store_gives_the_same_proof(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store") as db:
        db.load(PROGRAM)
        for name, rows in FACTS.items():
            db.insert(name, rows)
            db.commit()
    with tidelog.connect(tmp_path / "store") as db:
        for goal in PROOFS:
            assert db.explain(*goal) == made().explain(*goal)


def test_steps_are_those_that_their_fields_make(db: tidelog.Database) -> None:
    """Searches make them without `__init__`."""
    for goal in PROOFS:
        proof = db.explain(*goal)
        again = tuple(
            ProofStep(**{each.name: getattr(step, each.name) for each in fields(step)}) for step in proof.steps
        )
        assert again == proof.steps
        assert repr(again) == repr(proof.steps)
        assert copy.deepcopy(replace(proof)) == proof


def test_a_proof_names_its_facts_rules_and_variables(db: tidelog.Database) -> None:
    proof = db.explain("d", ("c", 7))
    assert proof.facts == (("d", ("a", 0)), ("w", ("a", "b", 3)), ("w", ("b", "c", 4)))
    assert proof.rules == ("way",)
    assert (proof.height, len(proof.steps)) == (2, 5)
    assert proof.goal.variables == {"x": "b", "y": "c", "c": 3, "n": 4}
    assert proof.goal.text == "way: d(y, c + n) :- d(x, c), w(x, y, n)."
    assert json.loads(proof.to_json()) == json.loads(json.dumps(proof.to_dict()))
    assert proof.to_dict()["steps"][-1]["premises"] == [2, 3]


def test_all_proofs_come_the_smallest_first() -> None:
    db = loaded(
        ".decl e(x: number, y: number) .decl t(x: number, y: number) "
        "one: t(x, y) :- e(x, y). two: t(x, z) :- t(x, y), t(y, z).",
        {"e": [(1, 2), (2, 3), (1, 3), (3, 1)]},
        closures=False,
    )
    proofs = list(db.explain("t", (1, 3), all=True))
    assert [sorted(row for _, row in proof.facts) for proof in proofs] == [[(1, 3)], [(1, 2), (2, 3)]]
    for name, row in [("t", (1, 1)), ("t", (3, 3))]:
        found = list(db.explain(name, row, all=True))
        assert [len(proof.steps) for proof in found] == sorted(len(proof.steps) for proof in found)
        for proof in found:
            proof.check(db)


def test_a_change_ends_the_proofs_of_before(db: tidelog.Database) -> None:
    proofs = db.explain("r", ("a", "d"), all=True)
    next(proofs)
    db.insert("e", [("a", "d")])
    db.commit()
    with pytest.raises(tidelog.UsageError, match="E0671"):
        next(proofs)


def test_the_last_epoch_is_explained_while_a_transaction_is_open(db: tidelog.Database) -> None:
    with db.transaction() as transaction:
        transaction.delete("e", FACTS["e"])
        transaction.rules.remove("step")
        assert str(db.explain("r", ("a", "d"))) == PROOFS["r", ("a", "d")]


@pytest.mark.parametrize(
    ("relation", "values", "code"),
    [
        ("r", ("d", "a"), "E0670"),
        ("r", ("a", "unknown"), "E0670"),
        ("r", ("a",), "E0405"),
        ("r", ("a", 3), "E0401"),
        ("r", 3, "E0407"),
        ("nobody", ("a", "b"), "E0601"),
    ],
)
def test_what_cannot_be_explained(db: tidelog.Database, relation: str, values: object, code: str) -> None:
    before = db.stats()["memory"]
    with pytest.raises(tidelog.TidelogError) as caught:
        db.explain(relation, values)
    assert caught.value.code == code
    assert caught.value.problems[0].hint
    assert db.stats()["memory"]["dictionary"] == before["dictionary"]


def test_a_long_chain_is_explained_and_printed_in_part() -> None:
    db = loaded(
        ".decl s(x: number) .decl e(x: number, y: number) s(0). next: s(y) :- s(x), e(x, y).",
        {"e": [(i, i + 1) for i in range(500)]},
    )
    proof = db.explain("s", (500,))
    assert (proof.height, len(proof.steps)) == (500, 1_001)
    lines = str(proof).split("\n")
    assert len(lines) == 201
    assert lines[-1] == "… (1,001 steps in all)"


def test_rules_that_can_never_hold_derive_nothing() -> None:
    db = loaded(
        ".type T = A {} | B { x: number } .decl p(x: number) .decl r(x: number) "
        "never: p(x) :- r(x), $A() = $B(x), !r(_). holds: p(x) :- r(x).",
        {"r": [(1,)]},
    )
    for _ in range(3):
        assert db.explain("p", (1,)).rules == ("holds",)
    assert db.why_not("p", (2,)).attempts[0].failed == "$A = $B(2)"


def test_the_picture_of_the_page_is_the_proof_of_its_example() -> None:
    page, picture = (DOCS / "how-to/explanations.md").read_text("utf-8"), (DOCS / "images/proof.svg").read_text("utf-8")
    begin = page.index(">>> import tidelog")
    lines = page[begin : page.index(">>> print(proof)")].splitlines()
    names: dict[str, tidelog.Proof] = {}
    exec("\n".join(line[4:] for line in lines if line.startswith((">>> ", "... "))), names)
    shown = {unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", picture)}
    steps = names["proof"].steps
    texts = {step.tuple_text for step in steps} | {step.reason for step in steps if step.sort != "fact"}
    assert shown == texts | {condition.text for step in steps for condition in step.conditions}


def test_a_drawing_has_the_form_of_its_ending(tmp_path: Path) -> None:
    db = loaded(".decl e(x: number) e(1).")
    proof = db.explain("e", (1,))
    proof.draw(tmp_path / "proof.dot")
    assert (tmp_path / "proof.dot").read_text("utf-8") == proof.to_dot()
    proof.draw(tmp_path / "proof.svg")
    assert "e(1)" in (tmp_path / "proof.svg").read_text("utf-8")
    with pytest.raises(tidelog.UsageError, match="E0690"):
        proof.draw(tmp_path / "proof.jpeg")


RECURSIVE_PATH = """
.decl e(x: number, y: number)
.decl s(x: number)
.decl d(x: number, c: number)SELECTION
r0: d(x, y) :- e(x, y).
r1: d(x, z) :- d+(x, z), s(z).
"""


@pytest.mark.parametrize("selection", ["", " min(c)"])
def test_a_path_along_its_own_relation_has_a_proof_that_ends(selection: str) -> None:
    """The shortest walk along `d+` from 2 to 0 is the tuple that it derives. It made proofs that took all memory."""
    db = loaded(RECURSIVE_PATH.replace("SELECTION", selection), {"e": [(1, 0), (2, 1), (3, 2)], "s": [(0,)]})
    proof = db.explain("d", (2, 0))
    chosen = ", not shown by its selection: d(2, 0) is preferred" if selection else ""
    assert (
        str(proof)
        == f"""\
d(2, 0)   [r1 at <text>:6:1]
├─ d+(2, 0)   [a walk of 2 steps]
│  ├─ d(2, 1)   [r0 at <text>:5:1{chosen}]
│  │  └─ e(2, 1)   [fact]
│  └─ d(1, 0)   [r0 at <text>:5:1]
│     └─ e(1, 0)   [fact]
└─ s(0)   [fact]"""
    )
    assert next(db.explain("d", (2, 0), all=True)) == proof
    for row in db["d"]:
        db.explain("d", row).check()
        db.explain("d", row).check(db)
        next(db.explain("d", row, all=True)).check(db)
        db.blame("d", row).proof.check(db)
        next(db.ways_to_remove("d", row))
