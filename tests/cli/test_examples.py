"""The examples of constructs print what they printed when they were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

FOLDER = Path(__file__).parents[2] / "examples/constructs"
PROGRAMS = sorted(FOLDER.glob("*.dl"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_example(program: Path, tidelog: Run) -> None:
    functions = program.with_suffix(".py")
    more = ("--functors", str(functions)) if functions.exists() else ()
    assert tidelog("run", str(program), *more, "-D", "-").out == program.with_suffix(".out").read_text("utf-8")
