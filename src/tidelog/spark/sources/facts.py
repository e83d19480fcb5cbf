"""Facts on their way to an engine: frames of leaf columns, pending assertions and retractions, and counts of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from tidelog.common.arrays import Words
from tidelog.language.syntax import Column, RelationType
from tidelog.spark.rows import DriverRows, Rows
from tidelog.spark.sources.checks import Leaf
from tidelog.spark.sources.latest import Latest

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Counts:
    """The numbers of rows that were read for one relation: `read == accepted + quarantined`.

    `duplicates` of the accepted rows state a fact that another row of the same run states as well. `late` ones change
    nothing, because an event that is as new was known before about their fact or key.
    """

    read: int = 0
    accepted: int = 0
    quarantined: int = 0
    duplicates: int = 0
    late: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the numbers of the rows of both."""
        return Counts(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class FactFrame:
    """A frame of the leaf columns of at most `rows` facts, which `make` makes. `kept` says that it is read from rows
    that are kept, so that its partitions are the same whenever it is asked. Facts on the driver are in `table` as well,
    besides other columns, so that often nobody needs the frame."""

    relation: str
    make: Callable[[], DataFrame]
    leaves: tuple[Leaf, ...]
    rows: int
    kept: bool
    held: None = None
    """The driver has no words of them, see `Rows.held`."""
    table: pa.Table | None = None

    @cached_property
    def frame(self) -> DataFrame:
        """The leaf columns in Spark."""
        return self.make()


def unreported(events: int, late: int) -> None:
    """Do nothing: the report of a change that nobody counts."""


@dataclass(frozen=True)
class ChangeKey:
    """The columns by which a change finds the facts that it replaces or retracts, as ascending positions.

    With `latest`, which keeps the latest event of each key, older events change nothing. `report` is called with the
    number of events, each of another key, and the number of rows that are late.
    """

    columns: tuple[int, ...]
    latest: Latest | None = None
    report: Callable[[int, int], object] = unreported


@dataclass(frozen=True)
class PendingFacts:
    """Facts to assert, or to retract, at most `count` of them, as words or as leaf columns.

    With a `key`, each replaces the facts of its key; those to retract have the columns of the key only. Behind them
    come the words of the order and the number of rows that an event stands for, if the key has latest events.
    """

    relation: str
    asserts: bool
    facts: Rows | FactFrame
    count: int
    key: ChangeKey | None = None

    def columns(self, relation: RelationType) -> tuple[Column, ...]:
        """Return the columns of the facts, which are of this relation."""
        if self.key is None:
            return relation.columns
        own = relation.columns if self.asserts else tuple(relation.columns[at] for at in self.key.columns)
        return own if self.key.latest is None else (*own, *event_columns(self.key.latest))


def event_columns(latest: Latest) -> tuple[Column, ...]:
    """Return the columns that events have behind their facts: the words of the order, and the number of rows."""
    kinds = [*latest.order_kinds, "number"]
    return tuple(Column(f"?{i}", kind, kind) for i, kind in enumerate(kinds))


def local_facts(relation: str, asserts: bool, words: Words) -> PendingFacts:
    """Return facts that are on the driver."""
    return PendingFacts(relation, asserts, DriverRows(words), len(words))
