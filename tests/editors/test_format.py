"""`format_program`: one layout for each program, with the same meaning and all comments."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.depth import cases
from tests.generate import generate
from tests.texts import section
from tidelog.editors.format import format_program
from tidelog.errors import ProgramError
from tidelog.language import lexer, read

PROGRAMS = sorted(Path(__file__).parents[1].glob("**/*.dl"))
COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//[^\n]*|/\*(?s:.*?)\*/)')

EVERYTHING = section(__file__, "everything")

LAID_OUT = f"{section(__file__, 'laid out')}\n"


def comments(text: str) -> list[str]:
    """Return the comments of a text in order, each without the indentation of its lines."""
    return [re.sub(r"[^\S\n]*\n\s*", "\n", each).rstrip() for each in COMMENT.findall(text) if each]


def hold(text: str, name: str = "<text>", folder: Path | None = None) -> str:
    """Return the formatted text, after a look at all that has to hold of it."""
    result = format_program(text, name, folder)
    assert format_program(result, name, folder) == result
    assert comments(result) == comments(text)
    return result


def test_each_construct_has_its_layout() -> None:
    assert hold(EVERYTHING) == LAID_OUT


def test_programs_of_the_tests_keep_their_meaning(subtests: pytest.Subtests) -> None:
    for path in PROGRAMS:
        try:
            text = path.read_text("utf-8")
            before = read(path)
        except (UnicodeDecodeError, ProgramError):
            continue
        with subtests.test(path.stem):
            result = hold(text, str(path), path.parent)
            assert max(map(len, result.splitlines()), default=0) <= max(100, *map(len, text.splitlines()))
            if "#" not in text:
                assert read(result) == before


def test_random_programs_in_random_layouts() -> None:
    for seed in range(cases(25)):
        rng = random.Random(seed)
        text = generate(rng).text
        expected = hold(text)
        assert read(expected) == read(text)
        assert format_program(_scattered(text, rng)) == expected, f"seed {seed}"


def _scattered(text: str, rng: random.Random) -> str:
    """Return a text with other blanks between its tokens, but the statements on lines of their own."""
    lines = []
    for line in text.splitlines():
        tokens = lexer.tokens(line)
        gaps = [line[a.end_pos : b.start_pos] for a, b in pairwise(tokens)]
        blanks = [gap and rng.choice(("  ", "\n\t", " ")) for gap in gaps]
        pairs = zip(tokens, [*blanks, ""], strict=True)
        lines.append("".join(line[token.start_pos : token.end_pos] + blank for token, blank in pairs))
    return "\n".join(lines) + "\n"


def test_comments_at_any_place_stay_in_order() -> None:
    for seed in range(cases(25)):
        rng = random.Random(seed)
        text = generate(rng).text
        tokens = lexer.tokens(text)
        for number, token in enumerate(reversed(rng.sample(tokens, min(12, len(tokens))))):
            place = token.start_pos or 0
            comment = rng.choice(("// {}\n", "/* {} */", "\n// {}\n", "\n/* {}\n  more */\n", " /* {} */ "))
            text = text[:place] + comment.format(number) + text[place:] if _is_between(text, place) else text
        try:
            before = read(text)
        except ProgramError:
            continue  # The comment stands within a token by now.
        assert read(hold(text)) == before, f"seed {seed}"


def _is_between(text: str, place: int) -> bool:
    return place == 0 or text[place - 1].isspace() or text[place - 1] in "(,"


def test_a_macro_call_without_a_dot_keeps_its_text() -> None:
    text = "#define PAIR(n)   .decl n(x:  number)\nPAIR(a)\na(1)  .\n"
    assert hold(text) == "#define PAIR(n)   .decl n(x:  number)\nPAIR(a)\na(1)  .\n"


def test_a_statement_with_preprocessor_lines_keeps_its_text() -> None:
    text = ".decl a(x:number)\n.decl b(x: number)\nb(x) :-\n#ifdef FAST\n  a( x ),\n#endif\n  x=1.\n"
    assert hold(text) == text.replace("x:number", "x: number")


def test_numbers_of_lines_stay() -> None:
    text = ".decl a(x:number)\n\n\na(__LINE__)."
    assert format_program(text) == text


def test_an_error_of_syntax_is_raised() -> None:
    with pytest.raises(ProgramError, match="E0101"):
        format_program("a(x) :- b(x)\nc(x).")


@pytest.mark.parametrize("text", ["", "\n\n", "  "])
def test_an_empty_text_stays_empty(text: str) -> None:
    assert format_program(text) == ""
