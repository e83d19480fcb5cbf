"""Rows that a user passes to `insert` and `delete`, as lists of values in the order of the declared columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from tidelog.io import at_hand
from tidelog.io.column_names import match_columns
from tidelog.io.encode import is_pandas, unreadable
from tidelog.io.rows import place_in, row_values
from tidelog.language.syntax import Column, RelationType


def rows_of(data: Any, name: str, columns: Callable[[], Sequence[str]]) -> list[Sequence[Any]]:
    """Return the rows of data that `Database.insert` takes, for a relation of this `name`. `columns` returns its names,
    which data with names need. Raise DataError (E0406, E0407)."""
    data, place = at_hand(data, name), place_in(name)
    if isinstance(data, np.ndarray):
        return list(data.tolist())
    if is_pandas(data):
        names, values = list(data.columns), [data.iloc[:, i].tolist() for i in range(data.shape[1])]
        way = "data.set_axis({}, axis=1)"
    elif hasattr(data, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(data)
        names, values = table.column_names, [column.to_pylist() for column in table.columns]
        way = "pyarrow.table(data).rename_columns({})"
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes, dict)):
        rows = data if isinstance(data, Collection) else list(data)
        if all(isinstance(row, (tuple, list)) for row in rows):
            return list(rows)
        relation = RelationType(name, tuple(Column(each, "symbol", "symbol") for each in columns()))
        return [row_values(row, number, relation, place) for number, row in enumerate(rows)]
    else:
        raise unreadable(data, place)
    declared = list(columns())
    order = match_columns(names, declared, place(None, None), f"pass {way.format(declared)}")
    return list(zip(*[values[source] for source in order], strict=True))


def frozen(value: Any) -> Hashable:
    """Return a key for a row or a part of it: equal rows have equal ones."""
    if isinstance(value, dict):
        return frozenset((name, frozen(part)) for name, part in value.items())
    return tuple(map(frozen, value)) if isinstance(value, (list, tuple)) else value
