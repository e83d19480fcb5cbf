"""Texts and places in them, which syntax trees and error messages share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class SourceText:
    """A text and the name under which messages show it (a path, or "<text>")."""

    name: str
    text: str = field(repr=False)
    included: Span | None = field(default=None, compare=False, repr=False)
    """The line of another text that includes this one."""

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The offset of each line's first character."""
        return (0, *(i + 1 for i, c in enumerate(self.text) if c == "\n"))


@dataclass(frozen=True)
class Span:
    """The characters `start` to `end` (exclusive) of a source. `via` are places with labels, which say how they come to
    be there: the instances of components."""

    source: SourceText = field(repr=False)
    start: int
    end: int
    via: tuple[tuple[Span, str], ...] = field(default=(), compare=False, repr=False)
