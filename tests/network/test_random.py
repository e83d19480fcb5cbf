"""Random changes of facts and rules under every adversity: each network ends quiet, in the centralised answer, and with
nothing left over. `make fuzz-network` does the same on larger networks and for as long as one likes."""

from __future__ import annotations

import random

import pytest

from tests.depth import cases
from tests.network.cases import CASES, trial

BLOCKS = 10


@pytest.mark.parametrize("block", range(BLOCKS))
def test_networks_settle_on_the_centralised_view(block: int) -> None:
    for seed in range(block, cases(80), BLOCKS):
        rng = random.Random(seed)
        large = seed % 25 == 0
        trial(seed, 12 if large else rng.randrange(2, 6), 30 if large else 25)


@pytest.mark.parametrize("name", CASES)
def test_classic_programs(name: str) -> None:
    for seed in range(3):
        trial(seed, 5, 40, CASES[name])


@pytest.mark.parametrize("schedule", ["random", "lifo", "burst", "starve", "fifo"])
@pytest.mark.parametrize("options", [{}, {"sticky": True}, {"roots": False}, {"sticky": True, "roots": False}])
def test_every_schedule_and_variant(schedule: str, options: dict[str, bool]) -> None:
    settings = {"sticky": False, **options, "schedule": schedule}
    trial(7, 5, 40, CASES["non-linear"], loss=0.3, duplicates=0.3, restarts=True, **settings)
    trial(8, 4, 30, CASES["negation"], loss=0.5, duplicates=0.5, restarts=True, **settings)
