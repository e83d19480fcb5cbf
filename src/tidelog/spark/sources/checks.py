"""Checks for values of a Spark column that do not fit a declared kind: pure Spark expressions, no Python on the
workers.

`leaves` flattens one column of a relation into leaf columns that hold one word each. A primitive is one leaf; a record
is a leaf that says whether it is there, and below it the leaves of its fields. A leaf holds:

    number, unsigned   long; an unsigned by its bit pattern
    float              double (Spark has no expression for its bits, so the driver takes them)
    symbol             string; `frames.symbols` makes it a long
    a record           boolean: not nil
    a type with branches   string, which the driver reads

Every check is total: nothing in it raises, with ANSI mode or without. Reasons start with the column's name and never
contain the value, so that they can be grouped; the value is in the quarantined row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import Problem
from tidelog.io.values import article
from tidelog.language.syntax import PRIMITIVES, Kind, RecordType
from tidelog.spark.sessions import is_valid_utf8, try_cast
from tidelog.storage.column_names import positions_by_name

MOST_NUMBER = 2**63 - 1
_BEYOND_UNSIGNED = Decimal(2**64)

_INTEGER_TEXT = r"^\s*[+-]?[0-9]+\s*$"
_NEGATIVE_TEXT = r"^\s*-0*[1-9][0-9]*\s*$"
FLOAT_TEXT = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_INFINITE_TEXT = r"^\s*[+-]?(?i:inf|infinity)\s*$"
_NAN_TEXT = r"^\s*[+-]?(?i:nan)\s*$"

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_FRACTIONS = (T.FloatType, T.DoubleType)
_TEXTS = (T.StringType, T.CharType, T.VarcharType)


@dataclass(frozen=True)
class Leaf:
    """A column `name` of words of `kind`: `value` is the expression, `reason` says why it is wrong, or is null. If it
    `is_plain`, the value is wrong where it is null, NaN or text that is not UTF-8, and nowhere else."""

    name: str
    kind: Kind
    value: Expression
    reason: Expression
    is_plain: bool = False


class WrongType(Exception):
    """A whole column that cannot hold the declared kind, whatever its rows are."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def missing_column(relation: str, what: str, given: Collection[str], hint: str) -> Problem:
    """Return the problem that a frame with columns of the names `given` lacks one for a relation (E0480)."""
    message = f"the frame has no column {what}; found {', '.join(given) or 'no columns'}"
    return Problem("E0480", message, place=relation, hint=hint)


def leaves(
    name: str,
    place: str,
    column: Expression,
    given: T.DataType,
    kind: Kind,
    records: Mapping[str, RecordType],
    exact: bool = False,
) -> list[Leaf]:
    """Return the leaf columns `name`, `name_0`, … of `column`, which is of the Spark type `given` and should be `kind`.

    `place` is how reasons call it. With `exact`, nothing is converted: the type has to be one whose values are all, but
    for null, NaN and range, values of the kind. Raises WrongType when the types do not go together.
    """
    if kind in PRIMITIVES:
        if exact and not _is_exact(given, kind):
            raise WrongType(_wrong_type(place, given, kind, _EXACT[kind]))
        value, reason = _primitive(column, given, kind, place)
        reason = F.when(column.isNull(), F.lit("null")).otherwise(reason)
        return [Leaf(name, kind, value, F.concat(F.lit(f"{place}: "), reason), _is_exact(given, kind))]
    if records[kind].branches:
        if not isinstance(given, _TEXTS):
            raise WrongType(_wrong_type(place, given, kind, f"a string such as ${records[kind].branches[0].name}"))
        reason = F.when(column.isNull(), F.concat(F.lit(f"{place}: null")))
        return [Leaf(name, kind, column.cast("string"), reason)]
    return _record(name, place, column, given, records[kind], records, exact)


_EXACT: Mapping[Kind, str] = {
    "number": "an integer",
    "unsigned": "an integer, or a decimal(20,0)",
    "float": "a float or a double",
    "symbol": "a string",
}


def _is_exact(given: T.DataType, kind: Kind) -> bool:
    match kind:
        case "symbol":
            return isinstance(given, _TEXTS)
        case "float":
            return isinstance(given, (*_FRACTIONS, T.NullType))
        case "unsigned" if isinstance(given, T.DecimalType):
            return given.scale == 0 and given.precision <= 20
    return isinstance(given, (*_INTEGERS, T.NullType))


def _record(
    name: str,
    place: str,
    column: Expression,
    given: T.DataType,
    record: RecordType,
    records: Mapping[str, RecordType],
    exact: bool,
) -> list[Leaf]:
    no_reason = F.lit(None).cast("string")
    if isinstance(given, T.NullType):
        return [Leaf(name, record.name, F.lit(False), no_reason)]
    if not isinstance(given, T.StructType):
        raise WrongType(_wrong_type(place, given, record.name, f"a struct of {_names(record)}"))
    positions = positions_by_name(given.names, [field.name for field in record.fields])
    if len(positions) < len(record.fields):
        raise WrongType(_wrong_type(place, given, record.name, f"a struct of {_names(record)}"))
    there = column.isNotNull()
    found = [Leaf(name, record.name, there, no_reason)]
    for i, field in enumerate(record.fields):
        own = given.fields[positions[field.name]]
        part, part_type = column.getField(own.name), own.dataType
        for leaf in leaves(f"{name}_{i}", f"{place}.{field.name}", part, part_type, field.kind, records, exact):
            # Below nil there is nothing, which is no fault.
            found.append(Leaf(leaf.name, leaf.kind, F.when(there, leaf.value), F.when(there, leaf.reason)))
    return found


def _names(record: RecordType) -> str:
    return ", ".join(field.name for field in record.fields)


def _wrong_type(place: str, given: T.DataType, kind: Kind, expected: str) -> Problem:
    return Problem(
        "E0481",
        f"expected {article(kind)} ({expected} in Spark), found the type {given.simpleString()}",
        place=place,
        hint=_cast_hint(given, kind),
    )


def _cast_hint(given: T.DataType, kind: Kind) -> str:
    """Return a hint: how to convert one type to the other in Spark."""
    match given, kind:
        case (T.DecimalType(), "number" | "unsigned") if given.scale > 0:
            way = f'(column * {10**given.scale}).cast("long")'
            return f"count in smaller units: {way}; or declare the column as float, and cast it to double"
        case (T.DecimalType(), "float"):
            return 'cast it: column.cast("double"), which rounds to 15 digits'
        case (T.DateType(), "number" | "unsigned" | "float"):
            return "use days since 1970: F.unix_date(column); or declare the column as symbol and cast it to string"
        case (T.TimestampType() | T.TimestampNTZType(), "number" | "unsigned" | "float"):
            return 'use microseconds since 1970: F.unix_micros(column.cast("timestamp"))'
        case (T.BooleanType(), "number" | "unsigned"):
            return 'cast it: column.cast("int")'
        case (T.BinaryType(), _):
            return "convert it to text: F.decode(column, 'UTF-8'), F.base64(column) or F.hex(column)"
        case (T.ArrayType() | T.MapType(), _):
            return "make one fact per entry: F.explode(column)"
        case (T.StructType(), _) if kind in PRIMITIVES:
            return 'pick a field: column["name"], or declare a record type'
    target = {"number": "long", "unsigned": "decimal(20,0)", "float": "double", "symbol": "string"}.get(kind)
    return f'cast it: column.cast("{target}")' if target else "build it with F.struct(…)"


def _primitive(column: Expression, given: T.DataType, kind: Kind, place: str) -> tuple[Expression, Expression]:
    """Return the leaf's value and why it is wrong (null where it is not) for a column without nulls."""
    if kind == "symbol":
        if not isinstance(given, _TEXTS):
            raise WrongType(_wrong_type(place, given, kind, "a string"))
        # The cast drops a collation: symbols are equal when their bytes are.
        text = column.cast(T.StringType())
        return text, F.when(~is_valid_utf8(text), F.lit("not valid UTF-8"))
    if isinstance(given, T.NullType):
        return F.lit(None).cast("double" if kind == "float" else "long"), F.lit("null")
    if not isinstance(given, (*_INTEGERS, *_FRACTIONS, *_TEXTS, T.DecimalType)):
        raise WrongType(_wrong_type(place, given, kind, "a number, or a string that reads as one"))
    if kind == "float":
        return _float(column, given)
    return _number(column, given) if kind == "number" else _unsigned(column, given)


def _float(column: Expression, given: T.DataType) -> tuple[Expression, Expression]:
    value = try_cast(column, "double")
    reason = F.when(F.isnan(value), F.lit("NaN"))
    if isinstance(given, _TEXTS):
        infinite = F.abs(value) == F.lit(float("inf"))
        # One pattern for nearly all rows: patterns take most of the time of a check.
        reason = (
            F.when(column.rlike(FLOAT_TEXT), F.when(infinite, F.lit("out of range")))
            .when(column.rlike(_NAN_TEXT), F.lit("NaN"))
            .when(~column.rlike(_INFINITE_TEXT), F.lit("not a number"))
        )
    elif not isinstance(given, _FRACTIONS):
        reason = F.when(~is_kept(column, given, value), F.lit("no float is equal to it"))
    # Adding zero turns -0.0 into 0.0, which is the same number.
    return value + F.lit(0.0), reason


def is_kept(column: Expression, given: T.DataType, value: Expression) -> Expression:
    """Return True if an integer or a decimal is what its float says: equal for whole numbers of 64 bits, signed or not;
    for all others the digits are, in which floats are written."""
    # The largest long is no float, and what is cast back from the float above it.
    whole = (value < F.lit(2.0**63)) & (try_cast(value, "long") == column)
    if isinstance(given, T.DecimalType):
        is_whole = F.floor(column) == column
        is_long = is_whole & try_cast(column, "long").isNotNull()
        is_unsigned = is_whole & (value >= F.lit(2.0**63)) & (value < F.lit(2.0**64))
        upper = try_cast(value - F.lit(2.0**64), "long").cast("decimal(20,0)") + F.lit(_BEYOND_UNSIGNED) == column
        digits = try_cast(value, T.DecimalType(given.precision, given.scale)) == column
        whole = F.when(is_long, whole).when(is_unsigned, upper).otherwise(digits)
    return F.coalesce(whole, F.lit(False))


def _number(column: Expression, given: T.DataType) -> tuple[Expression, Expression]:
    value = try_cast(column, "long")
    if isinstance(given, _FRACTIONS):  # Spark takes the float above the largest long for that one.
        value = F.when(column < F.lit(2.0**63), value)
    out_of_range = F.when(value.isNull(), F.lit("out of range"))
    if isinstance(given, _TEXTS):
        return value, F.when(~column.rlike(_INTEGER_TEXT), F.lit("not a number")).otherwise(out_of_range)
    return value, _whole(column, given).otherwise(out_of_range)


def _unsigned(column: Expression, given: T.DataType) -> tuple[Expression, Expression]:
    if isinstance(given, _FRACTIONS):
        # A decimal has the digits in which a double is written, which are those of another number from 2^53 on.
        large = (column >= F.lit(2.0**63)) & (column < F.lit(2.0**64))
        value = F.when(large, try_cast(column - F.lit(2.0**64), "long"))
        value = value.when((column >= 0) & (column < F.lit(2.0**63)), try_cast(column, "long"))
        beyond_it = F.when(value.isNull(), F.lit("out of range"))
        return value, _whole(column, given).when(column < 0, F.lit("negative")).otherwise(beyond_it)
    wide = try_cast(column, "decimal(38,0)")
    # The upper half of the unsigned numbers has the bit patterns of the negative ones.
    beyond = F.lit(_BEYOND_UNSIGNED)
    lower = (wide >= 0) & (wide <= MOST_NUMBER)
    upper = (wide > MOST_NUMBER) & (wide < beyond)
    value = F.when(lower, try_cast(wide, "long")).when(upper, try_cast(wide - beyond, "long"))
    out_of_range = F.when(value.isNull(), F.lit("out of range"))
    if isinstance(given, _TEXTS):
        reason = (
            F.when(~column.rlike(_INTEGER_TEXT), F.lit("not a number"))
            .when(column.rlike(_NEGATIVE_TEXT), F.lit("negative"))
            .otherwise(out_of_range)
        )
        return value, reason
    return value, _whole(column, given).when(column < 0, F.lit("negative")).otherwise(out_of_range)


def _whole(column: Expression, given: T.DataType) -> Expression:
    """Return a chain of `when` that catches what is no whole number."""
    never = F.when(F.lit(False), F.lit(""))
    if isinstance(given, _INTEGERS):
        return never
    if isinstance(given, T.DecimalType):
        return never.when(F.floor(column) != column, F.lit("not a whole number")) if given.scale > 0 else never
    infinite = F.abs(column) == F.lit(float("inf"))
    return (
        F.when(F.isnan(column), F.lit("NaN"))
        .when(infinite, F.lit("out of range"))
        .when(F.rint(column) != column, F.lit("not a whole number"))
    )
