"""Many symbols and their words: the same to the dictionary as a `SymbolList`, but texts are outside of Python.

`TextTable` has all texts. Objects of Python are made for those that Python asks for, and are remembered.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.storage.arrow_arrays import spans_of, text_spans
from tidelog.storage.memory import Pinned
from tidelog.storage.symbol_list import STRING_OVERHEAD, SymbolList
from tidelog.storage.text_table import TextTable

if TYPE_CHECKING:
    import pyarrow as pa


class BulkSymbols:
    """The texts of symbols by their words in a `TextTable`.

    `_texts` and `_words` remember texts and words that Python has asked for; None is a text that it has not."""

    def __init__(self, symbols: SymbolList) -> None:
        """Take over the symbols of a list, with the same words."""
        self.made = symbols.made
        """How many symbols were new when they came."""
        self._reused = symbols.reused
        self._texts, self._words, free = symbols.contents()
        self._table = TextTable(free)
        self._left = len(free)
        self._append(self._texts)

    @property
    def locks(self) -> tuple[threading.RLock, ...]:
        """The lock of the table."""
        return (self._table.lock,)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def count(self) -> int:
        """The number of symbols."""
        return self._table.count

    @property
    def reused(self) -> int:
        """How many symbols have got words that were given back."""
        return self._reused + self._left - self._table.left

    def get(self, text: str) -> int | None:
        """Return the word of a symbol, or None if it has none yet."""
        word = self._words.get(text)
        return self.words([text])[0] if word is None else word

    def words(self, strings: Sequence[str]) -> list[int | None]:
        """Return the words of symbols, None for those that have none yet."""
        found = list(map(self._words.get, strings))
        if None in found:
            missing = [text for text, word in zip(strings, found, strict=True) if word is None]
            # Texts that UTF-8 cannot express are in no table, whatever bytes stand for them.
            offsets, content = spans_of(missing, errors="surrogatepass")
            base = Pinned(content)
            words = self._table.find(base.address, offsets[:-1], offsets[1:]).tolist()
            self._words.update((text, word) for text, word in zip(missing, words, strict=True) if word >= 0)
            found = list(map(self._words.get, strings))
        return found

    def add(self, strings: Sequence[str], *, distinct: bool = False) -> list[int]:
        """Return the words of symbols; new ones get reclaimed words, and then the next ones."""
        found = self.words(strings)
        if None in found:
            new = list(dict.fromkeys(text for text, word in zip(strings, found, strict=True) if word is None))
            offsets, content = spans_of(new)
            self._words.update(zip(new, self.add_spans(content, offsets[:-1], offsets[1:]).tolist(), strict=True))
            found = list(map(self._words.get, strings))
        return found  # type: ignore[return-value]  # all have words now

    def add_array(self, texts: pa.Array) -> Words:
        """Return the words of the texts of a string or large_string array without nulls, which are UTF-8."""
        offsets, content = text_spans(texts)
        return self.add_spans(content, offsets[:-1], offsets[1:])

    def add_spans(self, content: NDArray[np.uint8], starts: Words, ends: Words) -> Words:
        """Return the words of texts, each of which has the bytes of `content` from a start to before an end. They are
        UTF-8."""
        before = self._table.count
        base = Pinned(content)
        try:
            return self._table.add(base.address, starts, ends)
        finally:
            self.made += self._table.count - before

    def stop_reusing(self) -> None:
        """Let new symbols have the words after all others, until words are given back again."""
        self._reused = self.reused
        self._left = 0
        self._table.stop_reusing()

    def follow(self, start: int, texts: Sequence[str | None]) -> bool:
        """Add the symbols that another list has from `start` on, None for reclaimed words there. Return True if that is
        possible."""
        stop = min(len(self), start + len(texts))
        there = set(self.present(start, stop).tolist())
        known = [self.text(word) if word in there else None for word in range(start, stop)]
        new = texts[len(known) :]
        added = [text for text in new if text is not None]
        is_same = start <= len(self) and known == list(texts[: len(known)])
        if not is_same or any(word is not None for word in self.words(added)):
            return False
        self.made += len(added)
        self._append(new)
        return True

    def _append(self, texts: Sequence[str | None]) -> None:
        """Give the next words to different texts that have none yet, and to None, which is no text."""
        offsets, content = spans_of([text or "" for text in texts])
        missing = np.fromiter((text is None for text in texts), np.bool_, len(texts))
        base = Pinned(content)
        self._table.append(base.address, np.where(missing, -1, offsets[:-1]), np.where(missing, -1, offsets[1:]))

    def present(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the words from `start` to `stop` that belong to symbols."""
        return self._table.present(start, stop)

    def text(self, word: int) -> str:
        """Return the text of a word."""
        return self.strings([word])[0]

    def strings(self, words: Sequence[int]) -> list[str]:
        """Return the texts of words."""
        texts = self._texts
        texts.extend([None] * (len(self) - len(texts)))
        found = list(map(texts.__getitem__, words))
        if None in found:
            missing = list({word for word, text in zip(words, found, strict=True) if text is None})
            for word, text in zip(missing, self._table.texts(np.array(missing)).to_pylist(), strict=True):
                texts[word] = text
            found = list(map(texts.__getitem__, words))
        return found  # type: ignore[return-value]  # all are there now

    def array(self, words: NDArray[Any]) -> pa.LargeStringArray:
        """Return the texts of int32 or int64 words."""
        return self._table.texts(words)

    def give_back(self, used: NDArray[np.bool_]) -> None:
        """Forget the symbols whose words are not used, which others get from now on."""
        table = self._table.kept(used)
        self._texts, self._words = [], {}
        self._reused, self._left, self._table = self.reused, table.left, table

    def bytes(self) -> int:
        """Estimate the memory that the symbols take."""
        remembered = len(self._words) * STRING_OVERHEAD + sys.getsizeof(self._words) + sys.getsizeof(self._texts)
        return self._table.bytes() + remembered
