"""`read`: from a path or a text to a parsed program, with all syntax errors in one exception."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tidelog.common.collecting import pause_collection
from tidelog.common.looking import Look, ignore_limits
from tidelog.common.source import SourceText, Span
from tidelog.errors import Problem, ProgramError, surrogate_in
from tidelog.language.blocks import assemble
from tidelog.language.consulted import Consulted
from tidelog.language.statements import statements
from tidelog.language.syntax import Literal, Program
from tidelog.language.terms import Locate

_LINE = re.compile(r"^[^\S\n]*(?:#|\.(?:include|once)\b)", re.MULTILINE)


@dataclass(frozen=True)
class Preprocessing:
    """Options of the preprocessor: `folders` that `#include` searches after the including file's own, and `macros` as
    in `NAME` or `NAME=text`. With `enabled` False, lines that begin with # are plain text."""

    folders: tuple[Path, ...] = ()
    macros: tuple[str, ...] = ()
    enabled: bool = True


@dataclass(frozen=True)
class ProgramText:
    """The text of a program, the folder in which its `#include "…"` begins to look, and the preprocessor's options."""

    source: SourceText
    folder: Path
    preprocessing: Preprocessing = Preprocessing()


def read(
    text_or_path: str | os.PathLike[str],
    *,
    name: str | None = None,
    preprocessing: Preprocessing | None = None,
    look: Look = ignore_limits,
) -> Program:
    """Parse a program. An `os.PathLike`, and a str in one line that ends in ".dl", is a path; else it is the text.

    `name` is shown in messages instead of the path or "<text>"; `look` is called before each statement, and may raise.
    Raise ProgramError with everything found.
    """
    return parse(text_of(text_or_path, name, preprocessing), look=look)


def text_of(
    text_or_path: str | os.PathLike[str], name: str | None = None, preprocessing: Preprocessing | None = None
) -> ProgramText:
    """Return the text that `read` parses. Raise ProgramError for other values, and for a file that cannot be
    read."""
    given: object = text_or_path
    if not isinstance(given, (str, os.PathLike)):
        message = f"expected the text of a program or a path, found a value of type {type(given).__name__}"
        raise ProgramError(Problem("E0109", message, hint="pass the text of a program, or the path of a file"))
    is_path = isinstance(text_or_path, os.PathLike) or (text_or_path.endswith(".dl") and "\n" not in text_or_path)
    if is_path:
        path = Path(text_or_path)
        source = SourceText(name or str(path), file_text(path, name or str(path)), is_program=True)
        folder = path.parent
    else:
        source = SourceText(name or "<text>", str(text_or_path), is_program=True)
        folder = Path()
        problem = _wrong_character(source)
        if problem is not None:
            raise ProgramError(problem)
    return ProgramText(source, folder, preprocessing or Preprocessing())


@pause_collection()
def parse(
    given: ProgramText,
    *,
    look: Look = ignore_limits,
    consulted: Consulted | None = None,
    read_file: Callable[[Path, str], str] | None = None,
    soft: frozenset[str] = frozenset(),
) -> Program:
    """Parse the text of a program, as `read` does; `consulted` gets the files that it includes. `read_file` returns the
    text of one of them, in place of `file_text`. `soft` are the soft words that other texts declare as relations."""
    text, locate, problems = preprocess_text(given, consulted=consulted, read_file=read_file)
    found, mistakes = statements(text, locate, look, soft)
    program, unbalanced = assemble(found)
    problems = problems or mistakes or unbalanced  # a mistake brings others with it, which are no news
    if problems:
        raise ProgramError(*problems)
    return program


def preprocess_text(
    given: ProgramText,
    *,
    consulted: Consulted | None = None,
    read_file: Callable[[Path, str], str] | None = None,
) -> tuple[str, Locate, list[Problem]]:
    """Return the text that remains for the parser, the way back to the places in the texts that it comes from, and the
    problems of the preprocessor; see `parse`."""
    preprocessing, source = given.preprocessing, given.source
    if not preprocessing.enabled or not (preprocessing.macros or _is_for_preprocessor(source.text)):
        return source.text, partial(Span, source), []
    from tidelog.language.preprocessor import preprocess

    consulted = consulted or Consulted()
    reading = read_file or partial(file_text, consulted=consulted)
    return preprocess(source, given.folder, reading, preprocessing.folders, preprocessing.macros, consulted)


_HEAD = "query() :- "


def read_body(text: str, name: str = "<query>") -> tuple[Literal, ...]:
    """Parse the body of a rule, with or without the dot behind it; `name` is shown in messages. Raise ProgramError with
    everything found."""
    source = SourceText(name, text)
    problem = _wrong_character(source)
    if problem is not None:
        raise ProgramError(problem)

    def locate(start: int, end: int) -> Span:
        begin, stop = (min(max(0, place - len(_HEAD)), len(text)) for place in (start, end))
        return Span(source, begin, stop)

    # The dot has a line of its own, because a comment may end the text.
    found, mistakes = statements(f"{_HEAD}{text.rstrip().removesuffix('.')}\n.", locate)
    program, unbalanced = assemble(found)
    if mistakes or unbalanced:
        raise ProgramError(*mistakes or unbalanced)
    if len(found) != 1 or len(program.rules) != 1:
        hint = "write literals with commas between them, such as edge(x, y), x < y"
        raise ProgramError(Problem("E0101", "expected the body of one rule", Span(source, 0, len(text)), hint=hint))
    return program.rules[0].body


def file_text(path: Path, name: str, consulted: Consulted | None = None) -> str:
    """Return the text of a file, and note it in `consulted`. Raise ProgramError if it cannot be read (E0110) or is not
    valid text (E0109)."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"cannot read the program: {reason}"
        raise ProgramError(Problem("E0110", message, place=name, hint="check the path")) from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"the program is not valid UTF-8: found byte 0x{data[error.start]:02X}"
        raise ProgramError(
            Problem("E0109", message, place=f"{name}:{line}:{column}", hint="save the file as UTF-8")
        ) from None
    if consulted is not None:
        consulted.note(path, data)
    text = text.replace("\r\n", "\n")
    problem = _wrong_character(SourceText(name, text))
    if problem is not None:
        raise ProgramError(problem)
    return text


def _wrong_character(source: SourceText) -> Problem | None:
    if (place := source.text.find("\0")) >= 0:
        what, hint = "the character NUL", r"write \0 in a string"
    elif (surrogate := surrogate_in(source.text)) is not None:
        place, what, hint = surrogate, "an unpaired surrogate", "remove it: no text in UTF-8 has one"
    else:
        return None
    return Problem("E0109", f"a program cannot contain {what}", Span(source, place, place + 1), hint=hint)


def _is_for_preprocessor(text: str) -> bool:
    """Return True if some line is for the preprocessor, or if a text asks for its own lines or name."""
    return "__LINE__" in text or "__FILE__" in text or is_preprocessed(text)


def is_preprocessed(text: str) -> bool:
    """Return True if some line is for the preprocessor: it may include files."""
    return ("#" in text or ".include" in text or ".once" in text) and _LINE.search(text) is not None
