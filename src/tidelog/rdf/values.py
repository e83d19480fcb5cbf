"""The values of literals: two terms may have one value, and a value lies in the datatypes whose space has it.

Source: OWL 2 Structural Specification (Second Edition), section 4; XML Schema 1.1 part 2. Values are compared by
identity: `"1"^^xsd:integer` and `"1.0"^^xsd:decimal` are one, `"1"^^xsd:double` is another, and so are equal
instants with other offsets of time zones. Nobody knows the value of a literal whose datatype is not among DATATYPES.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy

from tidelog.rdf.datatypes import RANGES, SPELLINGS
from tidelog.rdf.terms import OWL, RDF, RDFS, XSD

LiteralValue: TypeAlias = tuple[str, object]
"""A value space and what identifies the value in it."""

_STRING, _REAL = "string", "real"
_UNSPACED = re.compile(r"[^\t\n\r]*")
_TOKEN = re.compile(r"(?:[^\s]+(?: [^\s]+)*)?")
_NAME = re.compile(r"[\w:][\w:.\-·]*")
_STRINGS: dict[str, re.Pattern[str]] = {
    "string": re.compile(r"(?s:.*)"),
    "normalizedString": _UNSPACED,
    "token": _TOKEN,
    "language": re.compile(r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*"),
    "Name": _NAME,
    "NCName": re.compile(r"[^\W\d][\w.\-·]*"),
    "NMTOKEN": re.compile(r"[\w:.\-·]+"),
}
_DAY = timedelta(days=1)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def parts(term: str) -> tuple[str, str, str]:
    """Return the characters of a literal, its language or "", and its datatype."""
    match = _LITERAL.fullmatch(term)
    assert match is not None, term
    text = _ESCAPE.sub(_unescaped, match[1]) if "\\" in match[1] else match[1]
    return text, match[2] or "", match[3] or (f"{RDF}langString" if match[2] else f"{XSD}string")


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _PLAIN.get(match[3], match[3])


@lru_cache(maxsize=65_536)
def value_of(term: str) -> LiteralValue | None:
    """Return the value of a literal; None if its datatype is unknown or it is not well-typed, and for other terms."""
    if not term.startswith('"'):
        return None
    text, language, datatype = parts(term)
    if language:
        return "language", (text, language.lower())
    read = _READERS.get(datatype)
    try:
        return read(text) if read is not None else None
    except (ValueError, OverflowError, ZeroDivisionError, binascii.Error):
        return None


def differ(one: str, other: str) -> bool:
    """Return True if two literals certainly have different values."""
    left, right = value_of(one), value_of(other)
    return left is not None and right is not None and left != right


def is_outside(term: str, datatype: str) -> bool:
    """Return True if the value of a literal is certainly not one of a datatype."""
    value, holds = value_of(term), DATATYPES.get(datatype)
    return value is not None and holds is not None and not holds(value)


# --- spellings to values ---------------------------------------------------------------------------------------------


def _checked(name: str, text: str) -> str:
    """Return a text without the white space around it. Raise ValueError if no literal of a datatype has it."""
    if not re.fullmatch(SPELLINGS[name], text):
        raise ValueError(text)
    return text


def _real(text: str) -> LiteralValue:
    return _REAL, Fraction(Decimal(_checked("decimal", text)))


def _ranged(name: str) -> Callable[[str], LiteralValue]:
    def read(text: str) -> LiteralValue:
        value = _REAL, Fraction(Decimal(_checked("integer", text)))
        if not _integer(name)(value):
            raise ValueError(text)
        return value

    return read


def _rational(text: str) -> LiteralValue:
    above, _, below = text.partition("/")
    return _REAL, Fraction(int(above), int(below or 1))


def _floating(name: str) -> Callable[[str], LiteralValue]:
    kind = numpy.float32 if name == "float" else numpy.float64

    def read(text: str) -> LiteralValue:
        with numpy.errstate(over="ignore"):
            return name, repr(kind(_checked(name, text).replace("INF", "inf")))

    return read


def _boolean(text: str) -> LiteralValue:
    return "boolean", _checked("boolean", text) in ("true", "1")


def _string(name: str) -> Callable[[str], LiteralValue]:
    def read(text: str) -> LiteralValue:
        if not _STRINGS[name].fullmatch(text):
            raise ValueError(text)
        return _STRING, text

    return read


def _plain(text: str) -> LiteralValue:
    """Read rdf:PlainLiteral: a text, `@` and a language or nothing."""
    string, at, language = text.rpartition("@")
    if not at:
        raise ValueError(text)
    return ("language", (string, language.lower())) if language else (_STRING, string)


def _hexadecimal(text: str) -> LiteralValue:
    return "hexBinary", bytes.fromhex(_checked("hexBinary", text))


def _base64(text: str) -> LiteralValue:
    return "base64Binary", base64.b64decode(text.replace(" ", ""), validate=True)


def _instant(text: str) -> LiteralValue:
    """Read a time with its offset in minutes, None without one: the same instant elsewhere is another value."""
    ends = re.search(r"(?:Z|[+-]\d\d:\d\d)?$", _checked("dateTime", text))
    zone = ends[0] if ends is not None else ""
    main = text.removesuffix(zone)
    day, _, time = main.rpartition("T")
    seconds = Fraction(Decimal(time[6:]))
    offset = None if not zone else 0 if zone == "Z" else int(f"{zone[0]}1") * (60 * int(zone[1:3]) + int(zone[4:]))
    if len(day) > 10 or day.startswith(("-", "0000")):
        return "dateTime", (main, seconds, offset)  # years that Python's dates do not have
    then = datetime.fromisoformat(day).replace(tzinfo=UTC)
    if time.startswith("24"):
        then, time = then + _DAY, "00:00:00"
    return "dateTime", (then.toordinal(), int(time[:2]), int(time[3:5]), seconds, offset)


def _uri(text: str) -> LiteralValue:
    return "anyURI", text


_READERS: dict[str, Callable[[str], LiteralValue]] = {
    **{f"{XSD}{name}": _ranged(name) for name in ("integer", *RANGES)},
    **{f"{XSD}{name}": _string(name) for name in _STRINGS},
    **{f"{XSD}{name}": _floating(name) for name in ("double", "float")},
    **dict.fromkeys((f"{XSD}dateTime", f"{XSD}dateTimeStamp"), _instant),
    f"{XSD}decimal": _real,
    f"{XSD}boolean": _boolean,
    f"{XSD}hexBinary": _hexadecimal,
    f"{XSD}base64Binary": _base64,
    f"{XSD}anyURI": _uri,
    f"{OWL}rational": _rational,
    f"{RDF}PlainLiteral": _plain,
}

# --- values to datatypes ---------------------------------------------------------------------------------------------


def _of_space(*spaces: str) -> Callable[[LiteralValue], bool]:
    return lambda value: value[0] in spaces


def _integer(name: str) -> Callable[[LiteralValue], bool]:
    low, high = RANGES.get(name, (None, None))

    def holds(value: LiteralValue) -> bool:
        number = value[1]
        if value[0] != _REAL or not isinstance(number, Fraction) or number.denominator != 1:
            return False
        return (low is None or number >= low) and (high is None or number <= high)

    return holds


def _decimal(value: LiteralValue) -> bool:
    """Return True for a number with an end in the decimal system."""
    if not isinstance(value[1], Fraction):
        return False
    rest = value[1].denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _text(name: str) -> Callable[[LiteralValue], bool]:
    return lambda value: value[0] == _STRING and _STRINGS[name].fullmatch(str(value[1])) is not None


def _stamped(value: LiteralValue) -> bool:
    return value[0] == "dateTime" and isinstance(value[1], tuple) and value[1][-1] is not None


DATATYPES: dict[str, Callable[[LiteralValue], bool]] = {
    **{f"{XSD}{name}": _integer(name) for name in ("integer", *RANGES)},
    **{f"{XSD}{name}": _text(name) for name in _STRINGS},
    **{f"{XSD}{name}": _of_space(name) for name in ("double", "float", "boolean", "hexBinary", "base64Binary")},
    **{f"{XSD}{name}": _of_space(name) for name in ("dateTime", "anyURI")},
    **dict.fromkeys((f"{OWL}real", f"{OWL}rational"), _of_space(_REAL)),
    f"{XSD}decimal": _decimal,
    f"{XSD}dateTimeStamp": _stamped,
    f"{RDF}langString": _of_space("language"),
    f"{RDF}PlainLiteral": _of_space(_STRING, "language"),
    f"{RDFS}Literal": lambda _: True,
}
"""Datatypes by their IRIs, each with a test whether it has a value."""
