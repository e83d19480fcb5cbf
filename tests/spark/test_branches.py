"""Values with branches over a session: text in frames, on both engines, and in pipelines' checks."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.errors import DataError
from tidelog.spark import SparkDatabase

PROGRAM = """
.type List = Nil {} | Cons { head: symbol, tail: List }
.type Pair = [n: number, list: List]
.decl given(n: number, x: List)
.decl list(x: List)
.decl pair(p: Pair)
.decl back(x: symbol, p: Pair)
list(x) :- given(_, x).
list(t) :- list($Cons(_, t)).
pair([n, $Cons("new", x)]) :- given(n, x).
back(s, [m, l]) :- pair([m, l]), l = $Cons(_, $Cons(s, _)).
"""


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def commit(db: SparkDatabase, frame: DataFrame) -> None:
    db.insert("given", frame)
    db.commit()


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_values_are_text_in_frames(spark: SparkSession, engine: str) -> None:
    with tidelog.connect(spark=spark) as db:
        db.options(engine=engine)
        db.load(PROGRAM)
        frame = spark.createDataFrame([(1, "$Cons(a, $Nil)"), (2, ' $Cons("b,c", $Nil())')], "n long, x string")
        db.insert("given", frame)
        change = db.commit()
        assert rows(db["list"]) == {("$Nil",), ("$Cons(a, $Nil)",), ('$Cons("b,c", $Nil)',)}
        assert rows(change["pair"].inserted) == {
            ("[1, $Cons(new, $Cons(a, $Nil))]",),
            ('[2, $Cons(new, $Cons("b,c", $Nil))]',),
        }
        Nil, Cons = db.branch("Nil"), db.branch("Cons")
        db.insert("given", [(3, Cons("d", Nil()))])
        db.delete("given", frame.where("n = 1"))
        change = db.commit()
        assert rows(change["list"].inserted) == {("$Cons(d, $Nil)",)}
        assert rows(change["list"].deleted) == {("$Cons(a, $Nil)",)}
        assert set(db.local("back")) == {
            ("b,c", (2, Cons("new", Cons("b,c", Nil())))),
            ("d", (3, Cons("new", Cons("d", Nil())))),
        }
        assert rows(db.query('back("d", p)')) == {("d", "[3, $Cons(new, $Cons(d, $Nil))]")}
        db.check()


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("$Con", "a List has no branch Con"),
        ("$Cons(a)", "expected , at character 8"),
        (None, "null"),
    ],
)
def test_text_that_is_no_value_is_an_error(spark: SparkSession, engine: str, value: str | None, message: str) -> None:
    with tidelog.connect(spark=spark) as db:
        db.options(engine=engine)
        db.load(PROGRAM)
        db.commit()
        frame = spark.createDataFrame([(1, "$Nil"), (2, value)], "n long, x string")
        with pytest.raises(DataError) as raised:
            commit(db, frame)
        assert message in str(raised.value)
        db.rollback()
        db.insert("given", frame.where("n = 1"))
        db.commit()
        assert rows(db["list"]) == {("$Nil",)}


@pytest.mark.smoke
def test_a_column_of_another_type_is_an_error(spark: SparkSession) -> None:
    with tidelog.connect(spark=spark) as db:
        db.load(PROGRAM)
        frame = spark.createDataFrame([(1, 2)], "n long, x long")
        with pytest.raises(DataError, match=r"E0481.*expected a `?List`? \(a string such as \$Nil in Spark\)"):
            commit(db, frame)
