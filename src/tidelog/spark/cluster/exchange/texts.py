"""Symbols and records on their way between dictionaries that number them alike, and blocks of symbols.

The driver's dictionary and those of the partitions that need one hold the same values in the same order; what one of
them has gained goes to the others as a file, which may have values again that they know. Only the driver, between
epochs, and the first partition, within one, make new values.

A block of symbols has the texts of consecutive words, as part of a file of the state directory. Executors number new
symbols and write their blocks, and read those that have the symbols of a frame; the driver keeps the places of blocks.
As bytes a block is a checksum and Arrow's stream of one column of text.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, NamedTuple, Protocol

import numpy
import pyarrow as pa

from tidelog.common.arrays import Words
from tidelog.errors import DataError, InternalError, Problem
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.storage.dictionary import Dictionary, at_hand, blocks_of, move_to_blocks, texts_of
from tidelog.storage.distant_symbols import TextBlock

HASHES = 1 << 32
"""The number of hashes of texts."""
BLOCK = 100_000
"""The symbols of a block, about."""
PREFIX = "texts-"
"""The names of files of blocks begin with it."""
_SUM = 8


class BlockPlace(Protocol):
    """A cluster engine, as far as blocks are in its folder."""

    folder: Folder


class SymbolBlock(NamedTuple):
    """A block in a file of a folder, from `offset` on. Its words are from `start` on, and the hashes of its texts are
    from `low` on and below `high`, see `storage.distant_symbols`."""

    folder: str
    file: str
    offset: int
    length: int
    start: int
    rows: int
    low: int = 0
    high: int = HASHES

    def texts(self) -> pa.LargeStringArray:
        """Read the texts. Raise DataError (E0682) where the file is missing or damaged, and OSError."""
        try:
            data = Folder(self.folder).read(self.file, self.offset, self.length)
        except FileNotFoundError as error:
            raise self._damage_error("is missing") from error
        if len(data) < _SUM or data[:_SUM] != b"%08x" % zlib.crc32(data[_SUM:]):
            raise self._damage_error("has another checksum")
        column = pa.ipc.open_stream(pa.py_buffer(data)[_SUM:]).read_all().column(0)
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

    def _damage_error(self, what: str) -> DataError:
        hint = "restore the file from a copy; or close the database, remove the file and open the state folder again, "
        hint += "which evaluates the program over its facts. Without a state folder, begin with a new database"
        message = f"the texts of {self.rows:,} symbols cannot be read: their file {what}"
        return DataError(Problem("E0682", message, place=Folder(self.folder).inside(self.file).address, hint=hint))

    def is_of(self, folder: Folder) -> bool:
        """Return True if the driver has written the block to a folder: with texts of all hashes."""
        return self.folder == folder.address and (self.low, self.high) == (0, HASHES)

    @property
    def stop(self) -> int:
        """The word behind the last one."""
        return self.start + self.rows


def write_block(file: IO[bytes], texts: pa.Array) -> int:
    """Write texts to a file; return their number of bytes."""
    sink = pa.BufferOutputStream()
    table = pa.table({"text": texts.cast(pa.large_string())})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    file.write(b"%08x" % zlib.crc32(data))
    file.write(data)
    return _SUM + len(data)


class _Piece:
    """Consecutive words, some of blocks, that become a block."""

    def __init__(self, start: int) -> None:
        self.start = self.stop = start
        self.words: list[Words] = []
        self.blocks: list[SymbolBlock] = []

    @property
    def is_new(self) -> bool:
        """Return True unless a block is there that has all this."""
        return len(self.words) + len(self.blocks) > 1 or not self.blocks

    def texts(self, dictionary: Dictionary) -> pa.Array:
        """Return the texts, null for words that have no meaning."""
        words = numpy.concatenate([*self.words, *(_words_in(block) for block in self.blocks)])
        every, words = numpy.arange(self.start, self.stop), numpy.sort(words)
        rows = numpy.minimum(numpy.searchsorted(words, every), len(words) - 1)
        return texts_of(dictionary, words).take(pa.array(rows, mask=words[rows] != every))


def move_texts(dictionary: Dictionary, place: BlockPlace, size: int) -> None:
    """Write the symbols that a dictionary has at hand to blocks of at most `size` words, and leave them there. Blocks
    of the driver are joined with these and with each other as far as they fit. Their files stay, because manifests and
    partitions may name them. Raise UsageError (E0681)."""
    name, found = f"{PREFIX}{secrets.token_hex(12)}", list[SymbolBlock]()
    pieces = [piece for piece in _pieces(dictionary, place, size) if piece.is_new]

    def write(file: IO[bytes]) -> None:
        offset = 0
        for piece in pieces:
            length = write_block(file, piece.texts(dictionary))
            rows = piece.stop - piece.start
            found.append(SymbolBlock(place.folder.address, name, offset, length, piece.start, rows))
            offset += length

    if pieces:
        try:
            place.folder.write_by(name, write)
        except OSError as error:
            raise place.folder.unusable(error) from error
        move_to_blocks(dictionary, found)


def _pieces(dictionary: Dictionary, place: BlockPlace, size: int) -> list[_Piece]:
    """Return the blocks that the symbols at hand and blocks of the driver may become. Blocks of executors stay: they
    have texts with similar hashes only."""
    ids, pieces, end = at_hand(dictionary, 0, len(dictionary)), list[_Piece](), True
    for block in [*blocks_of(dictionary), None]:
        count = numpy.searchsorted(ids, len(dictionary) if block is None else block.start)
        before, ids = ids[:count], ids[count:]
        while len(before):
            if end or before[0] >= pieces[-1].start + size:
                pieces.append(_Piece(int(before[0])))
            piece, end = pieces[-1], False
            fitting = numpy.searchsorted(before, piece.start + size)
            piece.words.append(before[:fitting])
            piece.stop, before = int(before[fitting - 1]) + 1, before[fitting:]
        if not isinstance(block, SymbolBlock) or not block.is_of(place.folder):
            end = True
            continue
        if end or block.stop > pieces[-1].start + size:
            pieces.append(_Piece(block.start))
        pieces[-1].blocks.append(block)
        pieces[-1].stop, end = block.stop, False
    return pieces


def _words_in(block: SymbolBlock) -> Words:
    """Return the words of a block that have a meaning."""
    there = block.texts().is_valid().to_numpy(zero_copy_only=False)
    return block.start + numpy.flatnonzero(there)


def hash_range(number: int, count: int) -> tuple[int, int]:
    """Return the hashes of a block among so many: those from the first number on and below the second."""
    return -(-number * HASHES // count), -(-(number + 1) * HASHES // count)


def files_in(folder: Folder, blocks: Iterable[TextBlock]) -> set[str]:
    """Return the files of a folder that blocks are in."""
    return {each.file for each in blocks if isinstance(each, SymbolBlock) and each.folder == folder.address}


def relocated_blocks(folder: Folder, blocks: Iterable[TextBlock], *, away: bool) -> tuple[SymbolBlock, ...]:
    """Return blocks as a file of a folder has them: without the address of that folder, which may move, or with it
    again, unless they go `away`."""
    before, after = (folder.address, "") if away else ("", folder.address)
    own = (block for block in blocks if isinstance(block, SymbolBlock))  # There are no others.
    return tuple(block._replace(folder=after) if block.folder == before else block for block in own)


# --- symbols and records between dictionaries ------------------------------------------------------------------------


SYMBOLS = ""
"""Stands for symbols among the kinds of records."""


def dictionary_extent(dictionary: Dictionary, kinds: Iterable[str]) -> dict[str, int]:
    """Return the numbers of symbols and of the records of each of these types."""
    counts = {kind: dictionary.extent(kind) - 1 for kind in kinds}
    return {SYMBOLS: len(dictionary), **{kind: count for kind, count in counts.items() if count}}


def count_values(known: Mapping[str, int], now: Mapping[str, int]) -> int:
    """Return the number of values that the extent `now` has beyond the extent `known`."""
    return sum(max(0, number - known.get(kind, 0)) for kind, number in now.items())


def values_beyond(dictionary: Dictionary, known: Mapping[str, int], now: Mapping[str, int], folder: Folder) -> bytes:
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
            new[kind] = start, count, words, dictionary.strings(words), relocated_blocks(folder, blocks, away=True)
        elif count > start:
            present = numpy.zeros(count - start, bool)
            present[dictionary.present(kind, start + 1, count + 1) - start - 1] = True
            new[kind] = start, (present, dictionary.fields_of(kind, numpy.arange(start + 1, count + 1)))
    return wire.dumps((new, {kind: dictionary.types[kind] for kind in new if kind != SYMBOLS}))


def learn_values(dictionary: Dictionary, data: bytes, folder: Folder) -> dict[str, int]:
    """Add the values of another dictionary from a file of the folder; those that are here already must be the same.
    Return the extent that is known then, of the kinds that the file is about."""
    new, records = wire.loads(data)
    dictionary.add_records(records)
    extents = {}
    for kind, (start, *added) in new.items():
        if kind == SYMBOLS:
            count, words, texts, blocks = added
            alike = _learn_symbols(dictionary, start, count, words, texts, relocated_blocks(folder, blocks, away=False))
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
            move_to_blocks(dictionary, [block])
            start = max(end, block.start + block.rows)
    return True
