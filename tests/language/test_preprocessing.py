"""Preprocessor lines: what they do, and that places point into the files that a user wrote."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lark import Token

from tests.depth import cases
from tests.texts import cases_of, python
from tidelog.common.source import SourceText
from tidelog.errors import ProgramError, locate
from tidelog.language import check, lexer, read
from tidelog.language.preprocessor import preprocess
from tidelog.language.reading import Preprocessing, file_text, read_body
from tidelog.language.stretches import stretches
from tidelog.language.syntax import Atom, Constant
from tidelog.language.terms import Locate


def relations(text: str) -> list[str]:
    return [rule.heads[0].relation for rule in read(text).rules]


def test_conditions() -> None:
    text = (
        "#define A\n#ifdef A\na(1).\n#else\nb(1).\n#endif\n#if RAM_DOMAIN_SIZE == 64\nc(1).\n#elif 1\nd(1).\n#endif\n"
    )
    assert relations(text) == ["a", "c"]


def test_marks_of_a_preprocessor_that_ran_before_are_no_mistakes() -> None:
    marked = '# 1 "p.dl"\n# 1 "/usr/include/h.dl" 1 3 4\na(1).\n#line 7 "q.dl"\nb(1).\n# 2 "p.dl" 2\nc(1)\n'
    assert relations(marked.replace("c(1)", "c(1).")) == ["a", "b", "c"]
    with pytest.raises(ProgramError) as caught:
        read(marked)
    assert str(caught.value).startswith("p.dl:2:5: error[E0101]")


def test_macros() -> None:
    (rule,) = read("#define N 3\n#define P(x) p(x, N)\nP(2).").rules
    assert rule.heads == (Atom("p", (Constant(2), Constant(3))),)


def test_text_is_left_as_it_is() -> None:
    (rule,) = read('#define a b\np("a ??= # \' // a").   ').rules
    assert rule.heads == (Atom("p", (Constant("a ??= # ' // a", "symbol"),)),)


def test_includes(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "main.dl").write_text('#include "inner/one.dl"\n#include "inner/one.dl"\nc(1).\n', "utf-8")
    (tmp_path / "inner/one.dl").write_text('#pragma once\n#include "two.dl"\nb(1).\n', "utf-8")
    (tmp_path / "inner/two.dl").write_text("a(1).\n", "utf-8")
    assert [rule.heads[0].relation for rule in read(tmp_path / "main.dl").rules] == ["a", "b", "c"]


def test_lines_of_the_language_include_as_well(tmp_path: Path) -> None:
    (tmp_path / "types.dl").write_text(".once\n.type Name <: symbol\n")
    (tmp_path / "main.dl").write_text('.include "types.dl"\n  .include "types.dl"\n.decl a(x: Name)\n')
    program = read(tmp_path / "main.dl")
    assert [type_.name for type_ in program.types] == ["Name"]
    assert [declaration.name for declaration in program.declarations] == ["a"]


def test_lines_of_the_language_without_the_preprocessor() -> None:
    with pytest.raises(ProgramError, match="E0190"):
        read('.include "types.dl"\n', preprocessing=Preprocessing(enabled=False))


def test_places_in_included_files_and_behind_macros(tmp_path: Path) -> None:
    (tmp_path / "main.dl").write_text('#define X(a) p(a, a)\n#include "one.dl"\n\n  q(1) X(1).\nq(1 1).\n', "utf-8")
    (tmp_path / "one.dl").write_text("a(1).\n  b(1 2).\n", "utf-8")
    with pytest.raises(ProgramError) as raised:
        read(tmp_path / "main.dl")
    places = [(Path(p.span.source.name).name, *locate(p.span)) for p in raised.value.problems if p.span]
    assert places == [("one.dl", 2, 7), ("main.dl", 4, 8), ("main.dl", 5, 5)]


@pytest.mark.parametrize(("text", "code", "line"), cases_of(__file__, "mistakes", python, str, int))
def test_mistakes(text: str, code: str, line: int, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ProgramError) as raised:
        read(text)
    problem = raised.value.problems[0]
    assert problem.code == code
    assert problem.span is not None
    assert locate(problem.span)[0] == line
    assert capfd.readouterr() == ("", "")


def test_a_file_that_includes_itself(tmp_path: Path) -> None:
    path = tmp_path / "main.dl"
    path.write_text('#include "main.dl"\n#include "main.dl"\na(1).\n', "utf-8")
    with pytest.raises(ProgramError) as raised:
        read(path)
    assert [p.code for p in raised.value.problems][:1] == ["E0112"]
    assert len(raised.value.problems) <= 2


def test_a_macro_that_explodes() -> None:
    lines = [f"#define A{i} A{i + 1} A{i + 1}" for i in range(40)]
    with pytest.raises(ProgramError, match="E0111"):
        read("\n".join([*lines, "p(A0)."]))


def test_an_included_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "main.dl").write_text('#include "one.dl"\n', "utf-8")
    (tmp_path / "one.dl").write_bytes(b"a(\xff).")
    with pytest.raises(ProgramError, match="E0109"):
        read(tmp_path / "main.dl")


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_a_character_that_no_file_can_have(character: str) -> None:
    calls: list[tuple[Callable[[str], object], str]] = [
        (read, f'.decl e(x: symbol)\ne("a{character}").'),
        (read, f".decl e(x: symbol) // {character}"),
        (read_body, f'e("{character}")'),
    ]
    for call, text in calls:
        with pytest.raises(ProgramError) as raised:
            call(text)
        assert raised.value.code == "E0109"
        str(raised.value).encode()


def token_by_token(processor: Any, _text: str, source: str) -> Iterator[list[Any]]:
    """Yield the lines of a text all taken to pieces, as pcpp needs them."""
    lexer = processor.lexer.clone()
    lexer.input(processor.sources[source].text)
    line: list[Any] = []
    while token := lexer.token():
        token.source = source
        line.append(token)
        if token.value == "\n":
            yield line
            line = []
    if line:
        yield line


PARTS = (
    "a(1).\n",
    "b(N, 2). // N and P(3) in a comment\n",
    "/* of two\n#lines */ P(4).\n",
    'c("N // no /* comment", "\\"P(5)").\n',
    "P(\n  (6), // N\n  N).\n",
    "P((7, N), 8)\n",
    "#ifdef N\nd(N).\n#else\ne(9).\n#endif\n",
    "#ifdef M\nf(N).\n#else\ng(M).\n#endif\n",
    "#define M 10\n",
    "#undef N\n",
    "#define N 11 \\\n  + 12\n",
    "#define P(x, y) p(x, y, N).\n",
    "  # define Q P\n",
    "Q(13, M) N\n",
    "#if N > 3 // a comment\nh(N).\n#endif\n",
    "\n\n",
    "P(14,\n#ifdef N\n 15\n#else\n 16\n#endif\n)\n",
)


@pytest.mark.parametrize("seed", range(cases(60)))
def test_text_in_long_stretches_means_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    text = "#define N 1\n#define P(x, y) q(x, y).\n" + "".join(rng.choices(PARTS, k=rng.randrange(1, 12)))

    def tokens() -> tuple[list[Token], Locate]:
        joined, places, _ = preprocess(SourceText("<text>", text), Path(), file_text)
        return lexer.tokens(joined), places

    found, places = tokens()
    for token in found:
        span = places(token.start_pos or 0, token.end_pos or 0)
        written = text[span.start : span.end]
        assert token == written or re.search(rf"# *define {written}\b", text)
        assert "define" not in text[: span.start].rpartition("\n")[2]
    monkeypatch.setattr("tidelog.language.preprocessor._Preprocessor.group_lines", token_by_token)
    assert [(token.type, token) for token in found] == [(token.type, token) for token in tokens()[0]], text


def test_text_without_macros_stays_whole() -> None:
    text = "#define N 1\na(1). /* N */ b(2).\n// N\nc(N, 3).\n"
    whole = [text[each.start : each.end] for each in stretches(text, lambda: {"N"}) if each.whole]
    assert whole == ["a(1). /* N */ b(2).\n// N\nc(", ", 3).\n"]


def test_lines_are_counted_through_long_stretches() -> None:
    program = read('#define N 1\n/* one\ntwo */ a("x").\nb(N,\n\n 2).\nc(__LINE__).\n')
    assert program.rules[-1].heads[0].args == (Constant(7),)


def test_a_problem_names_the_files_that_include_its_own(tmp_path: Path) -> None:
    (tmp_path / "main.dl").write_text('.decl a(x: number)\n#include "one.dl"\n', "utf-8")
    (tmp_path / "one.dl").write_text('\n#include "two.dl"\n', "utf-8")
    (tmp_path / "two.dl").write_text("a(1).\nb(1).\n", "utf-8")
    with pytest.raises(ProgramError) as raised:
        check(read(tmp_path / "main.dl"))
    (problem,) = raised.value.problems
    shown = [(Path(span.source.name).name, locate(span)[0], label) for span, label in problem.places]
    assert shown == [("one.dl", 2, "included here"), ("main.dl", 2, "included here")]


def test_places_of_the_text(tmp_path: Path) -> None:
    """`__LINE__` and `__FILE__` need no other line for the preprocessor; in a string they are text."""
    text = '.decl n(x: number)\n.decl s(x: symbol)\nn(__LINE__).\ns(__FILE__). s("__LINE__").\n'
    facts = check(read(text, name="places.dl")).facts
    assert [fact.values for fact in facts] == [(3,), ("places.dl",), ("__LINE__",)]
    path = tmp_path / "in_a_folder.dl"
    path.write_text(text)
    assert check(read(path, name="short.dl")).facts[1].values == ("short.dl",)
