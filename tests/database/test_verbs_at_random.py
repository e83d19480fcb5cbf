"""Random statements over databases, stores of triples, networks and clients raise nothing but errors of tidelog, which
change nothing; `make fuzz` goes on."""

from __future__ import annotations

import pytest

from tests.depth import cases
from tests.fuzz.verbs.kind import Kind
from tests.fuzz.verbs.kinds import KINDS


@pytest.mark.parametrize("seed", range(1, 1 + cases(8)))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_random_statements(kind: Kind, seed: int) -> None:
    begin, *statements = kind.case_for(seed, 10)
    problem = kind.run(begin, statements)
    assert not problem, f"seed {seed} of {kind.name}: {problem}"
