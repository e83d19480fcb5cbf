"""The symbols of a database and their words: the part of the dictionary that maps texts to words.

The dictionary begins with a `SymbolList` of Python's strings. `BulkSymbols`, which is the same to the dictionary, takes
over when symbols are many: its texts are outside of Python, in a `TextTable`. A symbol as an object of Python takes 150
bytes beside its characters and a tenth of a microsecond at each look; there it takes 40 bytes, and a third of that
time. Objects of Python are made for those that Python asks for, and are remembered.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.kernels import texts
from tidelog.storage.arrow_arrays import spans_of, text_spans, text_to_arrow, texts_from_spans
from tidelog.storage.memory import Block, Pinned

if TYPE_CHECKING:
    import pyarrow as pa


STRING_OVERHEAD = 49  # bytes of a Python str beside its characters
_PIECE = 1 << 14
"""Texts that are looked up in one call."""
_SLOT, _SPAN, _WORD = 8, 16, 8  # bytes
_FULL = 0.7


class SymbolList:
    """The texts of symbols by their words, None for reclaimed words.

    `_texts` decides. The words by their texts follow it, and catch up when they have fallen behind: an interruption
    leaves texts without references, and the next `add` continues from these.
    """

    def __init__(self) -> None:
        self._texts: list[str | None] = []
        self.made = 0
        """How many symbols were new when they came."""
        self.reuse_count = 0
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
        self._catch_up()
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
        self._catch_up()
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
        self.reuse_count += len(free)
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
        self._catch_up()
        known = self._texts[start : start + len(texts)]
        new = texts[len(known) :]
        if start > len(self._texts) or known != list(texts[: len(known)]) or not self._words.keys().isdisjoint(new):
            return False
        self.made += sum(text is not None for text in new)
        self._characters += sum(len(text) for text in new if text is not None)
        self._texts.extend(new)
        self._catch_up()
        return True

    def present(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the words from `start` to `stop` that belong to symbols."""
        self._catch_up()
        return np.array([word for word in range(start, stop) if not self._is_free(word)], np.int64)

    def _is_free(self, word: int) -> bool:
        """Return True if nothing has this word, also where an interruption has left a text with it."""
        text = self._texts[word]
        return text is None or self._words.get(text) != word

    def _catch_up(self) -> None:
        """Let the words by texts know texts that an interruption has kept from them."""
        start, end = self._known, len(self._texts)
        if start < end:
            new = ((text, word) for word, text in enumerate(self._texts[start:], start) if text is not None)
            self._words.update(new)
            self._known = end

    def give_back(self, used: NDArray[np.bool_]) -> None:
        """Forget the symbols whose words are not used, which others get from now on."""
        self._catch_up()
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


class BulkSymbols:
    """The texts of symbols by their words in a `TextTable`.

    `_texts` and `_words` remember texts and words that Python has asked for; None is a text that it has not."""

    def __init__(self, symbols: SymbolList) -> None:
        """Take over the symbols of a list, with the same words."""
        self.made = symbols.made
        """How many symbols were new when they came."""
        self._reused = symbols.reuse_count
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
    def reuse_count(self) -> int:
        """How many symbols have got words that were given back."""
        return self._reused + self._left - self._table.free_count

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
        self._reused = self.reuse_count
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
        table = self._table.copy_used(used)
        self._texts, self._words = [], {}
        self._reused, self._left, self._table = self.reuse_count, table.free_count, table

    def bytes(self) -> int:
        """Estimate the memory that the symbols take."""
        remembered = len(self._words) * STRING_OVERHEAD + sys.getsizeof(self._words) + sys.getsizeof(self._texts)
        return self._table.bytes() + remembered


class TextTable:
    """Different texts, each with a word: numbers from 0 on, among which some may have no text."""

    def __init__(self, free: NDArray[np.int64] | None = None) -> None:
        """Make a table without words; new texts will get the words in `free`, the last one first, before others."""
        self.lock = threading.RLock()
        self._texts, self._places, self._slots = Block(1 << 16), Block(1 << 14), Block(1 << 13)
        self._hashes = Block(texts.BATCH * _WORD)
        self._free = np.empty(0, np.int64) if free is None else np.ascontiguousarray(free, np.int64)
        self._pinned = Pinned(self._free)
        self._state = np.zeros(texts.FIELDS, np.int64)
        self._state[texts.FREE], self._state[texts.LEFT] = self._pinned.address, len(self._free)

    def __getstate__(self) -> tuple[Any, ...]:
        with self.lock:
            content = self._texts.view(np.uint8, int(self._state[texts.SIZE])).copy()
            return content, self._spans().copy(), self._free[: self.free_count]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        content, spans, free = state
        self.__init__(free)  # type: ignore[misc]  # the same class
        base = Pinned(content)
        self.append(base.address, *np.ascontiguousarray(spans.T))

    def __len__(self) -> int:
        """Return the number of words, including those without a text."""
        return int(self._state[texts.COUNT])

    @property
    def count(self) -> int:
        """The number of texts."""
        return int(self._state[texts.USED])

    @property
    def free_count(self) -> int:
        """The number of words that wait to be used again."""
        return int(self._state[texts.LEFT])

    def stop_reusing(self) -> None:
        """Give new texts the words after all others."""
        self._state[texts.LEFT] = 0

    def bytes(self) -> int:
        """Return the memory of the table."""
        blocks = (self._texts, self._places, self._slots)
        return sum(block.size for block in blocks) + self._free.nbytes

    # --- texts to words ----------------------------------------------------------------------------------------------

    def add(self, base: int, starts: Words, ends: Words) -> Words:
        """Return the words of the texts between these offsets behind the address `base`; new texts get words."""
        return self._in_pieces(base, starts, ends, grow=True)

    def find(self, base: int, starts: Words, ends: Words) -> Words:
        """Return the words of texts as `add`, -1 for texts that have none."""
        return self._in_pieces(base, starts, ends, grow=False)

    def append(self, base: int, starts: Words, ends: Words) -> None:
        """Give the next words to different texts that are not in the table; a start of -1 is a word without text."""
        spans = Pinned(starts), Pinned(ends)
        with self.lock:
            self._make_room(len(starts), int((ends - starts).sum()))
            texts.append_texts(self._kernel_state(), base, spans[0].address, spans[1].address, len(starts))

    def _in_pieces(self, base: int, starts: Words, ends: Words, *, grow: bool) -> Words:
        words = np.empty(len(starts), np.int64)
        spans, found = (Pinned(starts), Pinned(ends)), Pinned(words)
        for first in range(0, len(words), _PIECE):
            count, skip = min(_PIECE, len(words) - first), first * _WORD
            addresses = spans[0].address + skip, spans[1].address + skip
            with self.lock:
                if grow:
                    size = int((ends[first : first + count] - starts[first : first + count]).sum())
                    self._make_room(count, size)
                run = texts.add_texts if grow else texts.find_texts
                run(self._kernel_state(), base, *addresses, count, found.address + skip, self._hashes.address)
        return words

    def _make_room(self, count: int, size: int) -> None:
        """Make room for so many texts of so many bytes in all."""
        state = self._state
        self._grow(self._texts, int(state[texts.SIZE]) + size)
        self._grow(self._places, (int(state[texts.COUNT]) + count) * _SPAN)
        wanted = int((state[texts.USED] + count) / _FULL)
        if wanted * _SLOT > self._slots.size:
            block = Block(_SLOT << wanted.bit_length())
            texts.move_slots(self._kernel_state(), block.address, block.size // _SLOT - 1)
            self._slots = block

    @staticmethod
    def _grow(block: Block, size: int) -> None:
        if size > block.size:
            block.grow(max(size, block.size + block.size // 2))

    def _kernel_state(self) -> NDArray[np.int64]:
        """Return the state for kernels. The blocks decide where they are: an interruption may come while they grow."""
        state = self._state
        state[texts.TEXTS], state[texts.PLACES] = self._texts.address, self._places.address
        state[texts.SLOTS], state[texts.MASK] = self._slots.address, self._slots.size // _SLOT - 1
        return state

    def _spans(self) -> NDArray[np.int64]:
        """Return begin and end of the text of each word, a row per word, over the block itself."""
        return self._places.view(np.int64, 2 * len(self)).reshape(-1, 2)

    # --- words to texts ----------------------------------------------------------------------------------------------

    def texts(self, words: NDArray[Any]) -> pa.LargeStringArray:
        """Return the texts of int32 or int64 words, all of which are in the table; a word without text gives ""."""
        words = np.ascontiguousarray(words)
        offsets = np.empty(len(words) + 1, np.int64)
        source, places, tag = Pinned(words), Pinned(offsets), words.dtype.type(0)
        with self.lock:
            texts.measure_texts(self._kernel_state(), source.address, len(words), places.address, tag)
            content = np.empty(int(offsets[-1]), np.uint8)
            target = Pinned(content)
            texts.copy_texts(self._kernel_state(), source.address, len(words), places.address, target.address, tag)
        return texts_from_spans(offsets, content)

    def present(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the words from `start` to `stop` that have a text."""
        with self.lock:
            places = self._spans()
            return start + np.flatnonzero(places[start:stop, 0] >= 0)

    def copy_used(self, used: NDArray[np.bool_]) -> TextTable:
        """Return a table with the words that are used and have a text. New texts will get the words between these,
        lowest first."""
        with self.lock:
            places = self._spans().copy()
            places[~used] = -1
            there = np.flatnonzero(places[:, 0] >= 0)
            places = places[: there[-1] + 1 if len(there) else 0]
            table = TextTable(np.flatnonzero(places[:, 0] < 0)[::-1])
            table.append(self._texts.address, *np.ascontiguousarray(places.T))
            return table
