"""Blocks of symbols: the texts of consecutive words, as part of a file of the state directory.

Executors number new symbols and write their blocks, and read those that have the symbols of a frame; the driver keeps
the places of blocks. As bytes a block is a checksum and Arrow's stream of one column of text.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol

import numpy

from tidelog.arrays import Words
from tidelog.durable.damage import damaged
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.storage.dictionary import Dictionary, at_hand, blocks_of, move_out, texts_of
from tidelog.storage.distant_symbols import TextBlock

if TYPE_CHECKING:
    import pyarrow as pa

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
    texts: set[str]
    """The files of blocks."""


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
        import pyarrow as pa

        try:
            data = Folder(self.folder).read(self.file, self.offset, self.length)
        except FileNotFoundError as error:
            raise damaged(self.folder, str(error)) from error
        if len(data) < _SUM or data[:_SUM] != b"%08x" % zlib.crc32(data[_SUM:]):
            raise damaged(self.folder, f"the checksum of symbols in {self.file} is another")
        column = pa.ipc.open_stream(pa.py_buffer(data)[_SUM:]).read_all().column(0)
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def write_block(file: IO[bytes], texts: pa.Array) -> int:
    """Write texts to a file; return their number of bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = pa.table({"text": texts.cast(pa.large_string())})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    file.write(b"%08x" % zlib.crc32(data))
    file.write(data)
    return _SUM + len(data)


def move_texts(dictionary: Dictionary, place: BlockPlace, size: int) -> None:
    """Write the symbols that a dictionary has at hand to blocks of at most `size` words, and leave them there."""
    ids = at_hand(dictionary, 0, len(dictionary))
    before = numpy.searchsorted([block.start for block in blocks_of(dictionary)], ids)
    runs = numpy.split(ids, numpy.flatnonzero(numpy.diff(before)) + 1) if len(ids) else []
    name, found = f"{PREFIX}{secrets.token_hex(12)}", list[SymbolBlock]()

    def write(file: IO[bytes]) -> None:
        offset = 0
        for run in runs:
            for start in range(int(run[0]), int(run[-1]) + 1, size):
                words = run[slice(*numpy.searchsorted(run, (start, start + size)))]
                if len(words):
                    texts = _with_gaps(dictionary, start, words)
                    length = write_block(file, texts)
                    found.append(SymbolBlock(place.folder.address, name, offset, length, start, len(texts)))
                    offset += length

    place.folder.write_by(name, write)
    place.texts.add(name)
    move_out(dictionary, found)


def _with_gaps(dictionary: Dictionary, start: int, words: Words) -> pa.Array:
    """Return the texts of ascending words, and null for words between `start` and these that have no meaning."""
    import pyarrow as pa

    every = numpy.arange(start, int(words[-1]) + 1)
    rows = numpy.searchsorted(words, every)
    return texts_of(dictionary, words).take(pa.array(rows, mask=words[rows] != every))


def hash_range(number: int, count: int) -> tuple[int, int]:
    """Return the hashes of a block among so many: those from the first number on and below the second."""
    return -(-number * HASHES // count), -(-(number + 1) * HASHES // count)


def files_in(folder: Folder, blocks: Iterable[TextBlock]) -> set[str]:
    """Return the files of a folder that blocks are in."""
    return {each.file for each in blocks if isinstance(each, SymbolBlock) and each.folder == folder.address}


def placed_in(folder: Folder, blocks: Iterable[TextBlock], *, away: bool) -> tuple[SymbolBlock, ...]:
    """Return blocks as a file of a folder has them: without the address of that folder, which may move, or with it
    again, unless they go `away`."""
    before, after = (folder.address, "") if away else ("", folder.address)
    own = (block for block in blocks if isinstance(block, SymbolBlock))  # There are no others.
    return tuple(block._replace(folder=after) if block.folder == before else block for block in own)
