"""Data that a user passes to `insert`, `delete` or `query`, to words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.common.arrays import Words
from tidelog.errors import DataError, Problem, quote
from tidelog.io.columns import column_words, encode_columns, encode_table
from tidelog.io.relation import Relation
from tidelog.io.rows import Locator, encode_rows, encode_values, place_in
from tidelog.io.values import expected
from tidelog.language.syntax import Column, RelationType
from tidelog.limits.interrupts import foreign_code
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.column_names import match_columns, positions_by_name
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa


def encode(data: Any, relation: RelationType, dictionary: Dictionary) -> Words:
    """Return the words of `data` as rows of `relation`: int64 of shape (rows, arity), C-contiguous, in the order given.

    `data` is an iterable of tuples, lists or dicts (by column name), a pandas, Polars, Arrow or DuckDB table, a tidelog
    Relation, anything else with `__arrow_c_stream__`, or a 2-D array of integers. Columns of tables are matched by name
    (`match_columns`). DataError at the first thing that does not fit; the dictionary may have grown then.
    """
    place = place_in(relation.name)
    if isinstance(data, (list, tuple, set, frozenset)):
        return encode_rows(data, relation, dictionary, place)
    if type(data).__module__.startswith("scipy.sparse"):
        raise unreadable(data, place)
    if isinstance(data, Relation):
        return _encode_relation(data, relation, dictionary, place)
    if isinstance(data, np.ndarray):
        return _encode_array(data, relation, dictionary, place)
    if is_pandas(data):
        with foreign_code():
            return _encode_pandas(data, relation, dictionary, place)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        with foreign_code():
            return encode_table(_table(data, place), relation, dictionary, place)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, bytearray, os.PathLike, Mapping)):
        return encode_rows(data, relation, dictionary, place)
    raise unreadable(data, place)


def at_hand(data: Any, name: str) -> Any:
    """Return data that `encode` can take without running the caller's code or waiting for other threads: read
    relations, streams and iterators now. Raise DataError as `encode`."""
    kind = type(data).__name__
    if (kind in ("LazyFrame", "Series") or kind.endswith("GroupBy")) and not hasattr(data, "__arrow_c_stream__"):
        raise unreadable(data, place_in(name))  # A series would be an iterable of what are no rows, groups as well.
    if isinstance(data, (list, tuple, set, frozenset, np.ndarray)) or is_pandas(data):
        return data
    if isinstance(data, Relation):
        return data.fixed()
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        with foreign_code():
            return _table(data, place_in(name))
    return list(data) if isinstance(data, Iterator) else data


def is_pandas(data: object) -> bool:
    """Return True for a DataFrame of pandas, without importing it."""
    return type(data).__module__.startswith("pandas.") and type(data).__name__ == "DataFrame"


def _encode_relation(data: Relation, relation: RelationType, dictionary: Dictionary, place: Locator) -> Words:
    names = [column.name for column in data.columns]
    way = "pass list(data)"
    order = match_columns(names, [column.name for column in relation.columns], place(None, None), way)
    kinds = [data.columns[source].kind for source in order]
    words = data.words_in(dictionary) if kinds == [column.kind for column in relation.columns] else None
    if words is not None:
        return np.ascontiguousarray(words[:, order])
    return encode_table(data.to_arrow(), relation, dictionary, place, order=order)


def unreadable(data: object, place: Locator) -> DataError:
    """Return the error for data that are no rows (E0407)."""
    module, name = type(data).__module__.partition(".")[0], type(data).__name__
    hint = "pass tuples, dicts, a table (pandas, Polars, Arrow, DuckDB), or a 2-D array of integers"
    if isinstance(data, (str, os.PathLike)):
        hint = "read the file first: pyarrow.csv.read_csv(path)"
    elif type(data).__module__.startswith("scipy.sparse"):
        hint = "pass the places of its entries, numpy.argwhere(data.toarray()), or list(zip(*data.nonzero()))"
    elif isinstance(data, Mapping):
        hint = "put one dict into a list, or make a table of a dict of columns: pyarrow.table(data)"
    elif (module, name) == ("polars", "LazyFrame"):
        hint = "evaluate it: data.collect()"
    elif (module, name) == ("pandas", "Series"):
        named = any(each is not None for each in data.index.names)  # type: ignore[attr-defined]
        hint = (
            "make a frame of it and its index: data.reset_index()" if named else "make a frame of it: data.to_frame()"
        )
    elif name.endswith("GroupBy"):
        hint = "make one row of each group: data.sum()" + (".reset_index()" if module == "pandas" else "")
    elif module == "pyspark":
        way = "" if name == "DataFrame" else "make a DataFrame of it, such as data.toDF(names), and "
        hint = f"{way}insert it into a database over its session: tidelog.connect(spark=session)"
    message = f"expected rows, found the {name} {quote(data)}"
    return DataError(Problem("E0407", message, hint=hint, place=place(None, None)))


def _table(data: Any, place: Locator) -> pa.Table:
    import pyarrow as pa

    try:
        if isinstance(data, pa.Table):
            return data
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data).read_all()
        return pa.Table.from_batches([pa.record_batch(data)])
    except MemoryError:  # Arrow's is an ArrowException as well.
        raise
    except pa.ArrowException as error:
        reason = str(error).split("\n", 1)[0][:200]
        message = f"expected a table, but Arrow cannot read this {type(data).__name__} as one: {reason}"
        raise DataError(
            Problem(
                "E0407", message, hint="pass a table with named columns, not a single column", place=place(None, None)
            )
        ) from None


def pandas_order(frame: pandas.DataFrame, names: list[str], place: str) -> list[int]:
    """Return for each declared name the position of its column in a frame. Raise DataError (E0406)."""
    try:
        return match_columns(list(frame.columns), names, place, f"pass data.set_axis({names}, axis=1)")
    except DataError as error:
        index = [name for name in frame.index.names if name is not None]
        if not index or len(positions_by_name([*index, *frame.columns], names)) < len(names):
            raise
        hint = f"{', '.join(map(str, index))} is the index: pass data.reset_index()"
        raise DataError(replace(error.problems[0], hint=hint)) from None


def _encode_pandas(frame: pandas.DataFrame, relation: RelationType, dictionary: Dictionary, place: Locator) -> Words:
    order = pandas_order(frame, [column.name for column in relation.columns], place(None, None))
    columns = (
        _pandas_column(frame.iloc[:, source], column, dictionary, place)
        for column, source in zip(relation.columns, order, strict=True)
    )
    return encode_columns(columns, len(frame), relation, dictionary, place)


def _pandas_column(
    series: pandas.Series[Any], column: Column, dictionary: Dictionary, place: Locator
) -> pa.ChunkedArray | Words:
    """Return a column as Arrow has it; the words of its values where these are objects of Python, except strings."""
    import pyarrow as pa

    if series.dtype == object:
        # Records may be written as text, as Relation.to_pandas has them.
        wanted = column.kind not in ("number", "unsigned", "float") and len(series) and isinstance(series.iat[0], str)
        texts = _texts(series) if wanted else None
        return encode_values(series.tolist(), column, dictionary, place) if texts is None else texts
    try:
        return _chunked(pa.array(series, from_pandas=False))  # NaN stays NaN, which is refused as such
    except MemoryError:
        raise
    except UnicodeEncodeError:
        return encode_values(series.tolist(), column, dictionary, place)
    except Exception:  # types of others may raise any
        message = f"expected {expected(column)}, found a column of type {series.dtype}"
        raise DataError(
            Problem("E0401", message, hint="cast the column first", place=place(None, column.name))
        ) from None


def _texts(series: pandas.Series[Any]) -> pa.ChunkedArray | None:
    """Return a column of strings as Arrow finds it, many times faster than Python; None if some value is no string, or
    is one that UTF-8 cannot express."""
    import pyarrow as pa

    try:
        found = pa.array(series, from_pandas=False)
    except MemoryError:
        raise
    except (pa.ArrowException, UnicodeEncodeError, OverflowError):
        return None
    is_text = pa.types.is_string(found.type) or pa.types.is_large_string(found.type)
    return _chunked(found) if is_text and not found.null_count else None


def _chunked(array: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def check_array(array: np.ndarray[Any, Any], place: Locator) -> None:
    """Raise DataError (E0407) for an array that is no table of integers."""
    if array.ndim != 2 or array.dtype.kind not in "iu":
        message = f"expected a 2-D array of integers, found {array.ndim} dimensions of {array.dtype}"
        raise DataError(Problem("E0407", message, hint="pass array.tolist()", place=place(None, None)))


def _encode_array(array: np.ndarray[Any, Any], relation: RelationType, dictionary: Dictionary, place: Locator) -> Words:
    import pyarrow as pa

    arity = len(relation.columns)
    check_array(array, place)
    if array.shape[1] != arity:
        message = f"expected {arity} columns, found {array.shape[1]}"
        hint = f"pass a column for each of {', '.join(column.name for column in relation.columns)}"
        raise DataError(Problem("E0406", message, hint=hint, place=place(None, None)))
    words = np.empty(array.shape, dtype=np.int64)
    for position, column in enumerate(relation.columns):
        values = numbers_to_arrow(array[:, position].astype(array.dtype.newbyteorder("=")))
        words[:, position] = column_words(pa.chunked_array([values]), column, dictionary, place)
    return words
