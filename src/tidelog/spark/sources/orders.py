"""The order of events: columns that say when, as leaf columns of words that compare as the values do.

A column of an order takes one or two words, by its form:

    whole      an integer, a boolean or a date: the number
    fraction   a decimal, a float, a time or a text: what is before the point, and the billionths after it
    tie        what decides between insertions of one key at one place of the order: a hash of their values

Dates and times are seconds since 1970. A text reads as a number, or as a time of ISO 8601, in UTC where it has no
offset; others say nothing of when, because v10 is behind v9. Words compare from left to right. Numbers go by nine
digits after the point. All words are small where the values are, so that a database of small words stays one.
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
from tidelog.spark.older import applied, try_cast
from tidelog.spark.sources.checks import FLOAT_TEXT, Leaf, WrongType

OrderForm: TypeAlias = Literal["whole", "fraction", "tie"]
KINDS: dict[OrderForm, tuple[Kind, ...]] = {
    "whole": ("number",),
    "fraction": ("number", "number"),
    "tie": ("number",),
}
"""The kinds of the words of each form."""

_DIGITS = "decimal(28,9)"  # as many before the point as a word has
_MICROSECONDS = 1_000_000
_DAY = 86_400
_EPOCH = "timestamp_ntz'1970-01-01 00:00:00'"
_TIME = (
    r"^\s*([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9})[0-9]*)?)?"
    r"\s*(Z|z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?)?\s*$"
)
"""A date of ISO 8601, hours and minutes, seconds, their fraction, and an offset."""
_WAY_OUT = "neither a number nor an ISO time; order by a column of numbers or timestamps"
_DELETED = -(2**31)


@dataclass(frozen=True)
class _Parts:
    """The parts of a value: its number before and after the point, and why it has no place in an order."""

    whole: Expression
    billionths: Expression
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
        case T.FloatType() | T.DoubleType() | T.TimestampType() | T.TimestampNTZType() | T.StringType():
            return "fraction"
    message = f"expected numbers or times to order by, found the type {given.simpleString()}"
    hint = 'name its parts one by one, such as order = ["file", "position"], or cast it'
    raise WrongType(Problem("E0481", message, place=place, hint=hint))


def order_leaves(name: str, place: str, column: Expression, given: T.DataType, form: OrderForm) -> list[Leaf]:
    """Return the leaves `name0`, `name1` … of a column of the type `given` in a form. `place` is how reasons call the
    column. Raise WrongType as `form_of`."""
    form_of(place, given)
    found = _parts(column, given)
    reason = found.reason
    if form == "whole":
        reason = F.coalesce(reason, F.when(found.billionths != 0, F.lit("not a whole number")))
    reason = F.when(column.isNull(), F.lit("null")).otherwise(reason)
    values = [found.whole] if form == "whole" else [found.whole, found.billionths]
    reasons = [F.concat(F.lit(f"{place}: "), reason), *[F.lit(None).cast("string")] * (len(values) - 1)]
    return [
        Leaf(f"{name}{i}", kind, value, why)
        for i, (kind, value, why) in enumerate(zip(KINDS[form], values, reasons, strict=True))
    ]


def tie_leaf(name: str, asserts: Expression, values: Sequence[Expression]) -> Leaf:
    """Return the leaf of the form "tie": it is the same for equal values, whatever batch they come in."""
    return Leaf(name, "number", F.when(asserts, F.hash(*values)).otherwise(_DELETED).cast("long"), F.lit(None))


def _parts(column: Expression, given: T.DataType) -> _Parts:
    none, zero = F.lit(None).cast("string"), F.lit(0).cast("long")
    match given:
        case T.BooleanType():
            return _Parts(column.cast("int").cast("long"), zero, none)
        case T.DateType():
            return _Parts(F.unix_date(column).cast("long") * _DAY, zero, none)
        case T.TimestampType():
            return _of_microseconds(F.unix_micros(column))
        case T.TimestampNTZType():
            return _of_microseconds(applied(f"timestampdiff(MICROSECOND, {_EPOCH}, v)", column))
        case T.StringType():
            return _of_text(column)
        case T.FloatType() | T.DoubleType():
            parts = _of_decimal(try_cast(column, _DIGITS))
            reason = F.when(F.isnan(column), F.lit("NaN")).otherwise(parts.reason)
            return _Parts(parts.whole, parts.billionths, reason)
    if isinstance(given, T.DecimalType):
        return _of_decimal(try_cast(column, _DIGITS))
    return _Parts(column.cast("long"), zero, none)


def _of_text(column: Expression) -> _Parts:
    """Return the parts of a text: those of the number, or of the time, that it reads as."""
    is_number = column.rlike(FLOAT_TEXT)
    number = _of_decimal(try_cast(F.when(is_number, F.trim(column)), _DIGITS))
    day, clock, second, fraction, offset = (F.regexp_extract(column, _TIME, group) for group in range(1, 6))
    local = F.concat_ws(" ", day, F.concat_ws(":", _or_zeros(clock, "00:00"), _or_zeros(second, "00")))
    seconds = applied(f"timestampdiff(SECOND, {_EPOCH}, v)", try_cast(local, "timestamp_ntz"))
    digits = F.regexp_replace(offset, "[^0-9]", "")
    hours, minutes = (try_cast(F.substring(digits, start, 2), "int") for start in (1, 3))
    ahead = F.coalesce(hours, F.lit(0)) * 3600 + F.coalesce(minutes, F.lit(0)) * 60
    whole = seconds - F.when(offset.startswith("-"), -ahead).otherwise(ahead)
    after = F.rpad(_or_zeros(fraction, "0"), 9, "0").cast("long")
    reason = F.when(is_number, number.reason).when(whole.isNull(), F.lit(_WAY_OUT))
    return _Parts(
        F.when(is_number, number.whole).otherwise(whole), F.when(is_number, number.billionths).otherwise(after), reason
    )


def _or_zeros(text: Expression, zeros: str) -> Expression:
    return F.when(text == "", F.lit(zeros)).otherwise(text)


def _of_microseconds(value: Expression) -> _Parts:
    after = F.pmod(value, F.lit(_MICROSECONDS))
    whole = ((value - after) / _MICROSECONDS).cast("long")  # an integer, which a double has exactly
    return _Parts(whole, after * 1000, F.lit(None).cast("string"))


def _of_decimal(value: Expression) -> _Parts:
    floor = F.floor(value)
    # In steps of these types no digit is lost.
    after = ((value - floor).cast("decimal(10,9)") * F.lit(1_000_000_000).cast("decimal(10,0)")).cast("long")
    whole = try_cast(floor, "long")
    return _Parts(whole, after, F.when(whole.isNull(), F.lit("out of range")))


def kinds_of(forms: Sequence[OrderForm]) -> list[Kind]:
    """Return the kinds of the words of an order, from left to right."""
    return [kind for form in forms for kind in KINDS[form]]
