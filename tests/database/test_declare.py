"""`declare`: relations with the columns of frames, and what an `insert` into an undeclared one proposes."""

from __future__ import annotations

import datetime
from typing import Any

import numpy
import pandas
import polars
import pyarrow as pa
import pytest

import tidelog
from tidelog.errors import TidelogError

SALES = {"item": ["tea", "jam"], "amount": [2, -3], "price": [1.5, 0.0]}
DECLARED = "(item: symbol, amount: number, price: float)"
ROWS = {("tea", 2, 1.5), ("jam", -3, 0.0)}
FRAMES: dict[str, Any] = {
    "pandas": lambda: pandas.DataFrame(SALES),
    "polars": lambda: polars.DataFrame(SALES),
    "arrow": lambda: pa.table(SALES),
    "reader": lambda: pa.table(SALES).to_reader(),
    "encoded": lambda: pa.table({**SALES, "item": pa.array(SALES["item"]).dictionary_encode()}),
    "categories": lambda: pandas.DataFrame({**SALES, "item": pandas.Categorical(["tea", "jam"])}),
    "narrow": lambda: pandas.DataFrame({**SALES, "amount": numpy.array([2, -3], numpy.int8)}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_relation_has_the_columns_of_a_frame(kind: str) -> None:
    frame = FRAMES[kind]()
    with tidelog.connect() as db:
        assert db.declare("sale", frame) == f".decl sale{DECLARED}"
        assert not len(db["sale"])
        db.insert("sale", frame)
        db.commit()
        assert set(db["sale"]) == ROWS
        assert db.declare("again", db["sale"]) == f".decl again{DECLARED}"
        db.insert("again", db["sale"])
        db.commit()
        assert set(db["again"]) == ROWS


def test_unsigned_integers_are_unsigned() -> None:
    with tidelog.connect() as db:
        largest = pa.table({"n": pa.array([2**64 - 1], pa.uint64()), "b": pa.array([255], pa.uint8())})
        db.declare("u", largest)
        db.insert("u", largest)
        db.commit()
        assert set(db["u"]) == {(2**64 - 1, 255)}


@pytest.mark.parametrize("kind", FRAMES)
def test_insert_into_an_undeclared_relation_proposes_the_declaration(kind: str) -> None:
    """The data can be inserted afterwards, also where they can be read only once."""
    frame = FRAMES[kind]()
    with tidelog.connect() as db:
        with pytest.raises(tidelog.UsageError) as caught:
            db.insert("sale", frame)
        assert caught.value.code == "E0601"
        proposed = f'declare it by db.declare("sale", data), which loads `.decl sale{DECLARED}`'
        assert caught.value.problems[0].hint == proposed
        db.declare("sale", frame)
        db.insert("sale", frame)
        db.commit()
        assert set(db["sale"]) == ROWS
        with pytest.raises(tidelog.UsageError, match=r"did you mean sale\? Or declare it by"):
            db.insert("sales", pandas.DataFrame(SALES), key="item")
        with pytest.raises(tidelog.UsageError) as caught:
            db.delete("sales", pandas.DataFrame(SALES))
        assert caught.value.problems[0].hint == "did you mean sale?"


UNDECLARED = [[("tea", 2, 1.5)], [SALES], 3, pandas.DataFrame({"first name": ["x"]}), pandas.DataFrame({"x": [2**70]})]


@pytest.mark.parametrize("data", UNDECLARED)
def test_other_data_have_no_declaration_to_propose(data: object) -> None:
    with tidelog.connect() as db:
        for name in ("sale", "no name", 3):
            with pytest.raises(tidelog.UsageError) as caught:
                db.insert(name, data)  # type: ignore[arg-type]  # a wrong name on purpose
            assert caught.value.problems[0].hint == "declare it with .decl in a program that you load"


@pytest.mark.parametrize(
    ("data", "code", "part"),
    [
        ([("tea", 2)], "E0407", "a table with named columns, found a value of type list"),
        ("sale.csv", "E0407", "found a value of type str"),
        (pandas.DataFrame({"a": [1, "x"]}), "E0407", "no types for the columns of this DataFrame"),
        (pandas.DataFrame({"a": [2**70, 1]}), "E0407", "no types for the columns of this DataFrame"),
        (pandas.DataFrame({"a": ["\ud800"]}), "E0407", "no types for the columns of this DataFrame"),
        (pandas.DataFrame([[1, 2]], columns=["x", "x"]), "E0406", "several columns have the name x"),
        (pa.Table.from_arrays([[1], [2]], names=["x", "x"]), "E0406", "several columns have the name x"),
        (pandas.DataFrame([[1, 2]]), "E0406", "the name '0'"),
        (pa.table({"f0": [1], "f1": [2]}), "E0406", "the columns have no names"),
        (pandas.DataFrame({"first name": ["x"]}), "E0406", "the name 'first name'"),
        (pandas.DataFrame({"_": [1]}), "E0406", "the name '_'"),
        (pa.table({"day": [datetime.date(2026, 1, 1)]}), "E0401", "r, column day"),
        (pa.table({"yes": [True]}), "E0401", "cast it to int8"),
        (pa.table({"none": pa.nulls(2)}), "E0401", "no attribute has the type null"),
    ],
)
def test_what_no_relation_can_have(data: object, code: str, part: str) -> None:
    with tidelog.connect() as db:
        with pytest.raises(TidelogError) as caught:
            db.declare("r", data)
        assert caught.value.code == code
        assert part in str(caught.value)
        assert db.relations == ()


def test_a_table_without_columns() -> None:
    with tidelog.connect() as db:
        assert db.declare("r", pa.table({"x": [1]}).select([])) == ".decl r()"


def test_a_declared_relation_keeps_its_columns() -> None:
    with tidelog.connect() as db:
        db.load(".decl r(x: number)")
        with pytest.raises(tidelog.ProgramError, match="E0202"):
            db.declare("r", pa.table({"y": ["a"]}))
        assert [column.name for column in db["r"].columns] == ["x"]


def test_a_database_shows_its_relations() -> None:
    with tidelog.connect() as db:
        assert repr(db) == "<Database: 0 relations, epoch 0>"
        db.load(".decl e(x: number, y: symbol) .decl p(x: number)\np(x) :- e(x, _).")
        db.insert("e", [(1, "a"), (2, "b")])
        assert repr(db).splitlines()[0] == "<Database: 2 relations, epoch 0; changes wait for commit()>"
        db.commit()
        db.delete("e", [(1, "a")])
        assert repr(db).splitlines()[1:] == ["  e(x: number, y: symbol)  2  (+2 -0)", "  p(x: number)  2  (+2 -0)"]
        db.commit()
        db.insert("e", [(2, "c"), (2, "d")])
        db.commit()
        assert repr(db).splitlines() == [
            "<Database: 2 relations, epoch 3>", "  e(x: number, y: symbol)  3  (+2 -0)", "  p(x: number)  1"
        ]  # fmt: skip
        page = db._repr_html_()
        assert "<caption>Database: 2 relations, epoch 3</caption>" in page
        assert "<td>e(x: number, y: symbol)</td><td>3</td><td>+2 -0</td>" in page
        assert "<td>p(x: number)</td><td>1</td><td></td>" in page
        db.load("".join(f".decl r{number}(x: number)\n" for number in range(19)))
        assert repr(db).endswith("  r17(x: number)  0\n  and 1 more")
        assert db._repr_html_().count("<tr>") == 22
    assert repr(db) == "<Database: closed>"
    assert "<caption>Database: closed</caption>" in db._repr_html_()
