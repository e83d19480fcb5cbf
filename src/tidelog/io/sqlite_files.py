"""SQLite databases: a table per relation. Unsigned numbers beyond SQLite's 64 signed bits and records are text."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from tidelog.common.arrays import Words
from tidelog.io.options import FileOptions
from tidelog.io.record_reader import record_from_text
from tidelog.io.relation import Relation, WordRows
from tidelog.io.values import Complaint, Locator, encode_values, place_in
from tidelog.language.syntax import PRIMITIVES, Column, RelationType, Value
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.record_text import format_value

_SQL_TYPES = {"number": "INTEGER", "unsigned": "", "float": "REAL"}
_DIGITS = re.compile(r"[0-9]{19,20}")


def read_sqlite(path: Path, options: FileOptions, relation: RelationType, dictionary: Dictionary) -> Words:
    """Return the words of the table or view with the relation's name."""
    place = place_in(f"{path}, table {relation.name}")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type != 'index'")]
            if relation.name not in tables:
                hint = f"name one of {', '.join(tables)}" if tables else "create the table first"
                raise Complaint("E0410", f"the database has no table {relation.name}", hint).at(place(None, None))
            cursor = connection.execute(f"SELECT * FROM {_name(relation.name)}")
            names = [description[0] for description in cursor.description]
            rows: list[tuple[Any, ...]] = cursor.fetchall()
    except sqlite3.Error as error:
        hint = "check that it is a database of SQLite, complete, and that you may read it"
        raise Complaint("E0411", f"the database cannot be read: {error}", hint).at(str(path)) from None
    if not relation.columns:
        return np.empty((min(1, len(rows)), 0), dtype=np.int64)
    order = options.order(names, relation, place(None, None))
    words = np.empty((len(rows), len(order)), dtype=np.int64)
    for position, (column, source) in enumerate(zip(relation.columns, order, strict=True)):
        values = _values([row[source] for row in rows], column, dictionary, place)
        words[:, position] = encode_values(values, column, dictionary, place)
    return words


def _values(stored: list[Any], column: Column, dictionary: Dictionary, place: Locator) -> list[Any]:
    """Return stored values as the program's values; text may stand for other types."""
    if column.kind == "unsigned":
        return [int(v) if isinstance(v, str) and _DIGITS.fullmatch(v) else v for v in stored]
    if column.kind in PRIMITIVES:
        return stored
    values: list[Value] = []
    for row, text in enumerate(stored):
        value = record_from_text(text, column, dictionary) if isinstance(text, str) else text
        if isinstance(value, Complaint):
            raise value.at(place(row, column.name))
        values.append(value)
    return values


def write_sqlite(
    path: Path, options: FileOptions, relation: RelationType, words: Words, dictionary: Dictionary
) -> None:
    """Write the rows into a table of the database, in one transaction; replace a table of that name."""
    columns = relation.columns or (Column("unit", "number", "number"),)
    name = _name(relation.name)
    declared = ", ".join(f"{_name(c.name)} {_SQL_TYPES.get(c.kind, 'TEXT')}".strip() for c in columns)
    stored = [_value_converter(column) for column in relation.columns]
    rows = Relation(relation.name, WordRows(relation.columns, dictionary, words))
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for (kind,) in connection.execute(
                "SELECT type FROM sqlite_master WHERE name = ?", (relation.name,)
            ).fetchall():
                connection.execute(f"DROP {kind} {name}")
            connection.execute(f"CREATE TABLE {name} ({declared})")
            connection.executemany(
                f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})",
                ([f(v) for f, v in zip(stored, row, strict=True)] if row else [1] for row in rows),
            )
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        hint = "check that it is a database of SQLite that you may write, and that the disk has room"
        if not path.parent.is_dir():
            hint = f"create the folder {path.parent}"
        raise Complaint("E0412", f"the database cannot be written: {error}", hint).at(str(path)) from None


def _value_converter(column: Column) -> Callable[[Any], Any]:
    if column.kind == "unsigned":
        return lambda value: value if value < 2**63 else str(value)
    return (lambda value: value) if column.kind in PRIMITIVES else format_value


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
