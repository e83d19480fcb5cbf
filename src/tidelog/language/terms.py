"""Reductions of terms to nodes of the syntax tree, and the places of nodes.

Values of literals are read here: numbers with their suffixes, strings with their escapes. Everything that has a place
gets its span.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, cast

from lark import Token, Transformer, v_args

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.counters import COUNTER
from tidelog.language.functors import LEVELS, SIGN, binds_tighter
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Body,
    Cast,
    Constant,
    Functor,
    Kind,
    Record,
    Term,
    Variable,
)
from tidelog.language.trees import is_constant

# --- literals ---------------------------------------------------------------------------------------------------------


_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(u?)")
_ADDRESS = re.compile(r"(\d+)\.(\d+)\.(\d+)\.(\d+)")
_FLOAT = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)f?")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"} | {
    c: c for c in "\\\"'?"
}
LARGEST = 2**64 - 1
MANY_DIGITS = 400
"""Python converts only so many digits in linear time."""


def number_value(text: str, span: Span) -> tuple[int | float, Kind | None, Problem | None]:
    """Return the value, the kind (None for an integer without suffix), and the problem, if any; the value is then 0."""
    if len(text) > MANY_DIGITS:
        return 0, None, _out_of_range(text, span)
    if match := _INTEGER.fullmatch(text):
        digits, suffix = match[1], match[2]
        base = {"0x": 16, "0b": 2}.get(digits[:2].lower(), 10)
        value = int(digits, base)
        if value > LARGEST:
            return 0, None, _out_of_range(text, span)
        return value, "unsigned" if suffix else None, None
    if match := _FLOAT.fullmatch(text):
        real = float(match[1])
        if real in (float("inf"), float("-inf")):
            return 0.0, "float", _out_of_range(text, span)
        return real, "float", None
    if match := _ADDRESS.fullmatch(text):
        return _address(text, [int(part) for part in match.groups()], span)
    hint = "write a number like 12, 0x1f, 0b101, 12u (unsigned) or 1.5 (float); begin a name with a letter"
    return 0, None, Problem("E0105", f"`{_short(text)}` is not a number", span, hint=hint)


def _address(text: str, octets: list[int], span: Span) -> tuple[int, Kind | None, Problem | None]:
    """Return the number of an IPv4 address, whose first part counts most."""
    if max(octets) > 255:
        hint = "use parts from 0 to 255, as in 127.0.0.1"
        return 0, None, Problem("E0105", f"`{_short(text)}` is not an IPv4 address", span, hint=hint)
    return int.from_bytes(octets), None, None


def string_value(text: str, span: Span) -> tuple[str, Problem | None]:
    """Return the value of a quoted string, and the problem with its escapes, if any."""
    inner = text[1:-1]
    if "\\" not in inner:
        return inner, None
    for match in _ESCAPE.finditer(inner):
        code = match[1]
        if len(code) == 1 and code not in _ESCAPES:
            place = span
            if span.end - span.start == len(text):  # not behind a macro
                place = Span(span.source, span.start + 1 + match.start(), span.start + 1 + match.end())
            hint = r"use \n \t \r \" \\ \xHH or \uHHHH; write \\ for a backslash"
            return inner, Problem("E0104", f"unknown escape `{match[0]}`", place, hint=hint)
    return unquote_string(text), None


def unquote_string(text: str) -> str:
    """Return the value of a quoted string whose escapes are right."""
    return _ESCAPE.sub(_unescape, text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return _ESCAPES[code] if len(code) == 1 else _character(int(code[1:], 16))


def _character(code: int) -> str:
    """Return the character, or the replacement character for an unpaired surrogate, which no text may contain."""
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)


def _out_of_range(text: str, span: Span) -> Problem:
    hint = "use at most 64 bits, with sign for a number, without for an unsigned"
    return Problem("E0105", f"the number {_short(text)} does not fit into 64 bits", span, hint=hint)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:30]}…"


# --- terms ------------------------------------------------------------------------------------------------------------


Locate: TypeAlias = Callable[[int, int], Span]

inline = v_args(inline=True)
"""Decorator of methods that take the children of a rule one by one."""


class TermBuilder(Transformer[Token, Any]):
    """The methods for terms. Call `begin` before each text; `problems` collects the problems of literals."""

    def __init__(self) -> None:
        super().__init__()
        self._locate: Locate | None = None
        self._bare: dict[int, Constant] = {}  # number literals as written, without parentheses or sign
        self.problems: list[Problem] = []

    def begin(self, locate: Locate) -> None:
        self._locate = locate
        self._bare = {}
        self.problems = []

    # --- spans -------------------------------------------------------------------------------------------------------

    def _at(self, token: Token) -> Span:
        assert self._locate is not None
        return self._locate(cast(int, token.start_pos), cast(int, token.end_pos))

    def _join(self, first: Any, last: Any) -> Span:
        """Return the span from the start of `first` to the end of `last`, tokens or nodes; that of `first` if they lie
        in two files."""
        begin = self._at(first) if isinstance(first, Token) else first.span
        end = self._at(last) if isinstance(last, Token) else last.span
        if begin.source is end.source and end.end >= begin.start:
            return Span(begin.source, begin.start, end.end)
        return begin

    # --- terms -------------------------------------------------------------------------------------------------------

    def variable(self, children: list[Token]) -> Term:
        name = children[0]
        if "." in name:
            message = f"expected a term, found the name `{name}` of a relation"
            self.problems.append(Problem("E0101", message, self._at(name), hint="names of variables have no dots"))
        return Variable(str(name), span=self._at(name))

    def anonymous(self, children: list[Token]) -> Term:
        return Anonymous(span=self._at(children[0]))

    def number(self, children: list[Token]) -> Term:
        token = children[0]
        span = self._at(token)
        value, kind, problem = number_value(str(token), span)
        if problem:
            self.problems.append(problem)
        constant = Constant(value, kind, span=span)
        self._bare[id(constant)] = constant
        return constant

    def string(self, children: list[Token]) -> Term:
        token = children[0]
        return Constant(self._text(token), "symbol", span=self._at(token))

    def _text(self, token: Token) -> str:
        value, problem = string_value(str(token), self._at(token))
        if problem:
            self.problems.append(problem)
        return value

    @inline
    def nil(self, token: Token) -> Term:
        return Record(None, span=self._at(token))

    def record(self, children: list[Any]) -> Term:
        return Record(tuple(children[1:-1:2]), span=self._join(children[0], children[-1]))

    def branch(self, children: list[Any]) -> Term:
        name = str(children[0])[1:].lstrip()
        return Record(tuple(children[2:-1:2]), branch=name, span=self._join(children[0], children[-1]))

    @inline
    def parenthesised(self, opening: Token, term: Term, closing: Token) -> Term:
        return replace(term, span=self._join(opening, closing))

    def functor(self, children: list[Any]) -> Term:
        return Functor(str(children[0]), arguments_of(children), span=self._join(children[0], children[-1]))

    def counter(self, children: list[Token]) -> Term:
        return Functor(COUNTER, (), span=self._at(children[0]))

    @inline
    def signed(self, sign: Token, operand: Any) -> Any:
        """Keep signs in front of their operand until `term` knows whether `^` follows, which binds it first."""
        return [sign, *(operand if isinstance(operand, list) else [operand])]

    def term(self, children: list[Any]) -> Term:
        first = children[0]
        if len(children) == 1 and not isinstance(first, list):
            return first  # type: ignore[no-any-return]
        parts: list[Any] = []
        for child in children:
            if isinstance(child, list):
                parts += child
            else:
                parts.append(child)
        return self._order(parts)

    def _order(self, parts: list[Any]) -> Term:
        """Build one term of operands, operators and signs in a row, by Soufflé's precedences (with two stacks)."""
        operands: list[Term] = []
        waiting: list[tuple[int, Token, bool]] = []
        expects_operand = True
        for part in parts:
            if not isinstance(part, Token):
                operands.append(part)
                expects_operand = False
                continue
            sign = expects_operand
            level = SIGN if sign else LEVELS[str(part)]
            while waiting and not sign and not binds_tighter(level, waiting[-1][0]):
                self._apply(*waiting.pop()[1:], operands)
            waiting.append((level, part, sign))
            expects_operand = True
        while waiting:
            self._apply(*waiting.pop()[1:], operands)
        return operands[0]

    def _apply(self, operator: Token, sign: bool, operands: list[Term]) -> None:
        operand = operands.pop()
        if not sign:
            left = operands.pop()
            operands.append(Functor(str(operator), (left, operand), span=self._join(left, operand)))
        elif operator.type == "PREFIX":
            operands.append(Functor(str(operator), (operand,), span=self._join(operator, operand)))
        else:
            operands.append(self._negative(operator, operand))

    def _negative(self, minus: Token, operand: Term) -> Term:
        """Return the negative of a term; for a bare number literal, the negative literal."""
        span = self._join(minus, operand)
        if id(operand) in self._bare and isinstance(operand, Constant) and operand.kind != "unsigned":
            return Constant(-cast(float, operand.value), operand.kind, span=span)
        return Functor("neg", (operand,), span=span)

    @inline
    def cast(self, word: Token, _open: Token, term: Term, _comma: Token, type_: Token, closing: Token) -> Term:
        return Cast(term, str(type_), span=self._join(word, closing))

    @inline
    def count(self, word: Token, _colon: Token, body: tuple[Body, Any]) -> Term:
        return Aggregate("count", None, body[0], span=self._join(word, body[1]))

    @inline
    def aggregate(self, word: Token, target: Term, _colon: Token, body: tuple[Body, Any]) -> Term:
        return Aggregate(SPELLINGS[word].name, target, body[0], span=self._join(word, body[1]))

    @inline
    def ranked(self, word: Token, *children: Any) -> Term:
        opening, value, _, rank, closing, _, body = children
        target = Record((value, rank), span=self._join(opening, closing))
        return Aggregate(SPELLINGS[word].name, target, body[0], span=self._join(word, body[1]))

    def own_aggregate(self, children: list[Any]) -> Term:
        word, *operands, _, body = children
        opening, closing = operands[0], operands[-1]
        terms = tuple(operands) if len(operands) == 1 else tuple(operands[1:-1:2])
        return self._program_aggregate(word, str(word), Record(terms, span=self._join(opening, closing)), body)

    @inline
    def fold(self, word: Token, operand: Term, _colon: Token, start: Term, _comma: Token, body: Any) -> Term:
        if not is_constant(start):
            message = f"`{word}` begins with the term `{start}`, expected a constant"
            hint = f"write a number or a string: `{word} x : 0, {{ … }}`"
            self.problems.append(Problem("E0101", message, start.span, hint=hint))
            start = Constant(0, span=start.span)
        return self._program_aggregate(word, str(word)[2:], Record((operand,), span=operand.span), body, start)

    def _program_aggregate(
        self, word: Token, name: str, target: Record, body: tuple[Body, Any], start: Term | None = None
    ) -> Term:
        return Aggregate("own", target, body[0], called=name, start=start, span=self._join(word, body[1]))

    @inline
    def aggregate_body(self, *children: Any) -> tuple[Body, Any]:
        """Return the body and its last token or node."""
        return (children[1] if len(children) == 3 else (children[0],)), children[-1]


def without_commas(children: list[Any]) -> tuple[Any, ...]:
    """Return the children between the commas, which are every second child."""
    return tuple(children[::2])


def arguments_of(children: list[Any]) -> tuple[Any, ...]:
    """Return the arguments of `name(a, b)`, without name, brackets and commas."""
    return tuple(children[2:-1:2])
