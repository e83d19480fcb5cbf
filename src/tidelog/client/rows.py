"""Rows that a user passes to `insert` and `delete`, as lists of values in the order of the declared columns, and values
as JSON has them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np

from tidelog.errors import DataError, Problem, quote, surrogate_in
from tidelog.io import at_hand
from tidelog.io.encode import check_array, is_pandas, key_positions, pandas_order, unreadable, with_columns
from tidelog.io.values import NAN_HINT, Locator, place_in, row_values, wrong_length
from tidelog.language.branches import Branch
from tidelog.language.syntax import Column, RelationType
from tidelog.storage.column_names import match_columns
from tidelog.storage.record_text import format_value

Noted = dict[Hashable, tuple[list[Any], bool]]
"""Rows by what says that another one takes their place, and whether they are asserted."""
_MOST_BITS = 1024
"""Larger integers fit no type, not even as floats, and JSON takes no more than some thousand digits."""


def rows_of(data: Any, name: str, columns: Callable[[], Sequence[str]]) -> list[list[Any]]:
    """Return the rows of data that `Database.insert` takes, for a relation of this `name`, as JSON has them. `columns`
    returns its names, which data with names need. Raise DataError (E0406, E0407), and as `json_value`."""
    place = place_in(name)
    rows = _rows_as_given(at_hand(data, name), name, columns, place)
    return [json_value(row, place, number) for number, row in enumerate(rows)]


def _rows_as_given(
    data: Any, name: str, columns: Callable[[], Sequence[str]], place: Locator
) -> Iterable[Sequence[Any]]:
    if type(data).__module__.startswith("scipy.sparse"):
        raise unreadable(data, place)
    if isinstance(data, np.ndarray):
        check_array(data, place)
        return data.tolist()  # type: ignore[no-any-return]  # lists of integers
    if is_pandas(data):
        order = pandas_order(data, list(columns()), place(None, None))
        return _rows([(str(data.columns[source]), data.iloc[:, source].tolist) for source in order], place)
    if hasattr(data, "__arrow_c_stream__"):
        import pyarrow as pa

        table, declared = pa.table(data), list(columns())
        way = f"pass pyarrow.table(data).rename_columns({declared})"
        order = match_columns(table.column_names, declared, place(None, None), way)
        return _rows([(table.column_names[source], table.column(source).to_pylist) for source in order], place)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, bytearray, os.PathLike, Mapping)):
        rows = list(data)
        if all(isinstance(row, (tuple, list)) for row in rows):
            return rows
        return [row_values(row, number, _relation(name, columns()), place) for number, row in enumerate(rows)]
    raise unreadable(data, place)


def _rows(columns: Iterable[tuple[str, Callable[[], list[Any]]]], place: Locator) -> Iterable[Sequence[Any]]:
    """Return the rows of a frame, given functions that list its columns. Raise DataError for values that Python cannot
    express (E0408, E0407)."""
    found = []
    for name, values in columns:
        try:
            found.append(values())
        except UnicodeDecodeError:
            message, hint = "a text is not valid UTF-8", "decode the texts, or cast the column to binary"
            raise DataError(Problem("E0408", message, place=place(None, name), hint=hint)) from None
        except (ValueError, OverflowError) as error:
            message, hint = f"Python has no values for this column: {error}", "cast it to string or to integers"
            raise DataError(Problem("E0407", message, place=place(None, name), hint=hint)) from None
    return zip(*found, strict=True)


def keyed_rows(
    data: Any, name: str, columns: Sequence[str], key: Sequence[str], *, asserts: bool
) -> tuple[list[list[Any]], Noted]:
    """Return rows that replace the facts of their key, or have its columns only, and what to note of them: the last one
    of each key. Raise as `rows_of`, DataError (E0405, E0487) and UsageError (E0485, E0685)."""
    own = _relation(name, columns)
    positions = key_positions(own, key)
    given = own if asserts else with_columns(own, positions)
    rows = rows_of(data, name, lambda: [column.name for column in given.columns])
    for number, row in enumerate(rows):
        if len(row) != len(given.columns):
            raise wrong_length(row, number, given, place_in(name))
    places = positions if asserts else range(len(positions))
    found = {frozen([row[place] for place in places]): (row, asserts) for row in rows}
    if len({frozen(row) for row in rows}) > len(found):
        message = f"{', '.join(key)}: some of {len(rows):,} rows have the key of another one"
        raise DataError(Problem("E0487", message, place=f"relation {name}", hint="keep one row of each key"))
    return rows, found


def _relation(name: str, columns: Iterable[str]) -> RelationType:
    return RelationType(name, tuple(Column(each, "symbol", "symbol") for each in columns))


def json_value(value: Any, place: Locator, row: int | None = None) -> Any:
    """Return a value of a row or of a parameter, or a whole row, as JSON has it: lists in the place of tuples, and
    NumPy's numbers as numbers. Raise DataError for values that JSON does not have (E0401, E0402, E0404, E0408, E0106).
    """
    try:
        return _json(value, place, row)
    except RecursionError:
        hint = "insert it in the process that has the store"
        message = "the value is nested too deeply for JSON"
        raise DataError(Problem("E0106", message, place=place(row, None), hint=hint)) from None


def _json(value: Any, place: Locator, row: int | None) -> Any:
    match value:
        case str() if surrogate_in(value) is None:
            return value
        case Branch():
            return format_value(value)
        case list() | tuple():
            return [_json(part, place, row) for part in value]
        case Mapping() if all(isinstance(name, str) for name in value):
            return {_json(name, place, row): _json(part, place, row) for name, part in value.items()}
        case bool() | NoneType():
            return value
        case int() | np.integer() if int(value).bit_length() <= _MOST_BITS:
            return int(value)
        case float() | np.floating() if float(value) == value:
            return float(value)
        case str():
            message = f"the text {quote(value)} cannot be written in UTF-8"
            problem = "E0408", message, "remove unpaired surrogates"
        case float() | np.floating() if math.isnan(value):
            problem = "E0404", "NaN cannot be stored", NAN_HINT
        case int() | float() | np.integer() | np.floating():
            problem = "E0402", f"no type has the value {quote(value)}", "use a value of 64 bits"
        case _:
            message = f"expected a value that JSON has, found the {type(value).__name__} {quote(value)}"
            problem = "E0401", message, "pass a number, a text, None, or a tuple or dict of these"
    code, message, hint = problem
    raise DataError(Problem(code, message, place=place(row, None), hint=hint))


def frozen(value: Any) -> Hashable:
    """Return a key for a row as JSON has it, or for a part of it: equal rows have equal ones."""
    if isinstance(value, dict):
        return frozenset((name, frozen(part)) for name, part in value.items())
    return tuple(map(frozen, value)) if isinstance(value, list) else value
