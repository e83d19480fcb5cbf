"""The texts that an editor has open, and the files that they include.

A document is the text of one file: as the editor has it, or else as the disk has it. The program of a document has the
document, the files that it includes, and those that these include. A file that another one includes is not a program of
its own: its root is.

`DocumentChecker` finds the problems of a program while somebody types it, in time that depends on the change. A text
with lines for the preprocessor is preprocessed as a whole after each change. What comes out is a text that changes as
well, of which only the changed stretches are read and checked again. The places of problems in it lead back to the
texts that it comes from.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tidelog.common.looking import Look, ignore_limits
from tidelog.common.source import SourceText, Span
from tidelog.editors.layout import without_lines
from tidelog.editors.names import NameOccurrence, names
from tidelog.errors import Problem, ProgramError
from tidelog.language.check import Checker
from tidelog.language.drafts import DraftChecker, DraftStretch, DraftText
from tidelog.language.reading import ProgramText, file_text, is_preprocessed, preprocess_text
from tidelog.language.syntax import Program
from tidelog.language.terms import Locate
from tidelog.rules import Compiler
from tidelog.rules.lints import warnings

_INCLUDE = re.compile(r'^[^\S\n]*[#.]\s*include\s*"([^"\n]+)"', re.MULTILINE)
_MOST_FILES = 500
"""Files of a folder that are looked at for one that includes a document."""


class ProgramDocument:
    """One text, with the names in it."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.draft = DraftText(str(path), _plain(text))
        self._names: dict[int, tuple[DraftStretch, list[NameOccurrence]]] = {}

    def change(self, text: str) -> None:
        self.text = text
        self.draft.change(_plain(text))
        self.__dict__.pop("occurrences", None)

    @property
    def included_paths(self) -> list[Path]:
        """The paths of the files that it includes, whether these exist or not."""
        return included_files(self.path, self.text)

    @property
    def is_plain(self) -> bool:
        """True if it has nothing for the preprocessor."""
        return not is_preprocessed(self.text) and "__LINE__" not in self.text and "__FILE__" not in self.text

    @cached_property
    def occurrences(self) -> list[tuple[NameOccurrence, int]]:
        """The names, each with the offset of its stretch."""
        found: list[tuple[NameOccurrence, int]] = []
        kept: dict[int, tuple[DraftStretch, list[NameOccurrence]]] = {}
        for stretch in self.draft.stretches:
            known = self._names.get(id(stretch)) or (stretch, names(stretch))
            kept[id(stretch)] = known
            start = self.draft.starts[id(stretch.source)]
            found += [(each, start) for each in known[1]]
        self._names = kept
        return found

    def at(self, offset: int) -> tuple[NameOccurrence, int] | None:
        """Return the name at an offset, or that ends there, with the offset of its stretch."""
        touching = [
            (each, start) for each, start in self.occurrences if start + each.start <= offset <= start + each.end
        ]
        return touching[-1] if touching else None

    def stretch(self, offset: int) -> tuple[DraftStretch, int] | None:
        """Return the stretch around an offset, and where it begins."""
        found = None
        for each in self.draft.stretches:
            start = self.draft.starts[id(each.source)]
            if start > offset:
                break
            found = (each, start)
        return found

    def components(self) -> Iterator[tuple[DraftStretch, int, tuple[str, ...]]]:
        """Yield the stretches, where they begin, and the names of the components around each."""
        around: list[str] = []
        for each in self.draft.stretches:
            kinds = [token.type for token in each.tokens]
            if kinds[:1] == ["RBRACE"] and around:
                around.pop()
            yield each, self.draft.starts[id(each.source)], tuple(around)
            if kinds[:1] == ["COMP"] and kinds[-1] == "LBRACE":
                around.append(str(each.tokens[1]))


def included_files(path: Path, text: str) -> list[Path]:
    """Return the files that the text of a file includes, whether these exist or not."""
    if not is_preprocessed(text):
        return []
    return [Path(os.path.normpath(path.parent / name)) for name in _INCLUDE.findall(text)]


def _plain(text: str) -> str:
    """Return the text without preprocessor lines, the other characters where they are."""
    return without_lines(text)[0] if is_preprocessed(text) else text


class Documents:
    """All documents, by the absolute paths of their files."""

    def __init__(self) -> None:
        self._open: dict[Path, ProgramDocument] = {}
        self._stored: dict[Path, tuple[float, ProgramDocument]] = {}
        self._including: dict[Path, tuple[float, list[Path]]] = {}
        self._roots: dict[Path, Path] = {}

    def open(self, path: Path, text: str) -> ProgramDocument:
        """Take the text that an editor has of a file now."""
        known = self._open.get(path)
        if known is None:
            known = self._open[path] = ProgramDocument(path, text)
            self._roots.clear()
        elif known.text != text:
            before = known.included_paths
            known.change(text)
            if known.included_paths != before:
                self._roots.clear()
        return known

    def look_again(self) -> None:
        """Look at the files on disk again for those that include others."""
        self._roots.clear()

    def close(self, path: Path) -> None:
        """Go back to the file on disk."""
        self._open.pop(path, None)
        self._roots.clear()

    def __getitem__(self, path: Path) -> ProgramDocument:
        """Return the document of a file. Raise ProgramError if it cannot be read."""
        if path in self._open:
            return self._open[path]
        changed = path.stat().st_mtime if path.is_file() else 0.0
        known = self._stored.get(path)
        if known is None or known[0] != changed:
            known = self._stored[path] = (changed, ProgramDocument(path, file_text(path, str(path))))
        return known[1]

    def text(self, path: Path, name: str) -> str:
        """Return the text of an included file, of which messages have this name. Raise ProgramError."""
        known = self._open.get(Path(os.path.normpath(path.absolute())))
        return known.text if known is not None else file_text(path, name)

    def program(self, path: Path) -> list[ProgramDocument]:
        """Return the documents of the program that a file is part of."""
        found: dict[Path, ProgramDocument] = {}
        waiting = [self.root(path), path]
        while waiting:
            each = waiting.pop(0)
            if each in found:
                continue
            try:
                found[each] = self[each]
            except ProgramError:  # The diagnostics of the including file say so.
                continue
            waiting += found[each].included_paths
        return list(found.values())

    def root(self, path: Path) -> Path:
        """Return the file whose program a file is part of: the one that includes it, through others or at once."""
        if path not in self._roots:
            root, seen = path, {path}
            while (above := self._above(root)) is not None and above not in seen:
                root = above
                seen.add(above)
            self._roots[path] = root
        return self._roots[path]

    def _above(self, path: Path) -> Path | None:
        """Return an open document, or else a file beside it or in the folder above, that includes a file."""
        for each in self._open.values():
            if each.path != path and path in each.included_paths:
                return each.path
        beside = [*path.parent.glob("*.dl"), *path.parent.parent.glob("*.dl")][:_MOST_FILES]
        return next((other for other in sorted({*beside} - {path}) if path in self._included_by(other)), None)

    def _included_by(self, path: Path) -> list[Path]:
        """Return the files that a file on disk includes."""
        changed = path.stat().st_mtime
        known = self._including.get(path)
        if known is None or known[0] != changed:
            text = path.read_bytes().decode("utf-8", "replace")
            known = self._including[path] = (changed, included_files(path, text))
        return known[1]


# --- problems --------------------------------------------------------------------------------------------------------


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

    def problems(self, look: Look = ignore_limits) -> tuple[list[Problem], Program | None]:
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
        text, self._locate, problems = preprocess_text(given, read_file=self._documents.text)
        if self._output is None:
            self._output = DraftText(str(self._path), text)
        else:
            self._output.change(text)
        return problems

    def late_problems(self, program: Program, look: Callable[[], object]) -> list[Problem]:
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
