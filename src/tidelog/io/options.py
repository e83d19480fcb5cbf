"""The common part of all file formats: the checked options of `.input` and `.output`, and their bytes.

`FileOptions.of({"IO": "file", "delimiter": ","})` has the options. Bytes are those of UTF-8: compressed or not, as the
first of them show, not the name; and from other encodings.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tidelog.common.source import Span
from tidelog.errors import DataError, Problem, quote
from tidelog.io.values import Complaint
from tidelog.language.directives import FORMATS as DIRECTIVE_FORMATS
from tidelog.language.syntax import RelationType
from tidelog.storage.column_names import match_columns

FORMATS = tuple(dict.fromkeys((*DIRECTIVE_FORMATS["input"], *DIRECTIVE_FORMATS["output"])))
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}

GivenOptions: TypeAlias = Mapping[str, str | int | bool]
"""The options of a directive as the program writes them."""


@dataclass(frozen=True)
class FileOptions:
    """Options for reading facts or writing a view. `io`, `filename` and `delimiter` are None if the program leaves them
    open; `objects` asks JSON for objects instead of lists. `columns` are the positions of the columns in the file,
    `names` its first line; empty and None if the relation says so. `encoding` is None for UTF-8."""

    io: str | None = None
    filename: str | None = None
    delimiter: str | None = None
    headers: bool = False
    rfc4180: bool = False
    compress: bool = False
    objects: bool = False
    columns: tuple[int, ...] = ()
    names: str | None = None
    encoding: str | None = None
    span: Span | None = None

    @staticmethod
    def of(options: GivenOptions, span: Span | None = None) -> FileOptions:
        """Return the options of a directive. Raise DataError (E0413) for one that has a bad value, and ignore others
        than these."""
        io = options.get("IO")
        if io is not None and io not in FORMATS:
            raise _wrong(f"unknown IO={io}", f"use one of {', '.join(FORMATS)}", span)
        form = options.get("format", "list")
        if form not in ("list", "object"):
            raise _wrong(f"unknown format={form}", "use format=list or format=object", span)
        filename = options.get("filename", options.get("dbname"))
        return FileOptions(
            io="json" if io == "jsonfile" else None if io is None else str(io),
            filename=None if filename is None else str(filename),
            delimiter=_delimiter(options, span),
            headers=_flag(options, "headers", span),
            rfc4180=_flag(options, "rfc4180", span),
            compress=_flag(options, "compress", span),
            objects=form == "object",
            columns=_columns(options, span),
            names=str(options["attributeNames"]) if "attributeNames" in options else None,
            encoding=_encoding_option(options, span),
            span=span,
        )

    def order(self, found: Sequence[str], relation: RelationType, place: str) -> Sequence[int]:
        """Return the positions of a relation's columns in a file with such names. Raise DataError (E0405, E0406)."""
        names = [column.name for column in relation.columns]
        if not self.columns:
            return match_columns(found, names, place, as_they_stand(len(names)))
        if max(self.columns) >= len(found):
            message = f"expected at least {max(self.columns) + 1} columns, found {len(found)}: {', '.join(found)}"
            raise Complaint("E0405", message, "count the positions in `columns` from 0").at(place)
        return self.columns


def as_they_stand(count: int) -> str:
    """Return the way to take so many columns of a file by position."""
    return f'add columns="{":".join(map(str, range(count)))}" to .input'


def _delimiter(options: GivenOptions, span: Span | None) -> str | None:
    if "delimiter" not in options:
        return "," if _flag(options, "rfc4180", span) else None
    delimiter = str(options["delimiter"]).replace("\\t", "\t")
    if not delimiter or set(delimiter) & set('\n\r"'):
        raise _wrong(f"{quote(delimiter)} cannot separate columns", "use a TAB, a comma, or the like", span)
    return delimiter


def _columns(options: GivenOptions, span: Span | None) -> tuple[int, ...]:
    if "columns" not in options:
        return ()
    parts = str(options["columns"]).split(":")
    if not all(part.isdecimal() for part in parts) or len(set(map(int, parts))) < len(parts):
        message = f"columns={quote(options['columns'])} is no list of positions"
        raise _wrong(message, 'write the positions in the file, from 0, as in columns="0:2:3"', span)
    return tuple(map(int, parts))


def _encoding_option(options: GivenOptions, span: Span | None) -> str | None:
    if "encoding" not in options:
        return None
    encoding = str(options["encoding"])
    try:
        b"a".decode(encoding, "ignore")
    except (LookupError, ValueError):
        hint = 'use the name of one, such as encoding="latin-1", "cp1252" or "utf-16"'
        raise _wrong(f"{quote(encoding)} is no encoding of text", hint, span) from None
    return encoding


def _flag(options: GivenOptions, name: str, span: Span | None) -> bool:
    value = options.get(name, False)
    if isinstance(value, bool):
        return value
    if str(value).lower() not in _BOOLEANS:
        raise _wrong(f"{name}={value} is neither true nor false", f"write {name}=true or {name}=false", span)
    return _BOOLEANS[str(value).lower()]


def _wrong(message: str, hint: str, span: Span | None) -> DataError:
    return DataError(Problem("E0413", message, span=span, hint=hint))


_GZIP = b"\x1f\x8b"
_MEMBER = b"\x1f\x8b\x08"
"""The begin of each part of a file of several parts; the size at the end of the file is that of its last part."""
NOT_UTF8 = 'save the file as UTF-8, or add encoding="latin-1" or the like to `.input`'
_MOST_PACKED = 1_100
"""So many bytes at most become one byte; a size beyond that is not true."""


def file_bytes(path: Path, encoding: str | None = None) -> bytes:
    """Return the content of a file, unpacked, and in UTF-8 if its `encoding` is another one. Raise DataError if it
    cannot be read (E0411), or is not in this encoding (E0408)."""
    try:
        return to_utf8(decompress(path.read_bytes(), str(path)), encoding, str(path))
    except OSError as error:
        message, hint = f"the file cannot be read: {error.strerror or error}", "pass a file that you may read"
        raise Complaint("E0411", message, hint).at(str(path)) from None


def decompress(data: bytes, name: str) -> bytes:
    """Return the bytes that messages call `name`, unpacked if they are packed."""
    if not data.startswith(_GZIP):
        return data
    size = int.from_bytes(data[-4:], "little")
    try:
        if data.find(_MEMBER, 1) < 0 and size < _MOST_PACKED * len(data):
            found = zlib.decompress(data, wbits=31, bufsize=size or 1)  # into one buffer of the right size
            if len(found) == size:
                return found
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise Complaint("E0411", f"the gzip data are damaged: {error}", "check that the file is complete").at(
            name
        ) from None


def to_utf8(data: bytes, encoding: str | None, name: str) -> bytes:
    """Return a text in UTF-8 that messages call `name`. Raise DataError (E0408) if it is not in its `encoding`; None is
    UTF-8, which the readers check."""
    if encoding is None:
        return data
    try:
        return data.decode(encoding).encode()
    except UnicodeError as error:
        message = f"the file is not in the encoding {encoding}: {error}"
        hint = 'name its own encoding; encoding="latin-1" takes any bytes, and makes one character of each'
        raise Complaint("E0408", message, hint).at(name) from None
