"""Functors and comparisons: those that the kernels know, and Python functions over a batch for the others.

A call-out takes the argument columns as int64 words and returns the positions that have a value (None: all) and the
result columns at full length. Texts can be long, so that it looks at the epoch's limits between rows, and while it
matches a long text. Semantics: docs/reference/language.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.errors import LimitError, Problem
from tidelog.kernels import layout
from tidelog.language.regex import matcher
from tidelog.language.syntax import Kind
from tidelog.maintain.calls import LONG, LONGEST, CallOut, Mask, encoded, function, paced
from tidelog.maintain.ordinals import ordinal_call_out
from tidelog.maintain.texts import text_call_out
from tidelog.storage.dictionary import Dictionary

_OPERATORS = {
    "+": layout.ADD,
    "-": layout.SUB,
    "*": layout.MUL,
    "/": layout.DIV,
    "%": layout.MOD,
    "^": layout.POW,
    "band": layout.AND,
    "bor": layout.OR,
    "bxor": layout.XOR,
    "bnot": layout.NOT,
    "bshl": layout.SHL,
    "bshr": layout.SHR,
    "bshru": layout.SHRU,
    "land": layout.LAND,
    "lor": layout.LOR,
    "lxor": layout.LXOR,
    "lnot": layout.LNOT,
    "min": layout.MIN,
    "max": layout.MAX,
    "neg": layout.NEG,
    "itof": layout.TO_FLOAT,
    "utof": layout.TO_FLOAT,
    "to_float": layout.TO_FLOAT,
    "ftoi": layout.TO_NUMBER,
    "utoi": layout.TO_NUMBER,
    "to_number": layout.TO_NUMBER,
    "ftou": layout.TO_UNSIGNED,
    "itou": layout.TO_UNSIGNED,
    "to_unsigned": layout.TO_UNSIGNED,
}
KINDS = {"number": layout.NUMBER, "unsigned": layout.UNSIGNED, "float": layout.FLOAT}


def native(name: str, kind: Kind) -> tuple[int | None, int]:
    """Return the kernels' operator for a functor or comparison on operands of `kind`, or None, and their number for the
    kind.

    For the cast "as", `kind` is that of the result.
    """
    if name == "as" or (name == "ord" and kind in KINDS):
        return layout.COPY, KINDS.get(kind, layout.NUMBER)
    if name in ("=", "!="):
        return layout.COMPARISONS[name], layout.NUMBER
    if kind not in KINDS:
        return None, layout.NUMBER
    if name in layout.COMPARISONS:
        return layout.COMPARISONS[name], KINDS[kind]
    if name in _OPERATORS and (name, kind) != ("to_float", "float"):
        return _OPERATORS[name], KINDS[kind]
    return (layout.COPY, KINDS[kind]) if name == "to_float" else (None, KINDS[kind])


def call_out(name: str, kind: Kind, arguments: int, dictionary: Dictionary) -> CallOut:
    """Return the Python function for a functor with so many arguments, or a comparison, that the kernels do not
    know."""
    if name in _TESTS:
        return _test(_TESTS[name], dictionary)
    if name == "ord":
        return ordinal_call_out(kind, dictionary)
    if name == "to_string":
        return lambda columns, _: (
            None,
            (encoded([_text(w, kind, dictionary) for w in columns[0].tolist()], dictionary),),
        )
    on_texts = text_call_out(name, arguments, dictionary)
    return on_texts if on_texts is not None else function(*_FUNCTIONS[name], dictionary)


def _text(word: int, kind: Kind, dictionary: Dictionary) -> str:
    value = dictionary.decode(word, kind)
    return repr(value) if isinstance(value, float) else str(value)


# --- comparisons of symbols ------------------------------------------------------------------------------------------


def _matches(pattern: str, text: str, look: Look) -> bool | None:
    matches = matcher(pattern)
    if matches is None or len(text) <= LONG:
        return None if matches is None else matches(text)
    return _watched(lambda: matches(text), look)


def _watched(work: Callable[[], bool], look: Look) -> bool:
    """Return the result of `work`, which lets other threads run, while this thread looks at the limits.

    One that is stopped is left to end by itself: it is a match, whose time is bounded.
    """
    results: list[bool] = []
    worker = Thread(target=lambda: results.append(work()), daemon=True)
    worker.start()
    while True:
        worker.join(0.05)
        look()
        if not worker.is_alive():
            return results[0]


_TESTS: dict[str, Callable[[str, str, Look], bool | None]] = {
    "<": lambda a, b, _: a < b,
    "<=": lambda a, b, _: a <= b,
    ">": lambda a, b, _: a > b,
    ">=": lambda a, b, _: a >= b,
    "contains": lambda a, b, _: a in b,
    "!contains": lambda a, b, _: a not in b,
    "starts_with": lambda a, b, _: a.startswith(b),
    "!starts_with": lambda a, b, _: not a.startswith(b),
    "ends_with": lambda a, b, _: a.endswith(b),
    "!ends_with": lambda a, b, _: not a.endswith(b),
    "match": _matches,
    "!match": lambda a, b, look: _matches(a, b, look) is False,
}


def _test(test: Callable[[str, str, Look], bool | None], dictionary: Dictionary) -> CallOut:
    def apply(columns: list[Words], look: Look) -> tuple[Mask, Sequence[Words]]:
        rows = paced([dictionary.strings(column) for column in columns], look)
        return numpy.fromiter((bool(test(a, b, look)) for a, b in rows), bool, len(columns[0])), ()

    return apply


# --- functors on symbols ---------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"([+-]?)(?:0x([0-9a-fA-F]{1,999})|0b([01]{1,999})|([0-9]{1,999}))")
_FLOAT = re.compile(r"[+-]?(?:inf|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")


def _integer(text: str, low: int, high: int) -> int | None:
    """Return the integer that a text spells, or None if it spells none from `low` to `high`."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    sign, hexadecimal, binary, decimal = match.groups()
    digits, base = (hexadecimal, 16) if hexadecimal else (binary, 2) if binary else (decimal, 10)
    value = int(digits, base) * (-1 if sign == "-" else 1)
    return value if low <= value <= high else None


def _unsigned(text: str) -> int | None:
    value = _integer(text, 0, 2**64 - 1)
    return None if value is None else (value + 2**63) % 2**64 - 2**63


def _fraction(text: str) -> int | None:
    return int(numpy.float64(float(text) + 0.0).view(numpy.int64)) if _FLOAT.fullmatch(text) else None


def _joined(a: str, b: str) -> str:
    if len(a) + len(b) > LONGEST:
        message = f"`cat` would make a symbol of {len(a) + len(b):,} characters, the limit is {LONGEST:,}"
        hint = "bound the recursion that makes the text longer; nothing has changed"
        raise LimitError(Problem("E0503", message, hint=hint))
    return a + b


_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Kind, ...], Kind]] = {
    "cat": (_joined, ("symbol", "symbol"), "symbol"),
    "strlen": (len, ("symbol",), "number"),
    "substr": (
        lambda text, start, length: text[start : start + length] if start >= 0 and length > 0 else "",
        ("symbol", "number", "number"),
        "symbol",
    ),
    "codepoint": (lambda text: ord(text[0]) if text else 0, ("symbol",), "number"),
    "min": (min, ("symbol", "symbol"), "symbol"),
    "max": (max, ("symbol", "symbol"), "symbol"),
    "to_number": (lambda text: _integer(text, -(2**63), 2**63 - 1), ("symbol",), "number"),
    "to_unsigned": (_unsigned, ("symbol",), "number"),
    "to_float": (_fraction, ("symbol",), "number"),
}
"""Name -> function on Python values, kinds of the arguments, kind of the result; unsigned and float results are
words."""
