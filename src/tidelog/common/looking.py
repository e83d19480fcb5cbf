"""Limits on long work: it calls a `Look` now and then, which raises an error to end the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

Item = TypeVar("Item")

Look: TypeAlias = Callable[[], object]
"""Raises where a limit is reached or Ctrl-C was pressed."""


_BETWEEN = 0.02
"""Seconds between two looks beside functions of the user's own."""


class Pace:
    """The pace of work whose steps may take any time: it looks whenever it is time, between two steps."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._due = 0.0

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and look before one if it is time."""
        clock = time.perf_counter
        for item in items:
            if clock() >= self._due:
                self._look()
                self._due = clock() + _BETWEEN
            yield item


def ignore_limits() -> None:
    """Look at no limit."""
