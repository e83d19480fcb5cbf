"""The declaration of a relation for a table: the columns and types with which `encode` takes its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidelog.errors import DataError, Problem, UsageError, quote
from tidelog.io.columns import cast_hint, is_text
from tidelog.io.encode import is_pandas
from tidelog.io.relation import Relation
from tidelog.io.rows import Locator, place_in
from tidelog.limits.interrupts import foreign_code
from tidelog.storage.column_names import has_no_names

if TYPE_CHECKING:
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
                raise DataError(Problem("E0401", message, hint=hint, place=place(None, field.name)))
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
    raise DataError(Problem("E0406", message, hint=hint, place=place(None, None)))


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
        raise DataError(Problem("E0407", message, hint="cast its columns first", place=place(None, None))) from None
    message = f"expected a table with named columns, found a value of type {type(data).__name__}"
    hint = "pass a table of pandas, Polars, Arrow or DuckDB, or load a declaration"
    raise DataError(Problem("E0407", message, hint=hint, place=place(None, None)))


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
