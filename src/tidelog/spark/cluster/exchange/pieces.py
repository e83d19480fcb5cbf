"""Pieces: the rows that one partition sends another in a round, as part of a file.

A piece is a sequence of statements: rows that are asserted or retracted in a relation. As bytes it is the length of a
JSON header, the header, padding to 8 bytes, and the words of all rows. Facts that are written once more, to another
place or in the place of many pieces, are statements with the epochs in which the facts came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy

from tidelog.arrays import Words
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


@dataclass(frozen=True)
class PieceMessage:
    """A piece for the partition `target`, or for all of them (-1), released with those of the same `level`."""

    target: int
    level: int
    piece: Piece


def packed(statements: Iterable[PieceChange]) -> bytes:
    """Return the bytes of a piece with these statements."""
    entries, bodies = [], []
    for name, asserts, words, epoch in statements:
        entries.append((name, asserts, *words.shape, *([epoch] if epoch else [])))
        bodies.append(numpy.ascontiguousarray(words, numpy.int64).tobytes())
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    return b"".join([len(header).to_bytes(8, "little"), header, *bodies])


def unpacked(piece: bytes) -> Iterator[PieceChange]:
    """Yield the statements of a piece."""
    start = 8 + int.from_bytes(piece[:8], "little")
    for name, asserts, rows, arity, *epoch in json.loads(piece[8:start]):
        words = numpy.frombuffer(piece, numpy.int64, rows * arity, start).reshape(rows, arity)
        start += words.nbytes
        yield PieceChange(name, asserts, words, *epoch)


def read_pieces(folder: Folder, pieces: Iterable[Sequence[object]]) -> Iterator[PieceChange]:
    """Yield the statements of pieces in turn."""
    for piece in pieces:
        file, offset, length, _ = Piece(*piece)  # type: ignore[arg-type]  # lists, where they have been JSON
        yield from unpacked(folder.read(file, offset, length))


class PieceFile:
    """A file of pieces in the making."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, statements: Sequence[PieceChange]) -> Piece:
        """Append a piece; returns where it will be."""
        data = packed(statements)
        piece = Piece(self.name, self._length, len(data), sum(len(each.words) for each in statements))
        self._parts.append(data)
        self._length += len(data)
        return piece

    def parted(self, statements: Iterable[PieceChange], homes: Callable[[Words], Words]) -> list[tuple[int, Piece]]:
        """Append a piece for each partition that `homes` returns for one of the rows."""
        parts: dict[int, list[PieceChange]] = {}
        for each in statements:
            for target, rows in parcels(homes(each.words), each.words) if len(each.words) else ():
                parts.setdefault(target, []).append(each._replace(words=rows))
        return [(target, self.add(own)) for target, own in sorted(parts.items())]

    def write(self, folder: Folder) -> None:
        """Write the file, if it has any piece."""
        if self._parts:
            folder.write(self.name, b"".join(self._parts))
