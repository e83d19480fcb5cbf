"""The example of queries, and what it prints."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/queries/connections.py"
SAID = """\
Lima to Panama with one change:
  7-10 Bogota 12-13
places to go from Lima: [4]
Bogota is closed, and the flight from Quito at 8 is cancelled:
Lima to Panama with one change:
  lost: [('Lima', 'Bogota'), ('Lima', 'Miami'), ('Lima', 'Panama'), ('Quito', 'Bogota'), ('Quito', 'Miami'), \
('Quito', 'Panama')]
Bogota is open, still lost: []
"""


def test_the_example_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out == SAID
