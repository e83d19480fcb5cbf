"""The meaning of functors and comparisons on Python values: the specification that engines are tested against.

    apply   the values of a functor: none, one, or several
    holds   True if a comparison is true

Where a functor has no value, the literal that contains it is false and nothing is derived from it:

- `/` and `%` by zero, of every kind (Soufflé stops there);
- to_number, to_unsigned and to_float of a text that is no such literal, or whose value is out of range;
- ftoi, ftou and their other spellings out of range;
- `^` on integers with a negative exponent, except for the bases 1 and -1; on floats 0 with a negative exponent;
- results that would be NaN, so that no NaN ever gets into a relation (infinities do);
- match with an invalid pattern (language/regex): neither match nor !match holds.

Otherwise: integers wrap around at 64 bits. Integer division truncates toward zero and the remainder has the sign of the
dividend, as in C. Shifts take their count modulo 64; bshr keeps the sign of a number, bshru does not. The functors
land, lor, lxor and lnot give 0 or 1. Lengths and positions in symbols count code points, symbols are ordered by code
points, and codepoint is the code point of the first character (0 for ""). ord numbers values, see `ordinals`. No
functor finds an empty pattern, except `positions`, which finds it everywhere; `split` then gives the characters.
Letters change case as Unicode says for all languages, and `trim` removes the white space that Unicode names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tidelog.language.functors import COMPARISONS, NUMERIC, several
from tidelog.language.regex import grouper, matcher
from tidelog.language.syntax import Kind
from tidelog.semantics.ordinals import ordinals
from tidelog.semantics.values import (
    LARGEST,
    LARGEST_UNSIGNED,
    SMALLEST,
    NoValueError,
    Scalar,
    cast,
    normal,
    proper_float,
    to_signed,
    to_unsigned,
    wrap,
)

# --- texts ------------------------------------------------------------------------------------------------------------


def index_of(text: str, part: str) -> int:
    """Return the first position of a part. Raise NoValueError where it does not occur."""
    position = text.find(part)
    if position < 0:
        raise NoValueError
    return position


def positions(text: str, part: str) -> Iterator[int]:
    """Return the positions at which a part occurs, also where these overlap."""
    position = text.find(part)
    while position >= 0:
        yield position
        position = text.find(part, position + 1) if position < len(text) else -1


def split(text: str, separator: str) -> list[str]:
    """Return the parts of a text between the separators."""
    return text.split(separator) if separator else list(text)


def replace_text(text: str, old: str, new: str) -> str:
    """Return a text with each `old` replaced, from left to right."""
    return text.replace(old, new) if old else text


def groups(pattern: str, text: str) -> list[str | None]:
    """Return the texts of the groups of a pattern that the whole text matches, None for a group that took no part. The
    list is empty if the text does not match, or if the pattern is malformed."""
    find = grouper(pattern)
    return [] if find is None else find(text)[1:]


def part(text: str, separator: str, number: int) -> str:
    """Return the part of a text with a number. Raise NoValueError if it has no such part."""
    return _part_at(split(text, separator), number)


def group(pattern: str, text: str, number: int) -> str:
    """Return the text of the group with a number, of which 0 is the whole text. Raise NoValueError if it has none."""
    find = grouper(pattern)
    return _part_at([] if find is None else find(text), number)


def _part_at(found: list[str] | list[str | None], number: int) -> str:
    value = found[number] if 0 <= number < len(found) else None
    if value is None:
        raise NoValueError
    return value


ONE: dict[tuple[str, int], Callable[..., int | str]] = {
    ("lower", 1): str.lower,
    ("upper", 1): str.upper,
    ("trim", 1): str.strip,
    ("replace", 3): replace_text,
    ("index_of", 2): index_of,
    ("split", 3): part,
    ("groups", 3): group,
}
"""By name and number of arguments, the functors with at most one value."""

SEVERAL: dict[str, Callable[[str, str], Iterable[int | str | None]]] = {
    "split": split,
    "groups": groups,
    "positions": positions,
}
"""Functors with several values; those that are None do not count, and equal ones count once."""


# --- arithmetic -------------------------------------------------------------------------------------------------------


def normal_number(value: Scalar, kind: Kind) -> Scalar:
    """Return the value of a sum, difference or product of numbers."""
    return proper_float(value) if kind == "float" else wrap(value, kind)


def divide(a: Scalar, b: Scalar, kind: Kind) -> Scalar:
    if b == 0:
        raise NoValueError
    if kind == "float":
        return proper_float(a / b)
    quotient = abs(a) // abs(b)
    return wrap(quotient if (a < 0) == (b < 0) else -quotient, kind)


def remainder(a: int, b: int, kind: Kind) -> int:
    if b == 0:
        raise NoValueError
    rest = abs(a) % abs(b)
    return wrap(-rest if a < 0 else rest, kind)


def power(a: Scalar, b: Scalar, kind: Kind) -> Scalar:
    if kind == "float":
        try:
            return proper_float(math.pow(a, b))
        except OverflowError:
            return -math.inf if a < 0 and b % 2 == 1 else math.inf
        except ValueError:
            raise NoValueError from None
    if b >= 0:
        return wrap(pow(a, b, 2**64), kind)
    if a in (1, -1):
        return a if b % 2 else 1
    raise NoValueError


# --- symbols ----------------------------------------------------------------------------------------------------------


def substring(text: str, start: int, length: int) -> str:
    """Return the characters `start` to `start + length`, clipped at the end; "" if it starts outside or is not
    positive."""
    return text[start : start + length] if start >= 0 and length > 0 else ""


def first_code_point(text: str) -> int:
    return ord(text[0]) if text else 0


# --- conversions ------------------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"([+-]?)(?:0x([0-9a-fA-F]+)|0b([01]+)|([0-9]+))")
_FLOAT = re.compile(r"[+-]?(?:inf|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")


def read_integer(text: str) -> int:
    """Return the value of a decimal, `0x` or `0b` literal with an optional sign, of any size."""
    parts = _INTEGER.fullmatch(text)
    if parts is None:
        raise NoValueError
    sign, hexadecimal, binary, decimal = parts.groups()
    digits, base = (hexadecimal, 16) if hexadecimal else (binary, 2) if binary else (decimal.lstrip("0") or "0", 10)
    if len(digits) > 64:  # no value fits; Python refuses to read thousands of decimal digits
        digits = digits.lstrip("0") or "0"
        if len(digits) > 64:
            raise NoValueError
    value = int(digits, base)
    return -value if sign == "-" else value


def within(value: int, low: int, high: int) -> int:
    if low <= value <= high:
        return value
    raise NoValueError


def truncate(value: float) -> int:
    if math.isinf(value):
        raise NoValueError
    return int(value)


def convert_to_number(a: Scalar, kind: Kind) -> int:
    if kind == "symbol":
        return within(read_integer(a), SMALLEST, LARGEST)
    return within(truncate(a), SMALLEST, LARGEST) if kind == "float" else to_signed(a)


def convert_to_unsigned(a: Scalar, kind: Kind) -> int:
    if kind == "symbol":
        return within(read_integer(a), 0, LARGEST_UNSIGNED)
    return within(truncate(a), 0, LARGEST_UNSIGNED) if kind == "float" else to_unsigned(a)


def convert_to_float(a: Scalar, kind: Kind) -> float:
    if kind == "symbol" and not _FLOAT.fullmatch(a):
        raise NoValueError
    return proper_float(float(a))


def convert_to_string(a: Scalar, kind: Kind) -> str:
    """Return the decimal digits of an integer, the shortest text that reads back as the same float, or a symbol as it
    is."""
    return repr(a) if kind == "float" else str(a)


# --- functors ---------------------------------------------------------------------------------------------------------

FUNCTORS: dict[str, Callable[..., Scalar]] = {
    # each takes the arguments and then the kind of the operands
    "+": lambda a, b, kind: normal_number(a + b, kind),
    "-": lambda a, b, kind: normal_number(a - b, kind),
    "*": lambda a, b, kind: normal_number(a * b, kind),
    "/": divide,
    "%": remainder,
    "^": power,
    "neg": lambda a, kind: normal_number(-a, kind),
    "band": lambda a, b, kind: wrap(a & b, kind),
    "bor": lambda a, b, kind: wrap(a | b, kind),
    "bxor": lambda a, b, kind: wrap(a ^ b, kind),
    "bnot": lambda a, kind: wrap(~a, kind),
    "bshl": lambda a, b, kind: wrap(a << (b % 64), kind),
    "bshr": lambda a, b, kind: a >> (b % 64),
    "bshru": lambda a, b, kind: wrap(to_unsigned(a) >> (b % 64), kind),
    "land": lambda a, b, kind: int(a != 0 and b != 0),
    "lor": lambda a, b, kind: int(a != 0 or b != 0),
    "lxor": lambda a, b, kind: int((a != 0) != (b != 0)),
    "lnot": lambda a, kind: int(a == 0),
    "min": lambda *args: min(args[:-1]),
    "max": lambda *args: max(args[:-1]),
    "cat": lambda *args: "".join(args[:-1]),
    "strlen": lambda a, kind: len(a),
    "substr": lambda a, start, length, kind: substring(a, start, length),
    "ord": lambda a, kind: next(cast(a, "number")) if kind in NUMERIC else ordinals([a])[0],
    "codepoint": lambda a, kind: first_code_point(a),
    "to_number": convert_to_number,
    "to_unsigned": convert_to_unsigned,
    "to_float": convert_to_float,
    "to_string": convert_to_string,
    "itof": convert_to_float,
    "itou": convert_to_unsigned,
    "utoi": convert_to_number,
    "utof": convert_to_float,
    "ftoi": convert_to_number,
    "ftou": convert_to_unsigned,
}


def interval(kind: Kind, start: Scalar, end: Scalar, step: Scalar | None = None) -> Iterator[Scalar]:
    """Return `range(start, end, step)`: `start`, `start + step`, … up to `end`, which is not included.

    Without a step it is 1 or, when `start > end`, -1 (for unsigned as well). A step of zero, or one that is
    too small to move a large float, yields `start` alone.
    """
    if step is None:
        step = 1 if start <= end else -1
    if step == 0 and start != end:
        yield normal(start, kind)
    value = start
    while (step > 0 and value < end) or (step < 0 and value > end):
        yield normal(value, kind)
        value, previous = value + step, value
        if value == previous:
            return


def apply(functor: str, kind: Kind, args: Sequence[Scalar]) -> Iterator[Scalar]:
    """Return the values of `functor`, whose operands are of `kind`: none, one, or several."""
    if functor == "range":
        yield from interval(kind, *args)
        return
    if several(functor, len(args)):
        yield from (value for value in dict.fromkeys(SEVERAL[functor](*args)) if value is not None)
        return
    try:
        on_texts = ONE.get((functor, len(args)))
        yield FUNCTORS[functor](*args, kind) if on_texts is None else on_texts(*args)
    except NoValueError:
        return


# --- comparisons ------------------------------------------------------------------------------------------------------


def holds(op: str, left: Scalar, right: Scalar) -> bool:
    """Return True if `left op right` holds. match(pattern, text) is about the whole text, contains(part, text) about
    any part of it; starts_with and ends_with take the text first."""
    if op in COMPARISONS:
        return COMPARISONS[op](left, right)
    if op.endswith("contains"):
        return (left in right) != op.startswith("!")
    if op.endswith("starts_with"):
        return bool(left.startswith(right)) != op.startswith("!")
    if op.endswith("ends_with"):
        return bool(left.endswith(right)) != op.startswith("!")
    matches = matcher(left)
    return matches is not None and matches(right) != op.startswith("!")
