"""Let memory run out in random change scripts until the time is up: `python -m tests.fuzz.memory SECONDS [SEED]`.

Each epoch of a script fails at random requests for memory, once or for good, before it succeeds. Each failure has to be
E0503 and to leave no trace; after the epoch, the state is recounted. What fails is shown with its seed, and ends the
run with exit code 1. Without a seed the clock gives one.
"""

from __future__ import annotations

import random
import sys
import time

import pytest

from tests.allocations import Budget, small_blocks
from tests.allocators import ALLOCATORS
from tests.fuzz.asked import asked, show
from tests.memory_stories import STORIES, attempt, fingerprint, opened, right
from tests.scripts import Follower, change_in, script_for

TRIES = 6
"""Failures that an epoch has to survive."""


def _budget(rng: random.Random, most: int, often: float) -> Budget:
    """One that ends at a random request, of those of blocks, or as `often` of all."""
    allocators = tuple(ALLOCATORS) if rng.random() < often else ()
    return Budget(rng.randrange(1, most), for_good=rng.random() < 0.5, allocators=allocators)


def try_script(seed: int) -> None:
    """Follow a script; AssertionError or anything else where an epoch leaves a trace."""
    rng = random.Random(seed)
    script = script_for(seed)
    follower = Follower(script, rng.choice(["update", "bootstrap", "auto"]))
    for epoch in script.epochs:
        before = fingerprint(follower.db)
        for _ in range(TRIES):
            budget = _budget(rng, 400, 0.5)
            if attempt(follower.db, lambda transaction: change_in(transaction, script, epoch), budget):  # noqa: B023
                break
            assert fingerprint(follower.db) == before, f"a trace of a failure at request {budget.last}"
        else:
            follower.commit(epoch)
        follower.note(epoch)
        right(follower.db)


def try_story(seed: int) -> None:
    """Let the epoch of a story fail at random requests."""
    rng = random.Random(seed)
    name = rng.choice(list(STORIES))
    db, act = opened(STORIES[name]), STORIES[name].acts[-1]
    before = fingerprint(db)
    for _ in range(10 * TRIES):
        budget = _budget(rng, 1_500, 0.7)
        if attempt(db, act, budget):
            break
        assert fingerprint(db) == before, f"{name}: a trace of a failure at request {budget.last}"
    right(db)


def main(seconds: float, seed: int) -> int:
    """Run until the time is up; the exit code."""
    small_blocks(pytest.MonkeyPatch())
    end, tried = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            (try_story if tried % 4 == 3 else try_script)(seed + tried)
        except Exception as error:
            show(f"seed {seed + tried}: {type(error).__name__}: {error}")
            return 1
        tried += 1
    show(f"{tried} scripts and stories, from seed {seed} on")
    return 0


if __name__ == "__main__":
    sys.exit(main(*asked()))
