"""Views as text, a row per line: symbols as they are, like Soufflé, or quoted as in RFC 4180.

Columns become text in Arrow and are joined there, so that the buffer of the joined column is the file. Each row reads
back as it was: a text that plain fields cannot have is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.common.arrays import Words
from tidelog.common.source import Span
from tidelog.errors import DataError, Problem, quote
from tidelog.io.text_reader import TextFormat, rows_of
from tidelog.language.syntax import PRIMITIVES, Column, Kind
from tidelog.storage.arrow_arrays import mask_to_numpy, numbers_to_arrow, text_scalar, text_to_arrow
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.record_text import format_value

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK = 1 << 14  # rows that are text at a time, which takes several times their bytes
_MARK = "\ufeff"
"""A reader skips it at the beginning of a file."""
REMEDY = "add rfc4180=true to `.output`, and to the `.input` that reads the file; or write IO=json or IO=parquet"
"""The hint about a row that plain text cannot have."""
_OF_NUMBERS = frozenset("0123456789+-.einf")


def text_of(
    words: Words,
    columns: Sequence[Column],
    dictionary: Dictionary,
    form: TextFormat,
    span: Span | None = None,
    remedy: str = REMEDY,
) -> Iterator[bytes]:
    """Yield the file in pieces. Raise DataError (E0414) with the place of the directive and a hint for a row that would
    read back as something else."""
    complaint = _unwritable_name(columns, form) if form.headers else None
    if complaint is not None:
        raise DataError(Problem("E0414", complaint, span=span, hint=remedy))
    if form.headers:
        yield (header_of(columns, form) + "\n").encode()
    if not columns:
        yield b"()\n" * min(1, len(words))
        return
    for start in range(0, len(words), _CHUNK):
        fields = _fields(words[start : start + _CHUNK], columns, dictionary, form)
        lines = _lines(fields, form.delimiter)
        begins = start == 0 and not form.headers
        if not form.quoted and _is_doubtful(lines, fields, columns, form, begins=begins):
            complaint = _misread(fields, columns, form, begins=begins)
            if complaint is not None:
                raise DataError(Problem("E0414", complaint, span=span, hint=remedy))
        yield lines


def header_of(columns: Sequence[Column], form: TextFormat) -> str:
    """Return the line with the names of the columns."""
    if form.names is not None:
        return form.names
    names = [column.name for column in columns]
    return csv_line(names, form.delimiter) if form.quoted else form.delimiter.join(names)


def csv_line(fields: Sequence[str], delimiter: str = ",") -> str:
    """Return fields as a line in the form of RFC 4180, without its end."""
    special = re.compile(_special(delimiter, alone=len(fields) == 1))
    doubled = ((field, field.replace('"', '""')) for field in fields)
    return delimiter.join(f'"{twice}"' if special.search(field) else field for field, twice in doubled)


def _special(delimiter: str, *, alone: bool) -> str:
    """Return the pattern of fields that need quotes, for Python and for Arrow; the only field of a line needs them also
    if it is empty."""
    return f"{_any_of(delimiter + chr(34))}|^{_MARK}" + ("|^$" if alone else "")


def _any_of(characters: str) -> str:
    return "[\r\n" + "".join(f"\\{each}" if each in "\\]^-[" else each for each in sorted(set(characters))) + "]"


def _fields(words: Words, columns: Sequence[Column], dictionary: Dictionary, form: TextFormat) -> list[pa.Array]:
    """Return the text of each column, in quotes where they are needed and `form` has them."""
    found = []
    for position, column in enumerate(columns):
        text = _text_column(np.ascontiguousarray(words[:, position]), column.kind, dictionary)
        is_number = column.kind in PRIMITIVES and column.kind != "symbol"
        if form.quoted and not (is_number and _OF_NUMBERS.isdisjoint(form.delimiter)):
            text = _quote_fields(text, _special(form.delimiter, alone=len(columns) == 1))
        found.append(text)
    return found


def _lines(fields: Sequence[pa.Array], delimiter: str) -> bytes:
    import pyarrow.compute as pc

    parts: list[Any] = []
    for text in fields:
        parts += [text, text_scalar(delimiter)]
    parts[-1] = text_scalar("\n")
    joined = pc.binary_join_element_wise(*parts, text_scalar(""))
    return joined.buffers()[2].to_pybytes()  # type: ignore[no-any-return]


def _is_doubtful(
    lines: bytes, fields: Sequence[pa.Array], columns: Sequence[Column], form: TextFormat, *, begins: bool
) -> bool:
    """Return False if plain rows read back as they are by the numbers of their delimiters and line breaks."""
    code, rows = form.delimiter.encode(), len(fields[0])
    return (
        len(code) > 1
        or any(column.kind not in PRIMITIVES for column in columns)
        or lines.count(b"\n") != rows
        or lines.count(code) != rows * (len(fields) - 1)
        or b"\r\n" in lines
        or (begins and lines.startswith(_MARK.encode()))
    )


def _unwritable_name(columns: Sequence[Column], form: TextFormat) -> str | None:
    """Return the complaint about a name of a column that a plain first line cannot have."""
    if form.quoted or form.names is not None:
        return None
    names = (column.name for column in columns if form.delimiter in column.name)
    return next((_unwritable(name, name, form) for name in names), None)


def _misread(fields: Sequence[pa.Array], columns: Sequence[Column], form: TextFormat, *, begins: bool) -> str | None:
    """Return the complaint about the first plain row that reads back as other fields, if there is one."""
    import pyarrow.compute as pc

    has_records = any(column.kind not in PRIMITIVES for column in columns)
    pattern = _any_of(form.delimiter) + (r"|^[\[$(]" if has_records else "")
    # Another delimiter could become a part of a record: `$Light` and `x` with `(` between them.
    doubtful = np.full(len(fields[0]), has_records and form.delimiter not in set("\t,;| "))
    for text, column in zip(fields, columns, strict=True):
        special = pattern if column.kind in PRIMITIVES else _any_of(form.delimiter)
        doubtful |= mask_to_numpy(pc.match_substring_regex(text, pattern=special))
    doubtful[:1] |= begins
    for row in np.flatnonzero(doubtful).tolist():
        wanted = [text[row].as_py() for text in fields]
        line = form.delimiter.join(wanted)
        line = line.removeprefix(_MARK) if begins and row == 0 else line
        found = [[text for _, _, text in each] for each in rows_of(f"{line}\n", form, has_records, "", 0)]
        if found != [wanted]:
            place = next(i for i, text in enumerate(wanted) if found[0][i : i + 1] != [text])
            return _unwritable(wanted[place], columns[place].name, form)
    return None


def _unwritable(text: str, column: str, form: TextFormat) -> str:
    """Return the complaint about a field that a plain file cannot have."""
    reason = "the bracket of a record"
    if "\n" in text or "\r" in text:
        reason = "a line break"
    elif not set(form.delimiter).isdisjoint(text):
        reason = f"{'' if form.delimiter in text else 'a part of '}the delimiter {quote(form.delimiter)}"
    elif text.startswith(_MARK):
        reason = "a byte order mark"
    return f"{quote(text)} in column {column} contains {reason}, so the row would not read back as it is"


def _text_column(words: Words, kind: Kind, dictionary: Dictionary) -> pa.Array:
    import pyarrow as pa

    if kind in PRIMITIVES:
        return dictionary.decode_column(words, kind).cast(pa.large_string())
    different, places = np.unique(words, return_inverse=True)
    texts = text_to_arrow([format_value(value) for value in dictionary.decode_list(different, kind)])
    return texts.take(numbers_to_arrow(places.astype(np.int64)))


def _quote_fields(text: pa.Array, special: str) -> pa.Array:
    """Return fields in quotes if they match a pattern."""
    import pyarrow.compute as pc

    mark = text_scalar('"')
    doubled = pc.replace_substring(text, pattern='"', replacement='""')
    return pc.if_else(
        pc.match_substring_regex(text, pattern=special),
        pc.binary_join_element_wise(mark, doubled, mark, text_scalar("")),
        text,
    )
