"""Why a relation that selects does not show a tuple: a rule derives it, and another tuple is preferred."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.suite import loaded
from tests.texts import goldens, python
from tidelog.cli.entry import main

DISTANCES = """
.decl e(x: symbol, y: symbol, w: number)
.decl d(x: symbol, c: number) min(c)
e("a", "b", 1). e("a", "b", 5). e("a", "c", 9). e("b", "c", 2).
source: d("a", 0).
way: d(y, c + w) :- d(x, c), e(x, y, w).
"""
GREATEST = """
.decl s(x: symbol, n: number)
.decl m(x: symbol, n: number) max(n)
s("a", 1). s("a", 5). s("a", 3).
take: m(x, n) :- s(x, n).
"""
ASSERTED = """
.decl m(x: symbol, n: number) max(n)
m("a", 1). m("a", 5).
"""
FRONT = """
.decl offer(x: symbol, price: number, days: number)
.decl best(x: symbol, price: number, days: number)
offer("a", 5, 5). offer("b", 4, 9). offer("c", 5, 6).
all: best(x, p, d) :- offer(x, p, d).
best(_, p, d) <= best(_, q, e) :- q <= p, e <= d.
"""
TREE = """
.decl e(x: number, y: number)
.decl tree(v: number, parent: number) choice-domain v
e(1, 2). e(1, 3). e(2, 4). e(3, 4).
root: tree(1, 0).
grow: tree(y, x) :- tree(x, _), e(x, y).
"""
FULL = """
.decl e(x: number, y: number)
.decl d(x: number, c: number) min(c)
e(1, 2). e(2, 3).
d(1, 0). d(1, 9). d(2, 3).
far: d(y, c - 5) :- d(x, c), e(x, y), c > 7.
way: d(y, c + 1) :- d(x, c), e(x, y).
"""
"""Rules that are not monotone: they read all candidates."""


@pytest.mark.parametrize(("case", "expected"), goldens(__file__, "absences"))
def test_a_dominated_tuple_names_the_one_that_beats_it(case: str, expected: str) -> None:
    _, program, relation, values = python(case)
    assert str(loaded(globals()[program]).why_not(relation, values)) == expected


def test_json_has_the_better_tuple_and_the_rule_that_derives_the_other() -> None:
    found = loaded(DISTANCES).why_not("d", ("c", 9)).to_dict()
    assert (found["candidate"], found["better"]) == (True, ["c", 3])
    assert [attempt["rule"] for attempt in found["attempts"] if attempt.get("derives")] == ["way"]
    found = loaded(DISTANCES).why_not("d", ("c", 7)).to_dict()
    assert (found["candidate"], found["better"]) == (False, ["c", 3])
    assert "better" not in loaded(DISTANCES).why_not("d", ("c", 2)).to_dict()


def test_a_dominated_tuple_below_another_one() -> None:
    """A rule outside of the recursion reads shown tuples only."""
    db = loaded(DISTANCES + ".decl far(x: symbol) far(x) :- d(x, 9).")
    assert 'd("c", 9) does not hold: it is derived, but d("c", 3) is preferred' in str(db.why_not("far", ("c",)))


def test_after_a_change_the_tuple_holds() -> None:
    db = loaded(DISTANCES)
    db.delete("e", [("b", "c", 2)])
    db.commit()
    assert ("c", 9) in db["d"]
    assert 'd("c", 10) does not hold: no rule derives it, and d("c", 9) would be preferred' in str(
        db.why_not("d", ("c", 10))
    )


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tidelog.connect(tmp_path / "s") as db:
        db.load(DISTANCES)
        db.commit()
    assert main(["explain", str(tmp_path / "s"), 'd("c", 9)', "--not"]) == 0
    assert 'd("c", 9) does not hold: it is derived, but d("c", 3) is preferred' in capsys.readouterr().out
