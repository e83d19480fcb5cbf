"""The order of tuples: by the columns from left to right.

Numbers are ordered by value, symbols by their UTF-8 bytes, records by their fields with nil first. So the order does
not depend on words, which the dictionary gives out as values come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.language.syntax import Kind
from tidelog.storage.arrow_arrays import numbers_to_numpy
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.record_text import format_value

_AT_ONCE = 1 << 21
"""Rows that one call sorts; about half a second."""
_SAMPLE, _PARTS = 4_096, 100
"""Values of a column that are drawn to find where to part it, and the parts."""


def order_of_words(words: Words, kinds: Sequence[Kind], dictionary: Dictionary) -> NDArray[np.intp]:
    """Return the places of the rows of `words`, shape (n, columns), in the order of the tuples that they encode."""
    if len(words) < 2 or not kinds:
        return np.arange(len(words))
    return _order([_sort_key(words[:, i], kind, dictionary) for i, kind in enumerate(kinds)])


def _order(keys: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Return the order of rows by several keys; keys that fit together into 63 bits become one, which sorts much
    faster."""
    if all(key.dtype == np.int64 for key in keys):
        lows = [int(key.min()) for key in keys]
        widths = [int(key.max()) - low + 1 for key, low in zip(keys, lows, strict=True)]
        if np.prod([float(width) for width in widths]) < 2**62:
            joint = np.zeros(len(keys[0]), dtype=np.int64)
            for key, low, width in zip(keys, lows, widths, strict=True):
                joint = joint * width + (key - low)
            return np.argsort(joint)
    return np.lexsort(keys[::-1])


def _sort_key(words: Words, kind: Kind, dictionary: Dictionary) -> NDArray[Any]:
    """Return a vector in the order of the values."""
    words = np.ascontiguousarray(words)
    if kind == "number":
        return words
    if kind in ("unsigned", "float"):
        return words.view(np.uint64 if kind == "unsigned" else np.float64)
    different, places = np.unique(words, return_inverse=True)
    return _ranks(different, kind, dictionary)[places]


def _ranks(different: Words, kind: Kind, dictionary: Dictionary) -> NDArray[np.int64]:
    """Return the rank of each of these different symbols or records among them."""
    if kind == "symbol":
        order = numbers_to_numpy(_sort_indices(dictionary.decode_column(different, kind))).astype(np.int64)
    elif dictionary.types.is_text(kind):
        texts = [format_value(value) for value in dictionary.decode_list(different, kind)]
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.int64)
    else:
        present, columns = dictionary.unpack(kind, different)
        keys: list[NDArray[Any]] = [present.astype(np.int64)]
        for column, field in zip(columns, dictionary.types[kind].fields, strict=True):
            key = np.zeros(len(different), dtype=np.int64)
            if present.any():
                inside = _sort_key(column[present], field.kind, dictionary)
                key = key.astype(inside.dtype)
                key[present] = inside
            keys.append(key)
        order = _order(keys)
    ranks = np.empty(len(different), dtype=np.int64)
    ranks[order] = np.arange(len(different))
    return ranks


def _sort_indices(strings: Any) -> Any:
    import pyarrow.compute as pc

    return pc.sort_indices(strings)


def order_of(columns: Sequence[NDArray[Any]], look: Look) -> NDArray[np.intp]:
    """Return the stable order of rows by one or more columns without NaN, the first one first. An exception of `look`
    ends the work; the function calls it at least once for as many rows as one call sorts.

    One call of NumPy that sorts a hundred million rows takes half a minute, and nothing can end it. So rows are first
    dealt out by their first column, to parts of which each is sorted in a call of its own.
    """
    look()
    first, *rest = columns
    if len(first) <= _AT_ONCE:
        return np.lexsort(columns[::-1])
    parts = _parts(first, look)
    order = np.empty(len(first), np.intp)
    end = 0
    for part, pieces in enumerate(parts):
        rows = np.concatenate(pieces) if pieces else np.empty(0, np.intp)
        pieces.clear()
        # All rows of a part with an odd number are equal in the first column.
        keys = rest if part % 2 else columns
        if len(rows) > 1 and keys:
            rows = rows[order_of([column[rows] for column in keys], look)]
        order[end : end + len(rows)] = rows
        end += len(rows)
    return order


def _parts(values: NDArray[Any], look: Look) -> list[list[NDArray[np.intp]]]:
    """Yield the rows dealt out to parts in the order of their values: below the first limit, equal to it, between it
    and the second, and so on."""
    drawn = np.sort(values[np.random.default_rng(len(values)).integers(len(values), size=_SAMPLE)])
    limits = np.unique(drawn[:: _SAMPLE // _PARTS])
    parts: list[list[NDArray[np.intp]]] = [[] for _ in range(2 * len(limits) + 1)]
    for start in range(0, len(values), _AT_ONCE):
        look()
        some = values[start : start + _AT_ONCE]
        part = (limits.searchsorted(some) + limits.searchsorted(some, "right")).astype(np.uint8)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=len(parts)))
        for number, pieces in enumerate(np.split(order + start, ends[:-1])):
            if len(pieces):
                parts[number].append(pieces)
    return parts
