"""Arrow columns to words: the one place for tables of all kinds and most files.

`encode_table` takes the columns of a table in the declared order (`column_names`). `column_words` converts one column
and rejects values that do not fit: nulls, NaN, values out of range, other types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look, ignore_limits
from tidelog.errors import DataError
from tidelog.io.record_reader import record_from_text
from tidelog.io.values import MISSING_HINT, NAN_HINT, RANGES, Complaint, Locator, article, describe_type, range_hint
from tidelog.language.syntax import PRIMITIVES, Column, RelationType
from tidelog.storage.arrow_arrays import is_utf8, mask_to_arrow, numbers_to_numpy, valid_mask
from tidelog.storage.column_names import match_columns
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.number_words import number_words

if TYPE_CHECKING:
    import pyarrow as pa


def encode_table(
    table: pa.Table,
    relation: RelationType,
    dictionary: Dictionary,
    place: Locator,
    look: Look = ignore_limits,
    order: Sequence[int] | None = None,
) -> Words:
    """Return the words of an Arrow table; int64 of shape (rows, arity). Columns go by name, or have the positions in
    `order`. `look` is called between columns, and while records are read from text; it may raise."""
    if order is None:
        names = [column.name for column in relation.columns]
        way = f"pass pyarrow.table(data).rename_columns({names})"
        order = match_columns(table.column_names, names, place(None, None), way)
    columns = [table.column(source) for source in order]
    return encode_columns(columns, table.num_rows, relation, dictionary, place, look)


def encode_columns(
    columns: Iterable[pa.ChunkedArray | Words],
    rows: int,
    relation: RelationType,
    dictionary: Dictionary,
    place: Locator,
    look: Look = ignore_limits,
) -> Words:
    """Return the words of the columns of a relation with so many rows, as `encode_table`. Columns may be words already.
    Columns of text are encoded together, because they may have the same texts."""
    words = np.empty((rows, len(relation.columns)), dtype=np.int64)
    texts: dict[pa.DataType, list[tuple[int, pa.ChunkedArray]]] = {}
    for position, (column, found) in enumerate(zip(relation.columns, columns, strict=True)):
        look()
        if isinstance(found, np.ndarray):
            words[:, position] = found
            continue
        try:
            plain = _plain(found)
            if column.kind == "symbol" and is_text(plain.type) and not plain.null_count:
                texts.setdefault(plain.type, []).append((position, plain))
            else:
                words[:, position] = column_words(plain, column, dictionary, place, look)
        except NotImplementedError:  # Arrow lacks functions for some nested types, none of which fits a column.
            raise _other_type(column, found.type).at(place(None, column.name)) from None
    for alike in texts.values():
        look()
        try:
            encoded = dictionary.encode_texts([found for _, found in alike])
        except DataError:  # Each alone, because the error names its column.
            encoded = [column_words(found, relation.columns[at], dictionary, place, look) for at, found in alike]
        for (position, _), each in zip(alike, encoded, strict=True):
            words[:, position] = each
    return words


def column_words(
    column: pa.ChunkedArray, declared: Column, dictionary: Dictionary, place: Locator, look: Look = ignore_limits
) -> Words:
    """Return the words of one column. Raise DataError at the first value that does not fit; an exception from `look`
    ends the work."""
    import pyarrow as pa

    if len(column) == 0:
        return np.empty(0, dtype=np.int64)
    column = _plain(column)
    kind = declared.kind
    if kind not in PRIMITIVES:
        return _record_words(column, declared, dictionary, place, look)
    if column.null_count:
        row = _first(column, lambda chunk: ~valid_mask(chunk))
        raise Complaint("E0403", f"expected {article(declared.type)}, found no value (null)", MISSING_HINT).at(
            place(row, declared.name)
        )
    if kind == "symbol" and is_text(column.type):
        try:
            return dictionary.encode_column(column, kind)
        except DataError as error:
            raise DataError(replace(error.problems[0], place=place(None, declared.name))) from None
    if kind == "unsigned" and pa.types.is_decimal(column.type) and column.type.scale == 0:
        column = _unsigned_integers(column, declared, place)
    if pa.types.is_integer(column.type) and kind != "symbol":
        return _integer_words(column, declared, place)
    if pa.types.is_floating(column.type) and kind == "float":
        return _float_words(column, declared, place)
    raise _other_type(declared, column.type).at(place(None, declared.name))


def _other_type(declared: Column, found: pa.DataType) -> Complaint:
    message = f"expected {describe_type(declared)}, found a column of type {found}"
    return Complaint("E0401", message, cast_hint(found, declared.kind))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the same column without encodings that save space; dictionaries of text stay. Types of others over numbers
    stay as well: their numbers say something else, such as months."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType) and not pa.types.is_primitive(column.type.storage_type):
        column = column.cast(column.type.storage_type)
    if pa.types.is_run_end_encoded(column.type):
        import pyarrow.compute as pc  # takes long to import

        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks])
    if pa.types.is_dictionary(column.type) and not (is_text(column.type) and not _null_entries(column)):
        column = column.cast(column.type.value_type)
    simple = _without_views(column.type)
    return column if simple == column.type else column.cast(simple)


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Return the type with large_string in place of string_view, for which pyarrow has few functions."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _without_views(part.type)) for part in kind])
    return pa.large_string() if str(kind) == "string_view" else kind


def _null_entries(column: pa.ChunkedArray) -> bool:
    return any(chunk.dictionary.null_count for chunk in column.chunks)


def is_text(kind: pa.DataType) -> bool:
    """Return True for a type of strings, encoded as a dictionary or not."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def _first(column: pa.ChunkedArray, wrong: Callable[[pa.Array], NDArray[np.bool_]]) -> int:
    """Return the number of the first row for which `wrong` holds; there must be one."""
    start = 0
    for chunk in column.chunks:
        mask = wrong(chunk)
        if mask.any():
            return start + int(mask.argmax())
        start += len(chunk)
    return start


def _numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.concatenate([numbers_to_numpy(chunk) for chunk in column.chunks])


def _unsigned_integers(column: pa.ChunkedArray, declared: Column, place: Locator) -> pa.ChunkedArray:
    """Return whole decimals as uint64: Spark has unsigned numbers as decimal(20,0)."""
    import pyarrow as pa

    try:
        return column.cast(pa.uint64())
    except pa.ArrowInvalid:
        low, high = RANGES["unsigned"]
        row, value = next((row, v) for row, v in enumerate(column.to_pylist()) if not low <= v <= high)
        raise Complaint("E0402", f"{value} does not fit an unsigned", range_hint("unsigned")).at(
            place(row, declared.name)
        ) from None


def _integer_words(column: pa.ChunkedArray, declared: Column, place: Locator) -> Words:
    values = _numbers(column)
    if declared.kind == "float":
        floats = values.astype(np.float64)
        inexact = (np.abs(floats) >= 2**53) & (_as_integers(floats, values) != values)
        if inexact.any():
            row = int(inexact.argmax())
            message = f"no float is equal to the integer {values[row]}"
            raise Complaint("E0402", message, "cast the column to float64 to round it").at(place(row, declared.name))
        return number_words(floats)
    low, high = RANGES[declared.kind]
    limits = np.iinfo(values.dtype)
    wrong = np.zeros(len(values), dtype=np.bool_)
    if limits.min < low:
        wrong = values < low
    if limits.max > high:
        wrong = values > values.dtype.type(high)
    if wrong.any():
        row = int(wrong.argmax())
        message = f"{values[row]} does not fit {article(declared.kind)}"
        raise Complaint("E0402", message, range_hint(declared.kind)).at(place(row, declared.name))
    return number_words(values.astype(np.int64 if declared.kind == "number" else np.uint64))


def _as_integers(floats: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return floats as integers of the type of `values`; floats beyond its range change their value."""
    limit = float(np.iinfo(values.dtype).max)
    return np.where(floats < limit, floats, 0).astype(values.dtype)


def _float_words(column: pa.ChunkedArray, declared: Column, place: Locator) -> Words:
    import pyarrow as pa

    values = _numbers(column.cast(pa.float64()))
    wrong = np.isnan(values)
    if wrong.any():
        raise Complaint("E0404", "NaN cannot be stored", NAN_HINT).at(place(int(wrong.argmax()), declared.name))
    return number_words(values)


def _record_words(
    column: pa.ChunkedArray, declared: Column, dictionary: Dictionary, place: Locator, look: Look
) -> Words:
    import pyarrow as pa

    branches = dictionary.types[declared.kind].branches
    if branches and column.null_count:
        row = _first(column, lambda chunk: ~valid_mask(chunk))
        raise Complaint("E0403", f"expected {article(declared.type)}, found no value (null)", MISSING_HINT).at(
            place(row, declared.name)
        )
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int64)
    present = np.concatenate([valid_mask(chunk) for chunk in column.chunks])
    rows = np.flatnonzero(present)
    words = np.zeros(len(column), dtype=np.int64)
    records = column if len(rows) == len(column) else column.filter(mask_to_arrow(present))

    def inside(row: int | None, _field: str | None) -> str:
        return place(None if row is None else int(rows[row]), declared.name)

    if is_text(column.type):
        words[present] = _record_text_words(records, declared, dictionary, inside, look)
        return words
    if branches:
        message = f"expected values of type {declared.type} as text, found a column of type {column.type}"
        raise Complaint("E0401", message, f"pass text like ${branches[0].name}").at(place(None, declared.name))
    if not pa.types.is_struct(column.type):
        message = f"expected records of type {declared.type}, found a column of type {column.type}"
        raise Complaint("E0401", message, "pass structs, or text like [1, nil]").at(place(None, declared.name))
    fields = dictionary.types[declared.kind].fields
    names = [column.type.field(i).name for i in range(column.type.num_fields)]
    order = match_columns(names, [field.name for field in fields], place(None, declared.name))
    if len(rows):
        parts = records.flatten()
        columns = [
            column_words(parts[i], field, dictionary, inside, look) for i, field in zip(order, fields, strict=True)
        ]
        words[present] = dictionary.pack(declared.kind, columns, len(rows))
    return words


def _record_text_words(
    column: pa.ChunkedArray, declared: Column, dictionary: Dictionary, place: Locator, look: Look
) -> Words:
    """Return the words of records written as text; read each different text once."""
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    encoded = encoded.unify_dictionaries()
    if not encoded.chunks:
        return np.empty(0, dtype=np.int64)
    indices = np.concatenate([numbers_to_numpy(chunk.indices) for chunk in encoded.chunks])
    texts = encoded.chunks[0].dictionary
    if not is_utf8(texts):
        message, hint = "a text of the column is not UTF-8", "decode its bytes first, or leave these rows out"
        raise Complaint("E0408", message, hint).at(place(None, declared.name))
    words = np.zeros(len(texts), dtype=np.int64)
    for number, text in enumerate(texts.to_pylist()):
        value = record_from_text(text, declared, dictionary, look)
        if isinstance(value, Complaint):
            uses = np.flatnonzero(indices == number)
            if len(uses):
                raise value.at(place(int(uses[0]), declared.name))
        else:
            words[number] = dictionary.encode(value, declared.kind, look)
    every: Words = words[indices]
    return every


_WHOLE = {"number": "int64", "unsigned": "uint64"}


def cast_hint(found: pa.DataType, kind: str) -> str:
    """Return how a column becomes one of a kind that it has not."""
    import pyarrow as pa

    if pa.types.is_floating(found) and kind in RANGES:
        return f"cast it to {_WHOLE[kind]} if its values are integral (pandas turns integers with gaps into floats)"
    if pa.types.is_boolean(found):
        return "cast it to int8 for 0 and 1, or to string"
    if pa.types.is_temporal(found):
        return "cast it to string for a symbol, or to int64 for a number"
    if pa.types.is_decimal(found):
        if kind in RANGES and found.scale > 0:
            return "declare the column as float, and cast it to float64"
        return f"cast it to {'string' if kind == 'symbol' else _WHOLE.get(kind, 'float64')}"
    if pa.types.is_binary(found) or pa.types.is_large_binary(found) or pa.types.is_fixed_size_binary(found):
        return "cast it to string if it is UTF-8"
    if isinstance(found, pa.BaseExtensionType):
        return f"cast it to {found.storage_type} if its numbers are meant, or to string for a symbol"
    if pa.types.is_nested(found):
        return "flatten it first, or declare a record type"
    return (
        "cast it to string, or declare the column as number" if kind == "symbol" else "cast it, or declare it as symbol"
    )
