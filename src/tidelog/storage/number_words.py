"""The words of numbers, unsigned and floats: their bits, with one zero and one NaN."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.language.syntax import Kind


def numbers_of(words: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """Return the numbers, unsigned or floats that words stand for."""
    wide = np.ascontiguousarray(words, dtype=np.int64)
    if kind == "float":
        return wide.view(np.float64)
    return wide.view(np.uint64) if kind == "unsigned" else wide


def number_words(values: NDArray[Any]) -> Words:
    """Return the words of an int64, uint64 or float64 vector: its bits, with one zero and one NaN."""
    if values.dtype == np.float64:
        values = values + 0.0  # makes -0.0 into 0.0
        values[np.isnan(values)] = np.nan
    return values.view(np.int64)


def number_word(value: Any, kind: Kind) -> int:
    """Return the word of one number."""
    if kind == "float":
        number = float(value) + 0.0
        word: int = struct.unpack("<q", struct.pack("<d", number if number == number else float("nan")))[0]
        return word
    return (int(value) + 2**63) % 2**64 - 2**63


def number_value(word: int, kind: Kind) -> int | float:
    """Return the number of one word."""
    if kind == "float":
        value: float = struct.unpack("<d", struct.pack("<q", word))[0]
        return value
    return word % 2**64 if kind == "unsigned" else int(word)


def is_number(value: object, kind: Kind) -> bool:
    """Return True if a Python or numpy number is a value of a primitive kind. A bool is not; an int is a float
    if some float is equal to it."""
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, (int, np.integer)):
        if kind == "float":
            return abs(int(value)) < 2**1023 and int(float(value)) == int(value)
        low, high = (0, 2**64) if kind == "unsigned" else (-(2**63), 2**63)
        return low <= int(value) < high
    return kind == "float" and isinstance(value, (float, np.floating)) and (float(value) == value or value != value)
