"""Tokens to statements, and on to the next statement after a mistake.

The grammar describes one statement. A clause ends at its dot; a directive ends where the grammar takes no further
token. After a mistake the parser continues behind the next dot, or at the next directive, or (after one in a directive)
at the next line that begins outside of brackets, so that one run reports several mistakes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer
from lark.parsers.lalr_interactive_parser import InteractiveParser

from tidelog.common.cache_folder import cache_folder
from tidelog.common.looking import Look, ignore_limits
from tidelog.errors import Problem
from tidelog.language import lexer, mistakes
from tidelog.language.annotations import comment, split_annotations, with_notes
from tidelog.language.blocks import Statement
from tidelog.language.builder import Builder
from tidelog.language.sizes import LIMIT, too_deep_node, too_deep_tokens
from tidelog.language.terms import Locate
from tidelog.language.token_types import CLOSING, OPENING

_local = threading.local()


def statements(
    text: str, locate: Locate, look: Look = ignore_limits, soft: frozenset[str] = frozenset()
) -> tuple[list[Statement], list[Problem]]:
    """Return the statements of `text` in order, and all problems. `locate` turns offsets of `text` into spans. Call
    `look` before each statement. `soft` are the soft words that are names of relations by declarations elsewhere."""
    found: list[Statement] = []
    problems: list[Problem] = []
    for piece in pieces(text, locate, look, soft):
        found += piece.statements
        problems += piece.problems
    return found, problems


@dataclass(frozen=True)
class ReadPiece:
    """The statements that one stretch of a text makes, mostly a single one, and its problems. `start` and `end` are the
    offsets of its first token and behind its last one."""

    start: int
    end: int
    statements: tuple[Statement, ...]
    problems: tuple[Problem, ...]


def pieces(
    text: str, locate: Locate, look: Look = ignore_limits, soft: frozenset[str] = frozenset()
) -> Iterator[ReadPiece]:
    """Yield the pieces of `text` in order, for `statements`; a first one has the problems of annotations, if there are
    any. Only one text of a thread can be under way."""
    parser, builder = _parser()
    builder.begin(locate)
    comments: list[tuple[int, Token]] = []
    everything = lexer.tokens(text, comments, soft)
    notes = [comment(token, position, locate) for position, token in comments]
    tokens, notes, problems = split_annotations(text, everything, notes, locate)
    if problems:
        yield ReadPiece(0, 0, (), tuple(problems))
    reading = _Reading(text, tokens, too_deep_tokens(tokens), locate, parser, builder)
    position = 0
    while position < len(tokens):
        look()
        start, found, problems = position, list[Statement](), list[Problem]()
        problem, position = reading.statement(position, found)
        if notes:
            found = with_notes(found, notes, tokens, start, position)
        if builder.problems:
            problems += sorted(builder.problems, key=lambda p: p.span.start if p.span else 0)
            builder.problems.clear()
        if problem is not None:
            problems.append(problem)
        ends = tokens[start].start_pos or 0, tokens[position - 1].end_pos or 0
        yield ReadPiece(*ends, tuple(found), tuple(problems))


@dataclass(frozen=True)
class _Reading:
    text: str
    tokens: list[Token]
    too_deep: frozenset[int]
    locate: Locate
    parser: Lark
    builder: Builder

    def statement(self, position: int, found: list[Statement]) -> tuple[Problem | None, int]:
        """Read the statement at `position` into `found`; a problem, if any, and where the next statement begins."""
        tokens = self.tokens
        first = tokens[position]
        if str(first) == ".lattice":  # of no account where no relation uses it
            return None, self._position_behind_block(position)
        if first.type == "UNSUPPORTED":
            return mistakes.unsupported_directive(first, self.locate), self._position_behind_block(position)
        if first.type == "UNKNOWN":
            return mistakes.unknown_directive(first, self.locate), self._resume(position, position)
        end = self._plain_fact(position)
        if end:
            found += self.builder.plain_fact(tokens[position:end])
            return None, end
        parser = self.parser.parse_interactive()
        end = position
        try:
            while end < len(tokens):
                token = tokens[end]
                if end in self.too_deep:
                    return mistakes.too_deep(mistakes.span_of(token, self.locate)), self._resume(position, end)
                parser.feed_token(token)
                end += 1
                if token.type == "DOT":
                    break
            statements = parser.feed_eof()  # type: ignore[no-untyped-call]
        except UnexpectedToken:
            if end in (position, len(tokens)) or tokens[end].type == "LBRACE" or not _may_end(parser):
                expected = parser.accepts()  # type: ignore[no-untyped-call]
                return mistakes.unexpected_token(tokens, position, end, expected, self.locate), self._resume(
                    position, end
                )
            statements = parser.feed_eof()  # type: ignore[no-untyped-call]
        if end - position > LIMIT:
            deep = too_deep_node(statements)
            if deep is not None:
                return mistakes.too_deep(deep), end
        found += statements
        return None, end

    def _plain_fact(self, position: int) -> int:
        """Return the position behind a fact of numbers and texts, 0 for any other statement. A program may state very
        many of them, and feeding the parser takes most of the time."""
        tokens = self.tokens
        end = position + 1
        if tokens[position].type != "NAME" or end >= len(tokens) or tokens[end].type != "LPAR":
            return 0
        last = len(tokens) - 2
        while end < last and tokens[end].type in ("LPAR", "COMMA") and tokens[end + 1].type in ("NUMBER", "STRING"):
            end += 2
        closed = end < last + 1 and tokens[end].type == "RPAR" and tokens[end + 1].type == "DOT"
        return end + 2 if closed else 0

    def _resume(self, start: int, error: int) -> int:
        """Return the position to continue from after the token at `error` was wrong in the statement that began at
        `start`."""
        tokens = self.tokens
        directive = tokens[start].type in lexer.DIRECTIVE_TYPES
        depth = 0
        for i in range(start, len(tokens)):
            kind = tokens[i].type
            if i > start and (
                kind in lexer.DIRECTIVE_TYPES or (directive and i > error and depth <= 0 and self._is_first_in_line(i))
            ):
                return i
            if kind == "DOT" and i >= error and not self._is_double_dot(i):
                return i + 1
            if kind == "RBRACE" and depth <= 0 and i >= error and i > start:
                return i  # the end of the component
            depth += (kind in OPENING) - (kind in CLOSING)
        return len(tokens)

    def _is_double_dot(self, position: int) -> bool:
        """Return True if the dot is one of two beside each other, as in `1..3`."""
        beside = self.tokens[max(0, position - 1) : position + 2]
        return [token.type for token in beside].count("DOT") > 1

    def _is_first_in_line(self, position: int) -> bool:
        return position == 0 or "\n" in self.text[self.tokens[position - 1].end_pos : self.tokens[position].start_pos]

    def _position_behind_block(self, position: int) -> int:
        """Return the position behind an unsupported directive and the braces that belong to it."""
        depth = 0
        for i in range(position + 1, len(self.tokens)):
            kind = self.tokens[i].type
            depth += (kind in OPENING) - (kind in CLOSING)
            if kind == "RBRACE" and depth <= 0:
                return i + 1
            if depth <= 0 and (kind in lexer.DIRECTIVE_TYPES or (kind == "NAME" and self._is_first_in_line(i))):
                return i
        return len(self.tokens)


def _may_end(parser: InteractiveParser) -> bool:
    state = parser.parser_state.copy(deepcopy_values=False)
    state.parse_conf = copy(state.parse_conf)
    state.parse_conf.callbacks = {}
    try:
        state.feed_token(Token("$END", ""), is_end=True)
    except UnexpectedToken:
        return False
    return True


# --- the parser ------------------------------------------------------------------------------------------------------


class _NoLexer(Lexer):
    """Tokens are fed by hand, so that Lark itself has nothing to lex."""

    def __init__(self, _configuration: Any) -> None:
        pass

    def lex(self, _text: Any) -> Any:  # type: ignore[override]
        return iter(())


def _parser() -> tuple[Lark, Builder]:
    """Return this thread's parser and the builder that it calls. The user's cache folder keeps its tables."""
    if not hasattr(_local, "parser"):
        builder = Builder()
        grammar = files("tidelog.language").joinpath("grammar.lark").read_text("utf-8")
        options: dict[str, Any] = {
            "parser": "lalr",
            "lexer": _NoLexer,
            "transformer": builder,
            "keep_all_tokens": True,
            "maybe_placeholders": False,
        }
        try:
            _local.parser = Lark(grammar, cache=_cache_file(), **options)
        except (OSError, RuntimeError):  # the folder cannot be written, or there is no home
            _local.parser = Lark(grammar, **options)
        _local.builder = builder
    return _local.parser, _local.builder


def _cache_file() -> str:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / "grammar.lark.cache")
