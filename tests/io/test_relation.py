"""Uses of a relation, and its text."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tidelog
from tests.io.samples import A_ROW_OF_EACH, EDGE, EVERY, NAMED, dictionary, relation
from tidelog.errors import SetupError, UsageError
from tidelog.io import encode
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import Column, RelationType


def held(rows: list[Any], kind: RelationType) -> Relation:
    known = dictionary()
    return Relation(kind.name, WordRows(kind.columns, known, encode(rows, kind, known)))


def test_length_iteration_and_columns() -> None:
    named = held([("a", 1), ("b", 2)], NAMED)
    assert len(named) == 2
    assert list(named) == [("a", 1), ("b", 2)]
    assert [type(value) for value in next(iter(named))] == [str, int]
    assert [(column.name, column.type) for column in named.columns] == [("name", "symbol"), ("n", "number")]
    assert list(held(A_ROW_OF_EACH, EVERY)) == A_ROW_OF_EACH
    assert list(held([()], relation("flag"))) == [()]


def test_words_of_32_bits_are_the_same_values() -> None:
    known = dictionary()
    words = encode([("a", -1)], NAMED, known).astype(np.int32)
    narrow = Relation("s", WordRows(NAMED.columns, known, words))
    assert list(narrow) == [("a", -1)]
    assert narrow.words().dtype == np.int64
    assert narrow.to_arrow().to_pylist() == [{"name": "a", "n": -1}]


def test_membership() -> None:
    every = held(A_ROW_OF_EACH, EVERY)
    assert A_ROW_OF_EACH[0] in every
    assert list(A_ROW_OF_EACH[1]) in every
    assert (0, *A_ROW_OF_EACH[0][1:]) not in every
    named = held([("a", 1)], NAMED)
    assert ("a", np.int64(1)) in named
    for absent in [("b", 1), ("a", 2), (1, "a"), ("a", "1"), ("a", None), ("a", 2**70), ("a", 1.0), (["a"], 1)]:
        assert absent not in named
    assert len(named.dictionary) == 1


WRONG_ROWS = [(("a",), "1 values"), ((), "0 values"), ("ab", "a value of type str"), (5, "a value of type int")]


@pytest.mark.parametrize(("row", "found"), WRONG_ROWS)
def test_membership_of_another_arity_is_a_mistake(row: object, found: str) -> None:
    with pytest.raises(UsageError) as caught:
        assert row in held([("a", 1)], NAMED)
    assert str(caught.value) == (
        f"error[E0605]: s has tuples of 2 values, found {found}\n  hint: ask for (name, n) in s"
    )


def test_tables_for_other_libraries() -> None:
    rows = [("a", 2**64 - 1, 1.5), ("b", 0, 2.0)]
    kept = held(rows, relation("r", s="symbol", u="unsigned", f="float"))
    assert kept.to_arrow().schema == pa.schema([("s", pa.string()), ("u", pa.uint64()), ("f", pa.float64())])
    assert kept.to_arrow().to_pydict() == {"s": ["a", "b"], "u": [2**64 - 1, 0], "f": [1.5, 2.0]}
    assert pa.table(kept).equals(kept.to_arrow())
    assert list(kept.to_pandas().itertuples(index=False, name=None)) == rows
    assert kept.to_polars().rows() == rows
    assert pl.DataFrame(kept).rows() == rows


def test_short_names_of_the_tables() -> None:
    kept = held([("a", 1), ("b", 2), ("c", 3)], NAMED)
    assert kept.schema == {"name": "symbol", "n": "number"}
    assert kept.rows() == [("a", 1), ("b", 2), ("c", 3)]
    assert kept.arrow().to_pylist() == [{"name": name, "n": n} for name, n in kept.rows()]
    assert kept.arrow().equals(kept.to_arrow())
    assert kept.df().equals(kept.to_pandas())
    assert kept.pl().equals(kept.to_polars())


def test_the_first_tuples_are_a_relation_that_stays() -> None:
    with tidelog.connect() as db:
        db.load(".decl e(x: number)")
        db.insert("e", [(n,) for n in range(30)])
        db.commit()
        first = db["e"].head(3)
        assert len(db["e"].head()) == 10
        assert len(db["e"].head(99)) == 30
        assert first.rows() == [(0,), (1,), (2,)]
        assert db["e"].head(0).schema == {"x": "number"}
        db.clear("e")
        db.commit()
        assert first.rows() == [(0,), (1,), (2,)]
        assert db["e"].head(2).rows() == []


@pytest.mark.parametrize("count", [-1, 1.5, "3", None, True, 2**70])
def test_a_number_of_tuples_is_a_number(count: Any) -> None:
    with pytest.raises(UsageError, match=r"E0635.*`count`"):
        held([("a", 1)], NAMED).head(count)


def test_records_in_tables() -> None:
    kept = held([((1, "x"), ("a", None)), (None, None)], relation("h", pair="Pair", chain="List"))
    assert kept.to_arrow().to_pydict() == {"pair": [{"a": 1, "b": "x"}, None], "chain": ["[a, nil]", "nil"]}
    assert kept.to_pandas()["pair"].tolist() == [(1, "x"), None]
    assert kept.to_pandas()["chain"].tolist() == [("a", None), None]


def test_empty_tables_keep_their_types() -> None:
    none = held([], NAMED)
    assert none.to_arrow().schema == pa.schema([("name", pa.string()), ("n", pa.int64())])
    assert none.to_pandas().dtypes.tolist() == [np.dtype(object), np.dtype("int64")]
    assert held([()], relation("flag")).to_arrow().num_rows == 1
    assert len(held([()], relation("flag")).to_pandas()) == 1
    assert isinstance(none.to_pandas(), pd.DataFrame)


def test_large_relations_are_decoded_in_chunks() -> None:
    known = dictionary()
    numbers = np.arange(1_200_000).reshape(-1, 1)
    kept = Relation("n", WordRows((Column("x", "number", "number"),), known, numbers))
    assert sum(x for (x,) in kept) == 1_200_000 * 1_199_999 // 2  # type: ignore[misc]
    assert kept.to_arrow().num_rows == 1_200_000


def test_spark_gets_decimals_for_unsigned_numbers() -> None:
    class Session:
        def createDataFrame(self, table: pa.Table) -> pa.Table:
            return table

    kept = held([(2**64 - 1, ((1, "x"), 3))], relation("r", u="unsigned", nested="Nested"))
    frame: Any = kept.to_spark(Session())  # type: ignore[arg-type]  # all of a session that it needs
    (row,) = frame.to_pylist()
    assert row == {"u": 2**64 - 1, "nested": {"left": {"a": 1, "b": "x"}, "size": 3}}


@pytest.mark.parametrize(
    ("method", "module", "extra"), [("to_pandas", "pandas", "pandas"), ("to_polars", "polars", "polars")]
)
def test_a_missing_library_is_named(method: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SetupError) as caught:
        getattr(held([("a", 1)], NAMED), method)()
    assert str(caught.value) == (
        f"error[E0790]: this needs {module}, which is not installed\n"
        f"  hint: run `pip install '.[{extra}]'` in your checkout of tidelog"
    )


def test_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert repr(held([("ann", 1), ("bob\n", 20)], NAMED)) == (
        "s(name: symbol, n: number)  2 rows\n  name    n\n  ann     1\n  bob\\n  20"
    )
    assert repr(held([], NAMED)) == "s(name: symbol, n: number)  0 rows"
    assert repr(held([()], relation("flag"))) == "flag()  1 row"
    many = repr(held([(i, i) for i in range(2000)], EDGE)).split("\n")
    assert many[0] == "e(x: number, y: number)  2,000 rows"
    assert many[1:4] == ["  x  y", "  0  0", "  1  1"]
    assert many[-2:] == ["  9  9", "  …"]
    wide = repr(held([("x" * 100, 1)], NAMED))
    assert wide.split("\n")[2] == "  " + "x" * 19 + "…  1"


def test_lines_are_cut_at_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    lines = repr(held(A_ROW_OF_EACH, EVERY)).split("\n")
    assert len(lines) == 4
    assert all(len(line) == 30 and line.endswith("…") for line in lines)


def test_in_a_notebook() -> None:
    assert held([("<b>", 1), ("a&b", 2)], NAMED)._repr_html_() == (
        "<table><caption>s: 2 rows</caption><thead><tr>"
        "<th>name<br><small>symbol</small></th><th>n<br><small>number</small></th></tr></thead>"
        "<tbody><tr><td>&lt;b&gt;</td><td>1</td></tr><tr><td>a&amp;b</td><td>2</td></tr></tbody></table>"
    )
    shown = held([(i, i) for i in range(1500)], EDGE)._repr_html_()
    assert "<caption>e: 1,500 rows, the first 20 shown</caption>" in shown
    assert shown.count("<tr>") == 21
