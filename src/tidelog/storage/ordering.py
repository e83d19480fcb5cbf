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
from tidelog.language.syntax import Kind
from tidelog.storage.arrow_arrays import numbers_to_numpy
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.record_text import format_value


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
