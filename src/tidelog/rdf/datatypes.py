"""Literals that are wrong in themselves: rule dt-not-type of OWL 2 RL, for the datatypes of XML Schema whose spelling
can be checked.

One regular expression per datatype checks a whole column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.rdf.terms import XSD

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGER = r"[+-]?[0-9]+"
_REAL = r"(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)"
_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_DATE = r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?)"
SPELLINGS = {
    "integer": _INTEGER,
    "decimal": r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)",
    "double": _REAL,
    "float": _REAL,
    "boolean": "true|false|0|1",
    "dateTime": f"{_DATE}T{_TIME}{_ZONE}",
    "dateTimeStamp": f"{_DATE}T{_TIME}(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))",
    "date": f"{_DATE}{_ZONE}",
    "time": f"{_TIME}{_ZONE}",
    "hexBinary": "(?:[0-9A-Fa-f]{2})*",
}
_DIGITS = 40
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
RANGES: dict[str, tuple[int | None, int | None]] = {
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    **{name: (-(1 << bits - 1), (1 << bits - 1) - 1) for name, bits in _BITS.items()},
    **{f"unsigned{name.capitalize()}": (0, (1 << bits) - 1) for name, bits in _BITS.items()},
}
NUMBERS = {
    **dict.fromkeys((f"{XSD}{name}" for name in ("decimal", "double", "float")), "to_float"),
    **dict.fromkeys((f"{XSD}{name}" for name in ("integer", *RANGES)), "to_number"),
}
"""Datatypes of numbers, and the functor that reads one."""


def ill_typed(literals: pa.Array) -> list[str]:
    """Return the distinct terms of a column that are literals outside of their datatype."""
    import pyarrow.compute as pc

    typed = literals.filter(pc.match_substring(literals, f'"^^<{XSD}'))
    wrong: list[str] = []
    for name, spelling in {**SPELLINGS, **dict.fromkeys(RANGES, _INTEGER)}.items():
        of_type = typed.filter(pc.ends_with(typed, f'"^^<{XSD}{name}>'))
        if not len(of_type):
            continue
        right = pc.match_substring_regex(of_type, f'^"(?:{spelling})"')
        wrong += of_type.filter(pc.invert(right)).to_pylist()
        if name in RANGES:
            wrong += [text for text in of_type.filter(right).to_pylist() if not _within(text, *RANGES[name])]
    return wrong


def _within(text: str, low: int | None, high: int | None) -> bool:
    """Return True if the number of an integer literal, which may have any number of digits, is within bounds."""
    spelled = text[1 : text.index('"', 1)]
    digits = spelled.lstrip("+-0")
    size = int(digits or "0") if len(digits) < _DIGITS else 10**_DIGITS
    number = -size if spelled.startswith("-") else size
    return (low is None or number >= low) and (high is None or number <= high)
