"""Feeds of changes: what a row does to its fact or key, and which row of a batch counts.

`target_of` and `operation_of` read a user's mapping of rows to facts, as given in Python, in TOML or to `maintain`.
`Operation` is what it says about a feed. `change_columns` makes columns of it, `is_undecided` finds rows of one key
between which nothing decides, and `latest_events` takes one event for each fact or key. The latest events that came
before the batch are in the engine (`spark/pending.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from tidelog.errors import Problem, UsageError, quote
from tidelog.io.encode import names_of
from tidelog.spark.sources.checks import Leaf
from tidelog.spark.sources.orders import Latest, order_leaves, tie_leaf
from tidelog.spark.sources.readers import named_column

FEEDS = ("debezium", "delta", "kafka-compacted")
"""The known formats of feeds, see `feeds`."""
ASSERTS, ORDER, TIE, ROWS = "_op", "_order", "_tie", "_rows"


@dataclass(frozen=True)
class Operation:
    """The rule by which a row of a change feed is an assertion or a retraction: a text in `column`, of `insert` or of
    `delete`; without a column each row asserts.

    The defaults are those of Delta's change data feed and of tidelog's own change tables. With a `key` (columns of the
    relation), a row replaces the facts of its key, or retracts them. The event with the largest values in the columns
    `order` counts for each fact or key, and of equal ones an insertion: a table that is written anew, or updated beside
    what is mapped, deletes and inserts a fact at once. Of different insertions of a key at one place of the order, a
    hash of their values says which one counts, so that it is the same in one batch and in several. Without an order all
    rows of a batch are equal in it; without a key either it counts whether more rows insert or delete a fact, which is
    right where these alternate.
    """

    column: str | None = "op"
    insert: tuple[str, ...] = ("insert", "update_postimage", "+")
    delete: tuple[str, ...] = ("delete", "update_preimage", "-")
    order: tuple[str, ...] = ()
    key: tuple[str, ...] | None = None
    feed: str | None = None
    """The format of the feed, if its records have to be taken apart (`feeds`)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the frame that it reads."""
        if self.feed is not None:
            return ()
        return self.order if self.column is None else (self.column, *self.order)


def change_columns(operation: Operation, order: Sequence[Leaf]) -> tuple[dict[str, Expression], Expression]:
    """Return the columns ASSERTS and those of the `order`, and the reason where there is no such operation or no place
    in the order, or null."""
    columns = {ASSERTS: is_assertion(operation)}
    reasons = []
    if operation.column is not None:
        said = named_column(operation.column).cast("string")
        inserts, deletes = said.isin(*operation.insert), said.isin(*operation.delete)
        reasons.append(
            F.when(said.isNull(), F.lit(f"{operation.column}: null")).when(
                ~inserts & ~deletes, F.lit(f"{operation.column}: unknown operation")
            )
        )
    for leaf in order:
        columns[leaf.name] = leaf.value
        reasons.append(leaf.reason)
    return columns, F.coalesce(*reasons, F.lit(None).cast("string"))


def order_columns(operation: Operation, frame: DataFrame, latest: Latest | None, values: Sequence[Leaf]) -> list[Leaf]:
    """Return the words of the order of a frame's rows, as leaves from ORDER on; `values` are those of the facts."""
    if latest is None:
        return []
    found = []
    for i, (name, form) in enumerate(zip(operation.order, latest.forms, strict=False)):  # A tie may follow.
        found += order_leaves(f"{ORDER}{i}_", name, named_column(name), frame.schema[name].dataType, form)
    if latest.forms[-1] == "tie":
        found.append(tie_leaf(TIE, is_assertion(operation), [leaf.value for leaf in values]))
    return found


def is_assertion(operation: Operation) -> Expression:
    """Return True for a row that asserts."""
    if operation.column is None:
        return F.lit(True)
    return F.coalesce(named_column(operation.column).cast("string").isin(*operation.insert), F.lit(False))


def is_undecided(good: Expression, key: Sequence[str], values: Sequence[str], order: Sequence[str]) -> Expression:
    """Return True for an assertion, if another one of the same key and order has other `values`, and nothing says that
    this one counts; rows that are not `good` do not count."""
    ties, place = [name for name in order if name == TIE], [name for name in order if name != TIE]
    own = F.when(good & F.col(ASSERTS), F.struct(*ties, *values))
    alike = Window.partitionBy(*key, *place)
    first = own if ties else F.min(own).over(alike)
    return F.coalesce(own.isNotNull() & (first != F.max(own).over(alike)), F.lit(False))


def latest_events(rows: DataFrame, key: Sequence[str], values: Sequence[str], order: Sequence[str]) -> DataFrame:
    """Return one event for each key, the latest: its `values`, ASSERTS, the `order`, and the number of its ROWS."""
    event = F.struct(*values, ASSERTS, *order)
    latest = F.max_by(event, F.struct(*order, ASSERTS)) if order else F.any_value(event)
    grouped = rows.groupBy(*[F.col(name).alias(f"_key {name}") for name in key])
    found = grouped.agg(latest.alias("_event"), F.count("*").alias(ROWS))
    return found.where("_event is not null").select("_event.*", ROWS)


def majority_votes(rows: DataFrame, values: Sequence[str]) -> DataFrame:
    """Return each fact once with ASSERTS, where the rows about it do not cancel out."""
    votes = F.sum(F.when(F.col(ASSERTS), 1).otherwise(-1))
    found = rows.groupBy(*values).agg(votes.alias("_votes")).where("_votes != 0")
    return found.withColumn(ASSERTS, F.col("_votes") > 0)


# --- the words of a user ---------------------------------------------------------------------------------------------


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
