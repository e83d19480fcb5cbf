"""The texts of many symbols outside of Python: one block of bytes, and a hash table that kernels look them up in.

A symbol as an object of Python takes 150 bytes beside its characters and a tenth of a microsecond at each look; here it
takes 40 bytes, and a third of that time. `kernels.texts` has the layout. Threads take turns, for `_PIECE` texts each.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.kernels import texts
from tidelog.storage.arrow_arrays import texts_from_spans
from tidelog.storage.memory import Block, Pinned

if TYPE_CHECKING:
    import pyarrow as pa

_PIECE = 1 << 14
"""Texts that are looked up in one call."""
_SLOT, _SPAN, _WORD = 8, 16, 8  # bytes
_FULL = 0.7


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
            return content, self._spans().copy(), self._free[: self.left]

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
    def left(self) -> int:
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
            texts.append_texts(self._placed(), base, spans[0].address, spans[1].address, len(starts))

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
                run(self._placed(), base, *addresses, count, found.address + skip, self._hashes.address)
        return words

    def _make_room(self, count: int, size: int) -> None:
        """Make room for so many texts of so many bytes in all."""
        state = self._state
        self._grow(self._texts, int(state[texts.SIZE]) + size)
        self._grow(self._places, (int(state[texts.COUNT]) + count) * _SPAN)
        wanted = int((state[texts.USED] + count) / _FULL)
        if wanted * _SLOT > self._slots.size:
            block = Block(_SLOT << wanted.bit_length())
            texts.move_slots(self._placed(), block.address, block.size // _SLOT - 1)
            self._slots = block

    @staticmethod
    def _grow(block: Block, size: int) -> None:
        if size > block.size:
            block.grow(max(size, block.size + block.size // 2))

    def _placed(self) -> NDArray[np.int64]:
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
            texts.measure_texts(self._placed(), source.address, len(words), places.address, tag)
            content = np.empty(int(offsets[-1]), np.uint8)
            target = Pinned(content)
            texts.copy_texts(self._placed(), source.address, len(words), places.address, target.address, tag)
        return texts_from_spans(offsets, content)

    def present(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the words from `start` to `stop` that have a text."""
        with self.lock:
            places = self._spans()
            return start + np.flatnonzero(places[start:stop, 0] >= 0)

    def kept(self, used: NDArray[np.bool_]) -> TextTable:
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
