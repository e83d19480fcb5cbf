"""Random change scripts over all constructs of the language, mixed, with every strategy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.depth import cases
from tests.mixtures import MixtureFollower, mixture_for, run, small_mixture_for
from tests.suite import FIRST_SEED

SEEDS = range(FIRST_SEED, FIRST_SEED + cases(6))


@pytest.mark.parametrize("seed", SEEDS)
def test_views_follow(seed: int) -> None:
    script = mixture_for(seed)
    problem = run(script, ("update", "auto", "bootstrap")[seed % 3])
    assert not problem, f"{problem}\n{script}"


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(20)))
def test_views_of_few_rules_follow(seed: int) -> None:
    script = small_mixture_for(seed)
    problem = run(script, ("update", "auto", "bootstrap")[seed % 3], sparing=True)
    assert not problem, f"{problem}\n{script}"


def test_a_store_is_reopened_between(tmp_path: Path) -> None:
    """The first script from the seed on that an update in place follows; some scripts change rules in all epochs."""
    for seed in range(FIRST_SEED, FIRST_SEED + 5):
        script = mixture_for(seed)
        follower = MixtureFollower(script, "update", tmp_path / str(seed))
        for number in range(len(script.epochs)):
            follower.step(number)
            follower.reopen()
        if follower.updates:
            break
    assert follower.updates
