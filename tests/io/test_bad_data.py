"""Everything that data can get wrong, and the message that says so."""

from __future__ import annotations

import datetime
import decimal
import gzip
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.io.samples import EDGE, NAMED, dictionary, relation
from tidelog.errors import CODES, DataError
from tidelog.io import encode, read_facts, write_view
from tidelog.io.text_reader import TextFormat, read_text
from tidelog.language.syntax import RelationType, Source, Span

REAL = relation("f", x="float", u="unsigned")
HOLDER = relation("h", pair="Pair", chain="List")
FLAG = relation("flag")
TAB = TextFormat()
HEADERS = TextFormat(headers=True)
QUOTED = TextFormat(",", quoted=True)
BROKEN = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff"))

ROWS: list[tuple[RelationType, Any, str]] = [
    (
        EDGE,
        [(1,)],
        "e, row 1: error[E0405]: expected 2 values, found 1: (1,)\n  hint: e has the columns (x: number, y: number)",
    ),
    (
        EDGE,
        [(1, 2), (1, 2, 3)],
        "e, row 2: error[E0405]: expected 2 values, found 3: (1, 2, 3)\n"
        "  hint: e has the columns (x: number, y: number)",
    ),
    (
        EDGE,
        [("a", 1)],
        "e, row 1, column x: error[E0401]: expected a number, found the str 'a'\n"
        "  hint: pass int(…), or declare the column as symbol",
    ),
    (
        EDGE,
        [(1, "x" * 1000)],
        "e, row 1, column y: error[E0401]: expected a number, found the str "
        "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'… (1000 characters)\n"
        "  hint: pass int(…), or declare the column as symbol",
    ),
    (
        EDGE,
        [(1, 2), (2**70, 1)],
        "e, row 2, column x: error[E0402]: 1180591620717411303424 does not fit a number\n"
        "  hint: a number is at least -9223372036854775808 and at most 9223372036854775807",
    ),
    (
        EDGE,
        [(10**5000, 1)],
        "e, row 1, column x: error[E0402]: an integer of 16610 bits does not fit a number\n"
        "  hint: a number is at least -9223372036854775808 and at most 9223372036854775807",
    ),
    (
        EDGE,
        [(1, None)],
        "e, row 1, column y: error[E0403]: expected a number, found no value (None)\n"
        "  hint: leave the row out, or put a marker of your own in its place",
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
        "e, row 1, column x: error[E0401]: expected a number, found the Decimal Decimal('1')\n  hint: pass int(…)",
    ),
    (
        EDGE,
        [(float("nan"), 1)],
        "e, row 1, column x: error[E0403]: expected a number, found no value (nan)\n"
        "  hint: leave the row out, or put a marker of your own in its place",
    ),
    (
        EDGE,
        [1, 2],
        "e, row 1: error[E0407]: expected a row, found 1\n  hint: a row is a tuple (x, y)",
    ),
    (
        EDGE,
        ["ab"],
        "e, row 1: error[E0407]: expected a row, found 'ab'\n  hint: a row is a tuple (x, y)",
    ),
    (
        EDGE,
        [{"x": 1, "z": 2}],
        "e, row 1: error[E0406]: expected the keys x, y, found x, z",
    ),
    (
        EDGE,
        "edges.csv",
        "e: error[E0407]: expected rows, found the str 'edges.csv'\n"
        "  hint: files are read with .input in the program, or as a table: pyarrow.csv.read_csv(path)",
    ),
    (
        EDGE,
        Path("edges.csv"),
        "e: error[E0407]: expected rows, found the PosixPath PosixPath('edges.csv')\n"
        "  hint: files are read with .input in the program, or as a table: pyarrow.csv.read_csv(path)",
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
        "  hint: NaN is not equal to itself, so that no set can hold it; leave such rows out or use a marker of "
        "your own",
    ),
    (
        REAL,
        [(2**53 + 1, 1)],
        "f, row 1, column x: error[E0402]: the integer 9007199254740993 has no float that is equal to it\n"
        "  hint: pass float(…)",
    ),
    (
        REAL,
        [(1.0, -1)],
        "f, row 1, column u: error[E0402]: -1 does not fit an unsigned\n"
        "  hint: an unsigned is at least 0 and at most 18446744073709551615",
    ),
    (
        REAL,
        [(1.0, 2**64)],
        "f, row 1, column u: error[E0402]: 18446744073709551616 does not fit an unsigned\n"
        "  hint: an unsigned is at least 0 and at most 18446744073709551615",
    ),
    (
        REAL,
        [("1.5", 1)],
        "f, row 1, column x: error[E0401]: expected a float, found the str '1.5'\n"
        "  hint: pass float(…), or declare the column as symbol",
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
        "s, row 1, column name: error[E0408]: a symbol cannot be written in UTF-8: '\\ud800'\n"
        "  hint: symbols are Unicode text",
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
        "  hint: leave the row out, or put a marker of your own in its place",
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
        "h, row 1, column pair: error[E0401]: expected a symbol, found the int 2\n"
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
        "h, row 1, column chain: error[E0401]: expected a record of type List, found 5\n"
        "  hint: write a tuple (head, tail) or None for nil",
    ),
    (
        HOLDER,
        [((None, "b"), None)],
        "h, row 1, column pair: error[E0403]: expected a number, found no value (None)\n"
        "  hint: leave the row out, or put a marker of your own in its place",
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
        "e: error[E0406]: expected 2 columns, found 3",
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
        "  hint: a number is at least -9223372036854775808 and at most 9223372036854775807",
    ),
]

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
        "  hint: leave the row out, or put a marker of your own in its place",
    ),
    (
        EDGE,
        pd.DataFrame({"x": [1], "y": [1], "z": [1]}),
        "e: error[E0406]: expected the columns x, y, found x, y, z\n  hint: not declared: z",
    ),
    (
        EDGE,
        pd.DataFrame({"x": [1], "z": [1]}),
        "e: error[E0406]: expected the columns x, y, found x, z\n  hint: missing: y; not declared: z",
    ),
    (
        EDGE,
        pd.DataFrame([[1, 2]], columns=["x", "x"]),
        "e: error[E0406]: expected the columns x, y, found x, x\n  hint: missing: y; more than once: x",
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
        "  hint: leave the row out, or put a marker of your own in its place",
    ),
    (
        NAMED,
        pd.DataFrame({"name": ["a", np.nan], "n": [1, 2]}),
        "s, row 2, column name: error[E0403]: expected a symbol, found no value (nan)\n"
        "  hint: leave the row out, or put a marker of your own in its place",
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
        "e, column x: error[E0401]: expected a number, found a column of type complex128\n  hint: cast it first",
    ),
    (
        REAL,
        pd.DataFrame({"x": [1.0, None], "u": [1, 2]}),
        "f, row 2, column x: error[E0404]: NaN cannot be stored\n"
        "  hint: NaN is not equal to itself, so that no set can hold it; leave such rows out or use a marker of "
        "your own",
    ),
    (
        EDGE,
        pd.Series([1, 2]),
        "e, row 1: error[E0407]: expected a row, found 1\n  hint: a row is a tuple (x, y)",
    ),
    (
        EDGE,
        pl.Series("x", [1]),
        "e: error[E0407]: expected a table, found the Series that Arrow cannot read as one: Cannot import schema: "
        "ArrowSchema describes non-struct type int64\n"
        "  hint: is it a single column?",
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
        "  hint: leave the row out, or put a marker of your own in its place",
    ),
    (
        EDGE,
        pa.table({"x": pa.array([1, None]).dictionary_encode(), "y": [1, 2]}),
        "e, row 2, column x: error[E0403]: expected a number, found no value (null)\n"
        "  hint: leave the row out, or put a marker of your own in its place",
    ),
    (
        EDGE,
        pa.table({"x": pa.array([1, 2**63], pa.uint64()), "y": [1, 2]}),
        "e, row 2, column x: error[E0402]: 9223372036854775808 does not fit a number\n"
        "  hint: a number is at least -9223372036854775808 and at most 9223372036854775807",
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
        "  hint: NaN is not equal to itself, so that no set can hold it; leave such rows out or use a marker of "
        "your own",
    ),
    (
        REAL,
        pa.table({"x": [1.0], "u": [-1]}),
        "f, row 1, column u: error[E0402]: -1 does not fit an unsigned\n"
        "  hint: an unsigned is at least 0 and at most 18446744073709551615",
    ),
    (
        REAL,
        pa.table({"x": [2**53 + 1], "u": [1]}),
        "f, row 1, column x: error[E0402]: the integer 9007199254740993 has no float that is equal to it\n"
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
        "s, column name: error[E0408]: a symbol cannot be written in UTF-8: b'\\xff'\n  hint: symbols are Unicode text",
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
        "  hint: leave the row out, or put a marker of your own in its place",
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
        "  hint: a record of type Pair is written like [1, nil]",
    ),
    (
        HOLDER,
        pa.table({"pair": ["[1.5, a]"], "chain": ["nil"]}),
        "h, row 1, column pair: error[E0401]: in the record '[1.5, a]': expected a number, found '1.5'\n"
        "  hint: are the columns in the declared order, and is the delimiter the right one?",
    ),
    (
        HOLDER,
        pa.table({"pair": ["[1, a] x"], "chain": ["nil"]}),
        "h, row 1, column pair: error[E0401]: expected the end at character 8 of the record '[1, a] x', found 'x'\n"
        "  hint: a record of type Pair is written like [1, nil]",
    ),
]

TEXTS: list[tuple[RelationType, TextFormat, bytes, str]] = [
    (
        EDGE,
        TAB,
        b"1\t2\n3\n",
        "e.facts:2:1: error[E0405]: expected 2 columns, found 1: '3'\n"
        "  hint: the delimiter is '\\t', the columns are x, y",
    ),
    (
        EDGE,
        TAB,
        b"1\t2\n3\t4\t5\n",
        "e.facts:2:1: error[E0405]: expected 2 columns, found 3: '3\\t4\\t5'\n"
        "  hint: the delimiter is '\\t', the columns are x, y",
    ),
    (
        EDGE,
        TAB,
        b"1,2\n",
        "e.facts:1:1: error[E0405]: expected 2 columns, found 1: '1,2'\n"
        '  hint: is the delimiter another one? add delimiter="," to .input',
    ),
    (
        EDGE,
        TAB,
        b"1\t2\n3\tx\n",
        "e.facts:2:3: error[E0401]: expected a number, found 'x'\n"
        "  hint: are the columns in the declared order, and is the delimiter the right one?",
    ),
    (
        EDGE,
        TAB,
        b"1\t99999999999999999999\n",
        "e.facts:1:3: error[E0402]: 99999999999999999999 does not fit a number\n"
        "  hint: a number is at least -9223372036854775808 and at most 9223372036854775807",
    ),
    (
        EDGE,
        TAB,
        b"1\t2\n\n\t4\n",
        "e.facts:3:1: error[E0403]: expected a number, found an empty field\n  hint: numbers cannot be left out",
    ),
    (
        EDGE,
        TAB,
        b"1\t1.5\n",
        "e.facts:1:3: error[E0401]: expected a number, found '1.5'\n"
        "  hint: are the columns in the declared order, and is the delimiter the right one?",
    ),
    (
        EDGE,
        TAB,
        b"1\t2\r\n3\tx\r\n",
        "e.facts:2:3: error[E0401]: expected a number, found 'x'\n"
        "  hint: are the columns in the declared order, and is the delimiter the right one?",
    ),
    (
        EDGE,
        TAB,
        b"\xef\xbb\xbfx\t2\n",
        "e.facts:1:1: error[E0401]: expected a number, found 'x'\n"
        "  hint: are the columns in the declared order, and is the delimiter the right one?",
    ),
    (
        REAL,
        TAB,
        b"1\t-5\n",
        "e.facts:1:3: error[E0402]: -5 does not fit an unsigned\n"
        "  hint: an unsigned is at least 0 and at most 18446744073709551615",
    ),
    (
        REAL,
        TAB,
        b"1\t1\nnan\t1\n",
        "e.facts:2:1: error[E0404]: NaN cannot be stored\n"
        "  hint: NaN is not equal to itself, so that no set can hold it; leave such rows out or use a marker of "
        "your own",
    ),
    (
        REAL,
        TAB,
        b"inf\t1\n1e999\t1\n",
        "e.facts:2:1: error[E0402]: 1e999 does not fit a float\n  hint: floats have 64 bits",
    ),
    (
        REAL,
        TAB,
        b"one\t1\n",
        "e.facts:1:1: error[E0401]: expected a float, found 'one'\n  hint: write it like 1.5 or 2e-3",
    ),
    (
        NAMED,
        TAB,
        b"a\t1\n\xc3\xa4\xff\t2\n",
        "e.facts:2:2: error[E0408]: the byte 0xff does not belong here in UTF-8\n  hint: save the file as UTF-8",
    ),
    (
        NAMED,
        TAB,
        "a\t1".encode("utf-16"),
        "e.facts:1:1: error[E0408]: the byte 0xff does not belong here in UTF-8\n"
        "  hint: save the file as UTF-8; it seems to be UTF-16",
    ),
    (
        EDGE,
        HEADERS,
        b"",
        "e.facts:1:1: error[E0411]: expected a line with the names of the columns, found nothing",
    ),
    (
        EDGE,
        HEADERS,
        b"x\tz\n1\t2\n",
        "e.facts:1:1: error[E0406]: expected the columns x, y, found x, z\n  hint: missing: y; not declared: z",
    ),
    (
        EDGE,
        HEADERS,
        b"x\ty\tz\n1\t2\t3\n",
        "e.facts:1:1: error[E0406]: expected the columns x, y, found x, y, z\n  hint: not declared: z",
    ),
    (
        EDGE,
        HEADERS,
        b"y\tx\n1\t2\n3\ta\n",
        "e.facts:3:3: error[E0401]: expected a number, found 'a'\n"
        "  hint: are the columns in the declared order, and is the delimiter the right one?",
    ),
    (
        NAMED,
        QUOTED,
        b'a,1\n"b,2\n',
        "e.facts:2:1: error[E0411]: expected a quote that closes this field, found the end of the file\n"
        '  hint: a quote inside of a field is written ""',
    ),
    (
        NAMED,
        QUOTED,
        b'"a\nb",1\n"c",x\n',
        "e.facts:3:5: error[E0401]: expected a number, found 'x'\n"
        "  hint: are the columns in the declared order, and is the delimiter the right one?",
    ),
    (
        NAMED,
        QUOTED,
        b'"a",1,2\n',
        "e.facts:1:1: error[E0405]: expected 2 columns, found 3: 'a,1,2'\n"
        "  hint: the delimiter is ',', the columns are name, n",
    ),
    (
        FLAG,
        TAB,
        b"()\nmaybe\n",
        "e.facts:2:1: error[E0405]: expected (), found 'maybe'\n  hint: the relation has no columns",
    ),
    (
        HOLDER,
        TAB,
        b"[1, a]\tnil\n[x, a]\tnil\n",
        "e.facts:2:1: error[E0401]: in the record '[x, a]': expected a number, found 'x'\n"
        "  hint: are the columns in the declared order, and is the delimiter the right one?",
    ),
    (
        HOLDER,
        TAB,
        b"[1, a\tnil\n",
        "e.facts:1:1: error[E0401]: expected ] at character 6 of the record '[1, a', found the end\n"
        "  hint: a record of type Pair is written like [1, nil]",
    ),
    (
        HOLDER,
        TAB,
        b"(1, a)\tnil\n",
        "e.facts:1:1: error[E0401]: expected [ or nil at character 1 of the record '(1, a)', found '(1, a)'\n"
        "  hint: a record of type Pair is written like [1, nil]",
    ),
]

FILES: list[tuple[RelationType, dict[str, Any], bytes | None, str]] = [
    (
        EDGE,
        {},
        None,
        "e.facts: error[E0410]: the facts of e are not there\n  hint: it may also be called e.csv, e.tsv, e.json",
    ),
    (
        EDGE,
        {"filename": "x.csv"},
        None,
        "x.csv: error[E0410]: the facts of e are not there\n  hint: the folder . has folder",
    ),
    (
        EDGE,
        {"IO": "parquet"},
        None,
        "e.parquet: error[E0410]: the facts of e are not there\n  hint: the folder . has folder",
    ),
    (
        EDGE,
        {"IO": "json"},
        None,
        "e.json: error[E0410]: the facts of e are not there\n  hint: the folder . has folder",
    ),
    (
        EDGE,
        {"filename": "a.parquet"},
        b"junk",
        "a.parquet: error[E0411]: expected Parquet, but it cannot be read: Parquet file size is 4 bytes, smaller "
        "than the minimum file footer (8 bytes)\n"
        "  hint: is the file whole?",
    ),
    (
        EDGE,
        {"filename": "a.arrow"},
        b"junk",
        "a.arrow: error[E0411]: expected Arrow, but it cannot be read: Expected to read 1802401130 metadata bytes, "
        "but only read 0\n"
        "  hint: is the file whole?",
    ),
    (
        EDGE,
        {"filename": "a.json"},
        b"[[1, 2],",
        "a.json:1:9: error[E0411]: expected JSON, but Expecting value\n  hint: a list of lists or of objects",
    ),
    (
        EDGE,
        {"filename": "a.json"},
        b'{"x": 1}',
        "a.json: error[E0411]: expected a list of rows, found an object\n  hint: write [[1, 2], [3, 4]]",
    ),
    (
        EDGE,
        {"filename": "a.json"},
        b"[[1, 2.5]]",
        "a.json, row 1, column y: error[E0401]: expected a number, found the float 2.5\n"
        "  hint: pass int(…) if its value is integral",
    ),
    (
        EDGE,
        {"filename": "a.json"},
        b"[[1, 2], [1]]",
        "a.json, row 2: error[E0405]: expected 2 values, found 1: [1]\n"
        "  hint: e has the columns (x: number, y: number)",
    ),
    (
        EDGE,
        {"filename": "a.json"},
        b"\xff",
        "a.json: error[E0408]: the byte at 0 is not UTF-8\n  hint: save the file as UTF-8",
    ),
    (
        EDGE,
        {"filename": "a.json"},
        b"[" * 100_000,
        "a.json: error[E0411]: the JSON cannot be read: it is nested too deeply",
    ),
    (
        REAL,
        {"filename": "a.json"},
        b"[[NaN, 1]]",
        "a.json, row 1, column x: error[E0404]: NaN cannot be stored\n"
        "  hint: NaN is not equal to itself, so that no set can hold it; leave such rows out or use a marker of "
        "your own",
    ),
    (
        EDGE,
        {"filename": "a.facts"},
        gzip.compress(b"1\t2\n")[:-6],
        "a.facts: error[E0411]: the gzip data are broken: Compressed file ended before the end-of-stream marker was "
        "reached\n"
        "  hint: is the file whole?",
    ),
    (
        EDGE,
        {"filename": "a.db"},
        b"junk" * 1000,
        "a.db: error[E0411]: the database cannot be read: file is not a database",
    ),
    (
        EDGE,
        {"filename": "folder"},
        None,
        "folder: error[E0411]: the file cannot be read: Is a directory",
    ),
]

OPTIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"IO": "delta"},
        "error[E0413]: unknown IO=delta\n  hint: IO is one of file, stdin, stdout, parquet, arrow, json, sqlite",
    ),
    (
        {"colour": "red"},
        "error[E0413]: unknown option colour\n"
        "  hint: the options are IO, filename, dbname, delimiter, headers, rfc4180, compress, format",
    ),
    (
        {"delimiter": ""},
        "error[E0413]: '' cannot separate columns\n  hint: a delimiter is a TAB, a comma, or the like",
    ),
    (
        {"headers": "maybe"},
        "error[E0413]: headers=maybe is neither true nor false",
    ),
    (
        {"format": "xml"},
        "error[E0413]: unknown format=xml\n  hint: format is list or object",
    ),
    (
        {"IO": "stdout"},
        "error[E0413]: IO=stdout cannot be read\n  hint: write IO=stdin",
    ),
]


def fails(action: Callable[[], object]) -> str:
    """The message of the DataError that the action raises."""
    with pytest.raises(DataError) as caught:
        action()
    assert caught.value.code in CODES
    return str(caught.value)


@pytest.mark.parametrize(("kind", "data", "message"), ROWS + TABLES)
def test_data(kind: RelationType, data: Any, message: str) -> None:
    assert fails(lambda: encode(data, kind, dictionary())) == message


@pytest.mark.parametrize(("kind", "form", "data", "message"), TEXTS)
def test_text(kind: RelationType, form: TextFormat, data: bytes, message: str) -> None:
    assert fails(lambda: read_text(data, "e.facts", form, kind, dictionary())) == message


@pytest.mark.parametrize(("kind", "options", "data", "message"), FILES)
def test_files(
    kind: RelationType,
    options: dict[str, Any],
    data: bytes | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    if data is not None:
        Path(options["filename"]).write_bytes(data)
    assert fails(lambda: read_facts(options, Path(), kind, dictionary())) == message


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    assert fails(lambda: read_facts(options, tmp_path, EDGE, dictionary())) == message


def test_a_bad_option_is_shown_in_the_program() -> None:
    source = Source("p.dl", ".input e(IO=delta)")
    assert fails(lambda: read_facts({"IO": "delta"}, Path(), EDGE, dictionary(), Span(source, 9, 17))) == (
        "p.dl:1:10: error[E0413]: unknown IO=delta\n"
        "    1 | .input e(IO=delta)\n"
        "      |          ^^^^^^^^\n"
        "  hint: IO is one of file, stdin, stdout, parquet, arrow, json, sqlite"
    )


def test_a_row_of_a_table_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pa.table({"x": [1, None], "y": [1, 2]}), "e.parquet")
    assert fails(lambda: read_facts({}, Path(), EDGE, dictionary())) == (
        "e.parquet, row 2, column x: error[E0403]: expected a number, found no value (null)\n"
        "  hint: leave the row out, or put a marker of your own in its place"
    )


def test_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("a.db")) as connection:
        connection.execute("CREATE TABLE e (x, z)")
        connection.execute("CREATE TABLE s (name, n)")
        connection.execute("INSERT INTO s VALUES ('a', 1.5)")
        connection.execute("CREATE TABLE h (pair, chain)")
        connection.execute("INSERT INTO h VALUES ('[1', 'nil')")
        connection.commit()

    def message(kind: RelationType) -> str:
        return fails(lambda: read_facts({"filename": "a.db"}, Path(), kind, dictionary()))

    assert message(EDGE) == (
        "a.db, table e: error[E0406]: expected the columns x, y, found x, z\n  hint: missing: y; not declared: z"
    )
    assert message(NAMED) == (
        "a.db, table s, row 1, column n: error[E0401]: expected a number, found the float 1.5\n"
        "  hint: pass int(…) if its value is integral"
    )
    assert message(HOLDER) == (
        "a.db, table h, row 1, column pair: error[E0401]: "
        "expected , at character 3 of the record '[1', found the end\n"
        "  hint: a record of type Pair is written like [1, nil]"
    )
    assert message(REAL) == "a.db, table f: error[E0410]: there is no such table\n  hint: the database has e, s, h"


def test_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    known = dictionary()
    words = encode([(1, 2)], EDGE, known)

    def message(folder: str, **options: Any) -> str:
        return fails(lambda: write_view(options, folder, EDGE, words, known))

    assert message("nowhere") == (
        "nowhere/e.csv: error[E0412]: the file cannot be written: No such file or directory\n"
        "  hint: the folder nowhere does not exist"
    )
    assert message(".", filename="folder") == "folder: error[E0412]: the file cannot be written: Is a directory"
    assert message("nowhere", IO="sqlite") == (
        "nowhere/e.sqlite: error[E0412]: the database cannot be written: unable to open database file"
    )
    assert message(".", IO="stdin") == "error[E0413]: IO=stdin cannot be written\n  hint: write IO=stdout"
    assert [path.name for path in Path().iterdir()] == ["folder"]


def test_nothing_is_encoded_by_half() -> None:
    known = dictionary()
    fails(lambda: encode([("a", 1), ("b", "x")], NAMED, known))
    assert encode([("b", 1)], NAMED, known).shape == (1, 2)
