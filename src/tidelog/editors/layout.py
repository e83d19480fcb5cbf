"""A text as items, and documents of texts and breakable spaces with the printer that fits them into lines.

Items are tokens, comments, annotations and preprocessor lines, each with its place. `items` loses only blanks: every
other character belongs to an item.

A group stands on one line if it fits, and else each of its own breaks begins a line (Wadler, *A prettier printer*). A
line comment ends its line, so that every group around it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from lark import Token

from tidelog.language import lexer
from tidelog.language.annotations import annotation_ends
from tidelog.language.stretches import stretches

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


def indent(*parts: Pretty) -> Arrangement:
    """Return parts whose lines are indented."""
    return Arrangement(parts, indented=True)


def _width(part: Break | NewLine) -> int:
    return int(isinstance(part, Break) and part.blank)


def fitted_text(document: Arrangement, width: int, margin: int = 0) -> str:
    """Return the text of a document in lines of at most `width` characters where that is possible. `margin` is the
    indentation of its lines, in characters; the first line comes without."""
    printer = _Printer(width, margin)
    printer.print_document(document, margin, broken=True, behind=0)
    return "".join(printer.out)


class _Printer:
    """The lines so far, and the column in which the last one ends."""

    def __init__(self, width: int, column: int) -> None:
        self.out: list[str] = []
        self._width = width
        self._column = column
        self._pending: int | None = None
        """The indentation of a line that has to begin; its blanks come with its first text."""

    def print_document(self, document: Arrangement, margin: int, *, broken: bool, behind: int) -> None:
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
                self.print_document(
                    part, margin, broken=broken, behind=_measure_until_break(document.parts[i + 1 :], behind)
                )
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


def _measure_until_break(parts: Sequence[Pretty], behind: int) -> int:
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


COMMENT, ANNOTATION, LINE = "COMMENT", "ANNOTATION", "LINE"
_ASIDE = re.compile(r"//[^\n]*|/\*(?s:.*?)\*/")
_OWN_LINE = re.compile(r"^([^\S\n]*)\.(include|once)\b", re.MULTILINE)


@dataclass(frozen=True)
class Item:
    """A token with its `kind` in the grammar, or a COMMENT, ANNOTATION or preprocessor LINE. `begins` and `ends` say
    that it is the first and the last item of its line, `apart` that blanks or comments stand in front of it; `blank`
    that an empty line does."""

    kind: str
    text: str
    start: int
    end: int
    begins: bool = False
    ends: bool = False
    apart: bool = False
    blank: bool = False

    @property
    def ends_line(self) -> bool:
        """True for a comment behind which nothing may stand in its line, or nothing did."""
        return self.kind == COMMENT and (self.ends or self.text.startswith("//"))


def without_lines(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text with blanks in place of preprocessor lines, and the offsets of these lines."""
    marked = _OWN_LINE.sub(r"\1#\2", text)
    lines = [(each.start, each.end) for each in stretches(marked, tuple) if not each.whole]
    for start, end in reversed(lines):
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text, lines


def items(text: str) -> list[Item]:
    plain, lines = without_lines(text)
    found: list[tuple[str, int, int]] = [(LINE, *_trim(text, start, end)) for start, end in lines]
    tokens = lexer.tokens(plain)
    position = 0
    for kind, start, end in [*_parts(plain, tokens), ("", len(plain), len(plain))]:
        found += [(COMMENT, *match.span()) for match in _ASIDE.finditer(plain, position, start)]
        if kind:
            found.append((kind, start, end))
        position = end
    return list(_items_at(text, sorted(found, key=lambda each: each[1])))


def _parts(text: str, tokens: list[Token]) -> Iterator[tuple[str, int, int]]:
    """Yield the kinds and places of tokens, with each annotation as one."""
    ends = annotation_ends(tokens)
    i = 0
    while i < len(tokens):
        end = ends.get(i, i + 1)
        kind = ANNOTATION if i in ends else str(tokens[i].type)
        yield kind, tokens[i].start_pos or 0, tokens[end - 1].end_pos or 0
        i = end


def _items_at(text: str, found: list[tuple[str, int, int]]) -> Iterator[Item]:
    """Yield the items of these kinds and places."""
    for i, (kind, start, end) in enumerate(found):
        before = text[found[i - 1][2] if i else 0 : start]
        behind = text[end : found[i + 1][1] if i + 1 < len(found) else len(text)]
        begins = not i or "\n" in before
        last = i + 1 == len(found) or "\n" in behind
        yield Item(kind, text[start:end].rstrip(), start, end, begins, last, bool(before), before.count("\n") > 1)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place without the blanks at its ends."""
    shown = text[start:end]
    return start + len(shown) - len(shown.lstrip()), start + len(shown.rstrip())
