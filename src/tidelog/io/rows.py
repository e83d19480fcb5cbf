"""Rows of Python values to words: whole columns at a time if their types are as expected, otherwise one value at a
time.

It does not need pyarrow, so a handful of tuples takes microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from tidelog.common.arrays import Words
from tidelog.errors import DataError, Problem, quote
from tidelog.io.values import complaint
from tidelog.language.syntax import Column, Kind, RelationType
from tidelog.storage.column_names import match_columns
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.number_words import number_words

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
    """Return the words of the values of one column."""
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
        raise DataError(Problem("E0407", f"expected a row, found {quote(row)}", hint=hint, place=place(number, None)))
    if list(row) != names:
        order = match_columns(list(row), names, place(number, None), "pass its values as a tuple")
        values = list(row.values())
        return tuple(values[source] for source in order)
    return tuple(row.values())


def wrong_length(row: Sequence[Any], number: int, relation: RelationType, place: Locator) -> DataError:
    """Return the error for a row with more or fewer values than the relation has columns (E0405)."""
    names = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
    message = f"expected {len(relation.columns)} values, found {len(row)}: {quote(row)}"
    return DataError(
        Problem(
            "E0405",
            message,
            hint=f"pass a value for each column of {relation.name}: ({names})",
            place=place(number, None),
        )
    )
