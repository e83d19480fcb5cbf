"""Stores whose machine stops, whose files are damaged and whose disk fails, until the time is up:
`python -m tests.fuzz.store SECONDS [SEED]`.

Each seed makes a script of epochs on a simulated disk (tests/store/disks.py). The machine stops before each operation;
operations fail, or are interrupted, once or from then on; then a file is damaged. What is wrong is shown and ends the
run with exit code 1. Without a seed the clock gives one; the seed shown gives the fault again.
"""

from __future__ import annotations

import random
import sys
import time

from tests.fuzz.asked import asked, show
from tests.store.disks import ERRORS, Follower, crash_everywhere, damages, fail_once, opened
from tidelog.errors import DataError, TidelogError


def damage(seed: int) -> str:
    """Return the error after a file was damaged, or ""."""
    rng = random.Random(seed)
    follower = Follower(rng)
    for _ in range(rng.randint(1, 12)):
        follower.step()
    follower.close()
    opened(follower.disk, follower.kind)  # It removes files that no manifest names, whose damage nobody would find.
    files = {name: data for name, data in follower.disk.contents().items() if data is not None and name != "lock"}
    for name, data in files.items():
        for what, changed in damages(data, rng, 16):
            follower.disk.change(name, changed)
            try:
                opened(follower.disk, follower.kind)
            except DataError as error:
                if (error.code, error.problems[0].place) == ("E0682", f"/store/{name}"):
                    continue
                return f"{name}, {what}: {error}"
            except TidelogError as error:
                return f"{name}, {what}: {error}"
            return f"{name}, {what}: nothing is reported"
        follower.disk.change(name, data)
    return ""


def fail(seed: int) -> str:
    """Return the error after an operation has failed, or ""."""
    rng = random.Random(seed)
    number, code = rng.randrange(1, 200), rng.choice(ERRORS)
    error = rng.choice((OSError(code, "it failed"), KeyboardInterrupt()))
    outcome = fail_once(seed, 12, number, error, for_good=rng.random() < 0.5 and isinstance(error, OSError))
    return "" if outcome == "over" else outcome


def crash(seed: int) -> str:
    """Return the error after the machine has stopped, or ""."""
    return crash_everywhere(seed, steps=12, crashes=3)


def main() -> int:
    seconds, first = asked()
    show(f"random stores from seed {first} for {seconds:g} s")
    end, seed = time.monotonic() + seconds, first
    while time.monotonic() < end:
        for name, look in (("crash", crash), ("failure", fail), ("damage", damage)):
            fault = look(seed)
            if fault:
                show(f"seed {seed}, {name}: {fault}")
                return 1
        seed += 1
    show(f"{seed - first} stores, no fault")
    return 0


if __name__ == "__main__":
    sys.exit(main())
