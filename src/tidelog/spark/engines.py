"""The line between a SparkDatabase and what evaluates its program: an engine sees words, and nothing but words.

Above this line are users' data frames, types, symbols, quarantine, transactions and rule names; below it relations of
64-bit integers and a core program. Two engines meet it: `embedded`, on the driver, and the package `cluster`, in the
session's executors. A database may move from the first to the second while it grows (`SparkDatabase.commit`).

Rows cross it on the driver or in Spark, whichever the giver has, see `rows.Rows`.

What a word means is for `storage.dictionary.Dictionary` to say, of which a database has one, on the driver, for all
its engines. An engine that has to compute with symbols or records asks that object: it can be pickled, so that
`sparkContext.broadcast(dictionary)` takes it to the executors, where it serves for reading (`decode`, `strings`,
`unpack`); symbols and records that are new come into it on the driver only (`ids_of`, `pack`), never in a task.

The cluster's is `tidelog.spark.cluster.ClusterEngine(session, dictionary)`; `Engine.close` leaves nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from tidelog.arrays import Words
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.maintain.report import Report
from tidelog.rules.core import CoreProgram
from tidelog.spark.rows import DriverRows, Rows


@dataclass(frozen=True)
class Draft:
    """A program to go to: the texts, what the checker made of them all, and the core program that engines run."""

    programs: tuple[Program, ...]
    checked: CheckedProgram
    core: CoreProgram


@dataclass(frozen=True)
class RowChange:
    """Rows that come and rows that go, of one relation; no row is in both."""

    inserted: Rows
    deleted: Rows

    @classmethod
    def of_words(cls, inserted: Words, deleted: Words) -> RowChange:
        """Return the change of rows on the driver."""
        return cls(DriverRows(inserted), DriverRows(deleted))


@dataclass(frozen=True)
class Epoch:
    """The result of an epoch: the exact net change of each relation of the program that changed (auxiliary ones, whose
    names begin with "#", are of no interest), each row once, and the report."""

    changes: Mapping[str, RowChange]
    report: Report


@dataclass(frozen=True)
class Prospect:
    """The state that an epoch is about to give to an engine: its changes, and the rows and sizes of relations as they
    will be. It holds until the epoch has happened or failed; its arrays are the caller's."""

    changes: Mapping[str, RowChange]
    relation: Callable[[str], Rows]
    size: Callable[[str], int]


SealRows: TypeAlias = Callable[[Prospect], object]
"""Commits an epoch to where it lasts."""


def sealed_at_once(prospect: Prospect) -> None:
    """Do nothing: the `Seal` of an epoch that is in memory only."""


class Engine(Protocol):
    """Asserted facts and views in words. Not for use by several threads at once: the database sees to that."""

    name: str
    """The name in `db.options(engine=…)` and in reports."""

    def epoch(
        self,
        draft: Draft,
        facts: Mapping[str, RowChange],
        options: Mapping[str, Any],
        seal: SealRows = sealed_at_once,
    ) -> Epoch:
        """Go to the program of `draft` and apply `facts`, relation -> rows to assert and to retract. Rows may occur
        several times; to assert a present fact or retract an absent one changes nothing. A fact that is asserted for a
        derived relation is apart from what rules derive for it. The first epoch of an engine brings everything.

        `options` are those of `Database.options`. `seal` is called when nothing else can go wrong, unless there is
        nothing to do. Raises LimitError, DataError, KeyboardInterrupt or what `seal` raises, and then nothing has
        changed. Rows of the result that are in Spark are lazy and hold until the next epoch; arrays are the caller's.
        """

    def relation(self, name: str) -> Rows:
        """Return the rows of a relation as of the last epoch, each once; in Spark they are lazy and hold until the next
        epoch. A declared relation that nobody has mentioned yet is empty."""

    def asserted(self, name: str) -> Rows:
        """Return the same for the asserted facts of a relation."""

    def size(self, name: str) -> int:
        """Return the number of rows of a relation, without a look at them."""

    def stats(self) -> Mapping[str, Any]:
        """Return the engine's part of `db.stats()`: sizes, memory, rounds, bytes shuffled …"""

    def explain(self) -> str:
        """Return a text about how the program is evaluated, and how the last epoch went."""

    def close(self) -> None:
        """Give back memory and remove all temporary state. No other call follows, except `close` again."""
