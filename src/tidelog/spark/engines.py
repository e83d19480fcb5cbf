"""The engines of a SparkDatabase: which of them an epoch uses, and that of this process, with its rows as `Rows`.
`cluster/` has the one in the executors.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any

import numpy as np

from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError, quote
from tidelog.io.relation import WordRows
from tidelog.language.syntax import Column
from tidelog.limits.watch import Watch
from tidelog.maintain.deltas import AnyRows, held_rows, rows_of
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.protocol import EpochOptions, Outcome, Prospect, RowChange, Seal, sealed_at_once
from tidelog.rules.core import CoreProgram
from tidelog.semantics.user_aggregates import given_of
from tidelog.spark.deferred import ended_frame_error
from tidelog.spark.rows import DriverRows, Rows
from tidelog.workspace.workspace import Workspace

ENGINES = ("auto", "embedded", "cluster")


@dataclass(frozen=True)
class EngineChoice:
    """The options that decide: `engine` is one of ENGINES, `embedded_limit` the number of rows that the driver takes,
    `cluster_folder` where partitions have their files, if not where the database has chosen: a path or an address
    (`hdfs://…`, `s3://…`), and `partitions` the number of these, None for as many as executors do tasks at once."""

    engine: str = "auto"
    embedded_limit: int = 50_000_000
    cluster_folder: str | os.PathLike[str] | None = None
    partitions: int | None = None

    def apply_options(self, options: Mapping[str, Any]) -> tuple[EngineChoice, dict[str, Any]]:
        """Return the choice with those of the options that belong to it, and the others. UsageError (E0603) for a wrong
        value."""
        own = {field.name: options[field.name] for field in fields(self) if field.name in options}
        if not isinstance(engine := own.get("engine", "auto"), str) or engine not in ENGINES:
            hint = f"use one of {', '.join(ENGINES)}"
            raise UsageError(Problem("E0603", f"unknown engine {quote(engine)}", hint=hint))
        limit = own.get("embedded_limit", 0)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            message = f"embedded_limit must be a number of facts, found {quote(limit)}"
            raise UsageError(Problem("E0603", message, hint="pass for example 10_000_000"))
        folder = own.get("cluster_folder")
        if folder is not None and not (isinstance(folder, str | os.PathLike) and os.fspath(folder)):
            message = f"cluster_folder must be a path or an address, found {quote(folder)}"
            raise UsageError(Problem("E0603", message, hint='pass for example "hdfs:///tmp/tidelog"'))
        count = own.get("partitions")
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
            message = f"partitions must be a number from 1 on, or None, found {quote(count)}"
            raise UsageError(Problem("E0603", message, hint="pass for example 64"))
        if options.get("profile"):
            hint = "leave it out; `change.report` has the seconds of each hyper-node"
            raise UsageError(Problem("E0603", "a database over Spark records no profile", hint=hint))
        return replace(self, **own), {name: value for name, value in options.items() if name not in own}

    def next(self, current: str, facts: int) -> tuple[str, str]:
        """Return the engine of an epoch that leads to so many facts, and why it would be another than the current one.
        On the cluster a database stays until it is called back."""
        if self.engine != "auto":
            return self.engine, f"asked for by options(engine={self.engine!r})"
        if current == "embedded" and facts > self.embedded_limit:
            return "cluster", f"{facts:,} facts are more than the embedded_limit of {self.embedded_limit:,}"
        return current, ""


def only_embedded(core: CoreProgram) -> str | None:
    """Return why a program cannot run in partitions; None if it can."""
    if core.counters:
        return "counters are in the driver"
    if core.choices:
        return "partitions cannot choose tuples"
    for functor in core.functors.values():
        try:
            _ = given_of(functor).importable_form
        except UsageError as error:
            return error.problems[0].message
    return None


class Embedded:
    """An `Engine` of `Rows` on the driver; `state` is that which evaluates.

    It has a lock of its own, because frames that Spark reads late ask for their rows in any thread, also while the
    database is in the midst of a change that waits for Spark.
    """

    name = "embedded"

    def __init__(self, workspace: Workspace[Any]) -> None:
        self._workspace = workspace
        self.state = EmbeddedEngine(workspace.dictionary, workspace.committed.core)
        self.number = 0
        """Another one whenever views may have changed."""
        self._lock = threading.RLock()

    @property
    def epoch_number(self) -> int:
        """The number of the next epoch, see `Engine`."""
        return self.state.epoch_number

    @epoch_number.setter
    def epoch_number(self, number: int) -> None:
        self.state.epoch_number = number

    def epoch(
        self,
        program: CoreProgram,
        changes: Mapping[str, RowChange[Rows]],
        watch: Watch,
        choice: EpochOptions,
        seal: Seal[Rows] = sealed_at_once,
    ) -> Outcome[Rows]:
        net = {name: RowChange(change.inserted.local(), change.deleted.local()) for name, change in changes.items()}
        net = {name: change for name, change in net.items() if len(change.inserted) or len(change.deleted)}
        with self._lock:
            waiting = ((name, rows) for name, change in net.items() for rows in (change.inserted, change.deleted))
            self._workspace.sweep(self.state, waiting)
            outcome = self.state.epoch(program, net, watch, choice, partial(self._seal, program, seal))
            self._workspace.note_deleted(outcome)
            self.number += 1
            return Outcome(self._changes(program, outcome.deltas), outcome.report)

    def _seal(self, program: CoreProgram, seal: Seal[Rows], prospect: Prospect[AnyRows]) -> None:
        @cache
        def relation(name: str) -> Rows:
            return _copy_rows(prospect.relation(name))

        seal(Prospect(self._changes(program, prospect.deltas), relation, lambda name: relation(name).count()))

    def _changes(self, program: CoreProgram, deltas: Mapping[str, RowChange[AnyRows]]) -> DriverChanges:
        columns = {name: info.columns for name, info in program.relations.items() if name[:1] != "#" and name in deltas}
        changes = DriverChanges(columns, deltas, self._lock)
        self._workspace.dictionary.hold(changes)
        return changes

    def relation(self, name: str) -> Rows:
        return _copy_rows(self.state.relation(name))

    def facts(self, name: str) -> Rows:
        return _copy_rows(self.state.facts(name))

    def size(self, name: str) -> int:
        return self.state.size(name)

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        return self.state.hyper_nodes

    def stats(self) -> Mapping[str, Any]:
        return self.state.stats()

    def describe(self) -> str:
        return self.state.describe()

    def close(self) -> None:
        with self._lock:
            self.number += 1
            self.state.close()

    # --- for the driver only -----------------------------------------------------------------------------------------

    def rows_of(self, name: str, columns: tuple[Column, ...], number: int) -> WordRows:
        """Return the rows of a relation as of an epoch, in any thread. UsageError (E0687) where that is over."""
        with self._lock:
            if self.number != number:
                raise ended_frame_error()
            return WordRows(columns, self._workspace.dictionary, self.relation(name).local())

    def count(self) -> int:
        """Return the number of asserted facts of all relations."""
        return sum(len(stored) for name, stored in self.state.asserted.items() if not name.startswith("#"))

    def near(self, name: str, columns: tuple[int, ...], groups: Words) -> Words:
        """Return the asserted facts of a relation whose `columns`, ascending, are one of the distinct rows of
        `groups`."""
        stored = self.state.asserted.get(self.state.program.candidates.get(name, name))
        if stored is None:
            return np.empty((0, len(self.state.program.relations[name].columns)), np.int64)
        with self._lock:
            return np.array(stored.rows_with(columns, groups), np.int64)

    def compare(self, name: str, words: Words) -> tuple[Words, Words]:
        """Return those of `words` that are no asserted facts of a relation, and the facts that are not among them."""
        stored = self.state.asserted[name]
        found, live = stored.find(words), stored.live()
        is_wanted = np.zeros(stored.rows, np.bool_)
        is_wanted[found[found >= 0]] = True
        return words[found < 0], np.array(stored.take(live[~is_wanted[live]]), np.int64)


class DriverChanges(Mapping[str, RowChange[Rows]]):
    """The changes of an epoch. Rows are copied on demand; the dictionary keeps their words."""

    def __init__(
        self,
        columns: Mapping[str, tuple[Column, ...]],
        deltas: Mapping[str, RowChange[AnyRows]],
        lock: threading.RLock | None = None,
    ) -> None:
        self._columns = columns
        self._deltas = deltas
        self._lock = lock or threading.RLock()

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Any]]:
        """Return the words, which the dictionary keeps as long as these changes are there."""
        for name, columns in self._columns.items():
            for rows in (self._deltas[name].inserted, self._deltas[name].deleted):
                yield columns, held_rows(rows)

    def __getitem__(self, name: str) -> RowChange[Rows]:
        if name not in self._columns:
            raise KeyError(name)
        with self._lock:
            return RowChange(_copy_rows(self._deltas[name].inserted), _copy_rows(self._deltas[name].deleted))

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    __hash__ = object.__hash__


def _copy_rows(rows: AnyRows) -> Rows:
    """Return rows in an array of their own."""
    return DriverRows(np.array(rows_of(rows), np.int64))
