"""How hyper-nodes follow changes: what a user may choose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EpochOptions:
    """How hyper-nodes follow changes: `strategy` is auto, update or bootstrap.

    In auto, updates that take too long are given up (`strategies/situation.py`, `budget`), which costs at most `switch`
    of a bootstrap of everything. `closures` says whether hyper-nodes that are closures are evaluated as such. Without
    `maintain`, nothing is counted and nodes are always bootstrapped."""

    strategy: str = "auto"
    switch: float = 0.2
    closures: bool = True
    maintain: bool = True
