"""Columns of symbols that get their words together.

The files of a program repeat their symbols. Arrow finds the different texts of all columns at once, so that the
dictionary, whose texts are objects of Python, looks up each of them once and not once per column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.arrays import Words
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_BYTES = 1 << 29
"""Texts that wait at most, in bytes: they are in memory besides those of the dictionary."""


class SymbolColumns:
    """Columns of text that wait for their words."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._waiting: list[tuple[Words, pa.ChunkedArray]] = []
        self._bytes = 0

    def add(self, words: Words, column: pa.ChunkedArray) -> None:
        """Write the words of a column of dictionaries of text into `words`, at the next `encode` at the latest."""
        self._waiting.append((words, column))
        self._bytes += sum(chunk.dictionary.nbytes for chunk in column.chunks)
        if self._bytes > _MOST_BYTES:
            self.encode()

    def encode(self) -> None:
        """Write the words of all columns that wait."""
        encoded = self._dictionary.encode_texts([column for _, column in self._waiting])
        for (words, _), found in zip(self._waiting, encoded, strict=True):
            words[:] = found
        self._waiting.clear()
        self._bytes = 0
