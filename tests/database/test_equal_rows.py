"""Equal rows are one fact, and `insert` and the report say how many there were; rows with a key replace facts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow as pa
import pytest

import tidelog
from tidelog.errors import DataError, UsageError
from tidelog.storage.rows import distinct, equal_rows

PROGRAM = (
    ".decl sale(item: symbol, amount: number)\n.decl price(shop: symbol, item: symbol, cents: number)\n.decl on()\n"
)
SALES = {"item": ["tea", "jam", "tea", "tea"], "amount": [2, 4, 2, 2]}


@pytest.fixture(params=["memory", "store"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tidelog.Database]:
    with tidelog.connect(*([tmp_path / "store"] if request.param == "store" else [])) as opened:
        opened.load(PROGRAM)
        opened.commit()
        yield opened


@pytest.mark.parametrize(
    "make",
    [
        pandas.DataFrame,
        polars.DataFrame,
        pa.table,
        lambda columns: list(zip(*columns.values(), strict=True)),
        lambda columns: zip(*columns.values(), strict=True),
        lambda columns: pandas.DataFrame(columns).to_dict("records"),
    ],
    ids=["pandas", "Polars", "Arrow", "tuples", "iterator", "dicts"],
)
def test_duplicates_are_reported(db: tidelog.Database, make: Callable[[Any], Any]) -> None:
    found = db.insert("sale", make(SALES))
    assert found is not None
    assert (found.relation, found.rows, found.duplicates) == ("sale", 4, 2)
    assert repr(found) == "<2 of 4 rows of sale are equal to others: equal rows are one fact>"
    assert db.commit().report.duplicates == {"sale": 2}
    assert set(db["sale"]) == {("tea", 2), ("jam", 4)}


def test_different_rows_and_known_facts_are_no_duplicates(db: tidelog.Database) -> None:
    assert db.insert("sale", [("tea", 2), ("jam", 4)]) is None
    assert db.insert("sale", [("tea", 2)]) is None
    assert db.commit().report.duplicates == {}
    assert db.insert("sale", [("tea", 2)]) is None
    assert db.insert("sale", []) is None
    assert db.delete("sale", [("tea", 2), ("tea", 2)]) is None  # type: ignore[func-returns-value]
    assert db.commit().report.duplicates == {}


def test_the_report_has_all_calls_of_an_epoch(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        assert tx.insert("sale", [("tea", 2), ("tea", 2)]) is not None
        assert tx.insert("sale", [("jam", 2)] * 3) is not None
        assert tx.insert("on", [(), ()]) is not None
        db.load(".decl more(x: number)")
    assert tx.change is not None
    assert tx.change.report.duplicates == {"sale": 3, "on": 1}
    assert tx.change.report.to_dict()["duplicates"] == {"sale": 3, "on": 1}
    assert "duplicates: sale 3, on 1" in tx.change.report._repr_html_()
    with db.what_if() as tried:
        tried.insert("sale", [("figs", 1)] * 2)
    assert tried.change is not None
    assert tried.change.report.duplicates == {"sale": 1}
    db.insert("sale", [("figs", 1)] * 2)
    db.rollback()
    assert db.commit().report.duplicates == {}


def test_equal_rows_are_counted_as_a_set_does() -> None:
    random.seed(7)
    for rows, arity, values in ((0, 2, 9), (1, 1, 9), (50, 1, 9), (50_000, 2, 100), (40_000, 3, 2**60)):
        words = numpy.array([[random.randrange(-values, values) for _ in range(arity)] for _ in range(rows)], "int64")
        words = words.reshape(rows, arity)
        known = set(map(tuple, words.tolist()))
        assert equal_rows(words) == rows - len(known)
        assert sorted(map(tuple, distinct(words).tolist())) == sorted(known)


def test_rows_with_a_key_replace_facts(db: tidelog.Database) -> None:
    db.insert("price", [("a", "tea", 3), ("a", "jam", 4), ("b", "tea", 5)])
    db.commit()
    db.insert("price", pandas.DataFrame({"cents": [7], "Item": ["tea"], "shop": ["a"]}), key=["shop", "item"])
    assert set(db.commit()["price"].deleted) == {("a", "tea", 3)}
    assert set(db["price"]) == {("a", "tea", 7), ("a", "jam", 4), ("b", "tea", 5)}
    db.insert("price", [("b", "figs", 1)], key="shop")
    db.insert("price", [("b", "figs", 2), ("b", "figs", 2)], key=["item", "shop"])
    assert db.commit().report.duplicates == {"price": 1}
    assert set(db["price"]) == {("a", "tea", 7), ("a", "jam", 4), ("b", "figs", 2)}
    db.delete("price", [("a",)], key="shop")
    db.insert("price", [("a", "figs", 9)])
    db.delete("price", pandas.DataFrame({"SHOP": ["b"]}), key="shop")
    db.commit()
    assert set(db["price"]) == {("a", "figs", 9)}
    db.insert("price", [("a", "figs", 9)], key=["shop", "item", "cents"])
    assert not list(db.commit())


def test_a_transaction_takes_keys(db: tidelog.Database) -> None:
    db.insert("sale", [("tea", 2)])
    db.commit()
    with db.transaction() as tx:
        tx.insert("sale", [("tea", 3)], key="item")
        tx.delete("sale", [("jam",)], key="item")
    assert set(db["sale"]) == {("tea", 3)}


@pytest.mark.parametrize(
    ("key", "code"),
    [(["z"], "E0485"), (["item", "item"], "E0685"), ([], "E0685"), (7, "E0685"), ([7], "E0685")],
)
def test_wrong_keys(db: tidelog.Database, key: Any, code: str) -> None:
    with pytest.raises(UsageError, match=code):
        db.insert("sale", [("tea", 3)], key=key)
    with pytest.raises(UsageError, match=code):
        db.delete("sale", [("tea",)], key=key)


def test_a_key_decides(db: tidelog.Database) -> None:
    with pytest.raises(DataError, match="E0487"):
        db.insert("sale", [("tea", 3), ("tea", 4)], key="item")
    with pytest.raises(DataError, match="E0405"):
        db.delete("sale", [("tea", 3)], key="item")
    with pytest.raises(UsageError, match="E0612"):
        db.delete("sale", [("tea",)], key="item", x=1)
    assert not list(db.commit())


def test_keys_against_a_plain_reading(db: tidelog.Database) -> None:
    """Random changes by key in random epochs, against a dict of lists."""
    random.seed(11)
    expected: set[tuple[str, str, int]] = set()
    for _ in range(40):
        for _ in range(random.randrange(1, 4)):
            rows = {(random.choice("ab"), random.choice("xy"), random.randrange(3)) for _ in range(2)}
            match random.randrange(4):
                case 0:
                    db.insert("price", rows)
                    expected |= rows
                case 1:
                    one = [sorted(rows)[0]]
                    db.insert("price", one, key="item")
                    expected = {row for row in expected if row[1] != one[0][1]} | set(one)
                case 2:
                    one = [sorted(rows)[0]]
                    db.insert("price", one, key=["shop", "item"])
                    expected = {row for row in expected if row[:2] != one[0][:2]} | set(one)
                case _:
                    db.delete("price", [(row[0], row[2]) for row in rows], key=["shop", "cents"])
                    expected = {row for row in expected if all((row[0], row[2]) != (a, c) for a, _, c in rows)}
        db.commit()
        assert set(db["price"]) == expected
