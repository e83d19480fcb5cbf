"""Evaluate for a database on the cluster what is beside its views: certificates, queries and explanations.

For a certificate of few rows the driver evaluates the program once more, over the facts, and takes the births from
there: those of partitions cannot always be compared. They are hints: views and facts of the
certificate are the cluster's, and no births whatsoever make the checker accept views that do not follow from the facts.
For one of many rows, partitions evaluate the program once more if their births cannot be compared (`_ranked`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tidelog.certificate import (
    Certificate,
    CertifiedProgram,
    PartedCertificate,
    certificate_of,
    certified,
    check,
    look,
)
from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError
from tidelog.explain.views import EngineViews
from tidelog.language.syntax import Column
from tidelog.limits.interrupts import ForeignCode
from tidelog.limits.watch import Watch, guarded
from tidelog.maintain.engine import EmbeddedEngine, evaluated
from tidelog.maintain.protocol import Engine, EpochOptions, RowChange
from tidelog.maintain.state import EngineState
from tidelog.queries.answers import NAME
from tidelog.queries.bodies import GIVEN, BodyQuery
from tidelog.queries.meanings import Query
from tidelog.queries.parameters import encoded
from tidelog.queries.pattern import QUERY, Pattern, remaining
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram
from tidelog.spark.cluster.certificate import parted
from tidelog.spark.cluster.engine import ClusterChanges, PartitionedEngine
from tidelog.spark.cluster.verdict import check_partitions
from tidelog.spark.failures import answering
from tidelog.spark.fetched import FetchedViews
from tidelog.spark.rows import DriverRows, Rows, no_rows
from tidelog.storage.catalog import Catalog
from tidelog.storage.stored import StoredRelation
from tidelog.workspace.options import THE_QUERY, DatabaseOptions
from tidelog.workspace.workspace import Workspace


class Aside:
    """Evaluations for the database of a workspace; `another` makes a cluster engine."""

    def __init__(self, workspace: Workspace[Any], another: Callable[[], PartitionedEngine]) -> None:
        self._workspace = workspace
        self._another = another
        self._engines: list[Engine[Rows]] = []
        self._explained: FetchedViews | None = None
        self._alone: EngineState | None = None
        """An engine of the driver with births, for proofs that need them."""

    def pairs(self, pattern: Pattern, engine: Engine[Rows], most: int, options: DatabaseOptions) -> Rows:
        """Return the pairs that the path of a pattern connects in the views of `engine`, at least those that match, see
        `_goal`."""
        assert pattern.program is not None
        committed = self._workspace.committed
        asked = remaining(pattern, self._workspace.dictionary, committed.checked, committed.core.relations)
        return self._goal(asked.core, asked.reads, asked.facts, engine, most, options)

    def answer(
        self,
        query: Query,
        parameters: Mapping[str, object],
        engine: Engine[Any],
        most: int,
        options: DatabaseOptions,
        known: Callable[[str], Rows | None],
    ) -> tuple[str, Rows, Sequence[Column]]:
        """Return the name, rows and columns of an answer of the cluster engine; `known` has the rows of a relation."""
        if isinstance(query, BodyQuery):
            with answering():
                return NAME, self.body(query, parameters, engine, most, options), query.columns
        if query.program is None:
            columns = self._workspace.relation(query.relation).columns
            rows = known(query.relation) or no_rows(len(columns))
        else:
            columns = query.program.relations[QUERY].columns
            with answering():
                rows = self.pairs(query, engine, most, options)
        return query.relation, rows.matching(query, self._workspace.dictionary), columns

    def body(
        self, body: BodyQuery, values: Mapping[str, object], engine: Engine[Rows], most: int, options: DatabaseOptions
    ) -> Rows:
        """Return the rows of the answer to a query over the views of `engine`, see `_goal`."""
        committed = self._workspace.committed
        facts = {GIVEN: encoded(values, body.parameters, self._workspace.dictionary)} if body.parameters else {}
        kept = committed.core.relations
        evaluation = body.evaluation(committed.checked)
        return self._goal(evaluation.remaining(kept), evaluation.reads(kept), facts, engine, most, options)

    def _goal(
        self,
        core: CoreProgram,
        reads: Iterable[str],
        facts: Mapping[str, Words],
        engine: Engine[Rows],
        most: int,
        options: DatabaseOptions,
    ) -> Rows:
        """Return the rows of QUERY: on the driver where no more than `most` rows have to be read for it, else by a
        cluster engine that has them until `close`. Raises as `Engine.epoch`."""
        known = {name: engine.relation(name) for name in reads if name in self._workspace.committed.core.relations}
        rows: dict[str, Rows] = known | {name: DriverRows(words) for name, words in facts.items()}
        if sum(map(engine.size, known)) <= most:
            watch = options.watch(work=THE_QUERY)
            with guarded(watch):
                with ForeignCode(watch.interrupts):
                    local = {name: found.local() for name, found in rows.items()}
                return DriverRows(evaluated(self._workspace.dictionary, core, local, watch).views[QUERY].words())
        other = self._another()
        other.is_brief = True
        self._engines.append(other)
        changes = {name: RowChange(found, no_rows(found.arity)) for name, found in rows.items()}
        other.epoch(core, changes, options.watch(work=THE_QUERY), options)
        return other.relation(QUERY)

    def check(self, engine: PartitionedEngine, most: int, watch: Watch) -> None:
        """Check the views of the last epoch of `engine`: on the driver if they have at most `most` rows, otherwise in
        the partitions. Raise as `tidelog.certificate.check`."""
        committed = self._workspace.committed
        if sum(map(engine.size, committed.checked.relations)) <= most:
            check(self.certificate(engine, most, watch), watch)
            return
        program = compile_program(committed.checked, look=partial(look, watch))
        with self._ranked(engine, watch) as ranked:
            own = certified(program, ranked.unsettled())
            check_partitions(CertifiedProgram(own, self._workspace.dictionary, "the database"), engine, ranked, watch)

    @contextmanager
    def saved(self, engine: PartitionedEngine, most: int, watch: Watch) -> Iterator[Certificate | PartedCertificate]:
        """Give the certificate of the last epoch of `engine` to be written: with more than `most` rows, they come from
        the partitions, some at a time."""
        committed = self._workspace.committed
        if sum(map(engine.size, committed.checked.relations)) <= most:
            yield self.certificate(engine, most, watch)
            return
        program = compile_program(committed.checked, look=partial(look, watch))
        with self._ranked(engine, watch) as ranked:
            own = certified(program, ranked.unsettled())
            yield parted(CertifiedProgram(own, self._workspace.dictionary, "the database"), engine, ranked, watch)

    @contextmanager
    def _ranked(self, engine: PartitionedEngine, watch: Watch) -> Iterator[PartitionedEngine]:
        """Give an engine with the rows of `engine` and births that can be compared, see `check_partitions`."""
        if engine.is_ordered:
            yield engine
            return
        committed, ranked = self._workspace.committed, self._another()
        ranked.is_brief = True
        try:
            facts = {name: engine.facts(name) for name in committed.checked.relations}
            changes = {name: RowChange(rows, no_rows(rows.arity)) for name, rows in facts.items()}
            ranked.epoch(committed.core, changes, watch, EpochOptions())
            yield ranked
        finally:
            ranked.close()

    def certificate(self, engine: Engine[Rows], most: int, watch: Watch) -> Certificate:
        """Return the certificate of the last epoch of `engine`. Raises UsageError (E0688) where it has more than `most`
        rows, LimitError or KeyboardInterrupt."""
        alone = certificate_of(self._evaluated(engine, most, watch, "a certificate"), self._workspace.committed.checked)

        def view(name: str) -> tuple[Words, Words]:
            with ForeignCode(watch.interrupts):
                rows = engine.relation(name).local()
            return rows, _births(rows, *alone.view(name))

        return replace(alone, view=view)

    def explained(self, engine: PartitionedEngine, most: int) -> EngineViews:
        """Return the views of the last epoch of `engine` for explanations, of which at most `most` rows come to the
        driver."""
        if self._explained is None or self._explained.most != most:

            def alone(watch: Watch) -> EngineState:
                if self._alone is None:
                    limits = Watch(watch.timeout, started=watch.started, interrupts=watch.interrupts, work=watch.work)
                    self._alone = self._evaluated(engine, most, limits, "the proof of a tuple with many derivations")
                return self._alone

            committed = self._workspace.committed
            self._explained = FetchedViews(engine, committed.core, self._workspace.dictionary, most, alone)
        return self._explained

    def _evaluated(self, engine: Engine[Rows], most: int, watch: Watch, what: str) -> EmbeddedEngine:
        """Return an engine of the driver that has evaluated the program over the facts of `engine`. Raise UsageError
        (E0688) where `engine` has more than `most` rows."""
        draft = self._workspace.committed
        count = sum(map(engine.size, draft.checked.relations))
        if count > most:
            message = f"{what} needs {count:,} rows at the driver, the embedded_limit is {most:,}"
            hint = "raise it with options(embedded_limit=…) if the driver has the memory"
            raise UsageError(Problem("E0688", message, hint=hint))
        with ForeignCode(watch.interrupts):
            facts = {name: engine.facts(name).local() for name in draft.checked.relations}
        return evaluated(self._workspace.dictionary, draft.core, facts, watch)

    def close(self) -> None:
        """Let go of everything that was evaluated or fetched for an epoch."""
        self._explained = self._alone = None
        while self._engines:
            self._engines.pop().close()


def _births(rows: Words, known: Words, births: Words) -> Words:
    """Return the births of rows by those of known ones; all others are younger than these."""
    stored = StoredRelation(Catalog(64), known.shape[1])
    stored.insert(known)
    return np.append(births, births.max(initial=0) + 1)[stored.find(rows)]


def local_changes(changes: Mapping[str, RowChange[Rows]], most: int) -> dict[str, RowChange[Words]]:
    """Return the changes of an epoch on the driver. Raise UsageError (E0688) where the cluster has more than `most`."""
    if isinstance(changes, ClusterChanges):
        return changes.local(most)
    return {name: RowChange(each.inserted.local(), each.deleted.local()) for name, each in changes.items()}
