"""Pieces: the rows that one partition sends another in a round, as part of a file.

A piece is a sequence of statements: rows that are asserted or retracted in a relation. As bytes it is the length of a
JSON header and a checksum of what follows: the header, padding to 8 bytes, and the words of all rows. Some pieces
behind each other are a piece, too.
Facts that are written once more, to another place or in the place of many pieces, are statements with the epochs in
which the facts came.

A bundle is the pieces of a file for single partitions, with an index behind them: the driver and the files of rounds
know bundles, and each partition finds its piece itself. So what they hold is in proportion to the number of partitions.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy

from tidelog.common.arrays import Words
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.placement.buckets import parcels


class PieceChange(NamedTuple):
    """Rows of a relation to assert, or to retract, and the epoch in which they came: 0 for that of their round."""

    relation: str
    asserts: bool
    words: Words
    epoch: int = 0


class Piece(NamedTuple):
    """The place of a piece in a file, and its number of rows."""

    file: str
    offset: int
    length: int
    rows: int


class Bundle(NamedTuple):
    """Pieces for single partitions, one behind the other from `first` on, `length` bytes and `rows` rows in all. The
    `targets` are a bit for each partition. From `entries` on each of these has its offset, its length and a checksum of
    both."""

    file: str
    first: int
    length: int
    rows: int
    entries: int
    targets: bytes

    @property
    def whole(self) -> Piece:
        """Return all of its pieces as one."""
        return Piece(self.file, self.first, self.length, self.rows)

    def numbers(self) -> list[int]:
        """Return the partitions that get a piece, ascending."""
        return numpy.flatnonzero(self._bits()).tolist()

    def place(self, folder: Folder, number: int) -> tuple[int, int] | None:
        """Return the offset and the length of the piece for a partition, None if it gets none."""
        bits = self._bits()
        if number >= len(bits) or not bits[number]:
            return None
        start = self.entries + _ENTRY * int(numpy.count_nonzero(bits[:number]))
        entry = _part(folder, self.file, start, _ENTRY)
        offset, length, checksum = numpy.frombuffer(entry, numpy.int64).tolist()
        if checksum != zlib.crc32(entry[:_SUMMED]):
            raise wire.DamagedError("the checksum of the index of pieces is another")
        return offset, length

    def _bits(self) -> Words:
        return numpy.unpackbits(numpy.frombuffer(self.targets, numpy.uint8), bitorder="little").astype(numpy.int64)


_ENTRY, _SUMMED = 24, 16
"""The bytes of an entry of an index, and those before its checksum."""


@dataclass(frozen=True)
class PieceMessage:
    """Pieces that a partition sends, released with those of the same `level`: a `bundle` for single partitions, and a
    piece `shared` by all. The bundle's piece `own` goes to the sender itself."""

    level: int
    bundle: Bundle | None
    shared: Piece | None
    own: Piece | None

    @property
    def rows(self) -> int:
        """The rows of its pieces."""
        return sum(each.rows for each in (self.bundle, self.shared) if each is not None)


def pack(statements: Iterable[PieceChange]) -> bytes:
    """Return the bytes of a piece with these statements."""
    entries, bodies = [], []
    for name, asserts, words, epoch in statements:
        entries.append((name, asserts, *words.shape, *([epoch] if epoch else [])))
        bodies.append(numpy.ascontiguousarray(words, numpy.int64).tobytes())
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    checksum = zlib.crc32(header)
    for body in bodies:
        checksum = zlib.crc32(body, checksum)
    return b"".join([len(header).to_bytes(4, "little"), checksum.to_bytes(4, "little"), header, *bodies])


def unpack(piece: bytes) -> Iterator[PieceChange]:
    """Yield the statements of a piece. Raise DamagedError if it is another one than `pack` has made."""
    start = 0
    while start < len(piece):
        first = start + 8
        checksum = int.from_bytes(piece[start + 4 : first], "little")
        start = first + int.from_bytes(piece[start : start + 4], "little")
        statements = []
        try:
            for name, asserts, rows, arity, *epoch in json.loads(piece[first:start]):
                words = numpy.frombuffer(piece, numpy.int64, rows * arity, start).reshape(rows, arity)
                start += words.nbytes
                statements.append(PieceChange(name, asserts, words, *epoch))
        except (ValueError, TypeError) as error:
            raise wire.DamagedError(f"a piece has no statements: {error}") from None
        if checksum != zlib.crc32(memoryview(piece)[first:start]):
            raise wire.DamagedError("the checksum of a piece is another")
        yield from statements


def read_pieces(
    folder: Folder, number: int, shared: Iterable[Piece], bundles: Iterable[Bundle]
) -> Iterator[PieceChange]:
    """Yield the statements of pieces for all partitions and of those for the partition `number`, in turn."""
    for piece in shared:
        yield from unpack(_part(folder, piece.file, piece.offset, piece.length))
    for bundle in bundles:
        place = bundle.place(folder, number)
        if place is not None:
            yield from unpack(_part(folder, bundle.file, *place))


def _part(folder: Folder, name: str, offset: int, length: int) -> bytes:
    """Return a part of a file. Raise DamagedError if the file ends before."""
    data = folder.read(name, offset, length)
    if len(data) < length:
        raise wire.DamagedError("a file of pieces is too short")
    return data


class PieceFile:
    """A file of pieces in the making."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._parts: list[bytes] = []
        self._length = 0
        self.bundled: dict[int, Piece] = {}
        """The pieces of the last bundle, by their partitions."""

    def add(self, statements: Sequence[PieceChange]) -> Piece:
        """Append a piece; returns where it will be."""
        data = pack(statements)
        piece = Piece(self.name, self._length, len(data), sum(len(each.words) for each in statements))
        self._parts.append(data)
        self._length += len(data)
        return piece

    def bundle(self, parts: Mapping[int, Sequence[PieceChange]]) -> Bundle | None:
        """Append a piece for each of some partitions, and their index; return None without any."""
        if not parts:
            return None
        first, targets = self._length, numpy.zeros(max(parts) + 1, numpy.uint8)
        targets[list(parts)] = 1
        self.bundled = {number: self.add(parts[number]) for number in sorted(parts)}
        index, rows = self._length, sum(piece.rows for piece in self.bundled.values())
        for piece in self.bundled.values():
            entry = numpy.array([piece.offset, piece.length], numpy.int64).tobytes()
            self._parts += [entry, zlib.crc32(entry).to_bytes(_ENTRY - _SUMMED, "little")]
            self._length += _ENTRY
        bits = numpy.packbits(targets, bitorder="little").tobytes()
        return Bundle(self.name, first, index - first, rows, index, bits)

    def bundle_by_home(self, statements: Iterable[PieceChange], homes: Callable[[Words], Words]) -> Bundle | None:
        """Append a piece for each partition that `homes` returns for one of the rows."""
        parts: dict[int, list[PieceChange]] = {}
        for each in statements:
            for target, rows in parcels(homes(each.words), each.words) if len(each.words) else ():
                parts.setdefault(target, []).append(each._replace(words=rows))
        return self.bundle(parts)

    def write(self, folder: Folder) -> None:
        """Write the file, if it has any piece."""
        if self._parts:
            folder.write(self.name, b"".join(self._parts))
