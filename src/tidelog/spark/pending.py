"""Pending changes on their way to an engine: by key to changes of facts, then to rows.

A change by key replaces or retracts the facts of its key, unless it is late. The facts of a key, and the latest event
about it (`sources/orders.py`), are those of the last epoch, or of a change before it in the same one. `DriverFacts`
finds them by indexes of the embedded engine, or of the partitions for a few keys. `SparkFacts` finds them by joins in
Spark, where no fact comes to the driver. `net_rows` and `difference` make rows for an engine of changes of facts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.common.arrays import Words
from tidelog.language.syntax import RelationType
from tidelog.maintain.protocol import Engine, RowChange, net_changes
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange.rounds import Lookup
from tidelog.spark.engines import Embedded
from tidelog.spark.failures import ignore_stopped_session
from tidelog.spark.frames.translation import Translation, collect_words
from tidelog.spark.jobs import step
from tidelog.spark.rows import DriverRows, Rows, SparkRows, driver_change, no_rows, word_columns
from tidelog.spark.sources.facts import ChangeKey, FactFrame, PendingFacts, local_facts
from tidelog.spark.sources.orders import Latest
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.rows import distinct, positions

FEW_KEYS = 2_000
"""For so many keys at most the driver asks the partitions, which takes two jobs instead of thirty."""
_MOST = 100 * FEW_KEYS
"""So many facts of these keys do not come to the driver any more."""


class _TooManyError(Exception):
    """The facts of a few keys are too many for the driver."""


class KeyedFacts(ABC):
    """The facts among which changes by key find theirs. `relations` are those of the program of the next epoch."""

    def __init__(self, relations: Mapping[str, RelationType]) -> None:
        self._relations = relations

    def without_keys(self, pending: Sequence[PendingFacts]) -> list[PendingFacts]:
        """Return the same changes in their order, without keys."""
        found: list[tuple[ChangeKey | None, PendingFacts]] = []
        for each in pending:
            if each.key is None:
                found.append((None, each))
                continue
            # Changes that share a key object are of one source, which has one event for each key.
            before = [change for key, change in found if key is not each.key]
            found += [(each.key, change) for change in self._changes(each, each.key, before)]
        return [change for _, change in found]

    @abstractmethod
    def _changes(self, change: PendingFacts, key: ChangeKey, before: Sequence[PendingFacts]) -> list[PendingFacts]:
        """Return the changes of facts that a change by key makes, after those `before` it in the same epoch."""

    @abstractmethod
    def close(self) -> None:
        """Release what is kept for the changes, when the epoch has happened or failed."""


def keyed_facts(
    engine: Engine[Rows],
    now: Engine[Rows],
    relations: Mapping[str, RelationType],
    is_known: Callable[[str], bool],
    translation: Translation,
) -> KeyedFacts:
    """Return the facts that the engine `now` has of relations that it knows, in a form that suits the engine of the
    next epoch, which is often the same."""

    def facts(name: str) -> Rows:
        return now.facts(name) if is_known(name) else no_rows(len(relations[name].columns))

    def near(name: str, columns: tuple[int, ...], groups: Words) -> Words:
        if isinstance(now, Embedded) and is_known(name):
            return now.near(name, columns, groups)
        if isinstance(now, PartitionedEngine) and engine is now and is_known(name):
            core = now.committed.core
            own = name if core is None else core.candidates.get(name, name)
            [rows] = now.look_up_rows([Lookup(own, True, columns, groups, _MOST)])
            if len(rows) >= _MOST:
                raise _TooManyError
            return rows
        rows = facts(name).local()
        return rows[_has_key(groups, rows, columns)]

    at_hand = DriverFacts(relations, translation.dictionary, near)
    return at_hand if engine.name == "embedded" else SparkFacts(relations, translation, facts, at_hand)


class DriverFacts(KeyedFacts):
    """Facts on the driver. `near(name, columns, groups)` returns those of a relation whose columns, ascending, are one
    of the distinct rows of `groups`."""

    def __init__(
        self,
        relations: Mapping[str, RelationType],
        dictionary: Dictionary,
        near: Callable[[str, tuple[int, ...], Words], Words],
    ) -> None:
        super().__init__(relations)
        self._dictionary = dictionary
        self._near = near

    def close(self) -> None:
        """Do nothing: nothing is kept beyond a call."""

    def _changes(self, change: PendingFacts, key: ChangeKey, before: Sequence[PendingFacts]) -> list[PendingFacts]:
        relation = self._relations[change.relation]
        rows = distinct(self._words(change))
        width = len(relation.columns) if change.asserts else len(key.columns)
        found: list[PendingFacts] = []
        if key.latest is None:
            key.report(len(rows), 0)
        else:
            at = list(key.columns) if change.asserts else list(range(width))
            asserted = np.full((len(rows), 1), change.asserts, np.int64)
            events = np.concatenate([rows[:, at], rows[:, width:-1], asserted], axis=1)
            is_new, known = self._find_newer(key.latest, events, before)
            key.report(len(rows), int(rows[~is_new, -1].sum()))
            found += [
                _pending_rows(key.latest.name, False, known),
                _pending_rows(key.latest.name, True, events[is_new]),
            ]
            rows = rows[is_new, :width]
        if len(key.columns) == len(relation.columns):
            return [*found, _pending_rows(relation.name, change.asserts, rows)]
        keys = rows[:, list(key.columns)] if change.asserts else rows
        found.append(_pending_rows(relation.name, False, self._facts_of(relation.name, key.columns, keys, before)))
        return [*found, _pending_rows(relation.name, True, rows)] if change.asserts else found

    def _words(self, change: PendingFacts) -> Words:
        if isinstance(change.facts, FactFrame):
            columns = change.columns(self._relations[change.relation])
            return collect_words(change.facts, columns, self._dictionary)
        return change.facts.local()

    def _facts_of(self, name: str, columns: tuple[int, ...], keys: Words, before: Sequence[PendingFacts]) -> Words:
        """Return the facts of a relation with distinct keys, those asserted before in this epoch behind all others."""
        found = [self._near(name, columns, keys)]
        for each in before:
            if each.relation == name and each.asserts:
                rows = self._words(each)
                found.append(rows[_has_key(keys, rows, columns)])
        return np.concatenate(found)

    def _find_newer(
        self, latest: Latest, events: Words, before: Sequence[PendingFacts]
    ) -> tuple[NDArray[np.bool_], Words]:
        """Return for each event, a row of a relation of latest events, True if it is newer than what is known of its
        key, and the rows that these events replace."""
        width = len(latest.key)
        keys = np.ascontiguousarray(events[:, :width])
        known = self._facts_of(latest.name, tuple(range(width)), keys, before)
        place = np.full(len(events), -1, np.int64)
        place[positions(keys, np.ascontiguousarray(known[:, :width]))] = np.arange(len(known))  # the last one counts
        is_new = place < 0
        there = np.flatnonzero(~is_new)
        is_new[there] = is_later(events[there, width:], known[place[there], width:])
        return is_new, known[place[is_new & (place >= 0)]]


def _has_key(keys: Words, rows: Words, columns: Sequence[int]) -> NDArray[np.bool_]:
    """Return for each row True if some columns of it are one of the distinct `keys`."""
    return positions(keys, np.ascontiguousarray(rows[:, list(columns)])) >= 0


def is_later(ones: Words, others: Words) -> NDArray[np.bool_]:
    """Return for each row of `ones` True if it comes after the same row of `others`. Both are int64 of one
    shape; their columns compare from left to right."""
    sign = np.zeros(len(ones), np.int64)
    for one, other in zip(ones.T, others.T, strict=True):
        sign = np.where(sign == 0, (one > other).astype(np.int64) - (one < other), sign)
    return sign > 0


class SparkFacts(KeyedFacts):
    """Facts in Spark, or on their way there. `facts` returns those of a relation as of the last epoch."""

    def __init__(
        self,
        relations: Mapping[str, RelationType],
        translation: Translation,
        facts: Callable[[str], Rows],
        at_hand: DriverFacts,
    ) -> None:
        super().__init__(relations)
        self._translation = translation
        self._facts = facts
        self._at_hand = at_hand
        self._kept: list[DataFrame] = []

    def close(self) -> None:
        while self._kept:
            with ignore_stopped_session():
                self._kept.pop().unpersist()

    def _changes(self, change: PendingFacts, key: ChangeKey, before: Sequence[PendingFacts]) -> list[PendingFacts]:
        if all(each.count <= FEW_KEYS for each in (change, *before)):
            counts: list[tuple[int, int]] = []
            with suppress(_TooManyError):
                found = self._at_hand._changes(
                    change, replace(key, report=lambda *numbers: counts.append(numbers)), before
                )
                for events, late in counts:
                    key.report(events, late)
                return found
        return self._join_changes(change, key, before)

    @step("keys")
    def _join_changes(self, change: PendingFacts, key: ChangeKey, before: Sequence[PendingFacts]) -> list[PendingFacts]:
        relation = self._relations[change.relation]
        width = len(relation.columns) if change.asserts else len(key.columns)
        rows, count = self._frame(change), change.count
        at = key.columns if change.asserts else tuple(range(width))
        found: list[PendingFacts] = []
        if key.latest is None:
            rows = self._keep(rows.distinct())
            key.report(rows.count(), 0)
        else:
            events = self._keep(self._compare_events(key.latest, change.asserts, rows, at, width, before))
            is_late = ~F.col("_new")
            totals = events.agg(F.count("*"), F.sum(F.when(is_late, F.col("_rows")))).collect()[0]
            key.report(totals[0], totals[1] or 0)
            if not totals[0]:
                return []
            names = word_columns(len(key.latest.columns))
            newer = events.where("_new")
            known = newer.where("_known").select([F.col(f"_known_{name}").alias(name) for name in names])
            now = newer.select(_event_columns(key.latest, at, width, change.asserts))
            found.append(PendingFacts(key.latest.name, False, SparkRows(known, len(names)), 0))
            found.append(PendingFacts(key.latest.name, True, SparkRows(now, len(names)), count))
            rows = newer
        words = word_columns(width) if width else [F.lit(0).cast("long").alias("unit")]
        facts = SparkRows(rows.select(*words), width)
        if len(key.columns) == len(relation.columns):
            return [*found, PendingFacts(relation.name, change.asserts, facts, count)]
        keys = rows.select([F.col(f"c{place}").alias(f"_key{i}") for i, place in enumerate(at)])
        old = self._keep(self._facts_of(relation.name, key.columns, keys, before).drop("_call").distinct())
        found.append(PendingFacts(relation.name, False, SparkRows(old, len(relation.columns)), 0))
        return [*found, PendingFacts(relation.name, True, facts, count)] if change.asserts else found

    def _keep(self, frame: DataFrame) -> DataFrame:
        self._kept.append(frame)
        return frame.persist(StorageLevel.MEMORY_AND_DISK)

    def _frame(self, change: PendingFacts) -> DataFrame:
        columns = change.columns(self._relations[change.relation])
        return self._translation.frame(self._translation.rows(columns, change.facts))

    def _facts_of(
        self, name: str, columns: Sequence[int], keys: DataFrame, before: Sequence[PendingFacts]
    ) -> DataFrame:
        """Return the facts of a relation with some keys, with the number of the change of this epoch that has asserted
        them in the column `_call`."""
        frames = [self._translation.frame(self._facts(name)).withColumn("_call", F.lit(-1))]
        frames += [
            self._frame(each).withColumn("_call", F.lit(call))
            for call, each in enumerate(before)
            if each.relation == name and each.asserts
        ]
        same = {f"c{column}": f"_key{i}" for i, column in enumerate(columns)}
        return reduce(DataFrame.unionAll, frames).join(keys, _equal(same), "left_semi")

    def _compare_events(
        self,
        latest: Latest,
        asserts: bool,
        rows: DataFrame,
        at: Sequence[int],
        width: int,
        before: Sequence[PendingFacts],
    ) -> DataFrame:
        """Return events with the row that is known of the same key, if `_known`, as `_known_c0` and so on, whether they
        are `_new`, and the number of `_rows` that they stand for."""
        size, names = len(latest.key), word_columns(len(latest.columns))
        mine = [F.col(f"c{width + i}") for i in range(len(latest.order_kinds))]
        keys = rows.select([F.col(f"c{place}").alias(f"_key{i}") for i, place in enumerate(at)])
        known = self._facts_of(latest.name, range(size), keys, before)
        if any(each.relation == latest.name for each in before):
            last = F.max_by(F.struct(*names), "_call").alias("_last")
            known = known.groupBy(names[:size]).agg(last).select("_last.*")
        known = known.select([F.col(name).alias(f"_known_{name}") for name in names])
        same = {f"c{place}": f"_known_c{i}" for i, place in enumerate(at)}
        joined = rows.join(known, _equal(same), "left")
        theirs = [F.col(f"_known_c{size + i}") for i in range(len(latest.order_kinds))]
        is_known = F.col("_known_" + names[-1]).isNotNull()
        mine.append(F.lit(int(asserts)).cast("long"))
        theirs.append(F.col("_known_" + names[-1]))
        # PySpark 3.5 compares structs whose fields have the same names.
        one, other = (F.struct(*[each.alias(f"_{i}") for i, each in enumerate(side)]) for side in (mine, theirs))
        return joined.withColumns(
            {
                "_known": is_known,
                "_new": ~is_known | (one > other),
                "_rows": F.col(f"c{width + len(latest.order_kinds)}"),
            }
        )


def _equal(columns: Mapping[str, str]) -> Expression:
    """Return the condition of a join: each column is equal to its other one."""
    return reduce(Expression.__and__, [F.col(one) == F.col(other) for one, other in columns.items()], F.lit(True))


def _event_columns(latest: Latest, at: Sequence[int], width: int, asserts: bool) -> list[Expression]:
    """Return the columns of a relation of latest events, of events whose facts have `width` columns, those `at` these
    places the key."""
    places = [*at, *range(width, width + len(latest.order_kinds))]
    values = [F.col(f"c{place}") for place in places] + [F.lit(int(asserts)).cast("long")]
    return [value.alias(f"c{i}") for i, value in enumerate(values)]


def _pending_rows(relation: str, asserts: bool, rows: Words) -> PendingFacts:
    return PendingFacts(relation, asserts, DriverRows(rows), len(rows))


# --- changes of facts to rows ----------------------------------------------------------------------------------------


def net_rows(
    engine: Engine[Rows],
    relations: Mapping[str, RelationType],
    pending: Sequence[PendingFacts],
    translation: Translation,
) -> dict[str, RowChange[Rows]]:
    """Return the rows that come and go, of several changes about a fact the last one, in a form that suits the
    engine."""
    if engine.name == "embedded":
        calls = [(each.relation, each.asserts, _on_driver(relations, each, translation)) for each in pending]
        return {name: driver_change(net.inserted, net.deleted) for name, net in net_changes(calls).items()}
    names = dict.fromkeys(change.relation for change in pending)
    by_name = {name: [(c.asserts, c.facts) for c in pending if c.relation == name] for name in names}
    return {name: translation.net(relations[name].columns, own) for name, own in by_name.items()}


def _on_driver(relations: Mapping[str, RelationType], change: PendingFacts, translation: Translation) -> Words:
    if isinstance(change.facts, FactFrame):
        return collect_words(change.facts, relations[change.relation].columns, translation.dictionary)
    return change.facts.local()


def difference(
    engine: Engine[Rows], relation: RelationType, wanted: Sequence[PendingFacts], translation: Translation
) -> list[PendingFacts]:
    """Return the changes after which a relation, which the engine knows, has these asserted facts and no others."""
    name, columns = relation.name, relation.columns
    asserted = engine.facts(name)
    if asserted.is_surely_empty:
        return list(wanted)
    local = [each.facts.driver_words for each in wanted if each.facts.driver_words is not None]
    if isinstance(engine, Embedded) and len(local) == len(wanted):
        words = np.concatenate([np.empty((0, len(columns)), np.int64), *local])
        inserted, removed = engine.compare(name, words)
        return [local_facts(name, False, removed), local_facts(name, True, inserted)]
    change = translation.net(columns, [(True, each.facts) for each in wanted])
    there, new = (SparkRows(translation.frame(each), len(columns)) for each in (asserted, change.inserted))
    count = sum(each.count for each in wanted)
    return [PendingFacts(name, False, there.without(new), 0), PendingFacts(name, True, new.without(there), count)]
