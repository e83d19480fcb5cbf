"""The symbols of a database and their words: the part of the dictionary that says which text a symbol is."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_STRING_OVERHEAD = 49  # bytes of a Python str beside its characters


class SymbolList:
    """The texts of symbols by their words.

    `texts` is what counts. The words by their texts follow it, and catch up whenever they have fallen behind: an
    interruption anywhere leaves texts that nobody refers to yet, and the next `add` goes on with these.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._words: dict[str, int] = {}
        self._known = 0  # The words of the texts below this place are known.
        self._characters = 0

    def __len__(self) -> int:
        return len(self.texts)

    def get(self, text: str) -> int | None:
        """The word of a symbol, or None if it has none yet."""
        return self._words.get(text)

    def words(self, strings: Sequence[str]) -> list[int | None]:
        """The words of symbols, None for those that have none yet."""
        return list(map(self._words.get, strings))

    def add(self, strings: Sequence[str]) -> list[int]:
        """The words of symbols; new ones get the next words."""
        words = self._words
        self._follow()
        new = [text for text in dict.fromkeys(strings) if text not in words]
        if new:
            self._characters += sum(map(len, new))
            start = len(self.texts)
            self.texts.extend(new)
            words.update(zip(new, range(start, start + len(new)), strict=True))
            self._known = start + len(new)
        return list(map(words.__getitem__, strings))

    def _follow(self) -> None:
        """Let the words by texts know texts that an interruption has kept from them."""
        start, end = self._known, len(self.texts)
        if start < end:
            self._words.update(zip(self.texts[start:], range(start, end), strict=True))
            self._known = end

    def bytes(self) -> int:
        """About how much memory the symbols take."""
        text = self._characters + _STRING_OVERHEAD * len(self.texts)
        return text + sys.getsizeof(self._words) + sys.getsizeof(self.texts)
