"""Programs that cannot be ordered: `errors/*.dl` with the whole message beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.errors import CODES, ProgramError
from tidelog.language import check, read
from tidelog.rules import compile_program

CASES = sorted((Path(__file__).parent / "errors").glob("*.dl"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_message_is_as_written_beside_the_program(case: Path) -> None:
    checked = check(read(case.read_text(), name=case.name))
    with pytest.raises(ProgramError) as caught:
        compile_program(checked)
    assert str(caught.value) == case.with_suffix(".txt").read_text().rstrip("\n")
    assert {problem.code for problem in caught.value.problems} <= CODES.keys()
