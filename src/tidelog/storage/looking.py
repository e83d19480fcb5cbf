"""Work on many rows in parts. It calls `look` before each part, which raises an error to end the work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
from numpy.typing import NDArray

from tidelog.common.looking import Look

AT_ONCE = 1 << 20
"""Rows of a part."""


def in_parts(rows: NDArray[numpy.int64], look: Look) -> Iterator[NDArray[numpy.int64]]:
    """Yield the rows in parts, at least one."""
    for start in range(0, max(1, len(rows)), AT_ONCE):
        look()
        yield rows[start : start + AT_ONCE]
