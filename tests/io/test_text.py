"""Facts in text files: what is read, and what is written."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.samples import BRANCHES, DARK, EDGE, END, EVERY, NAMED, PAIRS, ROWS, decoded, dictionary, relation
from tidelog.errors import DataError
from tidelog.io import encode
from tidelog.io.options import decompress
from tidelog.io.text_reader import TextFormat, read_text
from tidelog.io.text_writer import text_of
from tidelog.language.syntax import RelationType

TAB = TextFormat()
COMMA = TextFormat(",")
QUOTED = TextFormat(",", quoted=True)
WORD = relation("w", word="symbol")


def read(data: bytes | str, kind: RelationType, form: TextFormat = TAB) -> list[tuple[Any, ...]]:
    known = dictionary()
    data = data.encode() if isinstance(data, str) else data
    return decoded(read_text(data, "f", form, kind, known), kind, known)


def written(rows: list[Any], kind: RelationType, form: TextFormat = TAB) -> str:
    known = dictionary()
    return b"".join(text_of(encode(rows, kind, known), kind.columns, known, form)).decode()


@pytest.mark.parametrize(
    "data",
    [
        b"1\t2\n3\t4\n",
        b"1\t2\n3\t4",
        b"1\t2\r\n3\t4\r\n",
        b"\xef\xbb\xbf1\t2\n3\t4\n",
        b"\n1\t2\n\n3\t4\n\n",
        b" 1\t2 \n0x3\t004\n",
    ],
)
def test_lines_of_numbers(data: bytes) -> None:
    assert read(data, EDGE) == [(1, 2), (3, 4)]


def test_no_lines() -> None:
    assert read(b"", EDGE) == []
    assert read(b"\n", EDGE) == []
    assert read(b"", WORD) == []
    assert read(b"x\ty\n", EDGE, TextFormat(headers=True)) == []


@pytest.mark.parametrize("delimiter", [",", ";", " ", "|", "||", "→", "::=", "\x01"])
def test_delimiters(delimiter: str) -> None:
    assert read(f"a{delimiter}1\nb c{delimiter}2\n".replace("b c", "b"), NAMED, TextFormat(delimiter)) == [
        ("a", 1),
        ("b", 2),
    ]


def test_symbols_stand_as_they_are() -> None:
    text = 'a b\t1\n"q"\t2\n\t3\nNULL\t4\nnan\t5\n#c\t6\n a \t7\n\\t\t8\n'
    names = ["a b", '"q"', "", "NULL", "nan", "#c", " a ", "\\t"]
    assert read(text, NAMED) == [(name, number + 1) for number, name in enumerate(names)]


def test_a_carriage_return_inside_of_a_line_belongs_to_the_symbol() -> None:
    assert read(b"a\rb\t1\r\nc\t2\n", NAMED) == [("a\rb", 1), ("c", 2)]


def test_a_blank_line_is_the_empty_symbol_where_there_is_one_symbol_only() -> None:
    assert read("a\n\nb\n", WORD) == [("a",), ("",), ("b",)]
    assert read("\n", WORD) == [("",)]


def test_names_in_the_first_line_say_which_column_is_which() -> None:
    assert read("n\tname\n1\ta\n", NAMED, TextFormat(headers=True)) == [("a", 1)]
    assert read("name\tn\na\t1\n", NAMED, TextFormat(headers=True)) == [("a", 1)]
    assert read(" Name\tN \r\na\t1\n", NAMED, TextFormat(headers=True)) == [("a", 1)]
    assert read('"n","name"\n1,a\n', NAMED, TextFormat(",", headers=True, quoted=True)) == [("a", 1)]
    assert read("\ufeffn\tname\n1\ta\rb\n", NAMED, TextFormat(headers=True)) == [("a\rb", 1)]


def test_quoted_fields() -> None:
    text = 'name,n\n"a, ""b""\nc",1\n"",2\n,3\nx y,4\n"z"\r\n'.replace('"z"\r\n', '"z","5"\r\n')
    expected = [('a, "b"\nc', 1), ("", 2), ("", 3), ("x y", 4), ("z", 5)]
    assert read(text, NAMED, TextFormat(",", headers=True, quoted=True)) == expected


def test_the_exact_reader_reads_quoted_fields_alike() -> None:
    text = '"a\r","1"\n"b\n""c",2\r\nd,3'  # the CR alone leaves this to the exact reader
    assert read(text, NAMED, QUOTED) == [("a\r", 1), ('b\n"c', 2), ("d", 3)]


def test_floats() -> None:
    real = relation("r", x="float")
    text = "1\n1.5\n-0.0\n.5\n5.\n1e-3\ninf\n-Infinity\n+2\n"
    expected = [(1.0,), (1.5,), (0.0,), (0.5,), (5.0,), (0.001,), (float("inf"),), (float("-inf"),), (2.0,)]
    assert read(text, real) == expected
    assert read(text.replace("inf\n-Infinity\n", ""), real) == expected[:6] + expected[8:]


def test_records() -> None:
    holder = relation("h", pair="Pair", n="number", chain="List")
    expected = [((1, "x y"), 5, ("a", ("b", None))), (None, 6, None)]
    text = "[1, x y]\t5\t[a, [b, nil]]\nnil\t6\tnil\n"
    assert read(text, holder) == expected
    assert read(text.replace(", ", ",").replace("\t", ","), holder, COMMA) == expected
    assert read(text.replace("\t", " "), holder, TextFormat(" ")) == expected
    assert read('"[1, x y]",5,"[a, [""b"", nil]]"\nnil,6,nil\n', holder, QUOTED) == expected
    assert written(expected, holder) == text


def test_names_of_branches_with_question_marks() -> None:
    holder, known = relation("h", x="Odd"), dictionary()
    rows = decoded(read_text(b"$A?\n$?B(1)\n$ A?b? ( 2 )\n$A? ()\n", "f", TAB, holder, known), holder, known)
    assert [str(value) for (value,) in rows] == ["A?()", "?B(x=1)", "A?b?(x=2)", "A?()"]
    assert written(rows[:3], holder) == "$A?\n$?B(1)\n$A?b?(2)\n"


def test_relations_without_columns_hold_where_there_is_a_line() -> None:
    flag = relation("flag")
    for text in ("\n", "  \n", "anything", "()\nmaybe\n", "\t\n"):
        assert read(text, flag) == [()]
    assert read("\n", flag, TextFormat(headers=True)) == []
    assert read("\n\n", flag, TextFormat(headers=True)) == [()]
    assert read("()\n", flag) == [()]
    assert read("()\n()\n", flag) == [()]
    assert read("", flag) == []
    assert written([()], flag) == "()\n"
    assert written([], flag) == ""


@pytest.mark.parametrize("text", ['"{}', '\r"{}"', "\r{}", '"{}"x,1,'], ids=["open", "quoted", "bare", "columns"])
def test_a_long_field_takes_memory_in_proportion(text: str) -> None:
    """The exact reader, which a quote that is never closed makes read to the end of the file."""

    def peak(length: int) -> int:
        """Return the most bytes that objects of Python have at a time."""
        tracemalloc.start()
        try:
            with pytest.raises(DataError, match=r"E0411|E0405"):
                read(text.format("x" * length), NAMED, QUOTED)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1_000_000)  # Modules that are loaded when first needed do not count.
    assert peak(1_000_000) < 20 * 1_000_000


def test_a_row_longer_than_any_block() -> None:
    long = "x" * 20_000_000
    assert read(f"a\t1\n{long}\t2\n", NAMED) == [("a", 1), (long, 2)]


def test_what_is_written() -> None:
    say, both = BRANCHES["Say"], BRANCHES["Both"]
    term = both(say("a b", DARK), (1, "(x"), both(END, None, say("f(x)", DARK)))
    every = [
        (-1, 2**64 - 1, 0.1, 'a "b"', (1, "x"), ((2, "a, b"), 3), ("h", None), DARK, END, (term, 1)),
        (0, 0, 2.0, "", (1, "(x"), (None, 1), None, DARK, term, None),
    ]
    text = '$Both($Say(a b, $Dark), [1, "(x"], $Both($End, nil, $Say("f(x)", $Dark)))'
    assert written(every, EVERY) == (
        '-1\t18446744073709551615\t0.1\ta "b"\t[1, x]\t[[2, "a, b"], 3]\t[h, nil]\t$Dark\t$End\t'
        f"[{text}, 1]\n0\t0\t2\t\t[1, (x]\t[nil, 1]\tnil\t$Dark\t{text}\tnil\n"
    )
    assert written([("a,b", 1), ('"', 2), ("c", 3)], NAMED, QUOTED) == '"a,b",1\n"""",2\nc,3\n'
    assert written([("a", 1)], NAMED, TextFormat(";", headers=True)) == "name;n\na;1\n"
    assert written([("",), ("a",)], WORD, QUOTED) == '""\na\n'


@settings(max_examples=100)
@given(ROWS, st.booleans(), st.sampled_from([",", ";", "\t"]))
def test_quoted_text_keeps_every_row(rows: list[Any], headers: bool, delimiter: str) -> None:
    form = TextFormat(delimiter, headers, quoted=True)
    assert read(written(rows, EVERY, form), EVERY, form) == rows


SAFE = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r"), max_size=8)


@settings(max_examples=100)
@given(st.lists(st.tuples(SAFE, st.floats(allow_nan=False), PAIRS.filter(lambda p: p is None or "\n" not in p[1]))))
def test_plain_text_keeps_every_row_without_line_ends_and_tabs(rows: list[Any]) -> None:
    rows = [row for row in rows if row[2] is None or not set("\t\r") & set(row[2][1])]
    kind = relation("p", s="symbol", f="float", pair="Pair")
    assert read(written(rows, kind), kind) == rows


def test_more_rows_than_a_block_or_a_chunk(tmp_path: Path) -> None:
    rows = [(f"s{i % 1000}", i) for i in range(300_000)]
    text = written(rows, NAMED)
    assert text.count("\n") == 300_000
    assert read(text, NAMED) == rows
    assert np.array_equal(read_text(text.encode(), "f", TAB, NAMED, dictionary()).shape, (300_000, 2))


def test_gzip_is_seen_by_its_bytes(tmp_path: Path) -> None:
    from tidelog.io import read_facts

    (tmp_path / "e.facts").write_bytes(gzip.compress(b"1\t2\n"))
    assert read_facts({}, tmp_path, EDGE, dictionary()).tolist() == [[1, 2]]


ROWS_OF_NUMBERS = b"".join(b"%d\t%d\n" % (i, i * i) for i in range(500))


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(ROWS_OF_NUMBERS),
        gzip.compress(ROWS_OF_NUMBERS[:900]) + gzip.compress(ROWS_OF_NUMBERS[900:]),
        gzip.compress(ROWS_OF_NUMBERS) + gzip.compress(b""),
        gzip.compress(ROWS_OF_NUMBERS) + bytes(100),
    ],
    ids=["one part", "two parts", "an empty part", "zeros behind it"],
)
def test_all_parts_of_a_gzip_file_are_read(packed: bytes) -> None:
    assert decompress(packed, "e.gz") == ROWS_OF_NUMBERS


@pytest.mark.parametrize("half", [ROWS_OF_NUMBERS[:900], b""])
def test_two_equal_parts_of_a_gzip_file_are_two(half: bytes) -> None:
    assert decompress(2 * gzip.compress(half), "e.gz") == 2 * half


@pytest.mark.parametrize("cut", [slice(None, -1), slice(None, -5), slice(None, 12), slice(None, -30)])
def test_a_gzip_file_that_is_cut_is_an_error(cut: slice) -> None:
    with pytest.raises(DataError, match="E0411"):
        decompress(gzip.compress(ROWS_OF_NUMBERS)[cut], "e.gz")


@pytest.mark.parametrize("size", [0, 1, 2**32 - 1])
def test_a_gzip_file_that_names_a_wrong_size_is_an_error(size: int) -> None:
    with pytest.raises(DataError, match="E0411"):
        decompress(gzip.compress(ROWS_OF_NUMBERS)[:-4] + size.to_bytes(4, "little"), "e.gz")
