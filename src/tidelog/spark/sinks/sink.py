"""The `Sink` that a user describes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.errors import Problem, UsageError, quote

MODES = ("replace", "merge", "append", "error")
EPOCH, OP = "epoch", "op"
"""Columns that a sink adds: the number of the epoch, and "insert" or "delete"."""
_WITHOUT_PLACE = ("kafka",)
_TABLES_ONLY = ("iceberg", "jdbc")
_MERGED = ("delta", "iceberg", "jdbc")
_NAMED = ("csv", "json", "parquet", "orc", "text", "delta", "iceberg", "jdbc", "kafka")


@dataclass(frozen=True)
class Sink:
    """The target of a relation: the `view` after an epoch, or its `changes`, as the columns `op` ("insert" or
    "delete"), those of the relation, and `epoch`.

    It is a folder (`path`) of a `format` that the session writes, by default Parquet; a `table` of the session's
    catalog, which is made if it is not there, in the `format` of its catalog or in another one; with the format "jdbc"
    a `table` of a PostgreSQL database; with "kafka" a topic. `options` are those of Spark's writer.

    `mode`: "replace" what is there by the view, which is what views do by default; "merge" the difference into the
    table, so that other rows stay as they are; "append" rows with the number of the epoch, as changes do; or "error"
    if something is there. `partition_by` names columns.
    """

    relation: str
    path: str | os.PathLike[str] | None = None
    what: str = "view"
    format: str | None = None
    mode: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    table: str | None = None
    partition_by: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_kinds(self, "relation", "format", "table", paths=("path",))
        format = "parquet" if self.format is None and self.path is not None else self.format
        object.__setattr__(self, "format", None if format is None else plain_name(format))
        if self.what not in ("view", "changes"):
            message = f"the key `what` of a sink must be 'view' or 'changes', found {quote(self.what)}"
            raise wrong("what", message, 'write what = "view"')
        if self.mode is None:
            object.__setattr__(self, "mode", "replace" if self.what == "view" else "append")
        self._check_place()
        self._check_mode()
        self._check_partitions()

    @property
    def place(self) -> str:
        """Return the path, the name of the table or the topic, for messages."""
        return os.fspath(self.path) if self.path is not None else self.table or f"topic {self.options.get('topic')}"

    def _check_place(self) -> None:
        given = [name for name in ("path", "table") if getattr(self, name) is not None]
        if len(given) > 1:
            raise wrong(given[0], "path and table exclude each other", "keep one of them")
        if self.format in _WITHOUT_PLACE:
            self._check_topic(given)
        elif not given:
            raise wrong("path", f"the sink of {self.relation} has no place", "name a path or a table")
        if self.path == "":
            raise wrong("path", "the path is empty", "name a folder")
        if self.path is not None and self.format in _TABLES_ONLY:
            raise wrong("path", f"the format {self.format} needs a table, found a path", 'write table = "…"')
        if self.table is not None:
            _check_name(self.table)
        if self.format == "jdbc" and "url" not in self.options:
            raise wrong("options", "the format jdbc needs the option 'url'", 'write options = { url = "jdbc:…" }')

    def _check_topic(self, given: Sequence[str]) -> None:
        if given:
            raise wrong(given[0], f"the format kafka has no {given[0]}", 'name the topic: options = { topic = "…" }')
        if self.what != "changes":
            raise wrong("what", "the format kafka takes changes, found a view", 'write what = "changes"')
        for option in ("kafka.bootstrap.servers", "topic"):
            if option not in self.options:
                raise wrong("options", f"the format kafka needs the option {option!r}", "add it to the options")

    def _check_mode(self) -> None:
        if self.mode not in MODES:
            raise wrong("mode", f"unknown sink mode {quote(self.mode)}", f"use one of {', '.join(MODES)}")
        if self.what == "changes" and self.mode != "append":
            raise wrong("mode", f"changes are appended, found the mode {quote(self.mode)}", 'write mode = "append"')
        if self.mode == "merge" and (self.path is not None and self.format not in _MERGED):
            hint = 'write mode = "replace", or use Delta, Iceberg or PostgreSQL'
            raise wrong("mode", f"rows cannot be merged into files of the format {self.format}", hint)

    def _check_partitions(self) -> None:
        names = self.partition_by
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise wrong(
                "partition_by", f"partition_by must be a list of columns, found {quote(names)}", 'write ["column"]'
            )
        object.__setattr__(self, "partition_by", tuple(names))
        twice = next((name for name in names if list(names).count(name) > 1), None)
        if twice is not None:
            raise wrong("partition_by", f"partition_by names {twice} twice", "name it once")
        if names and self.format in ("jdbc", *_WITHOUT_PLACE):
            raise wrong("partition_by", f"the format {self.format} has no partitions", "leave partition_by out")


def plain_name(format: str) -> str:
    """Return the name of a format, which Spark knows in any case, in lower case if it is treated in a way of its
    own."""
    return format.lower() if format.lower() in _NAMED else format


def wrong(key: str, what: str, hint: str) -> UsageError:
    """Return the error about a key of a description (E0686)."""
    return UsageError(Problem("E0686", what, place=key, hint=hint))


def check_kinds(described: object, *texts: str, paths: Sequence[str]) -> None:
    """Raise UsageError (E0686) if a field of a description that should be a text, or a path, is something else. Fields
    that are None are left out."""
    for key in (*texts, *paths):
        value = getattr(described, key)
        if value is not None and not isinstance(value, (str, os.PathLike) if key in paths else str):
            kind = "a path" if key in paths else "a text"
            raise wrong(key, f"{key} must be {kind}, found {quote(value)}", f"use {kind}")
        if key in paths and value is not None and "\0" in os.fspath(value):
            raise wrong(key, f"{key} has a NUL character", "name a file or folder without it")
    options = getattr(described, "options", {})
    if not isinstance(options, Mapping):
        raise wrong("options", f"options must be a mapping, found {quote(options)}", 'pass {"name": value}')


def _check_name(table: str) -> None:
    """Raise UsageError (E0686) unless a text is the name of a table."""
    if not table:
        raise wrong("table", "the name of the table is empty", "name a table of the catalog")
    if "/" in table or "\\" in table or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", table):
        raise wrong("table", f"{table!r} is a path, not the name of a table", f'write path = "{table}"')
