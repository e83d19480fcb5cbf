"""Read a user's mapping of rows to facts, as given in Python, in TOML or to `maintain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as Expression

from tidelog.errors import Problem, UsageError, quote
from tidelog.io.keys import names_of
from tidelog.spark.sources.changes import Operation
from tidelog.spark.sources.feeds import FEEDS

_KEYS = ("relation", "columns", "key", "feed", "op", "insert", "delete", "order")


@dataclass(frozen=True)
class Target:
    """The relation, the sources of its columns (those of the same name by default), and how rows change facts, if they
    do more than assert."""

    relation: str
    columns: Mapping[str, str | Expression] | None = None
    operation: Operation | None = None


def target_of(into: object) -> Target:
    """Return the target that `into` of `maintain` names: a relation, or a mapping with `relation` and perhaps `columns`
    (declared name -> name or expression), `key` (columns whose facts a row replaces) and, of a feed of changes, `op`
    (the column that says what a row does), `insert` and `delete` (what it says), `order` (the columns that say when),
    or `feed` (the name of its format). UsageError (E0685) for anything else."""
    if isinstance(into, str):
        return Target(into)
    if not isinstance(into, Mapping):
        message = f"expected the name of a relation or a mapping, found a value of type {type(into).__name__}"
        raise UsageError(Problem("E0685", message, hint=f"pass a mapping with the keys {', '.join(_KEYS)}"))
    wrong = [key for key in into if key not in _KEYS]
    if wrong or not isinstance(into.get("relation"), str):
        message = f"unknown key of a mapping: {quote(wrong[0])}" if wrong else "a mapping needs the key 'relation'"
        raise UsageError(Problem("E0685", message, hint=f"use the keys {', '.join(_KEYS)}"))
    if not isinstance(into.get("columns", {}), Mapping):
        hint = "map declared names to names or expressions: {'x': 'from'}"
        raise UsageError(Problem("E0685", "'columns' must be a mapping", place="columns", hint=hint))
    return Target(into["relation"], into.get("columns"), operation_of(into))


def operation_of(given: Mapping[str, Any]) -> Operation | None:
    """Return the Operation that the keys `feed`, `op`, `insert`, `delete`, `order` and `key` describe; None without
    `feed`, `op` and `key`. UsageError (E0685)."""
    if "feed" in given:
        return _of_feed(given)
    for key in () if "op" in given else ("insert", "delete"):
        if key in given:
            hint = "name the column with the operation as 'op'"
            raise UsageError(Problem("E0685", f"{key!r} without 'op'", place=key, hint=hint))
    if "op" not in given and "key" not in given:
        if "order" in given:
            hint = "name the column with the operation as 'op', or the columns of a key as 'key'"
            raise UsageError(Problem("E0685", "'order' without 'op' or 'key'", place="order", hint=hint))
        return None
    if not isinstance(given.get("op", ""), str):
        message = f"'op' must be the name of a column, found {quote(given['op'])}"
        raise UsageError(Problem("E0685", message, place="op", hint="name the column with the operation"))
    keys = ("insert", "delete", "order", "key")
    values: dict[str, Any] = {key: names_of(key, given[key]) for key in keys if key in given}
    operation = Operation(given.get("op"), **values)
    both = sorted(set(operation.insert) & set(operation.delete))
    if both:
        hint = (
            f"list each value once; insert has {', '.join(operation.insert)}, delete has {', '.join(operation.delete)}"
        )
        raise UsageError(Problem("E0685", f"{both[0]!r} both inserts and deletes", place="insert", hint=hint))
    return operation


def _of_feed(given: Mapping[str, Any]) -> Operation:
    """Return the Operation of a feed in a known format. UsageError (E0685)."""
    feed = given["feed"]
    if not isinstance(feed, str) or feed not in FEEDS:
        hint = f"use one of {', '.join(FEEDS)}, or name the columns as 'op' and 'order'"
        raise UsageError(Problem("E0685", f"unknown format of a feed: {quote(feed)}", place="feed", hint=hint))
    for key in ("op", "insert", "delete"):
        if key in given:
            message = f"{key!r} beside 'feed', which knows the operations of {feed}"
            raise UsageError(Problem("E0685", message, place=key, hint="leave out one of the two"))
    values: dict[str, Any] = {key: names_of(key, given[key]) for key in ("order", "key") if key in given}
    if feed == "delta":
        return Operation("_change_type", **{"order": ("_commit_version",), **values})
    if "key" not in values:
        hint = 'name the key of the table, such as key = ["id"]'
        raise UsageError(Problem("E0685", f"a feed of {feed} without 'key'", place="key", hint=hint))
    return Operation(None, **values, feed=feed)


def by_key(key: str | Sequence[str]) -> Operation:
    """Return the Operation of rows that replace those of a key. UsageError (E0685)."""
    return Operation(None, key=names_of("key", key))
