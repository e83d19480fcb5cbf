"""Views as text, a row per line: symbols as they are, like Soufflé, or quoted as in RFC 4180.

Columns become text in Arrow and are joined there, so that the buffer of the joined column is the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.arrays import Words
from tidelog.io.text_reader import TextFormat
from tidelog.language.syntax import PRIMITIVES, Column, Kind
from tidelog.storage.arrow_arrays import numbers_to_arrow, text_scalar, text_to_arrow
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.record_text import format_value

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK = 1 << 20  # rows that are text at a time


def text_of(words: Words, columns: Sequence[Column], dictionary: Dictionary, form: TextFormat) -> Iterator[bytes]:
    """Yield the file in pieces."""
    if form.headers:
        yield (header_of(columns, form) + "\n").encode()
    if not columns:
        yield b"()\n" * min(1, len(words))
        return
    for start in range(0, len(words), _CHUNK):
        yield _lines(words[start : start + _CHUNK], columns, dictionary, form)


def header_of(columns: Sequence[Column], form: TextFormat) -> str:
    """Return the line with the names of the columns."""
    return form.names if form.names is not None else form.delimiter.join(column.name for column in columns)


def _lines(words: Words, columns: Sequence[Column], dictionary: Dictionary, form: TextFormat) -> bytes:
    import pyarrow.compute as pc

    parts: list[Any] = []
    for position, column in enumerate(columns):
        text = _text_column(np.ascontiguousarray(words[:, position]), column.kind, dictionary)
        if form.quoted and (column.kind == "symbol" or column.kind not in PRIMITIVES):
            text = _quoted(text, form.delimiter, alone=len(columns) == 1)
        parts += [text, text_scalar(form.delimiter)]
    parts[-1] = text_scalar("\n")
    joined = pc.binary_join_element_wise(*parts, text_scalar(""))
    return joined.buffers()[2].to_pybytes()  # type: ignore[no-any-return]


def _text_column(words: Words, kind: Kind, dictionary: Dictionary) -> pa.Array:
    import pyarrow as pa

    if kind in PRIMITIVES:
        return dictionary.decode_column(words, kind).cast(pa.large_string())
    different, places = np.unique(words, return_inverse=True)
    texts = text_to_arrow([format_value(value) for value in dictionary.decode_list(different, kind)])
    return texts.take(numbers_to_arrow(places.astype(np.int64)))


def _quoted(text: pa.Array, delimiter: str, alone: bool) -> pa.Array:
    """Return fields in quotes if they need them; the only field of a line also if it is empty."""
    import re

    import pyarrow.compute as pc

    pattern = rf'["\r\n]|{re.escape(delimiter)}' + ("|^$" if alone else "")
    quote = text_scalar('"')
    doubled = pc.replace_substring(text, pattern='"', replacement='""')
    return pc.if_else(
        pc.match_substring_regex(text, pattern=pattern),
        pc.binary_join_element_wise(quote, doubled, quote, text_scalar("")),
        text,
    )
