"""The page of error codes: every code is explained under its name, and examples give the code that they stand under."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.project.snippets import blocks
from tidelog.errors import CODES, ProgramError
from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.rules.lints import warnings

SOURCE = Path(__file__).parents[2] / "src/tidelog"
HINT = 3
"""The place of the hint among the arguments of a problem behind its code."""
PAGE = (Path(__file__).parents[2] / "docs/reference/errors.md").read_text(encoding="utf-8")


def sections() -> Iterator[tuple[str, str, str]]:
    """Code, title and text of each section."""
    for section in re.split(r"^#{1,2} (?=\S)", PAGE, flags=re.M)[1:]:
        heading, text = section.split("\n", 1)
        if re.match(r"E\d{4}: ", heading):
            code, title = heading.split(": ", 1)
            yield code, title, text


EXAMPLES = [(code, block.text) for code, _, text in sections() for block in blocks(text) if block.language == "datalog"]


def test_every_code_has_a_section_with_its_title() -> None:
    assert {code: title for code, title, _ in sections()} == CODES


def test_examples_give_their_codes(tmp_path: Path) -> None:
    others = []
    for code, text in EXAMPLES:
        (tmp_path / "example.dl").write_text(text, encoding="utf-8")
        if code not in (found := codes(tmp_path / "example.dl")):
            others.append(f"{code}: its example gives {found}:\n{text}")
    assert EXAMPLES
    assert not others, "\n".join(others)


def codes(path: Path) -> list[str]:
    """The codes of all errors, or else of all warnings, of a program."""
    try:
        checked = check(read(path))
        core = compile_program(checked)
    except ProgramError as error:
        return [problem.code for problem in error.problems]
    return [problem.code for problem in warnings(checked, core)]


SELF_EVIDENT = ("E0820", "E0901")
"""A proof that is rejected says what is wrong with it; an internal error asks for a report."""


def test_every_error_has_a_hint() -> None:
    lacking = []
    for module in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="Problem"), args=[ast.Constant(value=code), *rest], keywords=keywords):
                    has_hint = len(rest) > HINT or any(each.arg in ("hint", None) for each in keywords)
                    if str(code) not in SELF_EVIDENT and not has_hint:
                        lacking.append(f"{module.relative_to(SOURCE)}:{node.lineno}: {code!r}")
                case _:
                    pass
    assert not lacking, "\n".join(lacking)
