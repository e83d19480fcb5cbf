"""Ways to forge the tables of a certificate: their types, values and rows, and how they are written."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tests.certificate.forgery import Forgery


def of_tables(folder: Path) -> Iterator[Forgery]:
    """Every column of every table with other types and values, tuples missing, and tables written in other ways."""
    for path in sorted(folder.rglob("*.parquet")):
        name, part = path.relative_to(folder), path.parent.name
        table = parquet.read_table(path)
        for column in table.column_names:
            covers = f"{part}.{column[0] if column[0] == 'c' else column}.{table.schema.field(column).type}"
            for what, change in columns_of(table, column).items():
                yield Forgery(f"{name}, column {column},", what, covers, partial(_table, name, change))
        for number in sorted({0, table.num_rows // 2, table.num_rows - 1} & set(range(table.num_rows))):
            less = partial(_less, number)
            yield Forgery(str(name), f"lacks row {number}", f"{part}/*.parquet", partial(_table, name, less))
        for what, change in TABLES.items():
            yield Forgery(str(name), what, f"{part}/*.parquet", partial(_table, name, change))
        for what, options in WRITTEN.items():
            yield Forgery(str(name), what, f"{part}/*.parquet", partial(_rewritten, name, options))


Table = Callable[[pa.Table], pa.Table]


def _table(name: Path, change: Table, folder: Path) -> None:
    parquet.write_table(change(parquet.read_table(folder / name)), folder / name)


def _rewritten(name: Path, options: Mapping[str, Any], folder: Path) -> None:
    table = parquet.read_table(folder / name)
    parquet.write_table(table, folder / name, **options)


def _less(number: int, table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, number), table.slice(number + 1)])


def columns_of(table: pa.Table, column: str) -> dict[str, Table]:
    """Return forgeries of a column: other types for it, other values in its first row, and in all of it."""
    position, kind = table.column_names.index(column), table.schema.field(column).type
    values = table.column(column).to_pylist()

    def values_are(changed: list[Any], wanted: pa.DataType = kind) -> Table:
        return lambda each: each.set_column(position, column, pa.array(changed, wanted))

    def cast(wanted: pa.DataType) -> Table:
        return lambda each: each.set_column(position, column, each.column(column).cast(wanted, safe=False))

    found: dict[str, Table] = {
        "is not there": lambda each: each.drop_columns([column]),
        "is there twice": lambda each: each.append_column(column, each.column(column)),
        "has another name": lambda each: each.rename_columns(
            [name if name != column else "x" for name in each.column_names]
        ),
        "has a name in capitals": lambda each: each.rename_columns(
            [name if name != column else name.upper() for name in each.column_names]
        ),
        "comes last": lambda each: each.drop_columns([column]).append_column(column, each.column(column)),
        "comes first": lambda each: each.drop_columns([column]).add_column(0, column, each.column(column)),
        "is null throughout": values_are([None] * len(values)),
        "has no type": values_are([None] * len(values), pa.null()),
        "is a list": lambda each: each.set_column(position, column, pa.array([[]] * len(values), pa.list_(pa.int64()))),
    }
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    for other in TYPES:
        if other != plain and not pa.types.is_struct(plain):
            found[f"is {other}"] = partial(_cast_or_zero, position, column, other)
    if values:
        samples = SAMPLES[_sort(plain)]
        for what, value in samples.items():
            found[f"has {what}"] = values_are([value, *values[1:]])
            found[f"is {what} throughout"] = values_are([value] * len(values))
        found["is reversed"] = values_are(values[::-1])
        found["has a null"] = values_are([None, *values[1:]])
        if column == "birth":
            found["all alike"] = values_are([3] * len(values))
            found["negated"] = values_are([-value for value in values])
            found["shuffled"] = values_are(random.Random(1).sample(values, len(values)))
    if pa.types.is_struct(plain):
        found["has a field more"] = values_are(
            [None if value is None else {**value, "more": 1} for value in values],
            pa.struct([*plain, pa.field("more", pa.int64())]),
        )
        found["is text"] = values_are(["[1, x]"] * len(values), pa.string())
    if plain == pa.string():
        found["is large text"] = cast(pa.large_string())
        found["is text in a dictionary"] = lambda each: each.set_column(
            position, column, each.column(column).cast(pa.string()).dictionary_encode()
        )
        found["is no text"] = values_are([b"\xff\xfe"] * len(values), pa.binary())
    return found


def _cast_or_zero(position: int, column: str, wanted: pa.DataType, table: pa.Table) -> pa.Table:
    """The column with another type: cast, or of zeros where that cannot be done."""
    try:
        cast = table.column(column).cast(wanted, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        cast = pa.array([0] * table.num_rows, pa.int64()).cast(pa.string()).cast(wanted, safe=False)
    return table.set_column(position, column, cast)


def _sort(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        return "struct"
    return str(kind)


TYPES = (
    pa.int8(),
    pa.int32(),
    pa.uint32(),
    pa.uint64(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
)
SAMPLES: Mapping[str, Mapping[str, Any]] = {
    "int64": {
        "the smallest": -(2**63),
        "the largest": 2**63 - 1,
        "minus one": -1,
        "zero": 0,
        "another": 77,
        "one of 33 bits": 2**32 + 1,
    },
    "uint64": {"the largest": 2**64 - 1, "half": 2**63, "zero": 0, "another": 77},
    "double": {
        "minus zero": -0.0,
        "zero": 0.0,
        "NaN": float("nan"),
        "infinity": float("inf"),
        "minus infinity": float("-inf"),
        "the smallest": 5e-324,
        "another": 0.1,
    },
    "string": {
        "no text": "",
        "NUL": "a\0",
        "another value": "$Knot(5)",
        "a value in another form": "$Tip()",
        "a branch that is not there": "$Top",
        "a value of another type": "$Knot(x)",
        "a value with more parts": "$Knot(4, 5)",
        "half a value": "$Fork($Tip, ",
        "another normal form": "Zoe\u0308",
        "a blank behind": "Zoë ",
        "a relation": "e",
        "a relation that is not there": "nowhere",
        "an intermediate result": "#path.e*",
        "a relation in capitals": "E",
        "a bracket": "[",
        "a record": "[1.0, [2.0, nil]]",
        "nil": "nil",
        "a long text": "x" * 100_000,
        "a text that ends elsewhere": "\u202e\u0000",
    },
    "struct": {
        "nil": None,
        "another": {"a": 5, "b": "y"},
        "a null in it": {"a": None, "b": "x"},
        "no text": {"a": 1, "b": ""},
    },
}

TABLES: Mapping[str, Table] = {
    "is empty": lambda table: table.slice(0, 0),
    "has every row twice": lambda table: pa.concat_tables([table, table]),
    "is reversed": lambda table: table.take(pa.array(range(table.num_rows)[::-1], pa.int64())),
    "has no columns": lambda table: table.select([]),
    "has a column more": lambda table: table.append_column("more", pa.array([1] * table.num_rows, pa.int64())),
    "has other metadata": lambda table: table.replace_schema_metadata({"rows": "none", "trust": "me"}),
    "has broken metadata": lambda table: table.replace_schema_metadata({"ARROW:schema": "x", "pandas": "{"}),
    "has metadata of columns": lambda table: table.cast(
        pa.schema([field.with_metadata({"PARQUET:field_id": "-1"}) for field in table.schema])
    ),
}
WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "is not compressed": {"compression": "none"},
    "is compressed in another way": {"compression": "snappy"},
    "has no dictionaries": {"use_dictionary": False},
    "has a row group for each row": {"row_group_size": 1},
    "has small pages": {"data_page_size": 1},
    "has no statistics": {"write_statistics": False},
    "has pages of version 2": {"data_page_version": "2.0"},
    "is of version 1.0": {"version": "1.0"},
    "has no schema of Arrow": {"store_schema": False},
    "has an index of pages": {"write_page_index": True},
}
