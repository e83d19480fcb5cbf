"""The frame of call-outs: from columns of words to rows of Python values and back, with looks at the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.language.syntax import Kind
from tidelog.storage.dictionary import Dictionary

Mask: TypeAlias = NDArray[numpy.bool_]
CallOut: TypeAlias = Callable[[list[Words], Look], tuple[Mask | None, Sequence[Words]]]

LONGEST = 1 << 26
"""Characters of the longest text that a functor may make."""
_PACE, LONG = 64, 1 << 14
"""After so many rows, or a text of so many characters, a call-out looks at the limits."""


def paced(columns: list[list[Any]], look: Look) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of columns, and look at the limits every now and then."""
    for number, row in enumerate(zip(*columns, strict=True)):
        if number % _PACE == 0 or any(isinstance(value, str) and len(value) > LONG for value in row):
            look()
        yield row


def encoded(texts: Sequence[str], dictionary: Dictionary) -> Words:
    """Return the words of symbols."""
    return numpy.array(dictionary.ids_of(texts), numpy.int64)


def function(meaning: Callable[..., Any], kinds: Sequence[Kind], result: Kind, dictionary: Dictionary) -> CallOut:
    """Return the call-out of a function on Python values, which returns None where it has no value; unsigned and float
    results are words."""

    def apply(columns: list[Words], look: Look) -> tuple[Mask | None, Sequence[Words]]:
        values = [
            dictionary.strings(column) if kind == "symbol" else column.tolist()
            for column, kind in zip(columns, kinds, strict=True)
        ]
        results = [meaning(*arguments) for arguments in paced(values, look)]
        mask = numpy.fromiter((value is not None for value in results), bool, len(results))
        if result != "symbol":
            return mask, (numpy.array([value or 0 for value in results], numpy.int64),)
        if mask.all():
            return None, (encoded(results, dictionary),)
        words = numpy.zeros(len(results), numpy.int64)
        words[mask] = encoded([value for value in results if value is not None], dictionary)
        return mask, (words,)

    return apply
