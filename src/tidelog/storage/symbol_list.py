"""The symbols of a database and their words: the part of the dictionary that maps texts to words.

This is how the dictionary begins. `bulk_symbols` takes over when symbols are many.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidelog.storage.arrow_arrays import text_to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

STRING_OVERHEAD = 49  # bytes of a Python str beside its characters


class SymbolList:
    """The texts of symbols by their words, None for reclaimed words.

    `_texts` decides. The words by their texts follow it, and catch up when they have fallen behind: an interruption
    leaves texts without references, and the next `add` continues from these.
    """

    def __init__(self) -> None:
        self._texts: list[str | None] = []
        self.made = 0
        """How many symbols were new when they came."""
        self.reused = 0
        """How many of these have got words that were given back."""
        self._words: dict[str, int] = {}
        self._known = 0  # The words of the texts below this place are known.
        self._characters = 0
        self._free: NDArray[np.int64] = np.empty(0, np.int64)
        self._left = 0  # So many of `_free` are still to be used; it may name words that are in use, which are skipped.

    @property
    def locks(self) -> tuple[threading.RLock, ...]:
        """No locks: Python lets lists and dictionaries be read while they grow."""
        return ()

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def count(self) -> int:
        """The number of symbols."""
        return len(self._words)

    def text(self, word: int) -> str:
        """Return the text of a word."""
        return self._texts[word]  # type: ignore[return-value]  # nothing refers to a reclaimed word

    def strings(self, words: Sequence[int]) -> list[str]:
        """Return the texts of words."""
        return list(map(self._texts.__getitem__, words))  # type: ignore[arg-type]  # as in `text`

    def array(self, words: NDArray[Any]) -> pa.LargeStringArray:
        """Return the texts of int32 or int64 words."""
        return text_to_arrow(self.strings(words.tolist()))

    def contents(self) -> tuple[list[str | None], dict[str, int], NDArray[np.int64]]:
        """Return the texts by their words, the words by their texts, and reclaimed words to use, the next one last."""
        self._follow()
        free = [word for word in self._free[: self._left].tolist() if self._is_free(word)]
        return self._texts, self._words, np.array(free, np.int64)

    def get(self, text: str) -> int | None:
        """Return the word of a symbol, or None if it has none yet."""
        return self._words.get(text)

    def words(self, strings: Sequence[str]) -> list[int | None]:
        """Return the words of symbols, None for those that have none yet."""
        return list(map(self._words.get, strings))

    def add(self, strings: Sequence[str], *, distinct: bool = False) -> list[int]:
        """Return the words of symbols; new ones get reclaimed words, and then the next ones. Say if they are known to
        be `distinct`, which saves time."""
        words = self._words
        self._follow()
        found = list(map(words.get, strings))
        new = [text for text, word in zip(strings, found, strict=True) if word is None]
        if not distinct:
            new = list(dict.fromkeys(new))
        if new:
            self.made += len(new)
            self._characters += sum(map(len, new))
            in_order = distinct and not self._left
            if self._left:
                new = self._reuse(new)
            start = len(self._texts)
            self._texts.extend(new)
            words.update(zip(new, range(start, start + len(new)), strict=True))
            self._known = start + len(new)
            if in_order:
                fresh = iter(range(start, start + len(new)))
                return [next(fresh) if word is None else word for word in found]
            found = [words[text] if word is None else word for text, word in zip(strings, found, strict=True)]
        return found  # type: ignore[return-value]  # all have words now

    def _reuse(self, new: list[str]) -> list[str]:
        """Give reclaimed words to the first of these symbols; return the others."""
        texts, words = self._texts, self._words
        start = max(0, self._left - len(new))
        free = [word for word in self._free[start : self._left].tolist() if self._is_free(word)][::-1]
        self.reused += len(free)
        for text, word in zip(new, free, strict=False):
            texts[word] = text
        words.update(zip(new, free, strict=False))
        self._left = start
        return new[len(free) :]

    def stop_reusing(self) -> None:
        """Let new symbols have the words after all others, until words are given back again."""
        self._left = 0

    def follow(self, start: int, texts: Sequence[str | None]) -> bool:
        """Add the symbols that another list has from `start` on, None for reclaimed words there. Return True if that is
        possible."""
        self._follow()
        known = self._texts[start : start + len(texts)]
        new = texts[len(known) :]
        if start > len(self._texts) or known != list(texts[: len(known)]) or not self._words.keys().isdisjoint(new):
            return False
        self.made += sum(text is not None for text in new)
        self._characters += sum(len(text) for text in new if text is not None)
        self._texts.extend(new)
        self._follow()
        return True

    def present(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the words from `start` to `stop` that belong to symbols."""
        self._follow()
        return np.array([word for word in range(start, stop) if not self._is_free(word)], np.int64)

    def _is_free(self, word: int) -> bool:
        """Return True if nothing has this word, also where an interruption has left a text with it."""
        text = self._texts[word]
        return text is None or self._words.get(text) != word

    def _follow(self) -> None:
        """Let the words by texts know texts that an interruption has kept from them."""
        start, end = self._known, len(self._texts)
        if start < end:
            new = ((text, word) for word, text in enumerate(self._texts[start:], start) if text is not None)
            self._words.update(new)
            self._known = end

    def give_back(self, used: NDArray[np.bool_]) -> None:
        """Forget the symbols whose words are not used, which others get from now on."""
        self._follow()
        texts, words = self._texts, self._words
        free = np.flatnonzero(~used)
        before = len(words)
        for word in free.tolist():
            text = texts[word]
            if text is not None:
                if words.get(text) == word:
                    del words[text]
                    self._characters -= len(text)
                texts[word] = None
        end = len(texts) - int(np.argmax(used[::-1])) if used.any() else 0
        self._left = 0
        self._known = min(self._known, end)
        del texts[end:]
        free = free[free < end][::-1].copy()
        self._free = free
        self._left = len(free)
        if len(words) < before // 2:
            self._words = dict(words)  # A dictionary shrinks only when it is copied.

    def bytes(self) -> int:
        """Estimate the memory that the symbols take."""
        text = self._characters + STRING_OVERHEAD * len(self._words)
        return text + sys.getsizeof(self._words) + sys.getsizeof(self._texts) + self._free.nbytes
