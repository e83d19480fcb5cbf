"""What functors, comparisons and aggregates mean, on Python values: the specification that engines are tested against.

A number is an int of -2**63 … 2**63-1, unsigned an int of 0 … 2**64-1, float a float that is not NaN, symbol a str, a
record a tuple or None (`nil`).

    apply      the values of a functor: none, one, or (range) several
    holds      whether a comparison is true
    aggregate  the value of an aggregate over the values of its substitutions, if it has one

Where a functor has no value, the literal that contains it is false and nothing is derived from it:

- `/` and `%` by zero, of every kind (Soufflé stops there);
- to_number, to_unsigned and to_float of a text that is no such literal, or whose value is out of range;
- ftoi, ftou and their other spellings out of range;
- `^` on integers with a negative exponent, but for the bases 0, 1 and -1; on floats where `math.pow` raises;
- whatever would be NaN, so that no NaN ever gets into a relation (infinities do);
- match with a pattern that is none (language/regex): neither match nor !match holds;
- min, max, mean and median over nothing.

Otherwise: integers wrap around at 64 bits. Integer division truncates toward zero and the remainder has the sign of the
dividend, as in C. -0.0 is 0.0. Shifts take their count modulo 64; bshr keeps the sign of a number, bshru does not. The
functors land, lor, lxor and lnot give 0 or 1. Lengths and positions in symbols count code points, symbols are ordered
by code points, and ord is the code point of the first character (0 for ""), never a number of the dictionary (unlike
Soufflé).
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from tidelog.language.regex import matcher
from tidelog.language.syntax import Kind, RecordType, RelationType, Value
from tidelog.rules.core import RelationInfo

Scalar: TypeAlias = Any
"""A value whose kind is known elsewhere, so that arithmetic on it is meant."""

Row: TypeAlias = tuple[Value, ...]

SMALLEST, LARGEST = -(2**63), 2**63 - 1
LARGEST_UNSIGNED = 2**64 - 1


class NoValueError(Exception):
    """The functor has no value for these arguments."""


# --- representations -------------------------------------------------------------------------------------------------


def to_signed(value: int) -> int:
    """The number with the low 64 bits of `value`."""
    return (value - SMALLEST) % 2**64 + SMALLEST


def to_unsigned(value: int) -> int:
    """The unsigned with the low 64 bits of `value`."""
    return value % 2**64


def wrap(value: int, kind: Kind) -> int:
    return to_unsigned(value) if kind == "unsigned" else to_signed(value)


def proper_float(value: float) -> float:
    """`value`, with -0.0 as 0.0; NaN is no value."""
    if math.isnan(value):
        raise NoValueError
    return value + 0.0


def normal(value: Scalar, kind: Kind, records: Mapping[str, RecordType] | None = None) -> Scalar:
    """A constant or fact as it is stored: a float column holds floats, -0.0 is 0.0. `records` for values of records."""
    if records and kind in records and value is not None:
        columns = records[kind].fields
        return tuple(normal(part, column.kind, records) for part, column in zip(value, columns, strict=True))
    return proper_float(float(value)) if kind == "float" else value


def normal_row(row: Row, relation: RelationType | RelationInfo, records: Mapping[str, RecordType]) -> Row:
    """A fact as `relation` holds it."""
    return tuple(normal(value, column.kind, records) for value, column in zip(row, relation.columns, strict=True))


def cast(value: Scalar, kind: Kind) -> Iterator[Scalar]:
    """The value of `kind` that has the same 64 bits, unless that is NaN; symbols and records stay what they are."""
    if isinstance(value, float) and kind != "float":
        value = struct.unpack("<q", struct.pack("<d", value))[0]
    if isinstance(value, int) and kind == "float":
        value = struct.unpack("<d", struct.pack("<Q", to_unsigned(value)))[0]
    if not isinstance(value, float):
        yield wrap(value, kind) if isinstance(value, int) else value
    elif not math.isnan(value):
        yield proper_float(value)


# --- arithmetic ------------------------------------------------------------------------------------------------------


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
        except (ValueError, OverflowError):
            raise NoValueError from None
    if b >= 0:
        return wrap(pow(a, b, 2**64), kind)
    if a == 0:
        return 0
    if a in (1, -1):
        return a if b % 2 else 1
    raise NoValueError


def add(a: Scalar, b: Scalar, kind: Kind) -> Scalar:
    return proper_float(a + b) if kind == "float" else wrap(a + b, kind)


def subtract(a: Scalar, b: Scalar, kind: Kind) -> Scalar:
    return proper_float(a - b) if kind == "float" else wrap(a - b, kind)


def multiply(a: Scalar, b: Scalar, kind: Kind) -> Scalar:
    return proper_float(a * b) if kind == "float" else wrap(a * b, kind)


def negate(a: Scalar, kind: Kind) -> Scalar:
    return proper_float(-a) if kind == "float" else wrap(-a, kind)


# --- symbols ---------------------------------------------------------------------------------------------------------


def substring(text: str, start: int, length: int) -> str:
    """The characters `start` to `start + length`, clipped at the end; "" when it starts outside or is not positive."""
    return text[start : start + length] if start >= 0 and length > 0 else ""


def first_code_point(text: str) -> int:
    return ord(text[0]) if text else 0


# --- conversions -----------------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"([+-]?)(?:0x([0-9a-fA-F]+)|0b([01]+)|([0-9]+))")
_FLOAT = re.compile(r"[+-]?(?:inf|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")


def read_integer(text: str) -> int:
    """The value of a decimal, `0x` or `0b` literal with an optional sign, of any size."""
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
    """Decimal digits of an integer, the shortest text that reads back as the same float, a symbol as it is."""
    return repr(a) if kind == "float" else str(a)


# --- functors --------------------------------------------------------------------------------------------------------

FUNCTORS: dict[str, Callable[..., Scalar]] = {
    # each takes the arguments and then the kind of the operands
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "^": power,
    "neg": negate,
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
    "ord": lambda a, kind: first_code_point(a),
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
    """`range(start, end, step)`: `start`, `start + step`, … up to `end`, which is not included.

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
    """The values of `functor`, whose operands are of `kind`: none, one, or for range several."""
    if functor == "range":
        yield from interval(kind, *args)
        return
    try:
        yield FUNCTORS[functor](*args, kind)
    except NoValueError:
        return


# --- comparisons -----------------------------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(op: str, left: Scalar, right: Scalar) -> bool:
    """`left op right`; match(pattern, text) is about the whole text, contains(part, text) about any part of it."""
    if op in COMPARISONS:
        return COMPARISONS[op](left, right)
    if op.endswith("contains"):
        return (left in right) != op.startswith("!")
    matches = matcher(left)
    return matches is not None and matches(right) != op.startswith("!")


# --- aggregates ------------------------------------------------------------------------------------------------------


def aggregate(op: str, kind: Kind, values: Sequence[Scalar]) -> Scalar:
    """The aggregate of `values`, one per substitution, equal ones included; NoValueError if it has none.

    Sums of floats are exact before they are rounded once, so that their order does not matter. mean and
    median are floats for every kind; the median of an even number of values is the mean of the middle two.
    """
    if op == "count":
        return len(values)
    if op == "sum":
        return float_sum(values) if kind == "float" else wrap(sum(values), kind)
    if not values:
        raise NoValueError
    if op == "mean":
        return proper_float(float_sum([float(value) for value in values]) / len(values))
    if op == "median":
        ordered = sorted(values)
        middle = [float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])]
        return middle[0] if len(values) % 2 else proper_float((middle[0] + middle[1]) / 2)
    return min(values) if op == "min" else max(values)


def float_sum(values: Sequence[float]) -> float:
    """The exact sum, rounded once; no value for infinities of both signs, or where it is too large for a float."""
    infinite = {value for value in values if math.isinf(value)}
    if len(infinite) > 1:
        raise NoValueError
    try:
        return infinite.pop() if infinite else proper_float(float(sum(map(Fraction, values), Fraction())))
    except OverflowError:
        raise NoValueError from None
