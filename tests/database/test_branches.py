"""Values with branches in Python: a named tuple for each branch, whose class the database gives."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import tidelog
from tidelog.errors import UsageError

PROGRAM = """
.type List = Nil {} | Cons { head: number, tail: List }
.type Box = Full { class: symbol, list: List } | Nothing {}
.decl r(x: List, n: number)
.decl box(b: Box)
box($Full("s", x)) :- r(x, _).
"""


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.connect() as db:
        db.load(PROGRAM)
        yield db


def test_a_class_for_each_branch(db: tidelog.Database) -> None:
    Nil, Cons = db.branch("Nil"), db.branch("Cons")
    value = Cons(1, Cons(head=2, tail=Nil()))
    assert issubclass(db.branch("Cons"), tidelog.Branch)
    assert value == Cons(1, tail=Cons(2, Nil())) != Cons(1, Nil())
    assert (value.head, value.tail.head, value[0], len(value)) == (1, 2, 1, 2)
    head, tail = value
    assert (head, tail) == (1, Cons(2, Nil()))
    match value:
        case Cons(first, Cons(second, Nil())):
            assert (first, second) == (1, 2)
        case _:
            pytest.fail("it should match")
    assert repr(value) == "Cons(head=1, tail=Cons(head=2, tail=Nil()))"
    assert db.branch("Cons") is Cons


def test_branches_with_equal_parts_differ() -> None:
    with tidelog.connect() as db:
        db.load(".type T = A { x: number } | B { x: number } | C {} | D {}\n.decl r(x: T)")
        names = "ABCD"
        a, b, c, d = (db.branch(name)(*[1] * len(db.branch(name)._fields)) for name in names)
        assert len({a, b, c, d, (1,), ()}) == 6
        assert sorted([d, b, c, a]) == [a, b, c, d]
        ordered = [a, type(a)(2), b, c, d]
        for i, x in enumerate(ordered):
            for j, y in enumerate(ordered):
                assert (x < y, x <= y, x > y, x >= y, x == y) == (i < j, i <= j, i > j, i >= j, i == j)
        for compare in (operator.lt, operator.le, operator.gt, operator.ge):
            with pytest.raises(TypeError):
                compare(a, 1)
        assert a != (1,)
        assert (1,) not in [a]


def test_values_go_in_and_come_out(db: tidelog.Database) -> None:
    Nil, Cons, Full = map(db.branch, ("Nil", "Cons", "Full"))
    value = Cons(7, Nil())
    db.insert("r", [(value, 1), (Nil(), 2)])
    change = db.commit()
    assert set(change["box"].inserted) == {(Full("s", value),), (Full("s", Nil()),)}
    assert (value, 1) in db["r"]
    assert (Cons(8, Nil()), 1) not in db["r"]
    assert (7, 1) not in db["r"]
    assert list(db.query("r($Cons(7, $Nil), n)")) == [(value, 1)]
    assert list(db.query("r($Cons(8, $Nil), n)")) == []
    assert db["r"].to_pandas()["x"].tolist().count(value) == 1
    assert db["r"].to_arrow()["x"].to_pylist() == ["$Nil", "$Cons(7, $Nil)"] or db["r"].to_arrow()["x"].to_pylist() == [
        "$Cons(7, $Nil)",
        "$Nil",
    ]
    assert "$Cons(7, $Nil)" in repr(db["r"])
    db.delete("r", db["r"].to_arrow())
    db.commit()
    assert len(db["r"]) == len(db["box"]) == 0


def test_queries_and_deletions_take_patterns(db: tidelog.Database) -> None:
    Nil, Cons = db.branch("Nil"), db.branch("Cons")
    one, two = Cons(1, Cons(2, Nil())), Cons(3, Nil())
    db.insert("r", [(one, 1), (two, 2)])
    db.commit()
    assert sorted(db.query("r($Cons(h, _), n), h > 1")) == [(3, 2)]
    assert sorted(db.query("r(x, n), x = $Cons(1, $Cons(_, t))")) == [(one, 1, Nil())]
    assert sorted(db.query("r($Cons(h, t), n)", t=Nil())) == [(3, 2)]
    with pytest.raises(tidelog.DataError, match=r"parameter `x`: error\[E0401\]: expected a List, found the int 3"):
        db.query("r(x, n)", x=3)
    db.delete("r($Cons(3, $Nil), n)")
    db.delete("r(x, n)", x=one)
    db.commit()
    assert len(db["r"]) == len(db["box"]) == 0


def test_values_are_copied_and_pickled(db: tidelog.Database) -> None:
    value = db.branch("Cons")(1, db.branch("Nil")())
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert other == value
        assert type(other) is type(value)
        assert hash(other) == hash(value)


def test_a_field_may_have_any_name(db: tidelog.Database) -> None:
    value = db.branch("Full")("a", db.branch("Nil")())
    assert getattr(value, "class") == "a"
    assert db.branch("Full")(**{"class": "a", "list": db.branch("Nil")()}) == value


def test_wrong_parts_are_errors(db: tidelog.Database) -> None:
    with pytest.raises(UsageError, match=r"E0605.*`Cons` takes 2 values, found 1\n  hint: write Cons\(head, tail\)"):
        db.branch("Cons")(1)
    with pytest.raises(UsageError, match=r"E0605.*`Cons` takes 2 values, found 1, head"):
        db.branch("Cons")(1, head=2)
    with pytest.raises(UsageError, match=r"E0605.*`Nil` takes 0 values, found 1"):
        db.branch("Nil")(1)
    with pytest.raises(UsageError, match=r"E0616.*no type has a branch Con\n  hint: did you mean `Cons`"):
        db.branch("Con")
    with pytest.raises(UsageError, match=r"E0616.*no type has a branch None"):
        db.branch(None)  # type: ignore[arg-type]


def test_long_values_need_no_recursion(db: tidelog.Database) -> None:
    Nil, Cons = db.branch("Nil"), db.branch("Cons")

    def long(last: int) -> Any:
        value = Cons(last, Nil())
        for i in range(20_000):
            value = Cons(i, value)
        return value

    db.insert("r", [(long(1), 1), (long(2), 2)])
    db.commit()
    rows = set(db["r"])
    assert {(long(1), 1), (long(2), 2)} == rows
    assert len(repr(long(1))) > 200_000
    assert len(db["r"].to_arrow()["x"][0].as_py()) > 200_000
