"""Stamps: when asserted facts have come, as numbers that order the changes of a network.

A `Simulation` counts its changes. A `LocalNetwork` stamps them with the time of its machine. Facts of one change have
one stamp, at whichever nodes they live. The node of a fact keeps its stamp, also across a restart. Stamp 0 is the
beginning: that of the program's own facts, and of facts in the store of a tidelog that kept no stamps.

No message to another node has a stamp. With a hybrid logical clock (Kulkarni et al. 2014) each packet would have one,
so that causes stand before their effects although clocks differ. But a network that can be asked has one clock: all
changes go through it, and it stamps them in their order. Nodes on separate machines have clocks of their own, and
nothing asks all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]
"""Returns the stamp of a change that is made now, greater than all before."""


class WallClock:
    """A clock of microseconds since 1970 in UTC, after the stamp `last`. It goes on when the machine's time is set
    back."""

    def __init__(self, last: int = 0) -> None:
        self._last = last

    def __call__(self) -> int:
        self._last = max(time.time_ns() // 1_000, self._last + 1)
        return self._last
