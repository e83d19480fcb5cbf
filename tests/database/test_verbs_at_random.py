"""Random statements over databases raise nothing but errors of tidelog, which change nothing; `make fuzz` goes on."""

from __future__ import annotations

import pytest

from tests.depth import cases
from tests.fuzz.verbs import case_for, run


@pytest.mark.parametrize("seed", range(1, 1 + cases(8)))
def test_random_statements(seed: int) -> None:
    statements, in_folder = case_for(seed, 10)
    problem = run(statements, in_folder)
    assert not problem, f"seed {seed}: {problem}"
