"""The example runs and says what it should."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/rdf/zoo.py"


def test_the_zoo(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    assert "    flap inside lake" in said
    assert "    flap neighbour owl" in said
    assert "    moth type Thing" in said
    assert said[-1] == "    cax-dw: flap Bird Mammal"
