"""Set operators of relations, beside those of Python's sets."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import pytest

import tidelog

PROGRAM = """\
.type P = [a: number, b: symbol]
.decl e(x: number, y: symbol)
.decl f(a: number, b: symbol)
.decl p(p: P, w: float)
.decl flag()
"""
MADE: list[Callable[[Any, Any], Any]] = [operator.or_, operator.and_, operator.sub, operator.xor]
COMPARED: list[Callable[[Any, Any], Any]] = [
    operator.eq, operator.ne, operator.le, operator.lt, operator.ge, operator.gt, lambda a, b: a.isdisjoint(b),
]  # fmt: skip


def random_rows(rng: random.Random) -> set[tuple[int, str]]:
    return {(rng.randrange(4), rng.choice("abc")) for _ in range(rng.randrange(7))}


def test_operators_are_those_of_sets() -> None:
    rng = random.Random(5)
    db = tidelog.connect()
    db.load(PROGRAM)
    other = tidelog.connect()
    other.load(PROGRAM)
    for turn in range(60):
        one, two = random_rows(rng), random_rows(rng)
        if turn % 3 == 0:
            two = one | two
        for name, rows in (("e", one), ("f", two)):
            for each in (db, other):
                each.clear(name)
                each.insert(name, sorted(rows))
                each.commit()
        strange = two | {(rng.randrange(4), f"new {turn}")}
        for right, same in ((db["f"], two), (other["f"], two), (two, two), (frozenset(strange), strange)):
            for make in MADE:
                assert set(make(db["e"], right)) == make(one, same), (turn, make)
            for compare in COMPARED:
                assert compare(db["e"], right) is compare(one, same), (turn, compare)
        for make in MADE:
            assert set(make(strange, db["e"])) == make(strange, one), (turn, make)
        assert (strange == db["e"]) is (strange == one)
        assert (strange <= db["e"]) is (strange <= one)


def test_results_are_relations_that_stay() -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    db.insert("e", [(1, "a"), (2, "b")])
    db.insert("p", [((1, "x"), 0.5), (None, 1.0)])
    db.commit()
    both = db["e"] | {(3, "c")}
    one = db["e"] - {(2, "b")}
    db.clear("e")
    db.commit()
    assert both.to_arrow().to_pylist() == [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}, {"x": 3, "y": "c"}]
    assert (one.name, list(one)) == ("e", [(1, "a")])
    assert db["e"] == set()
    assert db["p"] == {((1, "x"), 0.5), (None, 1)}
    assert db["p"] | {((2, "new"), 2.5)} == {((1, "x"), 0.5), (None, 1.0), ((2, "new"), 2.5)}
    assert db["flag"] == set()
    assert db["flag"] | {()} == {()}
    assert db["flag"] != {()}


def test_values_of_other_types_are_equal_to_none() -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    db.insert("e", [(1, "a")])
    db.commit()
    assert db["e"] & {(True, "a"), (1.0, "a"), ("1", "a"), (1,), 5, (1, "a", 2)} == set()
    assert db["e"] != {(True, "a")}
    assert db["e"] != [(1, "a")]
    assert db["e"] != 5


@pytest.mark.parametrize(
    ("rows", "code"),
    [({(1, 2)}, "E0401"), ({(1,)}, "E0605"), ({5}, "E0605"), ({(True, "a")}, "E0401"), ({(2**63, "a")}, "E0401")],
)
def test_tuples_that_do_not_fit_are_reported(rows: set[Any], code: str) -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    db.commit()
    for make, one, two in ((operator.or_, db["e"], rows), (operator.xor, db["e"], rows), (operator.sub, rows, db["e"])):
        with pytest.raises(tidelog.TidelogError) as raised:
            make(one, two)
        assert raised.value.code == code
        assert raised.value.problems[0].hint
    with pytest.raises(TypeError):
        db["e"] | [(1, "a")]
    with pytest.raises(TypeError):
        hash(db["e"])
