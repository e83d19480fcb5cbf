"""`formatted`: a program's text in one layout, with the same meaning and all comments.

items        a text as tokens, comments, annotations and preprocessor lines
statements   the layout of a statement;  layout  documents that fit into lines

A statement stands on lines of its own; facts that stand side by side stay so. One empty line between statements stays,
of several as well. Preprocessor lines, and statements with such lines or annotations inside, keep their text. A text
that asks for the numbers of its lines (`__LINE__`) stays as it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path

from tidelog.common.source import SourceText, Span
from tidelog.editors.items import ANNOTATION, COMMENT, LINE, Item, items, without_lines
from tidelog.editors.layout import INDENT, shown
from tidelog.editors.statements import is_kept, statement
from tidelog.errors import InternalError, Problem
from tidelog.language.reading import Preprocessing, ProgramText, parse
from tidelog.language.statements import ReadPiece, pieces
from tidelog.language.syntax import About

WIDTH = 100
"""The number of columns that a line has at most, if it can break."""


def formatted(
    text: str, name: str = "<text>", folder: Path | None = None, preprocessing: Preprocessing | None = None
) -> str:
    """Return the text of a program in the layout of `tidelog format`. `name` is shown in messages, `folder` is where
    `#include` begins to look. Raise ProgramError for a text with errors of syntax, and InternalError (E0901) instead of
    a text with another meaning."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    given = partial(_parsed, name, folder or Path(), preprocessing or Preprocessing())
    before = given(text)
    if "__LINE__" in text:
        return text
    result = _laid_out(text)
    if given(result) != before or _notes(text) != _notes(result):
        raise InternalError(Problem("E0901", "formatting this program would change its meaning", place=name))
    return result


def _parsed(name: str, folder: Path, preprocessing: Preprocessing, text: str) -> list[object]:
    """Return the program that a text means, in a form whose equality means equality of everything but places."""
    return _plain(parse(ProgramText(SourceText(name, text), folder, preprocessing)))


def _plain(node: object) -> list[object]:
    """Return a tree as lists, with the documentation of statements, which equality of trees leaves out."""
    found: list[object] = []
    if isinstance(node, (tuple, list)):
        return [_plain(each) for each in node]
    if isinstance(node, About):
        return [" ".join(node.doc.split()), node.annotations]
    if is_dataclass(node):
        found.append(type(node).__name__)
        found += [_plain(getattr(node, each.name)) for each in fields(node) if each.name != "span"]
        return found
    return [type(node).__name__, node]


def _notes(text: str) -> list[tuple[str, str]]:
    """Return the comments, annotations and preprocessor lines of a text, without their indentation."""
    return [
        (each.kind, "\n".join(line.strip() for line in each.text.split("\n")))
        for each in items(text)
        if each.kind in (COMMENT, ANNOTATION, LINE)
    ]


def _laid_out(text: str) -> str:
    """Return the text in the layout of the formatter."""
    writer = _Writer(text)
    found = items(text)
    starts = [each.start for each in found]
    position = 0
    for piece in _statements(text):
        first, behind = bisect_left(starts, piece.start), bisect_left(starts, piece.end)
        writer.between(found[position:first])
        writer.statement(found[first:behind], known=not piece.problems)
        position = behind
    writer.between(found[position:])
    return writer.text


def _statements(text: str) -> Iterator[ReadPiece]:
    """Yield the statements of a text. Those that need the preprocessor come with problems, several in one piece."""
    plain, _ = without_lines(text)
    for piece in pieces(plain, partial(Span, SourceText("", plain))):
        if piece.end > piece.start:
            yield piece


class _Writer:
    """The lines so far."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._lines: list[str] = []
        self._margin = 0
        self._facts = False
        """True if the last line has facts, to which others may come."""

    @property
    def text(self) -> str:
        """The text, with a line feed at its end if it has any lines."""
        return "".join(f"{line}\n" for line in self._lines)

    def between(self, items: list[Item]) -> None:
        """Add comments, annotations and preprocessor lines between statements."""
        for item in items:
            if item.kind == COMMENT and not item.begins and self._lines:
                self._lines[-1] += f"{'  ' if item.text.startswith('//') else ' '}{item.text}"
            else:
                self._begin(item)
                self._lines.append(item.text if item.kind == LINE else " " * self._margin + item.text)
            self._facts = False

    def statement(self, items: list[Item], *, known: bool) -> None:
        """Add a statement, unchanged if it is not `known` to be one before the preprocessor has gone over it."""
        first, last = items[0], items[-1]
        kept = is_kept(items) or not known
        if first.kind == "RBRACE":
            self._margin = max(0, self._margin - INDENT)
        if kept:
            text = self._source[first.start : last.end]
        else:
            text = shown(statement(items), WIDTH, self._margin)
        fact = not kept and all(each.kind not in (COMMENT, "IF") for each in items) and last.kind == "DOT"
        if fact and self._facts and not first.begins and len(self._lines[-1]) + 1 + len(text) <= WIDTH:
            self._lines[-1] += f" {text}"
            return
        self._begin(first)
        self._lines.append(" " * self._margin + text)
        self._facts = fact and "\n" not in text
        if first.kind == "COMP":
            self._margin += INDENT

    def _begin(self, item: Item) -> None:
        """Leave an empty line where the source has one."""
        if item.blank and self._lines:
            self._lines.append("")
