"""Text in stretches, so that the preprocessor takes to pieces only what it may change.

Most of a program has neither preprocessor lines nor names of macros. Such text goes through the preprocessor as one
token, however long it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import dataclass

_ASIDE = r'//[^\n]*|/\*(?s:.*?)\*/|"(?:[^"\\\n]|\\.)*"'
"""Comments and strings, in which nothing is for the preprocessor."""
_LINE = re.compile(rf"{_ASIDE}|(?P<line>^[^\S\n]*#)", re.MULTILINE)
_REST = re.compile(rf"(?:{_ASIDE}|\\[^\S\n]*\n|[^\n])*\n?")
_NAME = re.compile(r"[A-Za-z_]\w*")
_BRACKET = re.compile(rf"{_ASIDE}|[()]")
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*(?s:.*?)\*/)*")
_WORD = re.compile(r"\w*")


@dataclass(frozen=True)
class Stretch:
    """A part of a text. `whole` says that the preprocessor can take it as one token, `blank` that it has nothing but
    blanks and comments."""

    start: int
    end: int
    whole: bool = False
    blank: bool = False


def stretches(text: str, macros: Callable[[], Collection[str]]) -> Iterator[Stretch]:
    """Yield the text from its begin to its end: preprocessor lines, calls of macros, and what is between them.

    `macros` returns the names that are defined where the reading has got to.
    """
    position = 0
    closed = True
    for match in _LINE.finditer(text):
        if match["line"] is None or match.start() < position:
            continue
        if position < match.start():
            closed = yield from _between(text, position, match.start(), macros(), closed)
        position = _end(_REST, text, match.start())
        yield Stretch(match.start(), position)
    if position < len(text):
        yield from _between(text, position, len(text), macros(), closed)


def _between(text: str, start: int, end: int, macros: Collection[str], closed: bool) -> Generator[Stretch, None, bool]:
    """Yield a text without preprocessor lines. Return False if the arguments of a macro go on behind it; `closed` is
    what the text before returned."""
    if not closed:
        yield Stretch(start, end)
        return False
    used = {*_NAME.findall(text, start, end)}.intersection(macros)
    if used:
        names = re.compile(rf"{_ASIDE}|(?P<name>\b(?:{'|'.join(sorted(used))})\b)")
        for match in names.finditer(text, start, end):
            if match["name"] is None or match.start() < start:
                continue
            behind = _behind_call(text, match.end(), end)
            if start < match.start():
                yield _whole_stretch(text, start, match.start())
            if behind is None:
                yield Stretch(match.start(), end)
                return False
            start = behind
            yield Stretch(match.start(), start)
    if start < end:
        yield _whole_stretch(text, start, end)
    return True


def _whole_stretch(text: str, start: int, end: int) -> Stretch:
    return Stretch(start, end, whole=True, blank=_end(_BLANK, text, start) >= end)


def _behind_call(text: str, start: int, end: int) -> int | None:
    """Return the place behind the arguments of a macro whose name ends at `start`, or `start` if it has none; None if
    they are not closed before `end`."""
    opening = _end(_BLANK, text, start)
    if opening >= end or text[opening] != "(":
        return start
    depth = 0
    for match in _BRACKET.finditer(text, opening, end):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return _end(_WORD, text, match.end())
    return None


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where a pattern that always matches ends."""
    match = pattern.match(text, start)
    return start if match is None else match.end()
