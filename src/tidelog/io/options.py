"""The checked options of `.input` and `.output`: `FileOptions.of({"IO": "file", "delimiter": ","})`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.common.source import Span
from tidelog.errors import DataError, Problem, quote
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
            encoding=_encoding(options, span),
            span=span,
        )

    def order(self, found: Sequence[str], relation: RelationType, place: str) -> Sequence[int]:
        """Return the positions of a relation's columns in a file with such names. Raise DataError (E0405, E0406)."""
        names = [column.name for column in relation.columns]
        if not self.columns:
            return match_columns(found, names, place, as_they_stand(len(names)))
        if max(self.columns) >= len(found):
            message = f"expected at least {max(self.columns) + 1} columns, found {len(found)}: {', '.join(found)}"
            raise DataError(Problem("E0405", message, hint="count the positions in `columns` from 0", place=place))
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


def _encoding(options: GivenOptions, span: Span | None) -> str | None:
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
