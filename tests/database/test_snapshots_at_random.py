"""Snapshots of several ages stay what they were, while random scripts go on: all constructs, rollbacks, bootstraps on
several threads, other rules. Epochs stop at many bytecodes for readers in other threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.depth import cases
from tests.sharing import plain_kernels, sharing
from tests.snapshots import beside_commits, through_a_script, through_all_constructs
from tests.suite import FIRST_SEED


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(8)))
def test_snapshots_stay_while_a_script_goes_on(seed: int) -> None:
    with sharing(1 + seed % 3):
        through_a_script(seed)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(2)))
def test_snapshots_stay_while_all_constructs_change(seed: int, tmp_path: Path) -> None:
    through_all_constructs(seed, tmp_path / "store")


def test_readers_meanwhile_see_the_last_epoch() -> None:
    with plain_kernels():
        reads = [beside_commits(seed) for seed in range(FIRST_SEED, FIRST_SEED + cases(6))]
    assert sum(reads) > cases(100)
