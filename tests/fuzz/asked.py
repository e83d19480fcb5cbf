"""The command line of the modules in this folder, each of which looks for faults until its time is up."""

from __future__ import annotations

import sys
import time


def asked() -> tuple[float, int]:
    """Return the seconds and the first seed that the arguments give: without them a minute, and a seed of the clock."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    return seconds, int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time()) * 1000


def show(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
