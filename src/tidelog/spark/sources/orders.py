"""The order of events: columns that say when, as leaf columns of words that compare as the values do, and the relation
of the latest events.

A column of an order takes one or two words, by its form:

    whole      an integer, a boolean or a date: the number
    fraction   a decimal, a float, a time or a text: what is before the point, and the billionths after it
    tie        what decides between insertions of one key at one place of the order: a hash of their values

Dates and times are seconds since 1970. A text reads as a number, or as a time of ISO 8601, in UTC where it has no
offset; others say nothing of when, because v10 is behind v9. Words compare from left to right. Numbers go by nine
digits after the point. All words are small where the values are, so that a database of small words stays one.

The latest event of each fact or key is in a relation of the database beside the one that a feed changes.
`sensor.latest` has a row for each key of `sensor`, deleted ones included: the key, the words of the order of its latest
event, and whether that event has asserted. It is part of the program and its rows are facts like others. So it lasts,
gathers, comes back and goes to another engine with the facts that it is about, in the same commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tidelog.errors import DataError, Problem, UsageError
from tidelog.io.encode import key_positions
from tidelog.language.syntax import CheckedProgram, Column, Kind, RelationType
from tidelog.spark.sessions import sql_over, try_cast
from tidelog.spark.sources.checks import FLOAT_TEXT, Leaf, WrongType, missing_column

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
            return _of_microseconds(sql_over(f"timestampdiff(MICROSECOND, {_EPOCH}, v)", column))
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
    seconds = sql_over(f"timestampdiff(SECOND, {_EPOCH}, v)", try_cast(local, "timestamp_ntz"))
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


# --- the latest events -----------------------------------------------------------------------------------------------


_NAMES: dict[OrderForm, tuple[str, ...]] = {
    "whole": ("?order",),
    "fraction": ("?order", "?part"),
    "tie": ("?tie",),
}
_ASSERTED = "?asserted"
_TEXT = "?text"
"""The name of a word that an earlier version kept."""
_OWN = ("?order", "?part", "?tie", _TEXT, _ASSERTED)


@dataclass(frozen=True)
class Latest:
    """The relation with the latest event of each key of another one. `key` are positions of columns, ascending; without
    a key of the user these are all columns. `forms` are those of the columns of the order; the last one is a tie,
    unless the key is all columns, or an earlier version has declared the relation."""

    of: RelationType
    key: tuple[int, ...]
    forms: tuple[OrderForm, ...]

    @property
    def name(self) -> str:
        return f"{self.of.name}.latest"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The key, the words of the order, and 1 or 0."""
        keys = [self.of.columns[position] for position in self.key]
        names = [
            (f"{part}{i}", kind)
            for i, form in enumerate(self.forms)
            for part, kind in zip(_NAMES[form], KINDS[form], strict=True)
        ]
        return (*keys, *(Column(name, kind, kind) for name, kind in [*names, (_ASSERTED, "number")]))

    @property
    def declaration(self) -> str:
        """The text that declares it."""
        return f".decl {self.name}({', '.join(f'{column.name}: {column.type}' for column in self.columns)})\n"

    @property
    def order_kinds(self) -> list[Kind]:
        """The kinds of the words of the order."""
        return kinds_of(self.forms)


def latest_of(
    program: CheckedProgram,
    relation: RelationType,
    key: Sequence[str] | None,
    order: Sequence[str],
    frame: DataFrame,
) -> Latest | None:
    """Return the relation with the latest events of `relation`: as it is declared, or as the columns `order` of a frame
    need it; None without an order.

    UsageError (E0685) where the database keeps another key or an order of another number of columns, DataError (E0480,
    E0481) for columns of the frame that are missing or cannot say when.
    """
    if not order:
        return None
    forms, problems = [], []
    types: Mapping[str, T.DataType] = {field.name: field.dataType for field in frame.schema.fields}
    for name in order:
        if name not in types:
            hint = "name the column of the order as the frame does"
            problems.append(missing_column(relation.name, repr(name), types, hint))
            continue
        try:
            forms.append(form_of(f"{relation.name}, order {name}", types[name]))
        except WrongType as wrong:
            problems.append(wrong.problem)
    if problems:
        raise DataError(*problems)
    positions = key_positions(relation, key)
    ties: list[OrderForm] = ["tie"] if len(positions) < len(relation.columns) else []
    wanted = Latest(relation, positions, (*forms, *ties))
    declared = program.relations.get(wanted.name)
    return wanted if declared is None else _as_declared(wanted, declared)


def _as_declared(wanted: Latest, declared: RelationType) -> Latest:
    """Return the relation of latest events as it is declared. UsageError (E0685) where it is not the wanted one."""
    names = [column.name for column in declared.columns]
    orders = [name for name in names if name.startswith("?order")]
    key = tuple(name for name in names if not name.startswith(_OWN))
    if names[-1:] != [_ASSERTED] or not orders:
        message = f"{wanted.name} is declared, but not as tidelog keeps the latest events of {wanted.of.name} there"
        raise UsageError(Problem("E0685", message, place="order", hint="give that relation another name"))
    if any(name.startswith(_TEXT) for name in names):
        message = f"an earlier version of tidelog ordered the events of {wanted.of.name} by texts"
        raise UsageError(Problem("E0685", message, place="order", hint="begin with an empty state folder"))
    own = tuple(wanted.of.columns[position].name for position in wanted.key)
    if key != own:
        kept, given = _key_text(key), _key_text(own)
        message = f"the latest events of {wanted.of.name} are kept by the key {kept}, found the key {given}"
        hint = "use the same key for all feeds of a relation, or begin with an empty state folder"
        raise UsageError(Problem("E0685", message, place="key", hint=hint))
    count = len([form for form in wanted.forms if form != "tie"])
    if len(orders) != count:
        message = f"{wanted.of.name} has an order of {len(orders)} columns, found one of {count}"
        hint = "use the same order for all feeds of a relation, or begin with an empty state folder"
        raise UsageError(Problem("E0685", message, place="order", hint=hint))
    found: list[OrderForm] = ["fraction" if f"?part{i}" in names else "whole" for i in range(count)]
    if any(name.startswith("?tie") for name in names):
        found.append("tie")
    return Latest(wanted.of, wanted.key, tuple(found))


def _key_text(key: Sequence[str]) -> str:
    return f"({', '.join(key)})"
