"""Everything that rows and arrays can get wrong, and the message that says so."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.io.samples import BRANCHES, DARK, EDGE, END, HOLDER, NAMED, REAL, TERMS, dictionary, fails
from tidelog.io import encode
from tidelog.language.branches import branch_class
from tidelog.language.syntax import RelationType

ROWS: list[tuple[RelationType, Any, str]] = [
    (
        EDGE,
        [(1,)],
        "e, row 1: error[E0405]: expected 2 values, found 1: (1,)\n"
        "  hint: pass a value for each column of e: (x: number, y: number)",
    ),
    (
        EDGE,
        [(1, 2), (1, 2, 3)],
        "e, row 2: error[E0405]: expected 2 values, found 3: (1, 2, 3)\n"
        "  hint: pass a value for each column of e: (x: number, y: number)",
    ),
    (
        EDGE,
        [("a", 1)],
        "e, row 1, column x: error[E0401]: expected a number, found the str 'a'\n"
        "  hint: give an integer without quotes, or declare the column as symbol",
    ),
    (
        EDGE,
        [(1, "x" * 1000)],
        "e, row 1, column y: error[E0401]: expected a number, found the str "
        "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'… (1000 characters)\n"
        "  hint: give an integer without quotes, or declare the column as symbol",
    ),
    (
        EDGE,
        [(1, 2), (2**70, 1)],
        "e, row 2, column x: error[E0402]: 1180591620717411303424 does not fit a number\n"
        "  hint: use a value from -9223372036854775808 to 9223372036854775807 for a number",
    ),
    (
        EDGE,
        [(10**5000, 1)],
        "e, row 1, column x: error[E0402]: an integer of 16610 bits does not fit a number\n"
        "  hint: use a value from -9223372036854775808 to 9223372036854775807 for a number",
    ),
    (
        EDGE,
        [(1, None)],
        "e, row 1, column y: error[E0403]: expected a number, found no value (None)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        EDGE,
        [(1.0, 1)],
        "e, row 1, column x: error[E0401]: expected a number, found the float 1.0\n"
        "  hint: pass int(…) if its value is integral",
    ),
    (
        EDGE,
        [(True, 1)],
        "e, row 1, column x: error[E0401]: expected a number, found the bool True\n"
        "  hint: write int(…) for 0 and 1, or str(…)",
    ),
    (
        EDGE,
        [(decimal.Decimal(1), 1)],
        "e, row 1, column x: error[E0401]: expected a number, found the Decimal Decimal('1')\n  hint: pass int(value)",
    ),
    (
        EDGE,
        [(float("nan"), 1)],
        "e, row 1, column x: error[E0403]: expected a number, found no value (nan)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        EDGE,
        [1, 2],
        "e, row 1: error[E0407]: expected a row, found 1\n  hint: write a row as a tuple (x, y)",
    ),
    (
        EDGE,
        ["ab"],
        "e, row 1: error[E0407]: expected a row, found 'ab'\n  hint: write a row as a tuple (x, y)",
    ),
    (
        EDGE,
        [{"x": 1, "z": 2}],
        "e, row 1: error[E0406]: expected the columns x, y, found x, z\n"
        "  hint: missing: y; not declared: z; to go by position, pass its values as a tuple",
    ),
    (
        EDGE,
        "edges.csv",
        "e: error[E0407]: expected rows, found the str 'edges.csv'\n"
        "  hint: read the file first: pyarrow.csv.read_csv(path)",
    ),
    (
        EDGE,
        Path("edges.csv"),
        "e: error[E0407]: expected rows, found the PosixPath PosixPath('edges.csv')\n"
        "  hint: read the file first: pyarrow.csv.read_csv(path)",
    ),
    (
        EDGE,
        {"x": [1], "y": [2]},
        "e: error[E0407]: expected rows, found the dict {'x': [1], 'y': [2]}\n"
        "  hint: put one dict into a list, or make a table of a dict of columns: pyarrow.table(data)",
    ),
    (
        EDGE,
        5,
        "e: error[E0407]: expected rows, found the int 5\n"
        "  hint: pass tuples, dicts, a table (pandas, Polars, Arrow, DuckDB), or a 2-D array of integers",
    ),
    (
        EDGE,
        b"ab",
        "e: error[E0407]: expected rows, found the bytes b'ab'\n"
        "  hint: pass tuples, dicts, a table (pandas, Polars, Arrow, DuckDB), or a 2-D array of integers",
    ),
    (
        EDGE,
        None,
        "e: error[E0407]: expected rows, found the NoneType None\n"
        "  hint: pass tuples, dicts, a table (pandas, Polars, Arrow, DuckDB), or a 2-D array of integers",
    ),
    (
        REAL,
        [(float("nan"), 1)],
        "f, row 1, column x: error[E0404]: NaN cannot be stored\n"
        "  hint: leave such rows out, or use a marker of your own: NaN is not equal to itself, "
        "so no set can hold it",
    ),
    (
        REAL,
        [(np.longdouble(2) ** 53 + 1, 1)],
        "f, row 1, column x: error[E0402]: no 64-bit float is equal to np.longdouble('9007199254740993.0')\n"
        "  hint: pass float(…) to round it",
    ),
    (
        REAL,
        [(2**53 + 1, 1)],
        "f, row 1, column x: error[E0402]: no float is equal to the integer 9007199254740993\n"
        "  hint: pass float(…) to round it",
    ),
    (
        REAL,
        [(1.0, -1)],
        "f, row 1, column u: error[E0402]: -1 does not fit an unsigned\n"
        "  hint: use a value from 0 to 18446744073709551615 for an unsigned",
    ),
    (
        REAL,
        [(1.0, 2**64)],
        "f, row 1, column u: error[E0402]: 18446744073709551616 does not fit an unsigned\n"
        "  hint: use a value from 0 to 18446744073709551615 for an unsigned",
    ),
    (
        REAL,
        [("1.5", 1)],
        "f, row 1, column x: error[E0401]: expected a float, found the str '1.5'\n"
        "  hint: give a float without quotes, or declare the column as symbol",
    ),
    (
        NAMED,
        [(1, 1)],
        "s, row 1, column name: error[E0401]: expected a symbol, found the int 1\n"
        "  hint: pass str(…), or declare the column as number",
    ),
    (
        NAMED,
        [("\ud800", 1)],
        "s, row 1, column name: error[E0408]: the symbol '\\ud800' cannot be written in UTF-8\n"
        "  hint: remove unpaired surrogates",
    ),
    (
        NAMED,
        [(b"a", 1)],
        "s, row 1, column name: error[E0401]: expected a symbol, found the bytes b'a'\n"
        "  hint: decode it first: value.decode()",
    ),
    (
        NAMED,
        [(datetime.date(2020, 1, 1), 1)],
        "s, row 1, column name: error[E0401]: expected a symbol, found the date datetime.date(2020, 1, 1)\n"
        "  hint: pass value.isoformat() into a symbol, or a count of seconds or days into a number",
    ),
    (
        NAMED,
        [(pd.NA, 1)],
        "s, row 1, column name: error[E0403]: expected a symbol, found no value (<NA>)\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        NAMED,
        [(True, 1)],
        "s, row 1, column name: error[E0401]: expected a symbol, found the bool True\n"
        "  hint: write int(…) for 0 and 1, or str(…)",
    ),
    (
        HOLDER,
        [((1, 2), None)],
        "h, row 1, column pair: error[E0401]: expected a symbol, found the int 2, in field `b` of `Pair`\n"
        "  hint: pass str(…), or declare the column as number",
    ),
    (
        HOLDER,
        [((1, "a", "b"), None)],
        "h, row 1, column pair: error[E0401]: expected a record of type Pair, found (1, 'a', 'b')\n"
        "  hint: write a tuple (a, b) or None for nil",
    ),
    (
        HOLDER,
        [({"a": 1}, None)],
        "h, row 1, column pair: error[E0401]: expected a record of type Pair, found {'a': 1}\n"
        "  hint: write a tuple (a, b) or None for nil",
    ),
    (
        HOLDER,
        [(None, ("a", 5))],
        "h, row 1, column chain: error[E0401]: expected a record of type List, found 5, in field `tail` of `List`\n"
        "  hint: write a tuple (head, tail) or None for nil",
    ),
    (
        HOLDER,
        [((None, "b"), None)],
        "h, row 1, column pair: error[E0403]: expected a number, found no value (None), in field `a` of `Pair`\n"
        "  hint: leave the row out, or use a marker of your own",
    ),
    (
        HOLDER,
        [("[1, a]", None)],
        "h, row 1, column pair: error[E0401]: expected a record of type Pair, found '[1, a]'\n"
        "  hint: write a tuple (a, b) or None for nil",
    ),
    (
        EDGE,
        np.zeros((2, 3), dtype=np.int64),
        "e: error[E0406]: expected 2 columns, found 3\n  hint: pass a column for each of x, y",
    ),
    (
        EDGE,
        np.zeros(3),
        "e: error[E0407]: expected a 2-D array of integers, found 1 dimensions of float64\n  hint: pass array.tolist()",
    ),
    (
        EDGE,
        np.array([[2**63, 1]], dtype=np.uint64),
        "e, row 1, column x: error[E0402]: 9223372036854775808 does not fit a number\n"
        "  hint: use a value from -9223372036854775808 to 9223372036854775807 for a number",
    ),
    (
        TERMS,
        [(END, None), (None, None)],
        "t, row 2, column term: error[E0403]: expected a Term, found no value (None)\n"
        "  hint: pass a value of End, Say, Real, Both: db.branch(name)(…)",
    ),
    (
        TERMS,
        [(DARK, None)],
        "t, row 1, column term: error[E0401]: a Term has no branch Dark\n  hint: use End, Say, Real, Both",
    ),
    (
        TERMS,
        [((1, 2), None)],
        "t, row 1, column term: error[E0401]: expected a Term, found the tuple (1, 2)\n"
        "  hint: pass a value of End, Say, Real, Both: db.branch(name)(…)",
    ),
    (
        TERMS,
        [("$End", None)],
        "t, row 1, column term: error[E0401]: expected a Term, found the str '$End'\n"
        "  hint: pass a value of End, Say, Real, Both: db.branch(name)(…)",
    ),
    (
        TERMS,
        [(BRANCHES["Both"](END, None, BRANCHES["Say"](1, DARK)), None)],
        "t, row 1, column term: error[E0401]: expected a symbol, found the int 1, in field `text` of `$Say`\n"
        "  hint: pass str(…), or declare the column as number",
    ),
    (
        TERMS,
        [(END, (BRANCHES["Say"]("", END), 1))],
        "t, row 1, column holder: error[E0401]: a Shade has no branch End, in field `shade` of `$Say`\n"
        "  hint: use Light, Dark",
    ),
    (
        TERMS,
        [(branch_class("Real", ("f",))(1.5), None)],
        "t, row 1, column term: error[E0401]: the branch Real has 2 parts, found 1\n"
        "  hint: write $Real(f: float, u: unsigned)",
    ),
    (
        TERMS,
        [(END, (END,))],
        "t, row 1, column holder: error[E0401]: expected a record of type Holder, found (End(),)\n"
        "  hint: write a tuple (term, n) or None for nil",
    ),
]


@pytest.mark.parametrize(("kind", "data", "message"), ROWS)
def test_rows(kind: RelationType, data: Any, message: str) -> None:
    assert fails(lambda: encode(data, kind, dictionary())) == message


def test_nothing_is_encoded_by_half() -> None:
    known = dictionary()
    fails(lambda: encode([("a", 1), ("b", "x")], NAMED, known))
    assert encode([("b", 1)], NAMED, known).shape == (1, 2)
