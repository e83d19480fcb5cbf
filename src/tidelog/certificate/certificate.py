"""A certificate: the facts, the rules with the strata of their relations, the view, and a birth for every tuple."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.rules.core import CoreProgram
from tidelog.storage.dictionary import Dictionary

Words: TypeAlias = NDArray[numpy.signedinteger[Any]]
"""Rows of words, int32 or int64, shape (n, arity)."""


@dataclass(frozen=True)
class Certificate:
    """`facts(name)` are the asserted rows of a relation and `view(name)` its rows with a birth each (integers, shape
    (n,)); relations are called for one by one, so that not all of them have to be in memory at once. `strata` maps
    every relation of `program` to its stratum: relations of one stratum may depend on each other, and only their births
    are compared. `place` says where the certificate comes from."""

    program: CoreProgram
    dictionary: Dictionary
    strata: Mapping[str, int]
    facts: Callable[[str], Words]
    view: Callable[[str], tuple[Words, Words]]
    place: str
