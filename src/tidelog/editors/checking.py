"""`DocumentChecker`: the problems of a program while somebody types it, in time that depends on the change.

A text with lines for the preprocessor is preprocessed as a whole after each change. What comes out is a text that
changes as well, of which only the changed stretches are read and checked again. The places of problems in it lead back
to the texts that it comes from.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tidelog.common.looking import Look, unlimited
from tidelog.common.source import SourceText, Span
from tidelog.editors.documents import Documents, ProgramDocument
from tidelog.errors import Problem, ProgramError
from tidelog.language.check import Checker
from tidelog.language.drafts import DraftChecker, DraftText
from tidelog.language.reading import ProgramText, preprocessed
from tidelog.language.syntax import Program
from tidelog.language.terms import Locate
from tidelog.rules import Compiler
from tidelog.rules.lints import warnings


class DocumentChecker:
    """Finds the problems of one program: those of the checker after each change, then those of all rules together."""

    def __init__(self, documents: Documents, path: Path) -> None:
        self._documents = documents
        self._path = path
        self._checker = DraftChecker()
        self._late = (Checker(), Compiler())
        self._lock = threading.Lock()
        """For those that a change has stopped, and that have not noticed it yet."""
        self._output: DraftText | None = None
        """The text that the preprocessor makes of the document, None for a plain document."""
        self._locate: Locate | None = None

    def problems(self, look: Look = unlimited) -> tuple[list[Problem], Program | None]:
        """Return the problems of syntax and of single statements, and without any the program for `late`."""
        with self._lock:
            look()
            document = self._documents[self._path]
            if document.is_plain:
                self._output = self._locate = None
                program, problems = document.draft.program()
            else:
                problems = self._preprocess(document)
                if problems:
                    return problems, None
                assert self._output is not None
                program, problems = self._output.program()
            if not problems:
                program, problems = self._checker.check(program, look)
            return self._original(problems), None if problems else program

    def _preprocess(self, document: ProgramDocument) -> list[Problem]:
        """Bring the output of the preprocessor up to date; return its problems."""
        source = SourceText(str(self._path), document.text.replace("\r\n", "\n"))
        given = ProgramText(source, self._path.parent)
        text, self._locate, problems = preprocessed(given, read_file=self._documents.text)
        if self._output is None:
            self._output = DraftText(str(self._path), text)
        else:
            self._output.change(text)
        return problems

    def late(self, program: Program, look: Callable[[], object]) -> list[Problem]:
        """Return the problems that show only in all rules together, and the warnings. `look` may raise."""
        checker, compiler = self._late
        try:
            checked = checker.check(program, look=look)
            return self._original(warnings(checked, compiler.compile(checked, look)))
        except ProgramError as error:
            return self._original(list(error.problems))

    def _original(self, problems: list[Problem]) -> list[Problem]:
        """Return problems of the preprocessor's output at the places that these come from."""
        if self._output is None:
            return problems
        return [
            replace(
                each,
                span=None if each.span is None else self._place(each.span),
                notes=tuple((self._place(span), label) for span, label in each.notes),
            )
            for each in problems
        ]

    def _place(self, span: Span) -> Span:
        start = None if self._output is None else self._output.offset(span)
        if start is None or self._locate is None:
            return span
        via = tuple((self._place(place), label) for place, label in span.via)
        return replace(self._locate(start, start + span.end - span.start), via=via)

    def is_there(self, span: Span) -> bool:
        """Return True if the text of a place has not changed since it was found."""
        return self._documents[self._path].draft.offset(span) is not None

    def place(self, span: Span) -> tuple[Path, str, int, int]:
        """Return the file of a place, its text, and the offsets there."""
        document = self._documents[self._path]
        start = document.draft.offset(span)
        if start is not None:
            return self._path, document.text, start, start + span.end - span.start
        if span.source.name == str(self._path):
            return self._path, span.source.text, span.start, span.end
        return Path(os.path.normpath(Path(span.source.name).absolute())), span.source.text, span.start, span.end
