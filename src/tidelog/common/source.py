"""Texts and places in them, which syntax trees and error messages share."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_MARK = re.compile(
    r'//[^\n]*|/\*(?s:.*?)\*/|"(?:[^"\\\n]|\\.)*"'  # nothing in comments and strings is a mark
    r'|^[^\S\n]*#[^\S\n]*(?:line[^\S\n]+)?(?P<line>[0-9]{1,9})(?:[^\S\n]+"(?P<name>(?:[^"\\\n]|\\.)*)")?[^\n]*$',
    re.MULTILINE,
)


class LineMark(NamedTuple):
    """A mark of a preprocessor that ran before, as in `# 12 "a.dl"`: the line `here` is a line of another file."""

    here: int
    name: str
    line: int


@dataclass(frozen=True)
class SourceText:
    """A text and the name under which messages show it (a path, or "<text>")."""

    name: str
    text: str = field(repr=False)
    included: Span | None = field(default=None, compare=False, repr=False)
    """The line of another text that includes this one."""
    is_program: bool = field(default=False, compare=False, repr=False)
    """True if the text may have marks of lines; elsewhere, `#` begins a comment."""

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The offset of each line's first character."""
        return (0, *(i + 1 for i, c in enumerate(self.text) if c == "\n"))

    @cached_property
    def marks(self) -> tuple[LineMark, ...]:
        """The lines of other files that preprocessors have put here, in order."""
        found: list[LineMark] = []
        name = self.name
        for match in _MARK.finditer(self.text) if self.is_program and "#" in self.text else ():
            if match["line"] is not None:
                name = name if match["name"] is None else re.sub(r"\\(.)", r"\1", match["name"])
                found.append(LineMark(bisect_right(self.line_starts, match.start()) + 1, name, int(match["line"])))
        return tuple(found)

    def origin(self, line: int) -> tuple[str, int]:
        """Return the file that a line of this text comes from, and its number there."""
        number = bisect_right(self.marks, line, key=lambda mark: mark.here)
        if not number:
            return self.name, line
        mark = self.marks[number - 1]
        return mark.name, mark.line + line - mark.here


@dataclass(frozen=True)
class Span:
    """The characters `start` to `end` (exclusive) of a source. `via` are places with labels, which say how they come to
    be there: the instances of components."""

    source: SourceText = field(repr=False)
    start: int
    end: int
    via: tuple[tuple[Span, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def text(self) -> str:
        """Return these characters."""
        return self.source.text[self.start : self.end]
