"""The line between a database and its engine: an engine sees words and a core program, and nothing but these.

Above this line are users' data, types, symbols, rule names, transactions and limits; below it relations of 64-bit
integers. Two engines meet it. `maintain.engine.EmbeddedEngine` is in this process. `spark.cluster` is in the executors
of a Spark session, where a database over Spark goes when it grows.

Rows cross the line in the form that an engine has them: arrays, or `spark.rows.Rows`, which may be in Spark. What a
word means is for `storage.dictionary.Dictionary` to say, of which a database has one for all its engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy

from tidelog.common.arrays import Words
from tidelog.common.markup import table
from tidelog.limits.watch import Watch
from tidelog.rules.core import CoreProgram

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class FactCall(NamedTuple):
    """Facts of a relation to assert, or to retract, as words of shape (n, arity)."""

    relation: str
    asserts: bool
    words: Words


@dataclass(frozen=True)
class EpochOptions:
    """The options of epochs: `strategy` is auto, update or bootstrap.

    In auto, updates that take too long are given up (`maintain/strategies/situation.py`, `budget`), which costs at most
    `switch` of a bootstrap of everything. With `closures`, hyper-nodes that are closures are evaluated as such.
    Without `maintain`, nothing is counted and nodes are always bootstrapped. Bootstraps use up to `threads`, None for
    one on each core that the process may use; only the order of rows depends on how many there are.
    `early_projection` is auto, always or never (`rules/early_projections.py`)."""

    strategy: str = "auto"
    switch: float = 0.2
    closures: bool = True
    maintain: bool = True
    threads: int | None = None
    early_projection: str = "auto"

    def name_of(self, strategy: str) -> str:
        """Return the strategy that a report names: the one that is forced, or else `strategy`."""
        return strategy if self.strategy == "auto" else self.strategy


@dataclass(frozen=True)
class RowChange(Generic[R_co]):
    """The inserted and the deleted rows of one relation; no row is in both."""

    inserted: R_co
    deleted: R_co


@dataclass(frozen=True)
class NodeReport:
    """One hyper-node in one epoch.

    `relations` are those of the user's that it derives, none where it only prepares a path, an aggregate or a part of a
    body (see docs/theory.md); `rules` are the names of the user's rules, `strategy` is "skip", "update", "bootstrap" or
    "drop" and `reason` the reason for it, `impact` is the number of tuples inserted and deleted, `rounds` the rounds of
    semi-naive evaluation.
    """

    relations: tuple[str, ...]
    rules: tuple[str, ...]
    strategy: str
    reason: str
    seconds: float
    impact: int
    rounds: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        return {
            "rules": list(self.rules),
            "relations": list(self.relations),
            "strategy": self.strategy,
            "reason": self.reason,
            "seconds": self.seconds,
            "impact": self.impact,
        }


@dataclass(frozen=True)
class Report:
    """One epoch: `seconds` in all, the hyper-nodes that it has `visited`, and of the seconds those spent on making room
    (`growing`). `every` makes the reports of all hyper-nodes, where there are others."""

    seconds: float
    visited: tuple[NodeReport, ...]
    growing: float = 0.0
    every: Callable[[], tuple[NodeReport, ...]] | None = field(default=None, repr=False, compare=False)
    moved: str | None = None
    """Why rows have moved to another number of partitions, where they have."""
    duplicates: Mapping[str, int] = field(default_factory=dict)
    """By relation, the number of rows that were equal to another one of the same call of `insert`."""

    @cached_property
    def nodes(self) -> tuple[NodeReport, ...]:
        """All hyper-nodes, in the order of evaluation."""
        return self.visited if self.every is None else self.every()

    def __getstate__(self) -> dict[str, Any]:
        """Return everything, for copies that know no hyper-nodes."""
        return {**vars(self), "nodes": self.nodes, "every": None}

    @property
    def bootstraps(self) -> int:
        """The number of hyper-nodes that were evaluated from scratch."""
        return sum(node.strategy == "bootstrap" for node in self.visited)

    @property
    def updates(self) -> int:
        """The number of hyper-nodes that were updated."""
        return sum(node.strategy == "update" for node in self.visited)

    @property
    def impact(self) -> int:
        """The number of derived tuples that were inserted or deleted."""
        return sum(node.impact for node in self.visited)

    def to_dict(self, *, every: bool = True) -> dict[str, Any]:
        """Return the report as JSON has it, with all hyper-nodes, or with those that were visited."""
        return {
            "seconds": self.seconds,
            "bootstraps": self.bootstraps,
            "updates": self.updates,
            "impact": self.impact,
            "duplicates": dict(self.duplicates),
            "nodes": [node.to_dict() for node in (self.nodes if every else self.visited)],
        }

    def _repr_html_(self) -> str:
        caption = f"{self.seconds:.3f} s, {self.bootstraps} bootstraps, {self.updates} updates, impact {self.impact:,}"
        if self.duplicates:
            caption += f", duplicates: {', '.join(f'{name} {count:,}' for name, count in self.duplicates.items())}"
        heads = ("relations", "rules", "strategy", "reason", "seconds", "impact")
        rows = []
        for node in self.nodes:
            relations, rules = ", ".join(node.relations), ", ".join(node.rules)
            rows.append((relations, rules, node.strategy, node.reason, f"{node.seconds:.3f}", f"{node.impact:,}"))
        return table(caption, heads, rows)


@dataclass(frozen=True)
class Outcome(Generic[R_co]):
    """The result of an epoch: the exact net change of each relation that changed, each row once, and the report.
    Auxiliary relations, whose names begin with "#", may be among them."""

    deltas: Mapping[str, RowChange[R_co]]
    report: Report


@dataclass(frozen=True)
class Prospect(Generic[R_co]):
    """The state that an epoch is about to give to an engine: its changes, and the rows and sizes of relations as they
    will be. It holds until the epoch has happened or failed."""

    deltas: Mapping[str, RowChange[R_co]]
    relation: Callable[[str], R_co]
    size: Callable[[str], int]


Seal: TypeAlias = Callable[[Prospect[R]], object]
"""Commits an epoch to where it lasts."""


class TakenBackError(Exception):
    """The error that a `Seal` raises at the end of a trial, so that its epoch is undone."""


def sealed_at_once(prospect: Prospect[Any]) -> None:
    """Do nothing: the `Seal` of an epoch that is in memory only."""


class Engine(Protocol[R]):
    """Asserted facts and views in words. Not for use by several threads at once: the database sees to that."""

    name: str
    """The name in `db.options(engine=…)` and in reports."""
    epoch_number: int
    """The number of the next epoch for `blame`, negative if its facts have come in that epoch or before."""

    def epoch(
        self,
        program: CoreProgram,
        changes: Mapping[str, RowChange[R]],
        watch: Watch,
        choice: EpochOptions,
        seal: Seal[R] = sealed_at_once,
    ) -> Outcome[R]:
        """Go to a program and apply changes of facts. Rows may occur several times; to assert a present fact or retract
        an absent one changes nothing. A fact that is asserted for a derived relation is apart from what rules derive
        for it. The first epoch of an engine brings everything.

        `seal` is called when nothing else can go wrong, unless there is nothing to do. Raises LimitError, DataError,
        KeyboardInterrupt or what `seal` raises, and then nothing has changed. Rows of the result that are in Spark are
        lazy and hold until the next epoch.
        """

    def relation(self, name: str) -> R:
        """Return the rows of a relation as of the last epoch, each once; in Spark they are lazy and hold until the next
        epoch. A relation of the program that nobody has mentioned yet is empty."""

    def facts(self, name: str) -> R:
        """Return the same for the asserted facts of a relation."""

    def size(self, name: str) -> int:
        """Return the number of rows of a relation, without a look at them."""

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """The names of the user's rules of each hyper-node, in the order of evaluation."""

    def stats(self) -> Mapping[str, Any]:
        """Return the engine's part of `db.stats()`: memory, rounds, bytes shuffled …"""

    def describe(self) -> str:
        """Return a text about how the program is evaluated, and how the last epoch went."""

    def close(self) -> None:
        """Give back memory and remove all temporary state. No other call follows, except `close` again."""


def net_changes(calls: Iterable[tuple[str, bool, Words]]) -> dict[str, RowChange[Words]]:
    """Return per relation the rows to assert and to retract: of several calls about a row the last one counts."""
    net: dict[str, RowChange[Words]] = {}
    by_relation: dict[str, list[tuple[bool, Words]]] = {}
    for name, asserted, words in calls:
        by_relation.setdefault(name, []).append((asserted, words))
    for name, own in by_relation.items():
        rows = numpy.concatenate([words for _, words in own]) if len(own) > 1 else own[0][1]
        if len({asserts for asserts, _ in own}) == 1:
            none = rows[:0]
            net[name] = RowChange(rows, none) if own[0][0] else RowChange(none, rows)
            continue
        asserts = numpy.repeat([asserts for asserts, _ in own], [len(words) for _, words in own])
        if rows.shape[1]:  # numpy.unique of rows takes several times as long as this
            order = numpy.lexsort(rows.T[::-1])
            rows, asserts = rows[order], asserts[order]
        last = numpy.ones(len(rows), bool)
        last[:-1] = (rows[1:] != rows[:-1]).any(axis=1)
        net[name] = RowChange(rows[last & asserts], rows[last & ~asserts])
    return net
