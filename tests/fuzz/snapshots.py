"""Snapshots beside random scripts until the time is up: `python -m tests.fuzz.snapshots SECONDS [SEED]`.

Snapshots of several ages are compared with copies while scripts go on: over random rules, over all constructs of the
language, and with another thread that reads at many bytecodes of a commit. Bootstraps share their work among one to 7
threads. The seed shown with a failure gives it again.
"""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tests import snapshots
from tests.fuzz.asked import asked, show
from tests.sharing import plain_kernels, sharing

THREADS = (1, 2, 3, 7)


def aside(seed: int) -> None:
    """A script over random rules."""
    with sharing(THREADS[seed % len(THREADS)]):
        snapshots.through_a_script(seed)


def mixed(seed: int) -> None:
    """A script over all constructs."""
    with tempfile.TemporaryDirectory() as folder, sharing(THREADS[seed % len(THREADS)]):
        snapshots.through_all_constructs(seed, Path(folder) / "store")


def meanwhile(seed: int) -> None:
    """A reader at many bytecodes of commits."""
    with plain_kernels():
        snapshots.beside_commits(seed)


TASKS: tuple[Callable[[int], None], ...] = (aside, mixed, meanwhile)


def main() -> int:
    seconds, seed = asked()
    show(f"snapshots beside random scripts from seed {seed} for {seconds:g} s")
    spent, done = dict.fromkeys(TASKS, 0.0), dict.fromkeys(TASKS, 0)
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        task = min(spent, key=lambda each: spent[each])
        begun, number = time.monotonic(), seed + done[task]
        try:
            task(number)
        except Exception:
            show(f"seed {number}, {task.__name__}:\n{traceback.format_exc()}")
            return 1
        done[task] += 1
        spent[task] += time.monotonic() - begun
    scripts, constructs, reading = done.values()
    show(f"{scripts} scripts, {constructs} over all constructs, {reading} with a reader meanwhile, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
