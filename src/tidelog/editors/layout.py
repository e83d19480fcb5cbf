"""Documents of texts and breakable spaces, and the printer that fits them into lines.

A group stands on one line if it fits, and else each of its own breaks begins a line (Wadler, *A prettier printer*). A
line comment ends its line, so that every group around it breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

INDENT = 4


@dataclass(frozen=True)
class Fragment:
    """A text that stays together. One that `ends_line` is a comment to the end of its line."""

    text: str
    ends_line: bool = False


@dataclass(frozen=True)
class Break:
    """A space, or nothing if not `blank`, where a line may end."""

    blank: bool = True


@dataclass(frozen=True)
class NewLine:
    """A place where a line ends."""


@dataclass(frozen=True)
class Arrangement:
    """Parts in a row; those on lines of their own are indented. A `group` breaks for itself, all others with the group
    around them."""

    parts: tuple[Pretty, ...]
    indented: bool = False
    group: bool = False

    @cached_property
    def breaks(self) -> bool:
        """True if it cannot stand on one line."""
        return any(
            isinstance(each, NewLine)
            or (isinstance(each, Fragment) and (each.ends_line or "\n" in each.text))
            or (isinstance(each, Arrangement) and each.breaks)
            for each in self.parts
        )

    @cached_property
    def width(self) -> int:
        """The number of characters on one line."""
        return sum(
            len(each.text)
            if isinstance(each, Fragment)
            else each.width
            if isinstance(each, Arrangement)
            else _width(each)
            for each in self.parts
        )


Pretty: TypeAlias = Fragment | Break | NewLine | Arrangement


def group(*parts: Pretty) -> Arrangement:
    """Return parts that stand on one line if they fit."""
    return Arrangement(parts, group=True)


def indented(*parts: Pretty) -> Arrangement:
    """Return parts whose lines are indented."""
    return Arrangement(parts, indented=True)


def _width(part: Break | NewLine) -> int:
    return int(isinstance(part, Break) and part.blank)


def shown(document: Arrangement, width: int, margin: int = 0) -> str:
    """Return the text of a document in lines of at most `width` characters where that is possible. `margin` is the
    indentation of its lines, in characters; the first line comes without."""
    printer = _Printer(width, margin)
    printer.put(document, margin, broken=True, behind=0)
    return "".join(printer.out)


class _Printer:
    """The lines so far, and the column in which the last one ends."""

    def __init__(self, width: int, column: int) -> None:
        self.out: list[str] = []
        self._width = width
        self._column = column
        self._pending: int | None = None
        """The indentation of a line that has to begin; its blanks come with its first text."""

    def put(self, document: Arrangement, margin: int, *, broken: bool, behind: int) -> None:
        """Print a document. `broken` says how the group around it stands, `behind` is the width of the text that
        follows it without a break."""
        margin += INDENT if document.indented else 0
        if document.group:
            broken = document.breaks or self._at + document.width + behind > self._width
        for i, part in enumerate(document.parts):
            if isinstance(part, Fragment):
                self._text(part.text)
                if part.ends_line:
                    self._pending = margin
            elif isinstance(part, Arrangement):
                self.put(part, margin, broken=broken, behind=_following(document.parts[i + 1 :], behind))
            elif isinstance(part, NewLine) or broken:
                self._pending = margin
            elif part.blank:
                self._text(" ")

    @property
    def _at(self) -> int:
        return self._column if self._pending is None else self._pending

    def _text(self, text: str) -> None:
        if self._pending is not None:
            text = text.lstrip(" ")
            if not text:
                return
            self.out.append("\n" + " " * self._pending)
            self._column, self._pending = self._pending, None
        self.out.append(text)
        last = text.rfind("\n")
        self._column = self._column + len(text) if last < 0 else len(text) - last - 1


def _following(parts: Sequence[Pretty], behind: int) -> int:
    """Return the width of the texts with which `parts` begin, up to the first break."""
    total = 0
    for part in parts:
        if isinstance(part, (Break, NewLine)):
            return total
        if isinstance(part, Arrangement):
            return total + part.width if part.width < 4 else total
        if part.ends_line:
            return total
        total += len(part.text)
    return total + behind
