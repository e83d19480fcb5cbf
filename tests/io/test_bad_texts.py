"""Everything that text files can get wrong, and the message that says so."""

from __future__ import annotations

import pytest

from tests.io.samples import EDGE, HOLDER, NAMED, REAL, TERMS, dictionary, fails
from tidelog.io.text_reader import TextFormat, read_text
from tidelog.language.syntax import RelationType

TAB = TextFormat()
HEADERS = TextFormat(headers=True)
QUOTED = TextFormat(",", quoted=True)

TEXTS: list[tuple[RelationType, TextFormat, bytes, str]] = [
    (
        EDGE,
        TAB,
        b"1\t2\n3\n",
        "e.facts:2:1: error[E0405]: expected 2 columns, found 1: '3'\n  hint: separate the columns x, y by '\\t'",
    ),
    (
        EDGE,
        TAB,
        b"1\t2\n3\t4\t5\n",
        "e.facts:2:1: error[E0405]: expected 2 columns, found 3: '3\\t4\\t5'\n"
        "  hint: separate the columns x, y by '\\t'",
    ),
    (
        EDGE,
        TAB,
        b"1,2\n",
        "e.facts:1:1: error[E0405]: expected 2 columns, found 1: '1,2'\n"
        '  hint: add delimiter="," to .input if that is the delimiter',
    ),
    (
        EDGE,
        TAB,
        b"1\t2\n3\tx\n",
        "e.facts:2:3: error[E0401]: expected a number, found 'x'\n"
        "  hint: check the delimiter and the order of the columns",
    ),
    (
        EDGE,
        TAB,
        b"1\t99999999999999999999\n",
        "e.facts:1:3: error[E0402]: 99999999999999999999 does not fit a number\n"
        "  hint: use a value from -9223372036854775808 to 9223372036854775807 for a number",
    ),
    (
        EDGE,
        TAB,
        b"1\t2\n\n\t4\n",
        "e.facts:3:1: error[E0403]: expected a number, found an empty field\n  hint: write a number in every row",
    ),
    (
        EDGE,
        TAB,
        b"1\t1.5\n",
        "e.facts:1:3: error[E0401]: expected a number, found '1.5'\n"
        "  hint: check the delimiter and the order of the columns",
    ),
    (
        EDGE,
        TAB,
        b"1\t2\r\n3\tx\r\n",
        "e.facts:2:3: error[E0401]: expected a number, found 'x'\n"
        "  hint: check the delimiter and the order of the columns",
    ),
    (
        EDGE,
        TAB,
        b"\xef\xbb\xbfx\t2\n",
        "e.facts:1:1: error[E0401]: expected a number, found 'x'\n"
        "  hint: check the delimiter and the order of the columns",
    ),
    (
        REAL,
        TAB,
        b"1\t-5\n",
        "e.facts:1:3: error[E0402]: -5 does not fit an unsigned\n"
        "  hint: use a value from 0 to 18446744073709551615 for an unsigned",
    ),
    (
        REAL,
        TAB,
        b"1\t1\nnan\t1\n",
        "e.facts:2:1: error[E0404]: NaN cannot be stored\n"
        "  hint: leave such rows out, or use a marker of your own: NaN is not equal to itself, "
        "so no set can hold it",
    ),
    (
        REAL,
        TAB,
        b"inf\t1\n1e999\t1\n",
        "e.facts:2:1: error[E0402]: 1e999 does not fit a float\n  hint: use a value within 64-bit floats",
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
        "e.facts:2:2: error[E0408]: the byte 0xff does not belong here in UTF-8\n"
        '  hint: save the file as UTF-8, or add encoding="latin-1" or the like to `.input`',
    ),
    (
        NAMED,
        TAB,
        "a\t1".encode("utf-16"),
        "e.facts:1:1: error[E0408]: the byte 0xff does not belong here in UTF-8\n"
        '  hint: add encoding="utf-16" to `.input`: the file seems to be UTF-16',
    ),
    (
        EDGE,
        HEADERS,
        b"",
        "e.facts:1:1: error[E0411]: expected a line with the names of the columns, found nothing\n"
        "  hint: write that line, or leave headers=true out",
    ),
    (
        EDGE,
        HEADERS,
        b"x\tz\n1\t2\n",
        "e.facts:1:1: error[E0406]: expected the columns x, y, found x, z\n"
        '  hint: missing: y; not declared: z; to go by position, add columns="0:1" to .input',
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
        "  hint: check the delimiter and the order of the columns",
    ),
    (
        NAMED,
        QUOTED,
        b'a,1\n"b,2\n',
        "e.facts:2:1: error[E0411]: expected a quote that closes this field, found the end of the file\n"
        '  hint: write a quote inside of a field as ""',
    ),
    (
        NAMED,
        QUOTED,
        b'"a\nb",1\n"c",x\n',
        "e.facts:3:5: error[E0401]: expected a number, found 'x'\n"
        "  hint: check the delimiter and the order of the columns",
    ),
    (
        NAMED,
        QUOTED,
        b'"a",1,2\n',
        "e.facts:1:1: error[E0405]: expected 2 columns, found 3: 'a,1,2'\n  hint: separate the columns name, n by ','",
    ),
    (
        TERMS,
        TAB,
        b"$End\tnil\n$Done\tnil\n",
        "e.facts:2:1: error[E0401]: in the value '$Done': a Term has no branch Done\n  hint: use End, Say, Real, Both",
    ),
    (
        TERMS,
        TAB,
        b"$End\t[$Both($End, nil, $Say(a, $Darker)), 1]\n",
        "e.facts:1:32: error[E0401]: in the record '[$Both($End, nil, $Say(a, $Darker)), 1]': a Shade has no branch "
        "Darker\n  hint: use Light, Dark",
    ),
    (
        TERMS,
        TAB,
        b"$Real(1.5)\tnil\n",
        "e.facts:1:10: error[E0401]: expected , at character 10 of the value '$Real(1.5)', found ')'\n"
        "  hint: write a value of type Term like $Both(left, pair, right)",
    ),
    (
        TERMS,
        TAB,
        b"$Real(x, 1)\tnil\n",
        "e.facts:1:7: error[E0401]: in the value '$Real(x, 1)': expected a float, found 'x'\n"
        "  hint: write it like 1.5 or 2e-3",
    ),
    (
        TERMS,
        TAB,
        b"$End(1)\tnil\n",
        "e.facts:1:5: error[E0401]: expected no parts at character 5 of the value '$End(1)', found '(1)'\n"
        "  hint: write a value of type Term like $Both(left, pair, right)",
    ),
    (
        TERMS,
        TAB,
        b"$Say\tnil\n",
        "e.facts:1:5: error[E0401]: expected (text, shade) at character 5 of the value '$Say', found the end\n"
        "  hint: write a value of type Term like $Both(left, pair, right)",
    ),
    (
        TERMS,
        TAB,
        b"nil\tnil\n",
        "e.facts:1:1: error[E0401]: expected a branch of Term, such as $End at character 1 of the value 'nil', found "
        "'nil'\n  hint: write a value of type Term like $Both(left, pair, right)",
    ),
    (
        TERMS,
        TAB,
        b"$End\t[$End, 1\n",
        "e.facts:1:14: error[E0401]: expected ] at character 9 of the record '[$End, 1', found the end\n"
        "  hint: write a record of type Holder like [1, nil]",
    ),
    (
        TERMS,
        TAB,
        b"$End $End\tnil\n",
        "e.facts:1:6: error[E0401]: expected the end at character 6 of the value '$End $End', found '$End'\n"
        "  hint: write a value of type Term like $Both(left, pair, right)",
    ),
    (
        HOLDER,
        TAB,
        b"[1, a]\tnil\n[x, a]\tnil\n",
        "e.facts:2:2: error[E0401]: in the record '[x, a]': expected a number, found 'x'\n"
        "  hint: check the delimiter and the order of the columns",
    ),
    (
        HOLDER,
        TAB,
        b"[1, a\tnil\n",
        "e.facts:1:6: error[E0401]: expected ] at character 6 of the record '[1, a', found the end\n"
        "  hint: write a record of type Pair like [1, nil]",
    ),
    (
        HOLDER,
        TAB,
        b"(1, a)\tnil\n",
        "e.facts:1:1: error[E0401]: expected [ or nil at character 1 of the record '(1, a)', found '(1, a)'\n"
        "  hint: write a record of type Pair like [1, nil]",
    ),
]


@pytest.mark.parametrize(("kind", "form", "data", "message"), TEXTS)
def test_text(kind: RelationType, form: TextFormat, data: bytes, message: str) -> None:
    assert fails(lambda: read_text(data, "e.facts", form, kind, dictionary())) == message
