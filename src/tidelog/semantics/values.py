"""The representation of values in Python, and their stored form.

A number is an int of -2**63 … 2**63-1, unsigned an int of 0 … 2**64-1, float a float that is not NaN, symbol a str, a
record a tuple or None (`nil`), a value with branches a `Branch`. -0.0 is stored as 0.0.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tidelog.language.branches import class_of
from tidelog.language.syntax import Kind, RecordType, RelationType, Value
from tidelog.rules.core import RelationInfo

Scalar: TypeAlias = Any
"""A value whose kind is known elsewhere, so that arithmetic on it is meant."""

Row: TypeAlias = tuple[Value, ...]

SMALLEST, LARGEST = -(2**63), 2**63 - 1
LARGEST_UNSIGNED = 2**64 - 1


class NoValueError(Exception):
    """The functor or aggregate has no value for these arguments."""


def to_signed(value: int) -> int:
    """Return the number with the low 64 bits of `value`."""
    return (value - SMALLEST) % 2**64 + SMALLEST


def to_unsigned(value: int) -> int:
    """Return the unsigned with the low 64 bits of `value`."""
    return value % 2**64


def wrap(value: int, kind: Kind) -> int:
    return to_unsigned(value) if kind == "unsigned" else to_signed(value)


def proper_float(value: float) -> float:
    """Return `value`, with -0.0 as 0.0. Raise NoValueError for NaN."""
    if math.isnan(value):
        raise NoValueError
    return value + 0.0


def normal(value: Scalar, kind: Kind, records: Mapping[str, RecordType] | None = None) -> Scalar:
    """Return the stored form of a constant or fact: a float column contains floats, and -0.0 is 0.0. `records` is for
    values of records."""
    if records and kind in records and value is not None:
        type_ = records[kind]
        branch = type_.branch(value._name) if type_.branches else None
        columns = type_.fields if branch is None else branch.fields
        parts = [normal(part, column.kind, records) for part, column in zip(value, columns, strict=True)]
        return tuple(parts) if branch is None else class_of(branch)(*parts)
    return proper_float(float(value)) if kind == "float" else value


def normal_row(row: Row, relation: RelationType | RelationInfo, records: Mapping[str, RecordType]) -> Row:
    """Return the stored form of a fact of `relation`."""
    return tuple(normal(value, column.kind, records) for value, column in zip(row, relation.columns, strict=True))


def cast(value: Scalar, kind: Kind) -> Iterator[Scalar]:
    """Return the value of `kind` that has the same 64 bits, unless that is NaN. Symbols and records stay the same."""
    if isinstance(value, float) and kind != "float":
        value = struct.unpack("<q", struct.pack("<d", value))[0]
    if isinstance(value, int) and kind == "float":
        value = struct.unpack("<d", struct.pack("<Q", to_unsigned(value)))[0]
    if not isinstance(value, float):
        yield wrap(value, kind) if isinstance(value, int) else value
    elif not math.isnan(value):
        yield proper_float(value)
