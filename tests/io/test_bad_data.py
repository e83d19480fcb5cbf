"""Everything that rows, arrays, tables and text files can get wrong: `errors/*.txt` has the messages that say so."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.io.samples import NAMED, cases, dictionary, fails
from tidelog.io import encode
from tidelog.io.text_reader import TextFormat, read_text
from tidelog.language.branches import branch_class
from tidelog.language.syntax import RelationType

BROKEN = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff"))
LIBRARIES = {"datetime": datetime, "decimal": decimal, "np": np, "pa": pa, "pd": pd, "pl": pl}
DATA = LIBRARIES | {"BROKEN": BROKEN, "Path": Path, "branch_class": branch_class}
FORMS = {"TAB": TextFormat(), "HEADERS": TextFormat(headers=True), "QUOTED": TextFormat(",", quoted=True)}


@pytest.mark.parametrize(("kind", "data", "message"), cases("rows", DATA) + cases("tables", DATA))
def test_rows_and_tables(kind: RelationType, data: Any, message: str) -> None:
    assert fails(lambda: encode(data, kind, dictionary())) == message


@pytest.mark.parametrize(("kind", "form", "data", "message"), cases("texts", FORMS))
def test_texts(kind: RelationType, form: TextFormat, data: bytes, message: str) -> None:
    assert fails(lambda: read_text(data, "e.facts", form, kind, dictionary())) == message


def test_nothing_is_encoded_by_half() -> None:
    known = dictionary()
    fails(lambda: encode([("a", 1), ("b", "x")], NAMED, known))
    assert encode([("b", 1)], NAMED, known).shape == (1, 2)
