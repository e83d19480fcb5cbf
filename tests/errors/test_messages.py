"""Every message, whole: a wrong program NAME.dl and what is said about it, NAME.txt.

After a change of wording, `python tests/errors/test_messages.py` writes the texts anew; read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.errors import CODES, ProgramError
from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.rules.lints import warnings

FOLDER = Path(__file__).parent
PROGRAMS = sorted(FOLDER.glob("E0[12]*.dl"))


def messages(path: Path) -> str:
    """All errors of a program, or its warnings if it has none."""
    try:
        checked = check(read(path, name=path.name))
        problems = warnings(checked, compile_program(checked, as_written=True))
    except ProgramError as error:
        return f"{error}\n"
    return "".join(f"{problem}\n" for problem in problems)


def test_messages(subtests: pytest.Subtests) -> None:
    for path in PROGRAMS:
        with subtests.test(path.stem):
            text = messages(path)
            assert text == path.with_suffix(".txt").read_text("utf-8")
            assert f"[{path.stem[:5]}]" in text


def test_a_program_that_is_missing() -> None:
    with pytest.raises(ProgramError) as raised:
        read(Path("no/such/program.dl"))
    assert str(raised.value) == (
        "no/such/program.dl: error[E0110]: cannot read the program: No such file or directory\n  hint: check the path"
    )


def test_every_code_has_a_program() -> None:
    shown = {path.stem[:5] for path in PROGRAMS} | {"E0110"}
    assert shown == {code for code in CODES if code.startswith(("E01", "E02"))}


if __name__ == "__main__":
    for program in PROGRAMS:
        program.with_suffix(".txt").write_text(messages(program), "utf-8")
