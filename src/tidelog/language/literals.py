"""Literals of the text to values: numbers with their suffixes, strings with their escapes."""

from __future__ import annotations

import re

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.syntax import Kind

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(u?)")
_ADDRESS = re.compile(r"(\d+)\.(\d+)\.(\d+)\.(\d+)")
_FLOAT = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)f?")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"} | {
    c: c for c in "\\\"'?"
}
LARGEST = 2**64 - 1
_MANY_DIGITS = 400


def number(text: str, span: Span) -> tuple[int | float, Kind | None, Problem | None]:
    """Return the value, the kind (None for an integer without suffix), and the problem, if any; the value is then 0."""
    if len(text) > _MANY_DIGITS:
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


def string(text: str, span: Span) -> tuple[str, Problem | None]:
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
    return unquoted(text), None


def unquoted(text: str) -> str:
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
