"""How much the random and the exhaustive tests try.

The tests give their numbers for a depth of 1. `make test` tries a tenth of that, the other targets a quarter. With
TIDELOG_TEST_DEPTH=4, `make test-deep` tries sixteen times as many random cases, and faults at as many more places.
"""

from __future__ import annotations

import math
import os

DEPTH = float(os.environ.get("TIDELOG_TEST_DEPTH", "0.25"))


def cases(number: int) -> int:
    """Return how many random cases to try, `number` at depth 1."""
    return math.ceil(number * DEPTH)


def stride(places: float) -> int:
    """Return how many places to go on from one fault to the next, `places` at depth 1."""
    return max(1, round(places / DEPTH))
