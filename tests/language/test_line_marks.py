"""Line marks of a preprocessor that ran before: messages name the lines of the user's files."""

from __future__ import annotations

import pytest

from tidelog.common.source import SourceText, Span
from tidelog.errors import ProgramError, position
from tidelog.language import check, read


def places(text: str, name: str = "all.dl") -> list[str]:
    """The places of all problems and notes of a program."""
    with pytest.raises(ProgramError) as raised:
        check(read(text, name=name))
    spans = [span for each in raised.value.problems for span in (each.span, *(span for span, _ in each.notes))]
    return [position(span) for span in spans if span is not None]


def test_messages_name_the_lines_that_marks_tell() -> None:
    text = """\
# 0 "a.dl"
# 0 "<built-in>"
# 1 "a.dl"
# 1 "lib/b \\"c\\".dl" 1
.decl n(x: number)
n("b").
# 12 "a.dl" 2

  m(1).
#line 40
p(1).
 #line 7 "d.dl"
q(1).
"""
    assert places(text) == [
        'lib/b "c".dl:2:3',
        'lib/b "c".dl:1:9',
        "a.dl:13:3",
        "a.dl:40:1",
        "d.dl:7:1",
    ]


def test_an_excerpt_shows_the_number_of_the_line_there() -> None:
    with pytest.raises(ProgramError) as raised:
        check(read('# 500 "a.dl"\nm(1).\n'))
    assert "a.dl:500:1: error[E0201]" in str(raised.value)
    assert "  500 | m(1)." in str(raised.value)
    assert raised.value.problems[0].to_dict() | {"file": "a.dl", "line": 500} == raised.value.problems[0].to_dict()


def test_comments_and_strings_have_no_marks() -> None:
    text = '/*\n# 70 "comment.dl"\n*/\n.decl s(x: symbol)\ns("\\"# 80"). // a\nm(1).\n#define N 1\n'
    assert places(text) == ["all.dl:6:1"]


def test_texts_of_other_languages_have_no_marks() -> None:
    text = "# 12 triples\n<a> <b>"
    assert position(Span(SourceText("a.ttl", text), 13, 14)) == "a.ttl:2:1"


def test_lines_before_the_first_mark_are_those_of_the_text() -> None:
    assert places('m(1).\n# 9 "a.dl"\no(1).\n') == ["all.dl:1:1", "a.dl:9:1"]
