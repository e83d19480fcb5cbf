"""Change scripts for kernels that are not compiled: what `make mutants` runs on mutants of them."""

from __future__ import annotations

import pytest

from tests.plant_faults import WAYS
from tests.scripts import run, script_for
from tidelog.maintain import large_groups
from tidelog.maintain.strategies import situation


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every update is cut off, and every group is a large one."""
    monkeypatch.setattr(situation, "_ALWAYS_WORTH", 0.0)
    monkeypatch.setattr(large_groups, "LARGE", 1)
    monkeypatch.setattr(large_groups, "WIDTH", 2)


@pytest.mark.parametrize("number", range(150))
def test_script(number: int) -> None:
    way = WAYS[number % len(WAYS)]
    assert not run(script_for(number), way, 1e-6 if way == "auto" else 0.2)
