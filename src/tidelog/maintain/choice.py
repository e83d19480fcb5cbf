"""The user's choices of how hyper-nodes follow changes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EpochOptions:
    """The options of epochs: `strategy` is auto, update or bootstrap.

    In auto, updates that take too long are given up (`strategies/situation.py`, `budget`), which costs at most `switch`
    of a bootstrap of everything. With `closures`, hyper-nodes that are closures are evaluated as such. Without
    `maintain`, nothing is counted and nodes are always bootstrapped."""

    strategy: str = "auto"
    switch: float = 0.2
    closures: bool = True
    maintain: bool = True
