"""Columns spelled at random come in alike by every entrance; `make fuzz` goes on."""

from __future__ import annotations

import pytest

from tests.depth import cases
from tests.fuzz.names import try_names


@pytest.mark.parametrize("seed", range(1, 1 + cases(20)))
def test_every_entrance_finds_the_same_columns(seed: int) -> None:
    try_names(seed)
