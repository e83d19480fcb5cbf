"""Aggregates whose values are texts or make one: `any`, `min` and `max` of symbols, and `collect`."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Flags, Words
from tidelog.common.looking import Look
from tidelog.errors import LimitError, Problem
from tidelog.language.aggregates import AggregateName
from tidelog.language.syntax import Kind
from tidelog.maintain.calls import LONGEST
from tidelog.storage.dictionary import Dictionary

_SELECTIVE = {"any": min, "min": min, "max": max}
"""The aggregates whose value is a member."""


def folds_texts(op: AggregateName, kind: Kind) -> bool:
    """Return True if an aggregate of values of a kind needs the dictionary."""
    return op == "collect" or kind == "symbol"


def fold_texts(
    op: AggregateName, kind: Kind, words: Words, sizes: NDArray[numpy.intp], dictionary: Dictionary, look: Look
) -> tuple[Words, Flags]:
    """Return the value of each group as a word, and a mask of those that have one. `words` are the values of all groups
    in a row, `sizes` many each."""
    has = sizes > 0
    values = [dictionary.decode(word, kind) for word in words.tolist()] if kind != "symbol" else None
    texts = dictionary.strings(words) if values is None else []
    found: list[str] = []
    start = 0
    for size in sizes[has].tolist():
        look()
        if values is None:
            group = texts[start : start + size]
            found.append(_SELECTIVE[op](group) if op in _SELECTIVE else collected(sorted(set(group))))
        else:
            members = sorted(set(values[start : start + size]))  # type: ignore[type-var]  # numbers of one kind
            found.append(collected([repr(each) if kind == "float" else str(each) for each in members]))
        start += size
    result = numpy.zeros(len(sizes), numpy.int64)
    result[has] = dictionary.ids_of(found)
    return result, has


def collected(texts: list[str]) -> str:
    """Return texts with commas between them. Raise LimitError (E0503) if that is too long."""
    size = sum(map(len, texts)) + len(texts) - 1
    if size > LONGEST:
        message = f"`collect` would make a symbol of {size:,} characters, the limit is {LONGEST:,}"
        raise LimitError(Problem("E0503", message, hint="group the values further; nothing has changed"))
    return ",".join(texts)
