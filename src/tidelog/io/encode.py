"""Data that a user passes to `insert`, `delete` or `query`, to words.

`declaration` declares a relation for a table, with the columns and types with which `encode` takes its rows. Keys are
the columns by whose values rows replace facts, or say which facts to delete.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.common.arrays import Words
from tidelog.errors import DataError, Problem, UsageError, quote
from tidelog.io.columns import cast_hint, column_words, encode_columns, encode_table, is_text
from tidelog.io.relation import Relation
from tidelog.io.values import Complaint, Locator, describe_type, encode_rows, encode_values, place_in
from tidelog.language.syntax import Column, RelationType
from tidelog.limits.interrupts import foreign_code
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.column_names import has_no_names, match_columns, positions_by_name
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.rows import distinct

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOOKED_AT = 1_000
"""How many rows of a pandas frame decide the types of its columns of objects."""


@foreign_code()
def declaration(name: str, data: Any) -> str:
    """Return a declaration with the columns of a table of pandas, Polars, Arrow or DuckDB, or of a tidelog Relation.
    Raise DataError: no table with named columns (E0407), a column whose name no attribute can have (E0406) or whose
    type no attribute has (E0401)."""
    place = place_in(name)
    if isinstance(data, Relation):
        found = [(column.name, column.type) for column in data.columns]
    else:
        if is_pandas(data):  # Arrow takes no frame in which names repeat.
            _refuse_names([str(each) for each in data.columns], place)
        found = []
        for field in _schema(data, place):
            type_ = _type(field.type)
            if type_ is None:
                message = f"no attribute has the type {field.type}"
                hint = cast_hint(field.type, "symbol")
                raise Complaint("E0401", message, hint).at(place(None, field.name))
            found.append((field.name, type_))
    _refuse_names([column for column, _ in found], place)
    return f".decl {name}({', '.join(f'{column}: {type_}' for column, type_ in found)})"


def _refuse_names(names: Sequence[str], place: Locator) -> None:
    """Raise DataError (E0406) for columns without names, or with names that no attributes of one relation can have."""
    wrong = next((each for each in names if not _NAME.fullmatch(each) or each == "_"), None)
    twice = next((each for each in names if names.count(each) > 1), None)
    hint = "rename the columns: names have letters, digits and underscores, and begin with a letter"
    if wrong is not None:
        message = f"no attribute can have the name {quote(wrong)}"
    elif twice is not None:
        message, hint = f"several columns have the name {twice}", "rename them: each attribute has a name of its own"
    elif names and has_no_names(names):
        message = "the columns have no names"
    else:
        return
    raise Complaint("E0406", message, hint).at(place(None, None))


def with_declaration(error: UsageError, name: object, data: Any) -> UsageError:
    """Return the error of an undeclared relation with a hint that declares it, if the data are a table."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return error
    try:
        text = declaration(name, data)
    except DataError:
        return error
    problem = error.problems[0]
    near = f"{problem.hint} Or " if problem.hint and problem.hint.startswith("did you mean") else ""
    hint = f'{near}declare it by db.declare("{name}", data), which loads `{text}`'
    return UsageError(replace(problem, hint=hint))


def _schema(data: Any, place: Locator) -> pa.Schema:
    """Return the names and types of the columns of a table, without reading what can be read once only."""
    import pyarrow as pa

    try:
        if is_pandas(data):
            return pa.Schema.from_pandas(data.head(_LOOKED_AT), preserve_index=False)
        if hasattr(data, "__arrow_c_schema__"):
            return pa.schema(data)
        if isinstance(getattr(data, "schema", None), pa.Schema):
            return data.schema
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data).schema
    except MemoryError:  # Arrow's is an ArrowException as well.
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        message = f"Arrow finds no types for the columns of this {type(data).__name__}: {reason}"
        raise Complaint("E0407", message, "cast its columns first").at(place(None, None)) from None
    message = f"expected a table with named columns, found a value of type {type(data).__name__}"
    hint = "pass a table of pandas, Polars, Arrow or DuckDB, or load a declaration"
    raise Complaint("E0407", message, hint).at(place(None, None))


def _type(found: pa.DataType) -> str | None:
    """Return the type of an attribute whose values a column of this type has, None without one."""
    import pyarrow as pa

    if pa.types.is_dictionary(found):
        found = found.value_type
    if is_text(found):
        return "symbol"
    if pa.types.is_unsigned_integer(found):
        return "unsigned"
    if pa.types.is_integer(found):
        return "number"
    return "float" if pa.types.is_floating(found) else None


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
        return data.copy()
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
    return Complaint("E0407", message, hint).at(place(None, None))


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
        raise Complaint("E0407", message, "pass a table with named columns, not a single column").at(
            place(None, None)
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
        return _to_chunked(pa.array(series, from_pandas=False))  # NaN stays NaN, which is refused as such
    except MemoryError:
        raise
    except UnicodeEncodeError:
        return encode_values(series.tolist(), column, dictionary, place)
    except Exception:  # types of others may raise any
        message = f"expected {describe_type(column)}, found a column of type {series.dtype}"
        raise Complaint("E0401", message, "cast the column first").at(place(None, column.name)) from None


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
    return _to_chunked(found) if is_text and not found.null_count else None


def _to_chunked(array: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def check_array(array: np.ndarray[Any, Any], place: Locator) -> None:
    """Raise DataError (E0407) for an array that is no table of integers."""
    if array.ndim != 2 or array.dtype.kind not in "iu":
        message = f"expected a 2-D array of integers, found {array.ndim} dimensions of {array.dtype}"
        raise Complaint("E0407", message, "pass array.tolist()").at(place(None, None))


def _encode_array(array: np.ndarray[Any, Any], relation: RelationType, dictionary: Dictionary, place: Locator) -> Words:
    import pyarrow as pa

    arity = len(relation.columns)
    check_array(array, place)
    if array.shape[1] != arity:
        message = f"expected {arity} columns, found {array.shape[1]}"
        hint = f"pass a column for each of {', '.join(column.name for column in relation.columns)}"
        raise Complaint("E0406", message, hint).at(place(None, None))
    words = np.empty(array.shape, dtype=np.int64)
    for position, column in enumerate(relation.columns):
        values = numbers_to_arrow(array[:, position].astype(array.dtype.newbyteorder("=")))
        words[:, position] = column_words(pa.chunked_array([values]), column, dictionary, place)
    return words


def names_of(option: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the texts of an option that takes one or several. UsageError (E0685)."""
    texts = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Sequence) else ()
    if not texts or not all(isinstance(text, str) for text in texts):
        message = f"{option!r} must be a text or a list of texts, found {quote(given)}"
        example = '["I", "U"]' if option in ("insert", "delete") else '["id"]'
        raise UsageError(Problem("E0685", message, place=option, hint=f"pass for example {example}"))
    return texts


def key_positions(relation: RelationType, names: Sequence[str] | None) -> tuple[int, ...]:
    """Return the positions of the columns of a key, ascending; None is all of them. UsageError (E0485, E0685)."""
    known = [column.name for column in relation.columns]
    if names is None:
        return tuple(range(len(known)))
    for i, name in enumerate(names):
        if name not in known:
            hint = f"use some of: {', '.join(known)}"
            raise UsageError(
                Problem("E0485", f"{relation.name} has no column {name!r} for a key", place="key", hint=hint)
            )
        if name in names[:i]:
            raise UsageError(Problem("E0685", f"the key names {name!r} twice", place="key", hint="name it once"))
    return tuple(sorted(known.index(name) for name in names))


def with_columns(relation: RelationType, positions: Sequence[int]) -> RelationType:
    return RelationType(relation.name, tuple(relation.columns[position] for position in positions))


def refuse_undecided(relation: RelationType, words: Words, key: Sequence[int]) -> None:
    """Raise DataError (E0487) if rows of a relation are different and have the same key."""
    rows = distinct(words)
    different = len(rows) - len(distinct(rows[:, list(key)]))
    if different:
        names = ", ".join(relation.columns[position].name for position in key)
        message = f"{names}: {different:,} of {len(rows):,} rows have the key of another one"
        raise Complaint("E0487", message, "keep one row of each key").at(f"relation {relation.name}")
