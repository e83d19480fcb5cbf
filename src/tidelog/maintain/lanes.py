"""The memory in which a thread runs plans, a batch of bindings at a time, and values that do not fit into its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.storage.memory import Block

BATCH = 512
"""Bindings in a batch: registers of this length stay in the first two levels of cache."""
FEW = 64
"""Bindings in a batch of plans that read at most as many rows of each relation: the heads of thousands of such plans
need room for a batch each."""
CALLED_BATCH = 8_192
"""Bindings in a batch where plans call functions in Python: one call takes as long as joins of hundreds."""


class WidenError(Exception):
    """A value does not fit into 32 bits: the database needs words of 64."""


@dataclass(frozen=True)
class Lane:
    """The memory of one thread for batches of `batch` bindings: the state of the `levels` of the plan under way, the
    `registers`, `scratch` for each level, and a `buffer` for a batch of the head with its `hashes`."""

    batch: int
    levels: Words
    registers: Block
    scratch: Block
    buffer: Block
    hashes: Block


def narrow(words: NDArray[numpy.signedinteger[Any]]) -> bool:
    """Return True if all words fit into 32 bits."""
    return not words.size or bool(words.min() >= -(2**31) and words.max() < 2**31)
