"""How much the random and the exhaustive tests try.

`make test` tries a part, within minutes. `make test-deep` sets TIDELOG_TEST_DEPTH (1) to 4: four times as many random
cases, and faults at four times as many places.
"""

from __future__ import annotations

import os

DEPTH = int(os.environ.get("TIDELOG_TEST_DEPTH", "1"))


def cases(number: int) -> int:
    """Return how many random cases to try, `number` at depth 1."""
    return number * DEPTH


def stride(places: int) -> int:
    """Return how many places to go on from one fault to the next, `places` at depth 1."""
    return max(1, places // DEPTH)
