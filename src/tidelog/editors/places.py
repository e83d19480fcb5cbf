"""Offsets of a text as the positions of the Language Server Protocol, and back."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from lsprotocol.types import Position, Range


class TextPlaces:
    """The lines of a text. `encoding` is the unit in which positions count the characters of a line: "utf-8", "utf-16"
    or "utf-32"."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._encoding = encoding

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]

    def position(self, offset: int) -> Position:
        """Return the position of an offset; behind the text, that of its end."""
        offset = min(max(0, offset), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._units(self.text[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> Range:
        """Return the range between two offsets."""
        return Range(self.position(start), self.position(end))

    def offset(self, position: Position) -> int:
        """Return the offset of a position; behind the end of a line, that of its end."""
        if position.line >= len(self._starts) - 1:
            return len(self.text)
        start = self._starts[position.line]
        line = self.text[start : self._starts[position.line + 1] - 1]
        units = 0
        for i, character in enumerate(line):
            if units >= position.character:
                return start + i
            units += self._units(character)
        return start + len(line)

    def _units(self, text: str) -> int:
        if text.isascii() or self._encoding == "utf-32":
            return len(text)
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
