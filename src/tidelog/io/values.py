"""Values of Python: those that a column can have, complaints about others, and rows of them as words.

`complaint` judges one value, `text_complaint` a piece of text from a file. Both are slow and exact: the fast paths of
`encode_rows`, `columns` and `text_reader` accept whole columns at a time, and come here to find the first wrong value
with its reason. Nothing here needs pyarrow, so a handful of tuples takes microseconds.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from tidelog.common.arrays import Words
from tidelog.errors import DataError, Problem, quote, surrogate_in
from tidelog.language.branches import Branch
from tidelog.language.syntax import PRIMITIVES, Column, Kind, RecordType, RelationType
from tidelog.storage.column_names import match_columns
from tidelog.storage.dictionary import Dictionary, record_parts
from tidelog.storage.number_words import number_words

RANGES = {"number": (-(2**63), 2**63 - 1), "unsigned": (0, 2**64 - 1)}


@dataclass(frozen=True)
class Complaint:
    """A complaint about a value: code, message and hint, without the place."""

    code: str
    message: str
    hint: str
    offset: int = 0
    """How many characters behind the beginning of a text the wrong part stands."""

    def at(self, place: str) -> DataError:
        """Return the error with this complaint for the value at `place`."""
        return DataError(Problem(self.code, self.message, hint=self.hint, place=place))


MISSING_HINT = "leave the row out, or use a marker of your own"
NAN_HINT = "leave such rows out, or use a marker of your own: NaN is not equal to itself, so no set can hold it"


def article(name: str) -> str:
    """Return the name of a type with its article."""
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def describe_type(column: Column) -> str:
    """Return the type of a column as messages show it, with its article."""
    name = article(column.type)
    return name if column.type == column.kind else f"{name} (which is {article(column.kind)})"


def complaint(value: object, kind: Kind, dictionary: Dictionary, typename: str | None = None) -> Complaint | None:
    """Return the complaint about `value` in a column of this kind, or None. `typename` is the type to name in messages.

    Records are tuples, lists, or mappings with the names of the fields; None is nil. Values of types with branches are
    as `db.branch` makes them. Depth is not limited.
    """
    waiting: list[tuple[object, Kind, str, str]] = [(value, kind, typename or kind, "")]
    while waiting:
        item, kind, typename, place = waiting.pop()
        found = None
        fields: tuple[Column, ...] = ()
        parts: list[object] | None = []
        owner = kind
        if kind in PRIMITIVES:
            found = _primitive_complaint(item, kind, typename)
        elif dictionary.types[kind].branches:
            found = branch_complaint(item, dictionary.types[kind], typename)
            if found is None and isinstance(item, Branch):
                fields, parts, owner = dictionary.types[kind].parts(item._name), list(item), f"${item._name}"
        elif item is not None:
            fields = dictionary.types[kind].fields
            parts = record_parts(item, fields)
            if parts is None:
                hint = f"write a tuple ({', '.join(f.name for f in fields)}) or None for nil"
                found = Complaint("E0401", f"expected a record of type {typename}, found {quote(item)}", hint)
        if found is not None:
            return replace(found, message=f"{found.message}{place}")
        waiting += [
            (part, f.kind, f.type, f", in field `{f.name}` of `{owner}`")
            for part, f in zip((parts or [])[::-1], fields[::-1], strict=True)
        ]
    return None


def branch_complaint(value: object, type_: RecordType, typename: str) -> Complaint | None:
    """Return the complaint about a value in a column of a type with branches, except about its parts."""
    hint = f"pass a value of {_some([branch.name for branch in type_.branches])}: db.branch(name)(…)"
    if value is None:
        return Complaint("E0403", f"expected {article(typename)}, found no value (None)", hint)
    if not isinstance(value, Branch):
        return Complaint("E0401", f"expected {article(typename)}, found {_describe_value(value)}", hint)
    return unknown_branch(value._name, len(value), type_, typename)


def unknown_branch(name: str, size: int | None, type_: RecordType, typename: str) -> Complaint | None:
    """Return the complaint about `name` if it is no branch of a type, or has another number of parts."""
    branch = type_.branch(name)
    if branch is None:
        hint = f"use {_some([branch.name for branch in type_.branches])}"
        return Complaint("E0401", f"{article(typename)} has no branch {quote(name)[1:-1]}", hint)
    if size is not None and size != len(branch.fields):
        hint = f"write ${name}({', '.join(f'{field.name}: {field.type}' for field in branch.fields)})"
        return Complaint("E0401", f"the branch {name} has {len(branch.fields)} parts, found {size}", hint)
    return None


def _some(names: list[str]) -> str:
    return f"{', '.join(names[:6])}{', …' if len(names) > 6 else ''}"


def _primitive_complaint(value: object, kind: Kind, typename: str) -> Complaint | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (kind != "float" and _is_nan(value)):
        return Complaint("E0403", f"expected {article(typename)}, found no value ({value})", MISSING_HINT)
    if kind == "symbol":
        return _symbol_complaint(value, typename)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if kind == "float":
            return _float_of_int_complaint(int(value))
        low, high = RANGES[kind]
        if low <= int(value) <= high:
            return None
        return Complaint("E0402", f"{quote(int(value))} does not fit {article(kind)}", range_hint(kind))
    if kind == "float" and isinstance(value, (float, np.floating)):
        if math.isnan(value):
            return Complaint("E0404", "NaN cannot be stored", NAN_HINT)
        if float(value) != value:  # of more than 64 bits
            return Complaint("E0402", f"no 64-bit float is equal to {quote(value)}", "pass float(…) to round it")
        return None
    return Complaint("E0401", f"expected {article(typename)}, found {_describe_value(value)}", _cast_hint(value, kind))


def _is_nan(value: object) -> bool:
    """Return True if a value is the missing value of pandas."""
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def range_hint(kind: Kind) -> str:
    """Return the range of values that fit."""
    low, high = RANGES[kind]
    return f"use a value from {low} to {high} for {article(kind)}"


def _float_of_int_complaint(value: int) -> Complaint | None:
    try:
        exact = int(float(value)) == value
    except OverflowError:
        exact = False
    if exact:
        return None
    return Complaint("E0402", f"no float is equal to the integer {quote(value)}", "pass float(…) to round it")


def _symbol_complaint(value: object, typename: str) -> Complaint | None:
    if not isinstance(value, str):
        return Complaint(
            "E0401", f"expected {article(typename)}, found {_describe_value(value)}", _cast_hint(value, "symbol")
        )
    if surrogate_in(value) is not None:
        return Complaint("E0408", f"the symbol {quote(value)} cannot be written in UTF-8", "remove unpaired surrogates")
    return None


def _describe_value(value: object) -> str:
    return f"the {type(value).__name__} {quote(value)}"


def _cast_hint(value: object, kind: Kind) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "write int(…) for 0 and 1, or str(…)"
    if isinstance(value, (float, np.floating)):
        return "pass int(…) if its value is integral" if kind in RANGES else "pass str(…)"
    if isinstance(value, bytes):
        return "decode it first: value.decode()"
    if isinstance(value, decimal.Decimal):
        if kind in RANGES and value.is_finite() and value != value.to_integral_value():
            places = -int(value.as_tuple().exponent)
            scale = 10**places if places < 19 else f"10**{places}"
            return f"pass int(value * {scale}), or declare the column as float and pass float(value)"
        return f"pass {'str' if kind == 'symbol' else 'float' if kind == 'float' else 'int'}(value)"
    if isinstance(value, (datetime.date, datetime.time)):
        return "pass value.isoformat() into a symbol, or a count of seconds or days into a number"
    if isinstance(value, str) and kind != "symbol":
        return f"give {'a float' if kind == 'float' else 'an integer'} without quotes, or declare the column as symbol"
    if kind == "symbol":
        return "pass str(…), or declare the column as number"
    return f"pass {'a float' if kind == 'float' else 'an int'}"


# --- text ------------------------------------------------------------------------------------------------------------

# All that pyarrow's CSV reader accepts, so that the fast and the exact reader agree; and 0b, and signs before both.
_INTEGER = re.compile(r"[ \t]*-?([0-9]+|0[xX][0-9a-fA-F]+|0[bB][01]+)[ \t]*")

_EXPONENT = r"([eE][+-]?[0-9]+)?"
_FLOAT = re.compile(
    rf"[ \t]*[+-]?([0-9]+\.?[0-9]*{_EXPONENT}|\.[0-9]+{_EXPONENT}|inf|infinity|nan)[ \t]*", re.IGNORECASE
)


def text_complaint(text: str, kind: Kind, typename: str) -> Complaint | None:
    """Return the complaint about a piece of a file in a column of a primitive kind."""
    if kind == "symbol":
        return None
    if not text.strip():
        return Complaint("E0403", f"expected {article(typename)}, found an empty field", "write a number in every row")
    if kind == "float":
        return _float_text_complaint(text, typename)
    if not _INTEGER.fullmatch(text):
        hint = "check the delimiter and the order of the columns"
        return Complaint("E0401", f"expected {article(typename)}, found {quote(text)}", hint)
    low, high = RANGES[kind]
    digits = text.strip()
    fits = len(digits) < 1000 and low <= _integer(digits) <= high
    return None if fits else Complaint("E0402", f"{digits[:60]} does not fit {article(kind)}", range_hint(kind))


def value_of_text(text: str, kind: Kind) -> int | float | str:
    """Return the value of a text of a primitive kind that has no complaint."""
    if kind == "symbol":
        return text
    if kind == "float":
        return float(text)
    return _integer(text)


def _integer(text: str) -> int:
    sign = text.strip().removeprefix("-")[:2].lower()
    return int(text, {"0x": 16, "0b": 2}.get(sign, 10))


def _float_text_complaint(text: str, typename: str) -> Complaint | None:
    if not _FLOAT.fullmatch(text):
        return Complaint("E0401", f"expected {article(typename)}, found {quote(text)}", "write it like 1.5 or 2e-3")
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        return Complaint("E0402", f"{text.strip()[:60]} does not fit a float", "use a value within 64-bit floats")
    return Complaint("E0404", "NaN cannot be stored", NAN_HINT) if math.isnan(value) else None


Locator: TypeAlias = Callable[[int | None, str | None], str]
"""Names a place in the data for messages: by row (from 0) and column, or by one of them only."""


def place_in(name: str) -> Locator:
    """Return places like "e, row 3, column y"; rows are shown from 1."""

    def place(row: int | None, column: str | None) -> str:
        rows = [] if row is None else [f"row {row + 1}"]
        return ", ".join([name, *rows, *([] if column is None else [f"column {column}"])])

    return place


def encode_rows(rows: Iterable[Any], relation: RelationType, dictionary: Dictionary, place: Locator) -> Words:
    """Return the words of rows that are tuples, lists or dicts by column name; int64 of shape (rows, arity)."""
    rows = rows if isinstance(rows, (list, tuple)) else list(rows)
    if not set(map(type, rows)) <= {tuple, list}:
        rows = [row_values(row, number, relation, place) for number, row in enumerate(rows)]
    arity = len(relation.columns)
    if not set(map(len, rows)) <= {arity}:
        number = next(i for i, row in enumerate(rows) if len(row) != arity)
        raise wrong_length(rows[number], number, relation, place)
    words = np.empty((len(rows), arity), dtype=np.int64)
    for position, column in enumerate(relation.columns):
        words[:, position] = encode_values(list(map(itemgetter(position), rows)), column, dictionary, place)
    return words


def encode_values(values: Sequence[Any], column: Column, dictionary: Dictionary, place: Locator) -> Words:
    words = _quick(values, column.kind, dictionary)
    if words is not None:
        return words
    if column.kind == "unsigned":  # Spark has unsigned numbers as decimal(20,0).
        values = [
            int(each) if isinstance(each, Decimal) and each.is_finite() and each == each.to_integral_value() else each
            for each in values
        ]
    for row, value in enumerate(values):
        found = complaint(value, column.kind, dictionary, column.type)
        if found is not None:
            raise found.at(place(row, column.name))
    return np.array([dictionary.encode(value, column.kind) for value in values], dtype=np.int64)


def _quick(values: Sequence[Any], kind: Kind, dictionary: Dictionary) -> Words | None:
    """Return the words of values that are all of the plain Python type of their kind, None if some value is not."""
    types = set(map(type, values))
    try:
        if kind == "symbol":
            return dictionary.words_of(values) if types <= {str} else None
        if kind == "number":
            return np.array(values, dtype=np.int64) if types <= {int} else None
        if kind == "unsigned":
            return number_words(np.array(values, dtype=np.uint64)) if types <= {int} else None
        if kind == "float":
            floats = np.array(values, dtype=np.float64) if types <= {float} else None
            return None if floats is None or np.isnan(floats).any() else number_words(floats)
    except (OverflowError, DataError):
        return None
    return _quick_records(values, types, kind, dictionary)


def _quick_records(values: Sequence[Any], types: set[type], kind: Kind, dictionary: Dictionary) -> Words | None:
    fields = dictionary.types[kind].fields
    if not types <= {tuple, type(None)} or dictionary.types.is_text(kind):
        return None
    present = np.fromiter((value is not None for value in values), np.bool_, len(values))
    records = [value for value in values if value is not None]
    if not set(map(len, records)) <= {len(fields)}:
        return None
    words = np.zeros(len(values), dtype=np.int64)
    if records:
        columns = []
        for field, parts in zip(fields, zip(*records, strict=True), strict=True):
            column = _quick(parts, field.kind, dictionary)
            if column is None:
                return None
            columns.append(column)
        words[present] = dictionary.pack(kind, columns)
    return words


def row_values(row: Any, number: int, relation: RelationType, place: Locator) -> tuple[Any, ...]:
    """Return the values of a row that is a tuple, a list or a dict by column names. Raise DataError (E0406, E0407)."""
    if isinstance(row, (tuple, list)):
        return tuple(row)
    names = [column.name for column in relation.columns]
    if not isinstance(row, Mapping):
        hint = (
            f"write a row as a tuple ({''.join(name + ', ' for name in names).strip(' ' if len(names) == 1 else ' ,')})"
        )
        raise Complaint("E0407", f"expected a row, found {quote(row)}", hint).at(place(number, None))
    if list(row) != names:
        order = match_columns(list(row), names, place(number, None), "pass its values as a tuple")
        values = list(row.values())
        return tuple(values[source] for source in order)
    return tuple(row.values())


def wrong_length(row: Sequence[Any], number: int, relation: RelationType, place: Locator) -> DataError:
    """Return the error for a row with more or fewer values than the relation has columns (E0405)."""
    names = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
    message = f"expected {len(relation.columns)} values, found {len(row)}: {quote(row)}"
    return Complaint("E0405", message, f"pass a value for each column of {relation.name}: ({names})").at(
        place(number, None)
    )
