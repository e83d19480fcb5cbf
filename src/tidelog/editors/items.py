"""A text as items: tokens, comments, annotations and preprocessor lines, each with its place.

`items` loses only blanks: every other character belongs to an item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token

from tidelog.language import lexer
from tidelog.language.annotations import annotation_ends
from tidelog.language.stretches import stretches

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
    """Return the items of a text in order."""
    plain, lines = without_lines(text)
    found: list[tuple[str, int, int]] = [(LINE, *_trimmed(text, start, end)) for start, end in lines]
    tokens = lexer.tokens(plain)
    position = 0
    for kind, start, end in [*_parts(plain, tokens), ("", len(plain), len(plain))]:
        found += [(COMMENT, *match.span()) for match in _ASIDE.finditer(plain, position, start)]
        if kind:
            found.append((kind, start, end))
        position = end
    return list(_placed(text, sorted(found, key=lambda each: each[1])))


def _parts(text: str, tokens: list[Token]) -> Iterator[tuple[str, int, int]]:
    """Yield the kinds and places of tokens, with each annotation as one."""
    ends = annotation_ends(tokens)
    i = 0
    while i < len(tokens):
        end = ends.get(i, i + 1)
        kind = ANNOTATION if i in ends else str(tokens[i].type)
        yield kind, tokens[i].start_pos or 0, tokens[end - 1].end_pos or 0
        i = end


def _placed(text: str, found: list[tuple[str, int, int]]) -> Iterator[Item]:
    """Yield the items of these kinds and places."""
    for i, (kind, start, end) in enumerate(found):
        before = text[found[i - 1][2] if i else 0 : start]
        behind = text[end : found[i + 1][1] if i + 1 < len(found) else len(text)]
        begins = not i or "\n" in before
        last = i + 1 == len(found) or "\n" in behind
        yield Item(kind, text[start:end].rstrip(), start, end, begins, last, bool(before), before.count("\n") > 1)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place without the blanks at its ends."""
    shown = text[start:end]
    return start + len(shown) - len(shown.lstrip()), start + len(shown.rstrip())
