"""Problems as diagnostics of an editor, and the changes that their hints propose.

`TextPlaces` has the offsets of a text as the positions of the Language Server Protocol, and back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
    Position,
    Range,
    TextEdit,
    WorkspaceEdit,
)

from tidelog.common.source import Span
from tidelog.errors import Problem

SOURCE = "tidelog"
_MEANT = re.compile(r"did you mean `([^`]+)`\?")
_QUOTED = re.compile(r"`([^`]+)`")
_DECLARED = re.compile(r"declare it: `([^`]+)`")

Place = Callable[[Span], tuple[Path, str, int, int]]
"""Returns the file of a place, its text, and the offsets there."""


def diagnostics(
    problems: Iterable[Problem], place: Place, main: Path, encoding: str, uri: Callable[[Path], str]
) -> dict[Path, list[Diagnostic]]:
    """Return the diagnostics of each file; those without a place stand at the begin of the file `main`."""
    texts: dict[tuple[Path, int], TextPlaces] = {}

    def locate_span(span: Span) -> tuple[Path, Range]:
        path, text, start, end = place(span)
        known = texts.setdefault((path, len(text)), TextPlaces(text, encoding))
        return path, known.range(start, max(end, start))

    found: dict[Path, list[Diagnostic]] = {}
    for problem in problems:
        path, shown = main, Range(Position(0, 0), Position(0, 0))
        if problem.span is not None:
            path, shown = locate_span(problem.span)
        message = (
            problem.message if problem.span is not None or not problem.place else f"{problem.place}: {problem.message}"
        )
        notes = [
            DiagnosticRelatedInformation(Location(uri(where), at), label)
            for where, at, label in ((*locate_span(span), label) for span, label in problem.places)
        ]
        warning = problem.severity == "warning"
        found.setdefault(path, []).append(
            Diagnostic(
                shown,
                f"{message}\nhint: {problem.hint}" if problem.hint else message,
                severity=DiagnosticSeverity.Warning if warning else DiagnosticSeverity.Error,
                code=problem.code,
                source=SOURCE,
                related_information=notes,
                tags=[DiagnosticTag.Unnecessary] if problem.code in ("E0292", "E0295", "E0296") else None,
            )
        )
    return found


def fixes(diagnostic: Diagnostic, text: TextPlaces, uri: str) -> list[CodeAction]:
    """Return the changes that the hint of a diagnostic proposes: another spelling, `_` for a variable, a
    declaration."""
    start, end = text.offset(diagnostic.range.start), text.offset(diagnostic.range.end)
    shown = text.text[start:end]
    message, _, hint = diagnostic.message.partition("\nhint: ")
    if meant := _MEANT.search(hint):
        wrong = next((each for each in _QUOTED.findall(message) if each in shown), None)
        if wrong is None:
            return []
        begin = start + shown.index(wrong)
        return [_action(f"Write `{meant[1]}`", diagnostic, uri, text.range(begin, begin + len(wrong)), meant[1])]
    if diagnostic.code == "E0292":
        return [_action("Write `_`", diagnostic, uri, text.range(start, end), "_")]
    if declared := _DECLARED.search(hint):
        line = text.text.rfind("\n", 0, start) + 1
        inserted = f"{declared[1]}\n"
        return [_action(f"Insert `{declared[1]}`", diagnostic, uri, text.range(line, line), inserted, preferred=False)]
    return []


def _action(
    title: str, diagnostic: Diagnostic, uri: str, place: Range, text: str, *, preferred: bool = True
) -> CodeAction:
    edit = WorkspaceEdit(changes={uri: [TextEdit(place, text)]})
    return CodeAction(title, kind=CodeActionKind.QuickFix, diagnostics=[diagnostic], is_preferred=preferred, edit=edit)


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
