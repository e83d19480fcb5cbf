"""Rows that a user passes to `insert` and `delete`, as lists of values in the order of the declared columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from tidelog.errors import DataError, Problem
from tidelog.io import at_hand
from tidelog.io.encode import is_pandas, pandas_order, unreadable
from tidelog.io.keys import key_positions, with_columns
from tidelog.io.rows import place_in, row_values, wrong_length
from tidelog.language.syntax import Column, RelationType
from tidelog.storage.column_names import match_columns

Noted = dict[Hashable, tuple[Sequence[Any], bool]]
"""Rows by what says that another one takes their place, and whether they are asserted."""


def rows_of(data: Any, name: str, columns: Callable[[], Sequence[str]]) -> list[Sequence[Any]]:
    """Return the rows of data that `Database.insert` takes, for a relation of this `name`. `columns` returns its names,
    which data with names need. Raise DataError (E0406, E0407)."""
    data, place = at_hand(data, name), place_in(name)
    if isinstance(data, np.ndarray):
        return list(data.tolist())
    if is_pandas(data):
        order = pandas_order(data, list(columns()), place(None, None))
        return list(zip(*[data.iloc[:, source].tolist() for source in order], strict=True))
    if hasattr(data, "__arrow_c_stream__"):
        import pyarrow as pa

        table, declared = pa.table(data), list(columns())
        way = f"pass pyarrow.table(data).rename_columns({declared})"
        order = match_columns(table.column_names, declared, place(None, None), way)
        return list(zip(*[table.column(source).to_pylist() for source in order], strict=True))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, dict)):
        rows = data if isinstance(data, Collection) else list(data)
        if all(isinstance(row, (tuple, list)) for row in rows):
            return list(rows)
        return [row_values(row, number, _relation(name, columns()), place) for number, row in enumerate(rows)]
    raise unreadable(data, place)


def keyed_rows(
    data: Any, name: str, columns: Sequence[str], key: Sequence[str], *, asserts: bool
) -> tuple[list[Sequence[Any]], Noted]:
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


def frozen(value: Any) -> Hashable:
    """Return a key for a row or a part of it: equal rows have equal ones."""
    if isinstance(value, dict):
        return frozenset((name, frozen(part)) for name, part in value.items())
    return tuple(map(frozen, value)) if isinstance(value, (list, tuple)) else value
