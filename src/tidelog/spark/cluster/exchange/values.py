"""Symbols and records on their way between dictionaries that number them alike.

The driver's dictionary and those of the partitions that need one hold the same values in the same order; what one of
them has gained goes to the others as a file, which may have values again that they know. Only the driver, between
epochs, and the first partition, within one, make new values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.errors import InternalError, Problem
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.texts import SymbolBlock, placed_in
from tidelog.storage.dictionary import Dictionary, at_hand, blocks_of, move_out

SYMBOLS = ""
"""Stands for symbols among the kinds of records."""


def extent(dictionary: Dictionary, kinds: Iterable[str]) -> dict[str, int]:
    """Return the numbers of symbols and of the records of each of these types."""
    counts = {kind: dictionary.extent(kind) - 1 for kind in kinds}
    return {SYMBOLS: len(dictionary), **{kind: count for kind, count in counts.items() if count}}


def count(known: Mapping[str, int], now: Mapping[str, int]) -> int:
    """Return the number of values that the extent `now` has beyond the extent `known`."""
    return sum(max(0, number - known.get(kind, 0)) for kind, number in now.items())


def told(dictionary: Dictionary, known: Mapping[str, int], now: Mapping[str, int], folder: Folder) -> bytes:
    """Return the values that a dictionary of the extent `now` has beyond the extent `known`, for a file of the folder:
    symbols as blocks in files, as far as they are there."""
    new: dict[str, Any] = {}
    for kind, count in now.items():
        start = known.get(kind, 0)
        if kind == SYMBOLS:
            words = at_hand(dictionary, start, count)
            blocks = [
                block for block in blocks_of(dictionary) if block.start + block.rows > start and block.start < count
            ]
            new[kind] = start, count, words, dictionary.strings(words), placed_in(folder, blocks, away=True)
        elif count > start:
            present = numpy.zeros(count - start, bool)
            present[dictionary.present(kind, start + 1, count + 1) - start - 1] = True
            new[kind] = start, (present, dictionary.fields_of(kind, numpy.arange(start + 1, count + 1)))
    return wire.dumps((new, {kind: dictionary.types[kind] for kind in new if kind != SYMBOLS}))


def learn(dictionary: Dictionary, data: bytes, folder: Folder) -> dict[str, int]:
    """Add what another dictionary has told in a file of the folder; what is here already must be the same. Returns the
    extent up to which has been told then, of the kinds that this was about."""
    new, records = wire.loads(data)
    dictionary.add_records(records)
    extents = {}
    for kind, (start, *added) in new.items():
        if kind == SYMBOLS:
            count, words, texts, blocks = added
            alike = _learn_symbols(dictionary, start, count, words, texts, placed_in(folder, blocks, away=False))
        else:
            [(present, rows)] = added
            count, alike = start + len(rows), dictionary.follow_records(kind, start + 1, rows, present)
        if not alike:
            raise InternalError(Problem("E0901", "two dictionaries of one database number their values differently"))
        extents[kind] = count
    return extents


def _learn_symbols(
    dictionary: Dictionary, start: int, stop: int, words: Words, texts: Sequence[str], blocks: Sequence[SymbolBlock]
) -> bool:
    """Add the symbols from `start` to `stop`: blocks, and between these texts with the words that they have."""
    for block in [*blocks, None]:
        end = stop if block is None else max(start, block.start)
        low, high = numpy.searchsorted(words, (start, end))
        between: list[str | None] = [None] * (end - start)
        for word, text in zip(words[low:high].tolist(), texts[low:high], strict=True):
            between[word - start] = text
        if not dictionary.follow_symbols(start, between):
            return False
        if block is not None:
            move_out(dictionary, [block])
            start = max(end, block.start + block.rows)
    return True
