"""`Relation`: a set of tuples as a user sees it, a named view of rows of words that prints and converts itself.

Where the rows come from is a `RowSource`: the engine's storage, the answer to a query, the changes of an epoch. Tuples
are decoded when they are asked for, a chunk at a time. Records are tuples, `nil` is None; in Arrow and Polars, records
are structs, and records of a type that contains itself or has no fields are text like `[1, [2, nil]]`.
"""

from __future__ import annotations

import html
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.errors import (
    DataError,
    Problem,
    SetupError,
    UsageError,
    how_to_install,
    quote,
    quote_name,
    whole,
    wrong_argument,
)
from tidelog.io.set_operators import Rows, SetOperators
from tidelog.language.inlining import INLINE
from tidelog.language.syntax import PRIMITIVES, Column, Kind, RecordType, RelationType, Value
from tidelog.limits.interrupts import foreign_code
from tidelog.limits.watch import reading_within_memory
from tidelog.maintain.deltas import AnyRows, held_rows, rows_of
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.ordering import order_of_words
from tidelog.storage.record_text import format_value

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    import pyspark.sql


_CHUNK = 65_536  # rows that are decoded at a time
_SHOWN = 10  # rows in a terminal
_SHOWN_HTML = 20


class RowSource(Protocol):
    """Rows of words with what it takes to understand them."""

    columns: tuple[Column, ...]
    dictionary: Dictionary

    def __len__(self) -> int: ...

    def words(self, count: int | None = None) -> NDArray[Any]:
        """Return the rows, or the first `count` of them: int32 or int64 of shape (rows, arity), each once."""

    def batches(self) -> Iterator[NDArray[Any]]:
        """Yield the rows as they are at this call, some at a time."""

    def has(self, words: tuple[int, ...]) -> bool:
        """Return True if there is this row."""


class WordRows:
    """A `RowSource` over an array, for answers and changes that are no stored relation. The rows of a
    change that are not written yet are written when somebody asks for rows."""

    def __init__(self, columns: tuple[Column, ...], dictionary: Dictionary, words: AnyRows) -> None:
        self.columns = columns
        self.dictionary = dictionary
        self._rows = words
        self._set: frozenset[tuple[int, ...]] | None = None
        if len(words):
            dictionary.hold(self)

    @property
    def _words(self) -> NDArray[Any]:
        return rows_of(self._rows)

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], NDArray[Any]]]:
        """Return the words, which the dictionary keeps as long as these rows exist."""
        yield self.columns, held_rows(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def words(self, count: int | None = None) -> NDArray[Any]:
        return self._words[:count]

    def batches(self) -> Iterator[NDArray[Any]]:
        return iter([self._words])

    def has(self, words: tuple[int, ...]) -> bool:
        if self._set is None:
            self._set = frozenset(map(tuple, self._words.tolist()))
        return words in self._set


class Relation(SetOperators):
    """The tuples of a relation: `len`, `in`, iteration (no order is promised), set operators, and tables for other
    libraries.

    Where memory does not suffice, all of these raise LimitError (E0503).
    """

    def __init__(self, name: str, source: RowSource) -> None:
        self.name = name
        self._source = source

    @property
    def columns(self) -> tuple[Column, ...]:
        """Name, kind and declared type of each column."""
        return self._source.columns

    @property
    def schema(self) -> dict[str, str]:
        """Return the declared type of each column by its name."""
        return {column.name: column.type for column in self.columns}

    @property
    def dictionary(self) -> Dictionary:
        """The meaning of the words of symbols and records. The database gives none of its words back from now on."""
        self._source.dictionary.shared = True
        return self._source.dictionary

    @reading_within_memory
    def words(self) -> Words:
        """Return the rows as words: int64 of shape (rows, arity). The database reclaims none of its words from now
        on."""
        self._source.dictionary.shared = True
        return np.asarray(self._source.words(), dtype=np.int64)

    @reading_within_memory
    def words_in(self, dictionary: Dictionary) -> Words | None:
        """Return the rows as words of a dictionary that is about to use them, or None if they are words of another."""
        return np.asarray(self._source.words(), np.int64) if self._source.dictionary is dictionary else None

    @reading_within_memory
    def __len__(self) -> int:
        return len(self._source)

    @reading_within_memory
    def __contains__(self, row: object) -> bool:
        """Return True if the relation contains the tuple; values of other types than the columns' are not in it. Raise
        UsageError (E0605) for another number of values."""
        self._check_length(row)
        values, dictionary = cast(Sequence[object], row), self._source.dictionary
        with dictionary.hold_words():
            words = [dictionary.find(value, column.kind) for value, column in zip(values, self.columns, strict=True)]
            return None not in words and self._source.has(tuple(words))  # type: ignore[arg-type]

    def _check_length(self, row: object) -> None:
        """Raise UsageError (E0605) if something cannot be a tuple of the relation."""
        if not isinstance(row, (tuple, list)) or len(row) != len(self.columns):
            found = f"{len(row)} values" if isinstance(row, (tuple, list)) else f"a value of type {type(row).__name__}"
            names = ", ".join(column.name for column in self.columns)
            message = f"{self.name} has tuples of {len(self.columns)} values, found {found}"
            raise UsageError(Problem("E0605", message, hint=f"ask for ({names}) in {self.name}"))

    @reading_within_memory
    def copy(self) -> Relation:
        """Return the tuples as they are now, independent of later changes."""
        with self._source.dictionary.hold_words():
            return Relation(self.name, WordRows(self.columns, self._source.dictionary, self._source.words()))

    @reading_within_memory
    def map_words(self, arrange: Callable[[NDArray[Any]], NDArray[Any]], count: int | None = None) -> Relation:
        """Return what `arrange` makes of the words of the rows, or of the first `count`: for modules of this
        package."""
        with self._source.dictionary.hold_words():
            return Relation(
                self.name, WordRows(self.columns, self._source.dictionary, arrange(self._source.words(count)))
            )

    @reading_within_memory
    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        """Yield the tuples as they are now, also while the database changes."""
        return self._decode_batches(self._source.batches()) if self.columns else iter([()] * len(self))

    def _decode_batches(self, batches: Iterable[NDArray[Any]]) -> Iterator[tuple[Value, ...]]:
        return chain.from_iterable(self._decode_chunks(batches))

    def _decode_chunks(self, batches: Iterable[NDArray[Any]]) -> Iterator[Iterable[tuple[Value, ...]]]:
        with reading_within_memory:
            for words in batches:
                for start in range(0, len(words), _CHUNK):
                    yield self._tuples(words[start : start + _CHUNK])

    def _tuples(self, words: NDArray[Any]) -> Iterable[tuple[Value, ...]]:
        decode = self._source.dictionary.decode_list
        return zip(*[decode(words[:, i], column.kind) for i, column in enumerate(self.columns)], strict=True)

    def rows(self) -> list[tuple[Value, ...]]:
        """Return the tuples as a list."""
        return list(self)

    def head(self, count: int = _SHOWN) -> Relation:
        """Return some of the tuples as they are now, at most `count`. Raise UsageError (E0635) for a `count` that is no
        number of tuples."""
        return self.map_words(lambda words: words.copy(), whole("count", count))

    @reading_within_memory
    def __reduce__(self) -> tuple[Any, ...]:
        """Return the present tuples with their columns and dictionary, for `copy` and `pickle`; the copy needs no
        database."""
        dictionary = self._source.dictionary
        with dictionary.hold_words():
            words = self._source.words()
            values = [dictionary.decode_list(words[:, i], column.kind) for i, column in enumerate(self.columns)]
        return _rebuild_relation, (
            self.name,
            self.columns,
            dictionary.types.types_of_columns(self.columns),
            len(words),
            values,
        )

    # --- set operators -----------------------------------------------------------------------------------------------

    @reading_within_memory
    def _words_of_both(self, other: SetOperators | Set[Any]) -> tuple[Words, Words, Rows]:
        dictionary, kinds = self._source.dictionary, [column.kind for column in self.columns]
        with dictionary.hold_words():
            mine = np.asarray(self._source.words(), np.int64)
            if isinstance(other, Relation):
                alike = other._source.dictionary is dictionary and [c.kind for c in other.columns] == kinds
                if alike:
                    return mine, np.asarray(other._source.words(), np.int64), ()
            found, strange = [], []
            for row in cast(Iterable[Any], other):
                words = None
                if isinstance(row, tuple) and len(row) == len(kinds):
                    words = [dictionary.find(value, kind) for value, kind in zip(row, kinds, strict=True)]
                if words is None or None in words:
                    strange.append(row)
                else:
                    found.append(words)
            return mine, np.array(found, np.int64).reshape(len(found), len(kinds)), strange

    def _of_words(self, words: Words) -> Relation:
        return Relation(self.name, WordRows(self.columns, self._source.dictionary, words))

    @reading_within_memory
    def _of_tuples(self, rows: Iterable[object]) -> Relation:
        dictionary = Dictionary(self._source.dictionary.types.types_of_columns(self.columns))
        rows = list(rows)
        words = np.empty((len(rows), len(self.columns)), np.int64)
        for number, row in enumerate(rows):
            self._check_length(row)
            for i, (value, column) in enumerate(zip(cast(Sequence[Value], row), self.columns, strict=True)):
                words[number, i] = _fitting_word(value, column, dictionary)
        return Relation(self.name, WordRows(self.columns, dictionary, words))

    @reading_within_memory
    def _tuples_of(self, words: Words) -> Iterable[tuple[Value, ...]]:
        return self._decode_batches([words]) if self.columns else [()] * len(words)

    # --- tables for other libraries ----------------------------------------------------------------------------------

    @foreign_code()
    @reading_within_memory
    def arrow(self) -> pa.Table:
        """Return a pyarrow Table: int64, uint64, float64, string and struct columns."""
        import pyarrow as pa

        kinds: list[Kind] = [column.kind for column in self.columns]
        schema = self._source.dictionary.types.arrow_schema(self.columns)
        if not kinds:
            return pa.Table.from_struct_array(self._units(len(self)))
        step = 16 * _CHUNK
        batches = [
            pa.RecordBatch.from_arrays(
                [
                    self._source.dictionary.decode_column(words[start : start + step, i], kind)
                    for i, kind in enumerate(kinds)
                ],
                schema=schema,
            )
            for words in self._source.batches()
            for start in range(0, len(words), step)
        ]
        return pa.Table.from_batches(batches, schema)

    @staticmethod
    def _units(count: int) -> pa.StructArray:
        """Return `count` rows without columns."""
        import pyarrow as pa

        return pa.Array.from_buffers(pa.struct([]), count, [None])

    @foreign_code()
    @reading_within_memory
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return Arrow's interface for any library that reads tables."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    @foreign_code()
    @reading_within_memory
    def df(self) -> pandas.DataFrame:
        """Return a pandas DataFrame, records as tuples. Raise SetupError (E0790) if pandas is not installed."""
        loaded = _load_library("pandas", "pandas")
        dictionary, columns = self._source.dictionary, {}
        with dictionary.hold_words():
            words = self._source.words()
            for position, column in enumerate(self.columns):
                if column.kind in PRIMITIVES:
                    columns[column.name] = dictionary.decode_column(words[:, position], column.kind).to_pandas()
                else:  # not by Arrow, which turns integers beside nil into floats
                    values = dictionary.decode_list(words[:, position], column.kind)
                    columns[column.name] = loaded.Series(values, dtype=object)
        frame: pandas.DataFrame = loaded.DataFrame(columns, index=loaded.RangeIndex(len(words)))
        return frame

    @foreign_code()
    @reading_within_memory
    def pl(self) -> polars.DataFrame:
        """Return a Polars DataFrame. Raise SetupError (E0790) if Polars is not installed."""
        frame: polars.DataFrame = _load_library("polars", "polars").from_arrow(self.arrow())
        return frame

    to_arrow, to_pandas, to_polars = arrow, df, pl  # as other libraries call these

    @foreign_code()
    @reading_within_memory
    def to_spark(self, session: pyspark.sql.SparkSession) -> pyspark.sql.DataFrame:
        """Return a Spark DataFrame of the session. Spark has no unsigned integers: those become decimals of 20
        digits."""
        import pyarrow as pa

        _load_library("pyspark", "spark")
        if not hasattr(session, "createDataFrame"):
            raise wrong_argument("the session", "a SparkSession", session)
        table = self.arrow()
        fields = [pa.field(field.name, _replace_unsigned(field.type)) for field in table.schema]
        table = table.cast(pa.schema(fields))
        from pyspark.sql import DataFrame
        from pyspark.sql.pandas.types import from_arrow_schema

        if table.num_rows and hasattr(DataFrame, "toArrow"):
            return session.createDataFrame(table)
        # PySpark 3.5 takes no table, and Spark Connect none without rows.
        rows = [tuple(row.values()) for row in table.to_pylist()]
        return session.createDataFrame(rows, from_arrow_schema(table.schema))

    # --- how it shows itself -----------------------------------------------------------------------------------------

    @reading_within_memory
    def __repr__(self) -> str:
        width = shutil.get_terminal_size((100, 24)).columns
        lines = [_cut(f"{self._signature()}  {_rows(len(self))}", width)]
        cells = self.cells(_SHOWN)
        if cells and self.columns:
            numeric = [column.kind in PRIMITIVES and column.kind != "symbol" for column in self.columns]
            table = [[column.name for column in self.columns], *cells]
            widths = [min(max(len(row[i]) for row in table), max(8, width // 2)) for i in range(len(self.columns))]
            for row in table:
                parts = [
                    _cut(cell, size).rjust(size) if right else _cut(cell, size).ljust(size)
                    for cell, size, right in zip(row, widths, numeric, strict=True)
                ]
                lines.append(_cut("  " + "  ".join(parts).rstrip(), width))
            if len(self) > len(cells):
                lines.append("  …")
        return "\n".join(lines)

    @reading_within_memory
    def _repr_html_(self) -> str:
        heads = "".join(
            f"<th>{html.escape(column.name)}<br><small>{html.escape(column.type)}</small></th>"
            for column in self.columns
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cut(cell, 200))}</td>" for cell in row) + "</tr>"
            for row in self.cells(_SHOWN_HTML)
        )
        shown = min(len(self), _SHOWN_HTML)
        more = f", the first {shown} shown" if shown < len(self) else ""
        caption = f"{html.escape(self.name)}: {_rows(len(self))}{more}"
        return f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def _signature(self) -> str:
        return f"{self.name}({', '.join(f'{name}: {type_}' for name, type_ in self.schema.items())})"

    @reading_within_memory
    def cells(self, count: int) -> list[list[str]]:
        """Return the first rows as texts of one line each: for modules of this package."""
        with self._source.dictionary.hold_words():
            words = self._source.words(count)
            if not self.columns:
                return [[] for _ in words]
            return [[_cell(value) for value in row] for row in self._tuples(words)]


def _fitting_word(value: Value, column: Column, dictionary: Dictionary) -> int:
    """Return the word of a value in a column. DataError (E0401) if it cannot have it."""
    with suppress(TypeError, ValueError, OverflowError, AttributeError):
        word = dictionary.encode(value, column.kind)
        if dictionary.find(value, column.kind) == word:
            return word
    message = f"expected a {column.type} in column {column.name}, found {quote(value)}"
    raise DataError(Problem("E0401", message, hint="combine relations with sets of tuples of the same types"))


def _rebuild_relation(
    name: str,
    columns: tuple[Column, ...],
    records: Mapping[str, RecordType],
    count: int,
    values: Sequence[Sequence[Value]],
) -> Relation:
    """Return a relation of these columns, with a dictionary of its own."""
    dictionary, words = Dictionary(records), np.empty((count, len(columns)), np.int64)
    for i, column in enumerate(columns):
        words[:, i] = [dictionary.encode(value, column.kind) for value in values[i]]
    return Relation(name, WordRows(columns, dictionary, words))


def find_relation_type(relations: Mapping[str, RelationType], name: str) -> RelationType:
    """Return the relation of this name. UsageError (E0601) if there is none."""
    if isinstance(name, str) and name in relations:
        return relations[name]
    near = get_close_matches(quote_name(name), relations, 1)
    hint = f"did you mean {near[0]}?" if near else "declare it with .decl in a program that you load"
    raise UsageError(Problem("E0601", f"there is no relation {quote_name(name)}", hint=hint))


def with_tuples(relations: Mapping[str, RelationType], name: str) -> RelationType:
    """Return the relation of this name, which may have tuples. Raise UsageError (E0601: unknown, E0611: inline)."""
    relation = find_relation_type(relations, name)
    if INLINE in relation.qualifiers:
        hint = "add rules for it, or remove `inline` from its declaration"
        raise UsageError(Problem("E0611", f"the inline relation {name} has no tuples", hint=hint))
    return relation


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _cell(value: Value) -> str:
    """Return a value on one line, with escapes for characters that would disturb a terminal."""
    text = value if isinstance(value, str) else format_value(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:1000])


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(1, width - 1)] + "…"


def _load_library(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        message = f"this needs {module}, which is not installed"
        raise SetupError(Problem("E0790", message, hint=how_to_install(extra))) from None


def _replace_unsigned(kind: pa.DataType) -> pa.DataType:
    """Return an Arrow type with decimals in place of unsigned integers, also inside structs."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _replace_unsigned(part.type)) for part in kind])
    return pa.decimal128(20, 0) if pa.types.is_uint64(kind) else kind


def sorted_words(words: Words, columns: Sequence[Column], dictionary: Dictionary) -> Words:
    """Return the rows of `words`, sorted."""
    return words[order_of_words(words, [column.kind for column in columns], dictionary)]


def sorted_rows(relation: Relation) -> list[tuple[Value, ...]]:
    columns, dictionary = relation.columns, relation.dictionary
    words = sorted_words(relation.words(), columns, dictionary)
    return list(Relation(relation.name, WordRows(columns, dictionary, words)))
