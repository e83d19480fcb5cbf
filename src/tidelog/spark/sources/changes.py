"""Feeds of changes: what a row does to its fact or key, and which row of a batch counts.

`Operation` is what a user says about a feed. `change_columns` makes columns of it, `undecided` finds rows of one key
between which nothing decides, and `net` takes one event for each fact or key. The latest events that came before the
batch are in the engine (`spark/keyed.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from tidelog.spark.sources.checks import Leaf
from tidelog.spark.sources.latest import Latest
from tidelog.spark.sources.orders import order_leaves, tie_leaf
from tidelog.spark.sources.readers import quoted

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
    columns = {ASSERTS: asserts(operation)}
    reasons = []
    if operation.column is not None:
        said = quoted(operation.column).cast("string")
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
        found += order_leaves(f"{ORDER}{i}_", name, quoted(name), frame.schema[name].dataType, form)
    if latest.forms[-1] == "tie":
        found.append(tie_leaf(TIE, asserts(operation), [leaf.value for leaf in values]))
    return found


def asserts(operation: Operation) -> Expression:
    """Return True for a row that asserts."""
    if operation.column is None:
        return F.lit(True)
    return F.coalesce(quoted(operation.column).cast("string").isin(*operation.insert), F.lit(False))


def undecided(good: Expression, key: Sequence[str], values: Sequence[str], order: Sequence[str]) -> Expression:
    """Return True for an assertion, if another one of the same key and order has other `values`, and nothing says that
    this one counts; rows that are not `good` do not count."""
    ties, place = [name for name in order if name == TIE], [name for name in order if name != TIE]
    own = F.when(good & F.col(ASSERTS), F.struct(*ties, *values))
    alike = Window.partitionBy(*key, *place)
    first = own if ties else F.min(own).over(alike)
    return F.coalesce(own.isNotNull() & (first != F.max(own).over(alike)), F.lit(False))


def net(rows: DataFrame, key: Sequence[str], values: Sequence[str], order: Sequence[str]) -> DataFrame:
    """Return one event for each key, the latest: its `values`, ASSERTS, the `order`, and the number of its ROWS."""
    event = F.struct(*values, ASSERTS, *order)
    latest = F.max_by(event, F.struct(*order, ASSERTS)) if order else F.any_value(event)
    grouped = rows.groupBy(*[F.col(name).alias(f"_key {name}") for name in key])
    found = grouped.agg(latest.alias("_event"), F.count("*").alias(ROWS))
    return found.where("_event is not null").select("_event.*", ROWS)


def majority(rows: DataFrame, values: Sequence[str]) -> DataFrame:
    """Return each fact once with ASSERTS, where the rows about it do not cancel out."""
    votes = F.sum(F.when(F.col(ASSERTS), 1).otherwise(-1))
    found = rows.groupBy(*values).agg(votes.alias("_votes")).where("_votes != 0")
    return found.withColumn(ASSERTS, F.col("_votes") > 0)
