"""Facts on their way to an engine: frames of leaf columns, pending assertions and retractions, and counts of rows."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from tidelog.arrays import Words
from tidelog.spark.rows import DriverRows, Rows
from tidelog.spark.sources.checks import Leaf


@dataclass(frozen=True)
class Counts:
    """The numbers of rows that were read for one relation: `read == accepted + quarantined`.

    `duplicates` of the accepted rows state a fact that another row of the same run states as well.
    """

    read: int = 0
    accepted: int = 0
    quarantined: int = 0
    duplicates: int = 0


@dataclass(frozen=True)
class FactFrame:
    """A frame of the leaf columns of at most `rows` facts. `kept` says that it is read from rows kept in Spark, so that
    its partitions are the same whenever it is asked."""

    relation: str
    frame: DataFrame
    leaves: tuple[Leaf, ...]
    rows: int
    kept: bool
    held: None = None
    """The driver has none of them, see `Rows.held`."""


@dataclass(frozen=True)
class PendingFacts:
    """Facts to assert, or to retract, at most `count` of them, as words or as leaf columns."""

    relation: str
    asserts: bool
    facts: Rows | FactFrame
    count: int


def local_facts(relation: str, asserts: bool, words: Words) -> PendingFacts:
    """Return facts that are on the driver."""
    return PendingFacts(relation, asserts, DriverRows(words), len(words))
