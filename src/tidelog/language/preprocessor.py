"""C preprocessor lines, through the library pcpp; loaded only for programs that have such lines.

Text that has nothing for the preprocessor goes through pcpp as one token (`stretches`). Tokens of the text itself know
their offset, those of a macro's expansion are placed at the name of the macro where it is used. `preprocess` joins them
to one text and returns a function that finds the original place of each part of it. Problems are collected; nothing is
printed.
"""

from __future__ import annotations

import io
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcpp.ply.ply.lex import LexToken
from pcpp.preprocessor import Action, OutputDirective, Preprocessor

from tidelog.common.source import SourceText, Span
from tidelog.errors import Problem, ProgramError
from tidelog.language.consulted import Consulted
from tidelog.language.stretches import stretches
from tidelog.language.terms import Locate

_DEPTH = 50
_FILES = 1_000
_EXPANSION = 100_000
_OWN_LINE = re.compile(r"^([^\S\n]*)\.(include|once)\b", re.MULTILINE)
"""Soufflé's own lines, which mean what `#include` and `#pragma once` mean."""
_BUILT_IN = frozenset(("__LINE__", "__COUNTER__"))
"""The names that pcpp expands beside macros."""
_TIMES = ("__DATE__", "__TIME__")
_IGNORED = ("warning", "pragma", "line", "ident")
"""Besides the marks of a C preprocessor that ran before, as in `# 1 "file.dl"`."""


def preprocess(
    source: SourceText,
    folder: Path,
    read_file: Any,
    folders: Iterable[Path] = (),
    macros: Iterable[str] = (),
    consulted: Consulted | None = None,
) -> tuple[str, Locate, list[Problem]]:
    """Return the text after preprocessing, the way back to the original places, and the problems.

    `folder` is where `#include "…"` begins to look; `read_file(path, name)` returns the text of a file or raises
    ProgramError. `#include` looks in `folders` next; `macros` are defined before the first line, as `NAME` (1) or
    `NAME=text`. `consulted` gets the files that were looked for in vain, and whether a macro gave the time.
    """
    processor = _Preprocessor(source, folder, read_file, consulted or Consulted())
    processor.path += [str(each.absolute()) for each in folders]
    for macro in macros:
        name, equal, text = macro.partition("=")
        processor.define(f"{name} {text if equal else 1}")
    pieces: list[_Piece] = []
    texts: list[str] = []
    length = 0
    for token, piece in processor.run(source):
        pieces.append(_Piece(length, piece))
        texts.append(token)
        length += len(token)
    return "".join(texts), _Origins(pieces, source, [piece.start for piece in pieces]).locate, processor.problems


@dataclass(frozen=True)
class _Piece:
    """A token of the output: where it starts there, and the place that it stems from."""

    start: int
    origin: Span


@dataclass(frozen=True)
class _Origins:
    pieces: list[_Piece]
    source: SourceText
    starts: list[int]

    def locate(self, start: int, end: int) -> Span:
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1, first + 1) - 1
        if first < 0:
            return Span(self.source, 0, 0)
        one, two = self.pieces[first], self.pieces[last]
        begin = min(one.origin.start + start - one.start, max(one.origin.start, one.origin.end - 1))
        stop = min(two.origin.start + end - two.start, two.origin.end)
        if one.origin.source is not two.origin.source or stop < begin:
            return Span(one.origin.source, begin, one.origin.end)
        return Span(one.origin.source, begin, stop)


class _TooLong(Exception):
    pass


class _Preprocessor(Preprocessor):  # type: ignore[misc]
    """pcpp with its hooks: files are read as programs are, problems are kept."""

    def __init__(self, source: SourceText, folder: Path, read_file: Any, consulted: Consulted) -> None:
        super().__init__()
        self.key = str((folder / "<text>").absolute())
        self.sources = {self.key: source}
        self.problems: list[Problem] = []
        self.read_file = read_file
        self.consulted = consulted
        self.rewrite_paths: list[tuple[str, str]] = []
        self.temp_path = [str(folder.absolute())]
        self.files = 0
        self.define("RAM_DOMAIN_SIZE 64")

    def run(self, source: SourceText) -> Iterator[tuple[str, Span]]:
        """Yield each token of the output with the place that it stems from."""
        ends: dict[str, int] = {}  # how far each source has been read
        try:
            for token in self.parsegen(source.text, source.name, self.key):
                yield token.value.replace(self.key, source.name), self._origin(token, ends)
        except RecursionError:
            self._report("E0111", "macros are nested too deeply", self._last_line())
        except _TooLong:
            self._report("E0111", "a macro expands to too much text", self._last_line())
        except Exception:  # pcpp raises all sorts of things at malformed lines, such as `#ifdef` without a name
            self._report("E0111", "this preprocessor line is not well-formed", self._last_line())

    def _origin(self, token: Any, ends: dict[str, int]) -> Span:
        key = token.source or self.key
        source = self.sources.get(key) or self.sources[self.key]
        expanded = getattr(token, "expanded_from", None)
        done = ends.get(key, 0)
        if not expanded:
            ends[key] = max(done, token.lexpos + len(token.value))
            return Span(source, token.lexpos, min(len(source.text), token.lexpos + len(token.value)))
        done = max(done, source.line_starts[min(token.lineno, len(source.line_starts)) - 1])
        call = re.compile(rf"\b{re.escape(expanded[-1])}\b").search(source.text, done)
        if call is None:
            return Span(source, done, done)
        return Span(source, call.start(), call.end())

    # --- hooks of pcpp -----------------------------------------------------------------------------------------------

    def group_lines(self, input: str, abssource: str) -> Iterator[list[Any]]:
        """Yield the text unchanged as lines of tokens, as pcpp needs them; pcpp's own method shifts offsets.

        Text that has nothing for the preprocessor is one line of one token.
        """
        lexer = self.lexer.clone()
        text = _OWN_LINE.sub(r"\1#\2", self.sources[abssource].text)
        lexer.input(text)
        lineno = 1
        for stretch in stretches(text, lambda: self.macros.keys() | _BUILT_IN):
            line: list[Any] = []
            if stretch.whole:
                line.append(LexToken())
                line[0].type = self.t_SPACE if stretch.blank else self.t_STRING
                line[0].value = text[stretch.start : stretch.end]
                line[0].lexpos, line[0].lineno = stretch.start, lineno
            else:
                lexer.lexpos, lexer.lineno = stretch.start, lineno
                while lexer.lexpos < stretch.end and (token := lexer.token()):
                    line.append(token)
            for token in line:
                token.source = abssource
            lineno += text.count("\n", stretch.start, stretch.end)
            if line:
                yield line

    def expand_macros(self, tokens: list[Any], expanding_from: list[str] | None = None) -> list[Any]:
        result: list[Any] = super().expand_macros(tokens, expanding_from or [])
        if expanding_from and expanding_from[-1] in _TIMES:
            self.consulted.dated = True
        if expanding_from and len(result) > _EXPANSION:
            raise _TooLong
        return result

    def include(self, tokens: list[Any], original_line: list[Any]) -> Iterator[Any]:
        self.files += 1
        if self.include_depth > _DEPTH or self.files > _FILES:
            message = (
                "the includes are nested too deeply"
                if self.include_depth > _DEPTH
                else "the program includes too many files"
            )
            hint = "put `#pragma once` into a file that includes itself"
            if self.files <= _FILES + 1:
                self._report("E0112", message, self._last_line(), hint)
            self.files = _FILES + 1
            return
        yield from super().include(tokens, original_line)

    def on_file_open(self, is_system_include: bool, includepath: str) -> io.StringIO:
        path = Path(includepath)
        if not path.is_file():
            self.consulted.note(path, None)
            raise FileNotFoundError(includepath)
        name = os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
        try:
            text = self.read_file(path, name)
        except ProgramError as error:
            self.problems += error.problems
            text = ""
        if includepath not in self.sources:
            self.sources[includepath] = SourceText(name, text, self._last_line(), is_program=True)
        return io.StringIO(text)

    def on_include_not_found(self, is_malformed: bool, is_system_include: bool, curdir: str, includepath: str) -> Any:
        if is_malformed:
            self._report("E0111", '#include needs a file name in quotes: #include "file.dl"', self._last_line())
        else:
            hint = "write the path relative to the folder of the including file"
            self._report("E0112", f"the included file `{includepath}` does not exist", self._last_line(), hint)
        raise OutputDirective(Action.IgnoreAndRemove)

    def on_directive_unknown(self, directive: Any, toks: list[Any], ifpassthru: bool, precedingtoks: list[Any]) -> bool:
        if directive.value == "once":
            self.include_once[self.source] = None
        elif directive.value == "error":
            self._report("E0111", f"#error {''.join(t.value for t in toks)}".rstrip(), self._last_line())
        elif directive.value not in _IGNORED and not directive.value.isdecimal():
            message = f"unknown preprocessor line `#{directive.value}`"
            lines = "#include #define #undef #if #ifdef #ifndef #elif #else #endif #error #pragma"
            hint = f"use one of {lines}; comments begin with //"
            self._report("E0111", message, self._last_line(), hint)
        return True

    def on_error(self, file: str, line: int, msg: str) -> None:
        source = self.sources.get(file) or self.sources[self.key]
        if msg.startswith("Could not evaluate"):
            msg = "the condition of this line cannot be evaluated"
        self._report("E0111", (msg[:1].lower() + msg[1:]).strip(), _line(source, line))

    def _report(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self.problems.append(Problem(code, message, span, hint=hint))

    def _last_line(self) -> Span:
        token = self.lastdirective
        if token is None:
            return _line(self.sources[self.key], 1)
        return _line(self.sources.get(token.source) or self.sources[self.key], token.lineno)


def _line(source: SourceText, number: int) -> Span:
    """Return the text of a line, without the blanks around it."""
    start = source.line_starts[min(max(number, 1), len(source.line_starts)) - 1]
    text = source.text[start:].split("\n", 1)[0]
    start += len(text) - len(text.lstrip())
    return Span(source, start, start + len(text.strip()))
