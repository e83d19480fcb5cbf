"""Facts in text files: one row per line, as Soufflé reads them, or quoted as in RFC 4180.

There are three readers of the same language. `split_text` reads large files without quotes with a kernel that gives
symbols their words as they come: columns of numbers, unsigned numbers and symbols between delimiters of one byte, where
numbers are plain digits. `_read_quickly` gives whole columns to pyarrow. Both return None as soon as anything is
unusual. `_read_exactly` then reads the text row by row; it knows line and column of each error.

    Lines end with LF or CRLF; a byte order mark at the beginning is skipped. Without RFC 4180 a field is the text
    between two delimiters, whatever it is; a record ends at its bracket. Blank lines are skipped, except that they are
    the empty symbol in a relation of one symbol. A relation without columns holds `()` or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tidelog.common.arrays import Words
from tidelog.errors import DataError, quote
from tidelog.io.columns import encode_columns
from tidelog.io.options import NOT_UTF8, as_they_stand
from tidelog.io.record_reader import record_from_text
from tidelog.io.values import Complaint, place_in, text_complaint, value_of_text
from tidelog.kernels import texts
from tidelog.kernels.calling import expect
from tidelog.language.syntax import PRIMITIVES, Column, RelationType, Value
from tidelog.storage.arrow_arrays import is_utf8, texts_from_spans
from tidelog.storage.column_names import match_columns
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.memory import Pinned

if TYPE_CHECKING:
    import pyarrow as pa


_KINDS = {"number": texts.NUMBER, "unsigned": texts.UNSIGNED, "symbol": texts.SYMBOL}
_FIELDS = 1 << 14
"""Fields that are split in one call, at least a row: their places are in the cache when their words are looked up."""


def split_text(
    data: bytes,
    start: int,
    delimiter: str,
    columns: Sequence[Column],
    order: Sequence[int],
    dictionary: Dictionary,
    *,
    exact: bool,
    blank: bool,
) -> Words | None:
    """Return the words of the rows of UTF-8 from byte `start` on: int64 of shape (rows, columns). None if a row has
    another form than the kernel knows, or the columns are not of its kinds.

    Column `i` is field `order[i]` of a row. If `exact`, a row has no other fields. A blank line is a row if `blank`.
    """
    code = delimiter.encode()
    known = all(column.kind in _KINDS for column in columns)
    if len(code) != 1 or code in b"\r\n" or not known or len(set(order)) < len(order):
        return None
    expect(len(data))
    has_symbols = any(column.kind == "symbol" for column in columns)
    table = dictionary.table_for(len(data)) if has_symbols else None
    if has_symbols and table is None:
        return None
    width, arity = max(order) + 1, len(columns)
    kinds, targets = np.full(width, texts.SKIPPED), np.zeros(width, np.int64)
    for position, (field, column) in enumerate(zip(order, columns, strict=True)):
        kinds[field], targets[field] = _KINDS[column.kind], position
    symbols = targets[kinds == texts.SYMBOL]
    most = max(1, _FIELDS // width)
    spans = np.empty((2, most * len(symbols)), np.int64)
    state = np.zeros(3, np.int64)
    content = np.frombuffer(data, np.uint8)
    fixed = [Pinned(array) for array in (content, kinds, targets, spans[0], spans[1])]
    text, *rest = (each.address for each in fixed)
    size, words = len(data) - start, np.empty((most, arity), np.int64)
    held = Pinned(words)
    while state[texts.PLACE] < size:
        first = int(state[texts.ROWS])
        if first + most > len(words):
            words = _longer(words, first, most, size / max(1, int(state[texts.PLACE])))
            held = Pinned(words)
        fields, places = (code[0], *rest[:2], width, exact, blank), (held.address, arity, *rest[2:])
        texts.split(state, text + start, size, *fields, *places, most)
        if state[texts.UNUSUAL]:
            return None
        stop = int(state[texts.ROWS])
        if table is not None:
            found = (stop - first) * len(symbols)
            with dictionary.adding:
                new = table.add_spans(content[start:], spans[0, :found], spans[1, :found])
            words[first:stop, symbols] = new.reshape(stop - first, len(symbols))
    return words[: int(state[texts.ROWS])]


def _longer(words: Words, rows: int, most: int, share: float) -> Words:
    """Return an array with the first `rows` rows of `words`, and room for `most` more; these are one of `share` equal
    parts of a file, if those ahead are like it."""
    room = max(rows + most, int(rows * min(share * 1.02, 8)), 3 * rows // 2)
    longer = np.empty((room, words.shape[1]), np.int64)
    longer[:rows] = words[:rows]
    return longer


Fields: TypeAlias = "list[tuple[int, int, str]]"
"""The fields of a row: line, column (both from 1) and text."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LARGE = 1 << 20
"""Files of so many bytes are split by a kernel, or read by several threads."""
_SUBSTITUTES = "\x1f\x1e\x1d\x1c\x01\x02\x03\x04"


@dataclass(frozen=True)
class TextFormat:
    """The form of rows: the delimiter, whether a line with names comes first, and whether fields may be quoted.

    `columns` are the positions in the file of a relation's columns, where the file may have others as well; `names` is
    the first line of a file that is written, if not the names of the columns."""

    delimiter: str = "\t"
    headers: bool = False
    quoted: bool = False
    columns: tuple[int, ...] = ()
    names: str | None = None


def read_text(
    data: bytes,
    name: str,
    form: TextFormat,
    relation: RelationType,
    dictionary: Dictionary,
) -> Words:
    """Return the words of the rows in a text file that messages call `name`."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    columns = relation.columns
    if not columns:
        return _read_units(data, form.headers)
    start = lines = 0
    order = list(range(len(columns)))
    if form.headers:
        start, lines, order, form = _read_headers(data, name, form, relation)
    order = list(form.columns or order)
    words = None
    if not form.quoted and len(data) >= _LARGE and _is_utf8(data):
        exact, blank = not form.columns, _blank_counts(columns, form)
        words = split_text(data, start, form.delimiter, columns, order, dictionary, exact=exact, blank=blank)
    if words is None:
        words = _read_quickly(data, start, form, relation, order, dictionary)
    if words is None:
        text = _decode_utf8(data, name)[len(data[:start].decode()) :]
        words = _read_exactly(text, lines, name, form, columns, order, dictionary)
    return words


def _read_units(data: bytes, headers: bool) -> Words:
    """Return the rows of a relation without columns: as in Soufflé it holds if there is any line, even a blank one."""
    lines = len(data.splitlines()) - headers
    return np.empty((1 if lines > 0 else 0, 0), dtype=np.int64)


def _read_headers(
    data: bytes, name: str, form: TextFormat, relation: RelationType
) -> tuple[int, int, list[int], TextFormat]:
    """Return the begin of the rows, the number of lines before, and for each declared column its position in the file,
    unless that is given; and the format, which picks columns where the file has an index besides."""
    if not data.strip():
        message = "expected a line with the names of the columns, found nothing"
        raise Complaint("E0411", message, "write that line, or leave headers=true out").at(f"{name}:1:1")
    end = data.find(b"\n") + 1 or len(data)
    line = _decode_utf8(data[:end], name)
    fields = next(rows_of(line, form, False, name, 0))
    if form.columns:
        return end, 1, [], form
    names = [column.name for column in relation.columns]
    order = match_columns([text for _, _, text in fields], names, f"{name}:1:1", as_they_stand(len(names)))
    return end, 1, order, form if len(fields) == len(names) else replace(form, columns=tuple(order))


def _is_utf8(data: bytes) -> bool:
    return data.isascii() or is_utf8(texts_from_spans(np.array([0, len(data)]), np.frombuffer(data, np.uint8)))


def _decode_utf8(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"the byte 0x{data[error.start]:02x} does not belong here in UTF-8"
        hint = NOT_UTF8
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            hint = 'add encoding="utf-16" to `.input`: the file seems to be UTF-16'
        raise Complaint("E0408", message, hint).at(f"{name}:{line}:{column}") from None


# --- with pyarrow ----------------------------------------------------------------------------------------------------


def _read_quickly(
    data: bytes,
    start: int,
    form: TextFormat,
    relation: RelationType,
    order: Sequence[int],
    dictionary: Dictionary,
) -> Words | None:
    """Return the words of the rows from `start` on, or None if the exact reader has to look at them."""
    columns = relation.columns
    prepared = _prepare(data, start, form, columns)
    if prepared is None:
        return None
    body, delimiter = prepared
    if len(body) == 0:
        return np.empty((0, len(columns)), dtype=np.int64)
    width = len(order)
    if form.columns:
        first = bytes(body[: data.find(b"\n", start) + 1 or len(body)])
        width = len(next(rows_of(first.decode(errors="replace"), replace(form, delimiter=delimiter), False, "", 0)))
    table = _read_table(body, delimiter, form, dict(zip(order, columns, strict=True)), width)
    if table is None:
        return None
    found = [table.column(str(position)) for position in order]
    try:
        words = encode_columns(found, table.num_rows, relation, dictionary, place_in(""))
    except DataError:
        return None
    for position, column in enumerate(columns):
        if column.kind == "float" and np.isinf(words[:, position].copy().view(np.float64)).any():
            return None  # written so, or too large for a float?
    return words


def _prepare(
    data: bytes, start: int, form: TextFormat, columns: Sequence[Column]
) -> tuple[memoryview | bytes, str] | None:
    """Return the bytes to read and a delimiter that pyarrow can use; None if pyarrow reads them in another way than
    tidelog."""
    delimiter = form.delimiter
    is_usual = len(delimiter.encode()) == 1 and delimiter != "\0"  # pyarrow takes no others
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None  # pyarrow ends lines at a CR alone
    if data.startswith(_BYTE_ORDER_MARK, start):
        return None  # pyarrow would skip a second one, or one behind the headers
    if form.quoted:
        if data.count(b'"') % 2 or not is_usual:
            return None
        return memoryview(data)[start:], delimiter
    if set(delimiter) & set(", []()") and any(column.kind not in PRIMITIVES for column in columns):
        return None
    if is_usual:
        return memoryview(data)[start:], delimiter
    substitute = next((c for c in _SUBSTITUTES if c.encode() not in data), None)
    return substitute and (data[start:].replace(delimiter.encode(), substitute.encode()), substitute)  # type: ignore[return-value]


def _read_table(
    body: memoryview | bytes, delimiter: str, form: TextFormat, columns: Mapping[int, Column], width: int
) -> pa.Table | None:
    """Return the columns at these positions of a text with rows of `width` fields; None if pyarrow cannot read it."""
    import pyarrow as pa
    from pyarrow import csv

    arrow_types = {"number": pa.int64(), "unsigned": pa.uint64(), "float": pa.float64()}
    if max(columns) >= width:
        return None
    types = {str(position): arrow_types.get(column.kind, pa.string()) for position, column in columns.items()}
    block = 4 << 20
    while True:
        try:
            return csv.read_csv(
                pa.BufferReader(pa.py_buffer(body)),
                csv.ReadOptions(
                    use_threads=len(body) > _LARGE,
                    column_names=list(map(str, range(width))),
                    block_size=min(block, 2**31 - 1),
                ),
                csv.ParseOptions(
                    delimiter=delimiter,
                    quote_char='"' if form.quoted else False,
                    double_quote=form.quoted,
                    newlines_in_values=form.quoted,
                    ignore_empty_lines=not _blank_counts([*columns.values()], form),
                ),
                csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error) or block > len(body):
                return None
            block = 2 * len(body)  # a row longer than a block


def _blank_counts(columns: Sequence[Column], form: TextFormat) -> bool:
    """Return True if a blank line is a row, the empty symbol."""
    return len(columns) == 1 and columns[0].kind == "symbol" and not form.columns


# --- row by row ------------------------------------------------------------------------------------------------------


def _read_exactly(
    text: str,
    lines: int,
    name: str,
    form: TextFormat,
    columns: Sequence[Column],
    order: Sequence[int],
    dictionary: Dictionary,
) -> Words:
    """Return the words of the rows of `text`, which begins behind `lines` lines of the file."""
    has_records = any(column.kind not in PRIMITIVES for column in columns)
    places = sorted(zip(order, range(len(columns)), strict=True))
    most = None if form.columns else len(columns)
    words: list[list[int]] = []
    for fields in rows_of(text, form, has_records, name, lines, most):
        line, start, first = fields[0]
        if len(fields) == 1 and not first and not _blank_counts(columns, form):
            continue
        if len(fields) <= places[-1][0] or (not form.columns and len(fields) != len(columns)):
            raise _wrong_width(fields, form, columns).at(f"{name}:{line}:1")
        row = [0] * len(columns)
        for place, position in places:
            (line, start, field), column = fields[place], columns[position]
            value = _value(field, column, dictionary)
            if isinstance(value, Complaint):
                offset = 0 if form.quoted else value.offset  # quotes take places of their own
                value = replace(value, hint=_hint_of_row(fields, form, columns) or value.hint)
                raise value.at(f"{name}:{line}:{start + offset}")
            row[position] = dictionary.encode(value, column.kind)
        words.append(row)
    return np.array(words, dtype=np.int64).reshape(len(words), len(columns))


def _wrong_width(fields: Fields, form: TextFormat, columns: Sequence[Column]) -> Complaint:
    row = form.delimiter.join(text for _, _, text in fields)
    count = len(fields) if form.quoted else max(len(fields), row.count(form.delimiter) + 1)
    if form.columns:
        message = f"expected at least {max(form.columns) + 1} columns, found {count}: {quote(row)}"
        return Complaint("E0405", message, "count the positions in `columns` from 0")
    message = f"expected {len(columns)} columns, found {count}: {quote(row)}"
    if not form.quoted and (hint := _quotes_hint(row, form, len(columns))):
        return Complaint("E0405", message, hint)
    for other in ",\t;| ":
        if other != form.delimiter and len(row.split(other)) == len(columns) > 1:
            return Complaint("E0405", message, f'add delimiter="{_label(other)}" to .input if that is the delimiter')
    hint = f"separate the columns {', '.join(column.name for column in columns)} by {form.delimiter!r}"
    return Complaint("E0405", message, hint)


def _hint_of_row(fields: Fields, form: TextFormat, columns: Sequence[Column]) -> str | None:
    """Return the hint about a whole row with a value of a wrong type, if the row says more than the value does."""
    texts = [text for _, _, text in fields]
    if not form.quoted and (hint := _quotes_hint(form.delimiter.join(texts), form, len(columns))):
        return hint
    if fields[0][0] == 1 and not form.headers and {text.strip() for text in texts} >= {each.name for each in columns}:
        return "add headers=true to .input: the first line has the names of the columns"
    return None


def _quotes_hint(line: str, form: TextFormat, width: int) -> str | None:
    """Return the hint to read quotes, if a plain line has `width` columns then, or ends inside of quotes."""
    is_open = line.startswith('"') and line.count('"') % 2 == 1
    for delimiter in dict.fromkeys((form.delimiter if is_open and form.delimiter != "\t" else ",", form.delimiter)):
        try:
            found = rows_of(f"{line}\n", replace(form, delimiter=delimiter, quoted=True), False, "", 0)
            fits = '"' in line and [len(fields) for fields in found] == [width]
        except DataError:
            fits = is_open
        if fits:
            other = "" if delimiter == "," else f', delimiter="{_label(delimiter)}"'
            return f"add rfc4180=true{other} to .input: the fields are in quotes"
    return None


def _label(delimiter: str) -> str:
    """Return a delimiter as a program writes it."""
    return delimiter.replace("\t", "\\t")


def _value(field: str, column: Column, dictionary: Dictionary) -> Value | Complaint:
    if column.kind not in PRIMITIVES:
        return record_from_text(field, column, dictionary)
    found = text_complaint(field, column.kind, column.type)
    return value_of_text(field, column.kind) if found is None else found


def rows_of(
    text: str, form: TextFormat, has_records: bool, name: str, lines: int, most: int | None = None
) -> Iterator[Fields]:
    """Yield the fields of each row. All that is behind `most` fields of a line may be one field: there may be as many
    of these as there are characters."""
    if form.quoted:
        yield from _quoted_rows(text, form.delimiter, name, lines)
        return
    pieces = text.split("\n")
    if pieces[-1] == "":
        pieces.pop()
    for number, line in enumerate(pieces, lines + 1):
        line = line.removesuffix("\r")
        if has_records:
            fields = _split_outside_brackets(line, form.delimiter)
        else:
            fields = line.split(form.delimiter, -1 if most is None else most)
        start = 1
        result: Fields = []
        for field in fields:
            result.append((number, start, field))
            start += len(field) + len(form.delimiter)
        yield result


def _split_outside_brackets(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line; a field that begins with `[` or `$name(` goes on to its closing bracket."""
    fields: list[str] = []
    start = position = 0
    while True:
        found = _OPENING.match(line, position)
        if found:
            position = _closing_bracket(line, found.end() - 1)
        end = line.find(delimiter, position)
        if end < 0:
            return [*fields, line[start:]]
        fields.append(line[start:end])
        start = position = end + len(delimiter)


_OPENING = re.compile(r"\[|\$\s*[\w?.]+\s*\(")
_BRACKETS = {"[": re.compile(r'[\[\]]|"(?:[^"\\]|\\.)*"'), "(": re.compile(r'[()]|"(?:[^"\\]|\\.)*"')}


def _closing_bracket(line: str, position: int) -> int:
    """Return the place behind the bracket that closes the one at `position`."""
    depth = 0
    for found in _BRACKETS[line[position]].finditer(line, position):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return position


def _quoted_rows(text: str, delimiter: str, name: str, lines: int) -> Iterator[Fields]:
    # Possessive, or matching a long field needs a place to come back to for each character: 50 MB take gigabytes.
    quoted = re.compile(r'"((?:[^"]++|"")*)"')
    bare = re.compile(rf"(?:(?!{re.escape(delimiter)}|\r?\n)[\s\S])*+")
    position, line, line_start = 0, lines + 1, 0
    fields: Fields = []
    while position < len(text) or fields:
        begin = (line, position - line_start + 1)
        found = quoted.match(text, position)
        if found is None and text.startswith('"', position):
            message = "expected a quote that closes this field, found the end of the file"
            raise Complaint("E0411", message, 'write a quote inside of a field as ""').at(f"{name}:{line}:{begin[1]}")
        if found is not None:
            newlines = found[0].count("\n")
            if newlines:
                line += newlines
                line_start = position + found[0].rindex("\n") + 1
            position = found.end()
        rest = bare.match(text, position)
        tail = rest[0] if rest else ""
        position += len(tail)
        fields.append((*begin, (found[1].replace('""', '"') if found else "") + tail))
        if text.startswith(delimiter, position):
            position += len(delimiter)
            continue
        position += 2 if text.startswith("\r\n", position) else 1
        line, line_start = line + 1, position
        yield fields
        fields = []
