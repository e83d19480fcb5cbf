"""Symbols most of whose texts are in files: the same to the dictionary as a `SymbolList`.

Words stay as they are: 0, 1, 2, … A block has the texts of some consecutive words, in a file that this process and
others can read. Texts are read back block by block, some of which stay in memory for a while. The other texts, of words
that no block has, are at hand.

A block may also be of texts with similar hashes only, so that few blocks have to be read to find a text.
"""

from __future__ import annotations

import sys
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.errors import InternalError, Problem, surrogate_in
from tidelog.storage.arrow_arrays import numbers_to_arrow, numbers_to_numpy, text_to_arrow
from tidelog.storage.symbols import STRING_OVERHEAD, BulkSymbols, SymbolList

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCKS = 16
"""So many blocks stay in memory once they were read."""


class TextBlock(Protocol):
    """The texts of `rows` words from `start` on, whose hashes are from `low` on and below `high`. It can be hashed."""

    @property
    def start(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def low(self) -> int: ...

    @property
    def high(self) -> int: ...

    def texts(self) -> pa.LargeStringArray:
        """Read the texts, null for words that have no meaning. Raise OSError, and DataError for damaged files."""


def text_hash(text: str) -> int:
    """Return the hash of a text, from 0 to 2**32 - 1: the CRC-32 of its bytes in UTF-8, as Spark computes it."""
    return zlib.crc32(text.encode(errors="surrogatepass"))


class BlockReader:
    """Finds texts and words in blocks."""

    def __init__(self, blocks: Iterable[TextBlock]) -> None:
        self.blocks = sorted(blocks, key=lambda block: block.start)
        self._starts = [block.start for block in self.blocks]
        self._read: OrderedDict[TextBlock, pa.LargeStringArray] = OrderedDict()
        self.lock = threading.RLock()

    def __getstate__(self) -> list[TextBlock]:
        return self.blocks

    def __setstate__(self, blocks: list[TextBlock]) -> None:
        self.__init__(blocks)  # type: ignore[misc]

    def cover(self, words: NDArray[Any]) -> Words:
        """Return for each word the place of its block, or -1."""
        if not self.blocks:
            return np.full(len(words), -1, np.int64)
        place = np.searchsorted(self._starts, words, side="right") - 1
        ends = np.array([block.start + block.rows for block in self.blocks])
        return np.where((place >= 0) & (words < ends[place]), place, -1)

    def texts(self, words: NDArray[Any]) -> pa.LargeStringArray:
        """Return the texts of words, all of which are in blocks."""
        import pyarrow as pa

        different, inverse = np.unique(words, return_inverse=True)
        places = self.cover(different)
        parts = [pa.array([], pa.large_string())]
        for place in np.unique(places).tolist():
            block = self.blocks[place]
            rows = different[places == place].astype(np.int64) - block.start
            parts.append(self._texts(block).take(numbers_to_arrow(rows)))
        return pa.concat_arrays(parts).take(numbers_to_arrow(inverse.astype(np.int64)))

    def words(self, texts: pa.LargeStringArray) -> Words:
        """Return the words of texts without nulls, -1 for those in no block."""
        import pyarrow.compute as pc

        found = np.full(len(texts), -1, np.int64)
        hashes = np.fromiter(map(text_hash, texts.to_pylist()), np.int64, len(texts))
        for block in self.blocks:
            rows = np.flatnonzero((hashes >= block.low) & (hashes < block.high) & (found < 0))
            if len(rows):
                places = pc.index_in(texts.take(numbers_to_arrow(rows)), value_set=self._texts(block))
                there = numbers_to_numpy(places.fill_null(-1)).astype(np.int64)
                found[rows] = np.where(there >= 0, there + block.start, -1)
        return found

    def _texts(self, block: TextBlock) -> pa.LargeStringArray:
        with self.lock:
            texts = self._read.pop(block, None)
            self._read[block] = block.texts() if texts is None else texts
            while len(self._read) > _BLOCKS:
                self._read.popitem(last=False)
            return self._read[block]

    def bytes(self) -> int:
        """Estimate the memory that blocks take."""
        with self.lock:
            read: int = sum(texts.nbytes for texts in self._read.values())
        return read + 200 * len(self.blocks)


class DistantSymbols:
    """The texts of symbols by their words, some in blocks.

    `_texts` has those that are at hand, and texts of blocks that are to stay in memory. It decides, as in a
    `SymbolList`: an interruption leaves texts without references, whose words are never used."""

    def __init__(self, symbols: SymbolList | BulkSymbols, blocks: Sequence[TextBlock]) -> None:
        """Take over symbols, with the same words, and leave the texts of blocks in their files."""
        self.made = symbols.made
        """How many symbols were new when they came."""
        self.reuse_count = symbols.reuse_count
        """How many of these have got words that were given back."""
        self._reader = BlockReader(blocks)
        self._end: int = max([len(symbols), *(block.start + block.rows for block in blocks)])
        words = symbols.present(0, len(symbols))
        words = words[self._reader.cover(words) < 0]
        self._texts = dict(zip(words.tolist(), symbols.strings(words.tolist()), strict=True))
        self._words = {text: word for word, text in self._texts.items()}

    @property
    def locks(self) -> tuple[threading.RLock, ...]:
        """The lock of the blocks in memory."""
        return (self._reader.lock,)

    @property
    def blocks(self) -> Sequence[TextBlock]:
        """The blocks, by their words."""
        return self._reader.blocks

    def __len__(self) -> int:
        return self._end

    @property
    def count(self) -> int:
        """The number of symbols."""
        return self._end

    def add_blocks(self, blocks: Iterable[TextBlock]) -> None:
        """Leave the texts of more words to blocks, new words among them. A block takes the place of those inside it."""
        new = [block for block in blocks if not _is_inside(block, self.blocks)]
        others = [block for block in self.blocks if not _is_inside(block, new)]
        # An interruption here leaves words that nothing has.
        self._end = max([self._end, *(block.start + block.rows for block in new)])
        self._reader = BlockReader([*others, *new])
        words: Words = np.fromiter(self._texts, np.int64, len(self._texts))
        for word in words[self._reader.cover(words) >= 0].tolist():
            self._words.pop(self._texts.pop(word), None)

    def at_hand(self, start: int, stop: int) -> Words:
        """Return the words from `start` to `stop` whose texts are in no block."""
        words = np.sort(np.fromiter(self._texts, np.int64, len(self._texts)))
        words = words[(words >= start) & (words < min(stop, self._end))]
        words = words[self._reader.cover(words) < 0]
        known = [word for word in words.tolist() if self._words.get(self._texts[word]) == word]
        return np.array(known, np.int64)

    def keep(self, words: NDArray[Any]) -> None:
        """Have the texts of words at hand from now on, wherever their blocks will be."""
        missing = np.array([word for word in np.unique(words).tolist() if word not in self._texts], np.int64)
        texts = self._reader.texts(missing).to_pylist()
        self._texts.update(zip(missing.tolist(), texts, strict=True))
        self._words.update(zip(texts, missing.tolist(), strict=True))

    def forget_blocks(self) -> None:
        """Forget the symbols of blocks: their words have no meaning from now on."""
        self._reader = BlockReader([])

    def copy_to_memory(self) -> BulkSymbols:
        """Return the same symbols in memory."""
        first = SymbolList()
        first.reuse_count = self.reuse_count
        symbols = BulkSymbols(first)
        for place, block in enumerate([*self.blocks, None]):
            self._copy(symbols, self._end if block is None else block.start)
            if block is not None and not symbols.follow(block.start, block.texts().to_pylist()):
                message = f"block {place} of symbols has texts of others"
                raise InternalError(Problem("E0901", message))
        symbols.made = self.made
        return symbols

    def _copy(self, symbols: BulkSymbols, stop: int) -> None:
        """Add the texts at hand up to a word to others."""
        start = len(symbols)
        texts: list[str | None] = [None] * (stop - start)
        for word in self.at_hand(start, stop).tolist():
            texts[word - start] = self._texts[word]
        symbols.follow(start, texts)

    def text(self, word: int) -> str:
        """Return the text of a word."""
        return self.strings([word])[0]

    def strings(self, words: Sequence[int]) -> list[str]:
        """Return the texts of words."""
        found = list(map(self._texts.get, words))
        if None in found:
            missing = list({word for word, text in zip(words, found, strict=True) if text is None})
            read = dict(zip(missing, self._reader.texts(np.array(missing)).to_pylist(), strict=True))
            found = [read[word] if text is None else text for word, text in zip(words, found, strict=True)]
        return found  # type: ignore[return-value]  # all are there now

    def array(self, words: NDArray[Any]) -> pa.LargeStringArray:
        """Return the texts of int32 or int64 words."""
        if len(words) and (self._reader.cover(words) >= 0).all():
            return self._reader.texts(words)
        return text_to_arrow(self.strings(words.tolist()))

    def get(self, text: str) -> int | None:
        """Return the word of a symbol, or None if it has none yet."""
        word = self._words.get(text)
        return self.words([text])[0] if word is None else word

    def words(self, strings: Sequence[str]) -> list[int | None]:
        """Return the words of symbols, None for those that have none yet."""
        found = list(map(self._words.get, strings))
        if None in found:
            missing = list({text for text, word in zip(strings, found, strict=True) if word is None})
            missing = [text for text in missing if surrogate_in(text) is None]  # No block has others.
            words = self._reader.words(text_to_arrow(missing)).tolist()
            read = {text: word for text, word in zip(missing, words, strict=True) if word >= 0}
            found = [read.get(text) if word is None else word for text, word in zip(strings, found, strict=True)]
        return found

    def add(self, strings: Sequence[str], *, distinct: bool = False) -> list[int]:
        """Return the words of symbols; new ones get the next words."""
        found = self.words(strings)
        new = list(dict.fromkeys(text for text, word in zip(strings, found, strict=True) if word is None))
        if new:
            start = self._end
            self._append(new)
            fresh = dict(zip(new, range(start, self._end), strict=True))
            found = [fresh[text] if word is None else word for text, word in zip(strings, found, strict=True)]
        return found  # type: ignore[return-value]  # all have words now

    def _append(self, texts: Sequence[str | None]) -> None:
        """Give the next words to different texts that have none yet, and to None, which is no text."""
        new = {word: text for word, text in enumerate(texts, self._end) if text is not None}
        self._texts.update(new)
        self._end += len(texts)
        self._words.update((text, word) for word, text in new.items())
        self.made += len(new)

    def stop_reusing(self) -> None:
        """Do nothing: no word is used again."""

    def follow(self, start: int, texts: Sequence[str | None]) -> bool:
        """Add the symbols that another list has from `start` on, None for reclaimed words there. Return True if that is
        possible."""
        both = min(self._end, start + len(texts)) - start
        known = [(start + i, text) for i, text in enumerate(texts[: max(both, 0)]) if text is not None]
        if start > self._end or self.strings([word for word, _ in known]) != [text for _, text in known]:
            return False
        new = texts[max(both, 0) :]
        if any(word is not None for word in self.words([text for text in new if text is not None])):
            return False
        self._append(new)
        return True

    def present(self, start: int, stop: int) -> Words:
        """Return the words from `start` to `stop` that belong to symbols, or that blocks have."""
        words = np.arange(start, min(stop, self._end), dtype=np.int64)
        return np.sort(np.concatenate([self.at_hand(start, stop), words[self._reader.cover(words) >= 0]]))

    def give_back(self, used: NDArray[np.bool_]) -> None:
        """Raise InternalError: the dictionary keeps all words."""
        raise InternalError(Problem("E0901", "symbols in files are not given back"))

    def bytes(self) -> int:
        """Estimate the memory that the symbols take."""
        characters = sum(map(len, self._words))
        own = characters + STRING_OVERHEAD * len(self._words) + sys.getsizeof(self._words) + sys.getsizeof(self._texts)
        return own + self._reader.bytes()


def _is_inside(block: TextBlock, others: Iterable[TextBlock]) -> bool:
    return any(each.start <= block.start and block.start + block.rows <= each.start + each.rows for each in others)
