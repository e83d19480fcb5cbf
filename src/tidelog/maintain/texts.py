"""Functors on texts as call-outs of the kernels.

One with several values runs in three levels: a call-out that counts the values of each row, a range over their numbers,
and a call-out that takes the value with the number. The first keeps the values of its batch for the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.errors import LimitError, Problem
from tidelog.language.syntax import Kind
from tidelog.maintain.calls import LONGEST, CallOut, Mask, encoded, function, paced
from tidelog.semantics import texts
from tidelog.semantics.values import NoValueError
from tidelog.storage.dictionary import Dictionary

_KINDS: dict[str, tuple[Kind, ...]] = {
    "split": ("symbol", "symbol", "number"),
    "groups": ("symbol", "symbol", "number"),
}
_RESULTS: dict[str, Kind] = {"index_of": "number", "positions": "number"}


def text_call_out(name: str, arguments: int, dictionary: Dictionary) -> CallOut | None:
    """Return the function for a functor on texts with at most one value; None if there is none of the name."""
    meaning = _replaced if name == "replace" else texts.ONE.get((name, arguments))
    if meaning is None:
        return None

    def value(*args: Any) -> int | str | None:
        try:
            return meaning(*args)
        except NoValueError:
            return None

    kinds = _KINDS.get(name, ("symbol",) * arguments)
    return function(value, kinds, _RESULTS.get(name, "symbol"), dictionary)


def _replaced(text: str, old: str, new: str) -> str:
    size = len(text) + text.count(old) * (len(new) - len(old)) if old else len(text)
    if size > LONGEST:
        message = f"`replace` would make a symbol of {size:,} characters, the limit is {LONGEST:,}"
        hint = "bound the recursion that makes the text longer; nothing has changed"
        raise LimitError(Problem("E0503", message, hint=hint))
    return texts.replaced(text, old, new)


def listed_call_outs(name: str, dictionary: Dictionary) -> tuple[CallOut, CallOut]:
    """Return the functions that count the values of a functor with several values, and that take the one with a
    number."""
    meaning = texts.SEVERAL[name]

    def listed(args: tuple[str, str]) -> list[Any]:
        return [value for value in dict.fromkeys(meaning(*args)) if value is not None]

    return listing(listed, ("symbol", "symbol"), _RESULTS.get(name, "symbol"), dictionary)


def listing(
    listed: Callable[[Any], Sequence[Any]], kinds: Sequence[Kind], result: Kind, dictionary: Dictionary
) -> tuple[CallOut, CallOut]:
    """Return call-outs for a function that lists the values for a tuple of arguments."""
    batch: dict[tuple[Any, ...], Sequence[Any]] = {}

    def rows(columns: Sequence[Words]) -> list[list[Any]]:
        return [
            dictionary.strings(column) if kind == "symbol" else column.tolist()
            for column, kind in zip(columns, kinds, strict=False)
        ]

    def count(columns: list[Words], look: Look) -> tuple[Mask, Sequence[Words]]:
        batch.clear()
        for row in paced(rows(columns), look):
            if row not in batch:
                batch[row] = listed(row)
        counts = numpy.array([len(batch[row]) for row in zip(*rows(columns), strict=True)], numpy.int64)
        return counts > 0, (counts,)

    def take(columns: list[Words], look: Look) -> tuple[None, Sequence[Words]]:
        *given, numbers = columns
        found = []
        for row, number in zip(paced(rows(given), look), numbers.tolist(), strict=True):
            values = batch.get(row)
            found.append((listed(row) if values is None else values)[number])
        return None, (encoded(found, dictionary) if result == "symbol" else numpy.array(found, numpy.int64),)

    return count, take
