"""What tidelog writes, it reads back equal, or it rejects the row at writing with a hint that works."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import cases
from tests.io.samples import BRANCHES, FLOATS, NUMBERS, UNSIGNED, decoded, dictionary, relation
from tests.texts import cases_of, python
from tidelog.errors import DataError
from tidelog.io import encode, read_facts, write_view
from tidelog.io.options import GivenOptions
from tidelog.io.text_writer import csv_line
from tidelog.language.syntax import RelationType

DELIMITERS = ["\t", ",", ";", " ", "|", "||", ", ", "a", "1", "-", ".", "[", "]", "$", "(", "^", "\\", "ü", "\0"]
PLAIN: list[GivenOptions] = [{}, {"headers": True}, *({"delimiter": each} for each in DELIMITERS)]
QUOTED: list[GivenOptions] = [{"rfc4180": True, "headers": True, "delimiter": each} for each in DELIMITERS]
EXACT: list[GivenOptions] = [
    {"rfc4180": True},
    *QUOTED,
    {"rfc4180": True, "compress": True},
    *({"IO": each} for each in ("json", "parquet", "arrow", "sqlite")),
    {"IO": "json", "format": "object"},
]
PIECES = [
    *'",;\t|\n\r\0 \ufeff\\[]()$a1-.ü\x1f\x85\u2028#', '""', "||", "\r\n", "nil", "[1, x]", "$Dark", "$Say(a", "inf",
    "nan", "1e5", "0x1", "\U0001f600", "//", "()",
]  # fmt: skip
NASTY = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
PAIRS = st.none() | st.tuples(NUMBERS, NASTY)
CHAINS = st.recursive(st.none(), lambda tail: st.tuples(NASTY, tail), max_leaves=3)
SHADES = st.sampled_from(["Light", "Dark"]).map(lambda name: BRANCHES[name]())
TERM = st.recursive(
    st.builds(BRANCHES["Say"], NASTY, SHADES) | st.builds(BRANCHES["Real"], FLOATS, UNSIGNED),
    lambda inner: st.builds(BRANCHES["Both"], inner, PAIRS, inner),
    max_leaves=3,
)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "symbol": NASTY, "number": NUMBERS, "unsigned": UNSIGNED, "float": FLOATS, "Pair": PAIRS, "List": CHAINS,
    "Shade": SHADES, "Term": TERM,
}  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> tuple[RelationType, list[Any]]:
    """A relation of up to three columns with its rows."""
    kinds = draw(st.lists(st.sampled_from(["symbol", *KINDS]), min_size=1, max_size=3))
    rows = draw(st.lists(st.tuples(*(KINDS[kind] for kind in kinds)), max_size=5, unique=True))
    return relation("r", **{f"c{place}": kind for place, kind in enumerate(kinds)}), rows


def back(rows: list[Any], kind: RelationType, options: GivenOptions) -> list[Any]:
    """Write rows, and read them with the same options. Raise DataError where they cannot be written."""
    known = dictionary()
    with tempfile.TemporaryDirectory() as folder:
        path = write_view(options, folder, kind, encode(rows, kind, known), known)
        assert path is not None
        other = dictionary()
        return decoded(read_facts({**options, "filename": path.name}, folder, kind, other), kind, other)


def rejection(rows: list[Any], kind: RelationType, options: GivenOptions) -> str:
    """Return the error of writing rows, empty without one."""
    known = dictionary()
    with tempfile.TemporaryDirectory() as folder:
        try:
            write_view(options, folder, kind, encode(rows, kind, known), known)
        except DataError as error:
            return str(error)
    return ""


@settings(max_examples=cases(60))
@given(tables(), st.sampled_from(PLAIN))
def test_a_plain_text_reads_back_or_is_rejected(table: tuple[RelationType, list[Any]], options: GivenOptions) -> None:
    kind, rows = table
    if rejected := rejection(rows, kind, options):
        assert "E0414" in rejected
        assert "rfc4180=true" in rejected
        options = {**options, "rfc4180": True}
    assert sorted(map(repr, back(rows, kind, options))) == sorted(map(repr, rows))


@settings(max_examples=cases(60))
@given(tables(), st.sampled_from(EXACT))
def test_every_other_format_reads_back(table: tuple[RelationType, list[Any]], options: GivenOptions) -> None:
    kind, rows = table
    assert sorted(map(repr, back(rows, kind, options))) == sorted(map(repr, rows))


@pytest.mark.parametrize(
    ("kinds", "row", "options", "reason"),
    cases_of(__file__, "a row that would not read back is rejected", str, python, python),
)
def test_a_row_that_would_not_read_back_is_rejected(
    kinds: str, row: tuple[Any, ...], options: GivenOptions, reason: str, tmp_path: Path
) -> None:
    names = {"s": "symbol", "n": "number", "r": "Pair"}
    kind = relation("r", **{f"c{place}": names[each] for place, each in enumerate(kinds)})
    known = dictionary()
    with pytest.raises(DataError, match="E0414") as caught:
        write_view(options, tmp_path, kind, encode([row], kind, known), known)
    assert reason in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    advised: list[GivenOptions] = [{**options, "rfc4180": True}, {"IO": "json"}, {"IO": "parquet"}]
    for other in advised:  # what the hint says
        assert back([row], kind, other) == [row]


@pytest.mark.parametrize("options", [{}, {"headers": True}, {"delimiter": "\0"}], ids=str)
@pytest.mark.parametrize("row", [("a,b", "c"), ("x\ry", ""), ("", "\ufeff"), ("(", "$Dark")])
def test_odd_texts_that_plain_fields_can_have(options: GivenOptions, row: tuple[str, str]) -> None:
    assert back([row], relation("r", c0="symbol", c1="symbol"), options) == [row]
    for text in row:
        if not text.startswith("\ufeff") or options.get("headers"):
            assert back([(text,)], relation("r", c0="symbol"), options) == [(text,)]


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_python_and_arrow_quote_the_same_fields(delimiter: str, tmp_path: Path) -> None:
    rows = sorted({(one, other) for one in PIECES for other in (one, "x")})
    kind, known = relation("r", c0="symbol", c1="symbol"), dictionary()
    options: GivenOptions = {"rfc4180": True, "delimiter": delimiter}
    path = write_view(options, tmp_path, kind, encode(rows, kind, known), known)
    assert path is not None
    assert path.read_bytes().decode() == "".join(f"{csv_line(row, delimiter)}\n" for row in rows)
