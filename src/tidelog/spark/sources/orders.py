"""The order of events: columns that say when, as leaf columns of words that compare as the values do.

A column of an order takes one to three words, by its form:

    whole      an integer, a boolean or a date: the number
    fraction   a decimal, a float or a time: what is before the point, and the billionths after it
    text       before these a text, which is empty where the column reads as a number; so numbers come first

Dates and times are seconds since 1970. Words compare from left to right. Numbers go by nine digits after the point.
All words are small where the values are, so that a database of small words stays one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import Problem
from tidelog.language.syntax import Kind
from tidelog.spark.older import applied, is_valid_utf8, try_cast
from tidelog.spark.sources.checks import FLOAT_TEXT, Leaf, WrongType

OrderForm: TypeAlias = Literal["whole", "fraction", "text"]
KINDS: dict[OrderForm, tuple[Kind, ...]] = {
    "whole": ("number",),
    "fraction": ("number", "number"),
    "text": ("symbol", "number", "number"),
}
"""The kinds of the words of each form."""

_DIGITS = "decimal(28,9)"  # as many before the point as a word has
_MICROSECONDS = 1_000_000
_DAY = 86_400


@dataclass(frozen=True)
class _Parts:
    """The parts of a value: its number before and after the point, its text, and why it has no place in an order."""

    whole: Expression
    billionths: Expression
    text: Expression
    reason: Expression


def form_of(place: str, given: T.DataType) -> OrderForm:
    """Return the form of a column of this type. Raise WrongType for a type without an order that lasts."""
    match given:
        case T.DecimalType():
            return "fraction" if given.scale > 0 else "whole"
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            return "whole"
        case T.BooleanType() | T.DateType() | T.NullType():
            return "whole"
        case T.FloatType() | T.DoubleType() | T.TimestampType() | T.TimestampNTZType():
            return "fraction"
        case T.StringType():
            return "text"
    message = f"expected numbers, times or texts to order by, found the type {given.simpleString()}"
    hint = 'name its parts one by one, such as order = ["file", "position"], or cast it'
    raise WrongType(Problem("E0481", message, place=place, hint=hint))


def order_leaves(name: str, place: str, column: Expression, given: T.DataType, form: OrderForm) -> list[Leaf]:
    """Return the leaves `name0`, `name1` … of a column of the type `given` in a form. `place` is how reasons call the
    column. Raise WrongType as `form_of`."""
    form_of(place, given)
    found = _parts(column, given)
    reason = found.reason
    if form != "text" and isinstance(given, T.StringType):
        reason = F.coalesce(F.when(found.text != "", F.lit("not a number")), reason)
    if form == "whole":
        reason = F.coalesce(reason, F.when(found.billionths != 0, F.lit("not a whole number")))
    reason = F.when(column.isNull(), F.lit("null")).otherwise(reason)
    numbers = [found.whole] if form == "whole" else [found.whole, found.billionths]
    values = [found.text, *numbers] if form == "text" else numbers
    reasons = [F.concat(F.lit(f"{place}: "), reason), *[F.lit(None).cast("string")] * (len(values) - 1)]
    return [
        Leaf(f"{name}{i}", kind, value, why)
        for i, (kind, value, why) in enumerate(zip(KINDS[form], values, reasons, strict=True))
    ]


def _parts(column: Expression, given: T.DataType) -> _Parts:
    none, zero = F.lit(None).cast("string"), F.lit(0).cast("long")
    match given:
        case T.BooleanType():
            return _Parts(column.cast("int").cast("long"), zero, F.lit(""), none)
        case T.DateType():
            return _Parts(F.unix_date(column).cast("long") * _DAY, zero, F.lit(""), none)
        case T.TimestampType():
            return _of_microseconds(F.unix_micros(column))
        case T.TimestampNTZType():
            epoch = "timestamp_ntz'1970-01-01 00:00:00'"
            return _of_microseconds(applied(f"timestampdiff(MICROSECOND, {epoch}, v)", column))
        case T.StringType():
            is_number = column.rlike(FLOAT_TEXT)
            parts = _of_decimal(try_cast(F.when(is_number, F.trim(column)), _DIGITS))
            return _Parts(
                F.when(is_number, parts.whole).otherwise(zero),
                F.when(is_number, parts.billionths).otherwise(zero),
                F.when(is_number, F.lit("")).otherwise(column.cast(T.StringType())),
                F.when(column == "", F.lit("empty"))
                .when(~is_valid_utf8(column), F.lit("not valid UTF-8"))
                .when(is_number, parts.reason),
            )
        case T.FloatType() | T.DoubleType():
            parts = _of_decimal(try_cast(column, _DIGITS))
            return _Parts(
                parts.whole, parts.billionths, parts.text, F.when(F.isnan(column), F.lit("NaN")).otherwise(parts.reason)
            )
    if isinstance(given, T.DecimalType):
        return _of_decimal(try_cast(column, _DIGITS))
    return _Parts(column.cast("long"), zero, F.lit(""), none)


def _of_microseconds(value: Expression) -> _Parts:
    after = F.pmod(value, F.lit(_MICROSECONDS))
    whole = ((value - after) / _MICROSECONDS).cast("long")  # an integer, which a double has exactly
    return _Parts(whole, after * 1000, F.lit(""), F.lit(None).cast("string"))


def _of_decimal(value: Expression) -> _Parts:
    floor = F.floor(value)
    # In steps of these types no digit is lost.
    after = ((value - floor).cast("decimal(10,9)") * F.lit(1_000_000_000).cast("decimal(10,0)")).cast("long")
    whole = try_cast(floor, "long")
    return _Parts(whole, after, F.lit(""), F.when(whole.isNull(), F.lit("out of range")))


def kinds_of(forms: Sequence[OrderForm]) -> list[Kind]:
    """Return the kinds of the words of an order, from left to right."""
    return [kind for form in forms for kind in KINDS[form]]
