"""A hint is a promise: data changed as it says go in, at the place where it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

import tidelog
from tidelog.errors import DataError

MOST = 2**64 - 1
PANDAS = pandas.DataFrame({"item": ["tea", "tea"], "n": [2, 3]})


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.connect() as opened:
        opened.load(".decl r(item: symbol, n: number)\n.decl u(a: unsigned)\n.decl a(a: number)\n.decl f(a: float)\n")
        yield opened


def decimals(*values: Any, precision: int = 20, scale: int = 0) -> pa.Table:
    return pa.table({"a": pa.array([Decimal(value) for value in values], pa.decimal128(precision, scale))})


def facts(db: tidelog.Database, name: str) -> set[Any]:
    db.commit()
    return set(db[name])


@pytest.mark.parametrize(
    ("data", "hint", "expected"),
    [
        (polars.DataFrame({"item": ["tea"], "n": [2]}).lazy(), "evaluate it: data.collect()", {("tea", 2)}),
        (PANDAS.groupby("item").sum(), "item is the index: pass data.reset_index()", {("tea", 5)}),
        (PANDAS.groupby("item")["n"].sum(), "make a frame of it and its index: data.reset_index()", {("tea", 5)}),
        (
            PANDAS.groupby(["item", "n"]).count(),
            "item, n is the index: pass data.reset_index()",
            {("tea", 2), ("tea", 3)},
        ),
        (PANDAS.groupby("item"), "make one row of each group: data.sum().reset_index()", {("tea", 5)}),
        (polars.from_pandas(PANDAS).group_by("item"), "make one row of each group: data.sum()", {("tea", 5)}),
    ],
    ids=["LazyFrame", "index", "series", "index of two", "groups of pandas", "groups of Polars"],
)
def test_a_call_makes_rows(db: tidelog.Database, data: Any, hint: str, expected: set[Any]) -> None:
    with pytest.raises(DataError) as raised:
        db.insert("r", data)
    assert raised.value.problems[0].hint == hint
    db.insert("r", eval(hint.rpartition(": ")[2].removeprefix("pass "), {"data": data}))
    assert facts(db, "r") == expected


def test_a_series_without_an_index_is_one_column(db: tidelog.Database) -> None:
    data = pandas.Series([1, 2], name="a")
    with pytest.raises(DataError, match=r"make a frame of it: data\.to_frame\(\)"):
        db.insert("a", data)
    db.insert("a", data.to_frame())
    assert facts(db, "a") == {(1,), (2,)}


def test_an_index_of_pandas_is_no_column(db: tidelog.Database, tmp_path: Path) -> None:
    frame = PANDAS.set_index(pandas.Index([7, 9]))
    table = pa.Table.from_pandas(frame)
    assert table.column_names == ["item", "n", "__index_level_0__"]
    db.insert("r", table)
    db.delete("r", [("tea", 2)])
    parquet.write_table(table, tmp_path / "r.parquet")
    db.insert("r", parquet.read_table(tmp_path / "r.parquet").slice(1))
    assert facts(db, "r") == {("tea", 3)}


@pytest.mark.parametrize(
    "data",
    [
        decimals(MOST, 0),
        decimals(MOST, 0, precision=38),
        pa.table({"a": decimals(MOST, 0)["a"].cast(pa.decimal256(20, 0))}),
        decimals(MOST, 0).to_pandas(),
        [(Decimal(MOST),), (Decimal("0.0"),)],
    ],
    ids=["decimal(20,0)", "decimal(38,0)", "decimal256", "pandas", "tuples"],
)
def test_whole_decimals_are_unsigned(db: tidelog.Database, data: Any) -> None:
    db.insert("u", data)
    assert facts(db, "u") == {(MOST,), (0,)}


@pytest.mark.parametrize("value", [-1, 2**64])
def test_decimals_out_of_range(db: tidelog.Database, value: int) -> None:
    for data in (decimals(1, value), decimals(1, value).to_pandas(), [(Decimal(1),), (Decimal(value),)]):
        with pytest.raises(DataError, match=rf"u, row 2, column a: error\[E040[12]\].*{value}"):
            db.insert("u", data)


@pytest.mark.parametrize(
    ("name", "data", "hint", "act", "expected"),
    [
        ("a", decimals(5), "cast it to int64", lambda a: a.cast("int64"), 5),
        ("f", decimals("1.50", scale=2), "cast it to float64", lambda a: a.cast("float64"), 1.5),
        ("u", pa.table({"a": [3.0]}), "cast it to uint64", lambda a: a.cast("uint64"), 3),
        ("a", pa.table({"a": [3.0]}), "cast it to int64", lambda a: a.cast("int64"), 3),
        ("a", pa.table({"a": [True]}), "cast it to int8", lambda a: a.cast("int8"), 1),
        ("a", [(Decimal(5),)], "pass int(value)", int, 5),
        ("a", [(Decimal("1.25"),)], "pass int(value * 100)", lambda value: int(value * 100), 125),
        ("f", [(Decimal("1.25"),)], "pass float(value)", float, 1.25),
    ],
)
def test_a_cast_makes_values_fit(
    db: tidelog.Database, name: str, data: Any, hint: str, act: Callable[[Any], Any], expected: Any
) -> None:
    with pytest.raises(DataError) as raised:
        db.insert(name, data)
    assert str(raised.value.problems[0].hint).startswith(hint)
    mended = [(act(data[0][0]),)] if isinstance(data, list) else pa.table({"a": act(data["a"])})
    db.insert(name, mended)
    assert facts(db, name) == {(expected,)}


@pytest.mark.parametrize("name", ["a", "u"])
def test_decimals_with_a_fraction_are_floats(db: tidelog.Database, name: str) -> None:
    data = decimals("1.50", scale=2)
    with pytest.raises(DataError, match="declare the column as float, and cast it to float64"):
        db.insert(name, data)
    db.insert("f", pa.table({"a": data["a"].cast("float64")}))
    assert facts(db, "f") == {(1.5,)}
