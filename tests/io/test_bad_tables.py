"""Everything that tables can get wrong, and the message that says so."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.io.samples import EDGE, HOLDER, NAMED, REAL, dictionary, fails
from tidelog.io import encode
from tidelog.language.syntax import RelationType

BROKEN = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff"))
TABLES: list[tuple[RelationType, Any, str]] = [
    (
        EDGE,
        pd.DataFrame({"x": [1, 2.5], "y": [1, 2]}),
        "e, column x: error[E0401]: expected a number, found a column of type double\n"
        "  hint: cast it to int64 if its values are integral (pandas turns integers with gaps into floats)",
    ),
    (
        EDGE,
        pd.DataFrame({"x": [1, None], "y": [1, 2]}),
        "e, column x: error[E0401]: expected a number, found a column of type double\n"
        "  hint: cast it to int64 if its values are integral (pandas turns integers with gaps into floats)",
    ),
    (
        EDGE,
        pd.DataFrame({"x": pd.array([1, None], dtype="Int64"), "y": [1, 2]}),
        "e, row 2, column x: error[E0403]: expected a number, found no value (null)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        EDGE,
        pd.DataFrame({"x": [1], "y": [1], "z": [1]}),
        "e: error[E0406]: expected the columns x, y, found x, y, z\n  hint: not declared: z",
    ),
    (
        EDGE,
        pd.DataFrame({"x": [1], "z": [1]}),
        "e: error[E0406]: expected the columns x, y, found x, z\n"
        "  hint: missing: y; not declared: z; to go by position, pass data.set_axis(['x', 'y'], axis=1)",
    ),
    (
        EDGE,
        pd.DataFrame([[1, 2]], columns=["x", "x"]),
        "e: error[E0406]: expected the columns x, y, found x, x\n"
        "  hint: missing: y; more than once: x; to go by position, pass data.set_axis(['x', 'y'], axis=1)",
    ),
    (
        EDGE,
        pd.DataFrame({"a": [1]}),
        "e: error[E0406]: expected the columns x, y, found a\n  hint: missing: x, y; not declared: a",
    ),
    (
        NAMED,
        pd.DataFrame({"name": ["a", None], "n": [1, 2]}),
        "s, row 2, column name: error[E0403]: expected a symbol, found no value (None)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        NAMED,
        pd.DataFrame({"name": ["a", np.nan], "n": [1, 2]}),
        "s, row 2, column name: error[E0403]: expected a symbol, found no value (nan)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        NAMED,
        pd.DataFrame({"name": ["a", 1], "n": [1, 2]}),
        "s, row 2, column name: error[E0401]: expected a symbol, found the int 1\n"
        "  hint: pass str(…), or declare the column as number",
    ),
    (
        EDGE,
        pd.DataFrame({"x": pd.to_datetime(["2020-01-01"]), "y": [1]}),
        "e, column x: error[E0401]: expected a number, found a column of type timestamp[ns]\n"
        "  hint: cast it to string for a symbol, or to int64 for a number",
    ),
    (
        EDGE,
        pd.DataFrame({"x": [1 + 2j], "y": [1]}),
        "e, column x: error[E0401]: expected a number, found a column of type complex128\n"
        "  hint: cast the column first",
    ),
    (
        REAL,
        pd.DataFrame({"x": [1.0, None], "u": [1, 2]}),
        "f, row 2, column x: error[E0404]: NaN cannot be stored\n"
        "  hint: leave such rows out, or use a marker of your own: NaN is not equal to itself, "
        "so no set can hold it",
    ),
    (
        EDGE,
        pd.Series([1, 2]),
        "e, row 1: error[E0407]: expected a row, found 1\n  hint: write a row as a tuple (x, y)",
    ),
    (
        EDGE,
        pl.Series("x", [1]),
        "e: error[E0407]: expected a table, but Arrow cannot read this Series as one: Cannot import schema: "
        "ArrowSchema describes non-struct type int64\n"
        "  hint: pass a table with named columns, not a single column",
    ),
    (
        EDGE,
        pl.DataFrame({"x": [1], "y": ["a"]}),
        "e, column y: error[E0401]: expected a number, found a column of type large_string\n"
        "  hint: cast it, or declare it as symbol",
    ),
    (
        EDGE,
        pa.table({"x": pa.array([1, None]), "y": [1, 2]}),
        "e, row 2, column x: error[E0403]: expected a number, found no value (null)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        EDGE,
        pa.table({"x": pa.array([1, None]).dictionary_encode(), "y": [1, 2]}),
        "e, row 2, column x: error[E0403]: expected a number, found no value (null)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        EDGE,
        pa.table({"x": pa.array([1, 2**63], pa.uint64()), "y": [1, 2]}),
        "e, row 2, column x: error[E0402]: 9223372036854775808 does not fit a number\n"
        "  hint: use a value from -9223372036854775808 to 9223372036854775807 for a number",
    ),
    (
        EDGE,
        pa.table({"x": [True], "y": [1]}),
        "e, column x: error[E0401]: expected a number, found a column of type bool\n"
        "  hint: cast it to int8 for 0 and 1, or to string",
    ),
    (
        EDGE,
        pa.table({"x": [[1]], "y": [1]}),
        "e, column x: error[E0401]: expected a number, found a column of type list<item: int64>\n"
        "  hint: flatten it first, or declare a record type",
    ),
    (
        EDGE,
        pa.table({"x": ["1"], "y": [1]}),
        "e, column x: error[E0401]: expected a number, found a column of type string\n"
        "  hint: cast it, or declare it as symbol",
    ),
    (
        REAL,
        pa.table({"x": [1.0, float("nan")], "u": [1, 2]}),
        "f, row 2, column x: error[E0404]: NaN cannot be stored\n"
        "  hint: leave such rows out, or use a marker of your own: NaN is not equal to itself, "
        "so no set can hold it",
    ),
    (
        REAL,
        pa.table({"x": [1.0], "u": [-1]}),
        "f, row 1, column u: error[E0402]: -1 does not fit an unsigned\n"
        "  hint: use a value from 0 to 18446744073709551615 for an unsigned",
    ),
    (
        REAL,
        pa.table({"x": [2**53 + 1], "u": [1]}),
        "f, row 1, column x: error[E0402]: no float is equal to the integer 9007199254740993\n"
        "  hint: cast the column to float64 to round it",
    ),
    (
        NAMED,
        pa.table({"name": [1], "n": [1]}),
        "s, column name: error[E0401]: expected a symbol, found a column of type int64\n"
        "  hint: cast it to string, or declare the column as number",
    ),
    (
        NAMED,
        pa.table({"name": [b"a"], "n": [1]}),
        "s, column name: error[E0401]: expected a symbol, found a column of type binary\n"
        "  hint: cast it to string if it is UTF-8",
    ),
    (
        NAMED,
        pa.table({"name": [decimal.Decimal(1)], "n": [1]}),
        "s, column name: error[E0401]: expected a symbol, found a column of type decimal128(1, 0)\n"
        "  hint: cast it to string",
    ),
    (
        NAMED,
        pa.table({"name": BROKEN, "n": [1]}),
        "s, column name: error[E0408]: the symbol b'\\xff' cannot be written in UTF-8\n"
        "  hint: remove unpaired surrogates",
    ),
    (
        NAMED,
        pd.DataFrame({"name": pd.array(["a", "\ud800"], "string[python]"), "n": [1, 2]}),
        "s, row 2, column name: error[E0408]: the symbol '\\ud800' cannot be written in UTF-8\n"
        "  hint: remove unpaired surrogates",
    ),
    (
        HOLDER,
        pl.DataFrame({"pair": ["nil", "nil"], "chain": [["a"], None]}),
        "h, column chain: error[E0401]: expected a List, found a column of type large_list<item: string_view>\n"
        "  hint: flatten it first, or declare a record type",
    ),
    (
        HOLDER,
        pa.table({"pair": [5], "chain": ["nil"]}),
        "h, column pair: error[E0401]: expected records of type Pair, found a column of type int64\n"
        "  hint: pass structs, or text like [1, nil]",
    ),
    (
        HOLDER,
        pa.table({"pair": [{"a": 1, "b": None}], "chain": ["nil"]}),
        "h, row 1, column pair: error[E0403]: expected a symbol, found no value (null)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        HOLDER,
        pa.table({"pair": [{"a": 1, "c": "x"}], "chain": ["nil"]}),
        "h, column pair: error[E0406]: expected the columns a, b, found a, c\n  hint: missing: b; not declared: c",
    ),
    (
        HOLDER,
        pa.table({"pair": [None, "[1]"], "chain": ["nil", "nil"]}),
        "h, row 2, column pair: error[E0401]: expected , at character 3 of the record '[1]', found ']'\n"
        "  hint: write a record of type Pair like [1, nil]",
    ),
    (
        HOLDER,
        pa.table({"pair": ["[1.5, a]"], "chain": ["nil"]}),
        "h, row 1, column pair: error[E0401]: in the record '[1.5, a]': expected a number, found '1.5'\n"
        "  hint: check the delimiter and the order of the columns",
    ),
    (
        HOLDER,
        pa.table({"pair": BROKEN, "chain": ["nil"]}),
        "h, column pair: error[E0408]: a text of the column is not UTF-8\n"
        "  hint: decode its bytes first, or leave these rows out",
    ),
    (
        HOLDER,
        pa.table({"pair": ["[1, a] x"], "chain": ["nil"]}),
        "h, row 1, column pair: error[E0401]: expected the end at character 8 of the record '[1, a] x', found 'x'\n"
        "  hint: write a record of type Pair like [1, nil]",
    ),
]


@pytest.mark.parametrize(("kind", "data", "message"), TABLES)
def test_tables(kind: RelationType, data: Any, message: str) -> None:
    assert fails(lambda: encode(data, kind, dictionary())) == message
