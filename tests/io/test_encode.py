"""Rows and tables of all libraries become the same words."""

from __future__ import annotations

import enum
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.depth import cases
from tests.io.samples import (
    A_ROW_OF_EACH,
    EDGE,
    EVERY,
    NAMED,
    ROWS,
    decoded,
    dictionary,
    fails,
    relation,
    through_words,
)
from tidelog.io import encode
from tidelog.io.relation import Relation, WordRows

Pair = namedtuple("Pair", "x y")
TABLE = pa.table({"name": ["a", "b"], "n": [1, 2]})
EXPECTED = [("a", 1), ("b", 2)]


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "data",
    [
        [(1, 2), (3, 4)],
        ((1, 2), (3, 4)),
        [[1, 2], [3, 4]],
        iter([(1, 2), (3, 4)]),
        ((i, i + 1) for i in (1, 3)),
        [{"x": 1, "y": 2}, {"y": 4, "x": 3}],
        [Pair(1, 2), Pair(3, 4)],
        {(1, 2): None, (3, 4): None}.keys(),
        [(np.int64(1), np.uint8(2)), (3, np.int16(4))],
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        np.array([[1, 2], [3, 4]], dtype=">i4"),
        np.asfortranarray([[1, 2], [3, 4]]),
    ],
)
def test_rows_of_many_forms(data: Any) -> None:
    words = encode(data, EDGE, dictionary())
    assert words.tolist() == [[1, 2], [3, 4]]
    assert words.dtype == np.int64
    assert words.flags.c_contiguous


TABLES: dict[str, Callable[[], Any]] = {
    "Arrow table": lambda: TABLE,
    "Arrow batch": lambda: TABLE.to_batches()[0],
    "Arrow stream": TABLE.to_reader,
    "Arrow in chunks": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 1)]),
    "Arrow sliced": lambda: pa.table({"name": ["z", "a", "b"], "n": [9, 1, 2]}).slice(1),
    "Arrow dictionaries": lambda: pa.table({"name": TABLE["name"].dictionary_encode(), "n": TABLE["n"]}),
    "Arrow run lengths": lambda: pa.table(
        {"name": TABLE["name"], "n": pa.RunEndEncodedArray.from_arrays([1, 2], [1, 2])}
    ),
    "Arrow large strings": lambda: TABLE.cast(pa.schema([("name", pa.large_string()), ("n", pa.uint8())])),
    "other order": lambda: TABLE.select(["n", "name"]),
    "other case": lambda: TABLE.rename_columns([" NAME", "N"]),
    "names of numbers": lambda: TABLE.rename_columns(["column_0", "column_1"]),
    "pandas": TABLE.to_pandas,
    "pandas with an index": lambda: TABLE.to_pandas().set_index(pd.Index([7, 8])),
    "pandas without names": lambda: pd.DataFrame([["a", 1], ["b", 2]]),
    "pandas nullable": lambda: TABLE.to_pandas().convert_dtypes(),
    "pandas categories": lambda: TABLE.to_pandas().astype({"name": "category", "n": "int8"}),
    "pandas objects": lambda: TABLE.to_pandas().astype(object),
    "Polars": lambda: pl.DataFrame({"name": ["a", "b"], "n": [1, 2]}),
    "Polars categories": lambda: pl.DataFrame({"name": ["a", "b"], "n": [1, 2]}).cast({"name": pl.Categorical}),
    "DuckDB": lambda: duckdb.sql("SELECT * FROM (VALUES ('a', 1), ('b', 2)) AS t(name, n)"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_many_libraries(name: str) -> None:
    assert through_words(TABLES[name](), NAMED) == EXPECTED


def test_no_rows() -> None:
    tables: list[Any] = [[], pa.table({"x": pa.nulls(0), "y": pa.nulls(0)}), pd.DataFrame({"x": [], "y": []})]
    for data in tables:
        assert encode(data, EDGE, dictionary()).shape == (0, 2)


def test_relations_without_columns() -> None:
    flag = relation("flag")
    assert encode([()], flag, dictionary()).shape == (1, 0)
    assert encode([], flag, dictionary()).shape == (0, 0)


def test_values_that_are_equal_are_the_same_value() -> None:
    floats = relation("f", x="float")
    assert through_words([(-0.0,), (1,), (np.float32(0.5),)], floats) == [(0.0,), (1.0,), (0.5,)]
    assert encode([(-0.0,)], floats, dictionary()).tolist() == [[0]]
    assert encode(pa.table({"x": [-0.0]}), floats, dictionary()).tolist() == [[0]]
    assert through_words(pa.table({"x": pa.array([1, 2], pa.int8())}), floats) == [(1.0,), (2.0,)]


def test_subclasses_of_str_become_plain_strings() -> None:
    (row,) = through_words([(Colour.RED, 1)], NAMED)
    assert row == ("red", 1)
    assert type(row[0]) is str


@pytest.mark.parametrize(
    "kinds", [(pa.string(), pa.string()), (pa.large_string(), pa.dictionary(pa.int8(), pa.string()))]
)
def test_columns_of_text_are_encoded_together(kinds: tuple[pa.DataType, pa.DataType]) -> None:
    words = relation("w", one="symbol", n="number", two="symbol")
    rows = [("a", 1, "b"), ("b", 2, "ä"), ("a", 3, "a"), ("", 4, "b")]
    one, n, two = zip(*rows, strict=True)
    table = pa.table({"one": pa.array(one, kinds[0]), "n": n, "two": pa.array(two).cast(kinds[1])})
    known = dictionary()
    assert decoded(encode(table, words, known), words, known) == rows
    assert len(known) == 4
    chunks = pa.concat_tables([table.slice(0, 0), table.slice(0, 1), table.slice(1), table.slice(4)])
    assert decoded(encode(chunks, words, known), words, known) == rows
    broken = pa.Array.from_buffers(pa.string(), 4, pa.array([b"a", b"b", b"\xff", b"d"]).buffers())
    table = table.set_column(2, "two", broken)
    assert "w, column two: error[E0408]" in fails(lambda: encode(table, words, known))


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("wrong", [b"bytes", 5, None, float("nan"), 2**70, ["a"], "x\udc80y", pd.NA])
def test_objects_of_pandas_are_looked_at_one_by_one_where_some_are_no_text(wrong: Any, few: bool) -> None:
    values = ["a", "b", Colour.RED] * (1 if few else 3_000)
    frame = pd.DataFrame({"name": pd.Series(values, dtype=object), "n": range(len(values))})
    assert [text for text, _ in through_words(frame, NAMED)] == ["a", "b", "red"] * (len(values) // 3)
    frame.iat[1, 0] = wrong
    assert isinstance(frame.iloc[1, 0], type(wrong))
    assert "row 2, column name: error[E040" in fails(lambda: encode(frame, NAMED, dictionary()))
    frame.iat[1, 0], frame.iat[0, 0] = "b", wrong
    assert "row 1, column name: error[E040" in fails(lambda: encode(frame, NAMED, dictionary()))


def test_the_widest_numbers_fit() -> None:
    wide = relation("w", n="number", u="unsigned")
    rows = [(-(2**63), 0), (2**63 - 1, 2**64 - 1)]
    assert through_words(rows, wide) == rows
    table = pa.table({"n": [-(2**63), 2**63 - 1], "u": pa.array([0, 2**64 - 1], pa.uint64())})
    assert through_words(table, wide) == rows


def test_records_of_many_forms() -> None:
    holder = relation("h", pair="Pair", chain="List")
    expected = [((1, "x"), ("a", ("b", None))), (None, None)]
    structs = pa.array([{"b": "x", "a": 1}, None], pa.struct([("b", pa.string()), ("a", pa.int16())]))
    texts = ["[a, [b, nil]]", "nil"]
    assert through_words(expected, holder) == expected
    assert through_words([[[1, "x"], ["a", ["b", None]]], [None, None]], holder) == expected
    assert through_words([({"a": 1, "b": "x"}, {"head": "a", "tail": ("b", None)}), (None, None)], holder) == expected
    assert through_words(pa.table({"pair": structs, "chain": texts}), holder) == expected
    assert through_words(pa.table({"pair": ["[1,x]", "nil"], "chain": pa.array(texts)}), holder) == expected
    assert through_words(pl.DataFrame(pa.table({"pair": structs, "chain": texts})), holder) == expected
    assert through_words(pd.DataFrame(expected, columns=["pair", "chain"]), holder) == expected


def test_a_relation_of_the_same_database_is_taken_as_it_is() -> None:
    known = dictionary()
    words = encode([(1, 2), (3, 4)], EDGE, known)
    held = Relation("e", WordRows(EDGE.columns, known, words))
    assert encode(held, EDGE, known).tolist() == words.tolist()
    assert encode(held, relation("f", y="number", x="number"), known).tolist() == [[2, 1], [4, 3]]


def test_a_relation_of_another_database_is_translated() -> None:
    here, there = dictionary(), dictionary()
    here.encode("shift", "symbol")
    words = encode(A_ROW_OF_EACH, EVERY, here)
    held = Relation("every", WordRows(EVERY.columns, here, words))
    assert decoded(encode(held, EVERY, there), EVERY, there) == A_ROW_OF_EACH


def test_few_rows_need_no_arrow() -> None:
    code = (
        "import sys\n"
        "from tidelog.io import encode\n"
        "from tidelog.language.syntax import Column, RelationType\n"
        "from tidelog.storage.dictionary import Dictionary\n"
        "e = RelationType('e', (Column('x', 'symbol', 'symbol'), Column('y', 'float', 'float')))\n"
        "encode([('a', 1.5)], e, Dictionary())\n"
        "print(sorted({'pyarrow', 'pandas'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@settings(max_examples=cases(200))
@given(ROWS)
def test_every_row_comes_back_from_every_library(rows: list[Any]) -> None:
    known = dictionary()
    words = encode(rows, EVERY, known)
    assert decoded(words, EVERY, known) == rows
    held = Relation("every", WordRows(EVERY.columns, known, words))
    for data in (held, held.to_arrow(), held.to_pandas(), held.to_polars()):
        other = dictionary()
        assert decoded(encode(data, EVERY, other), EVERY, other) == rows
