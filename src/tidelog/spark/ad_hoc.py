"""Evaluate for a database on the cluster what is beside its views: certificates, queries and explanations.

For a certificate of few rows the driver evaluates the program once more, over the facts, and takes the births from
there: those of partitions cannot always be compared. They are hints: views and facts of the certificate are the
cluster's, and no births whatsoever make the checker accept views that do not follow from the facts. For one of many
rows, partitions evaluate the program once more if their births cannot be compared (`_prepare_certificate`).
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
    check,
    drop_candidates,
    look,
)
from tidelog.common.arrays import Words
from tidelog.explain.views import EngineViews
from tidelog.language.syntax import Column
from tidelog.limits.interrupts import ForeignCode
from tidelog.limits.watch import Watch, defer_interrupts
from tidelog.maintain.engine import EmbeddedEngine, evaluate_program
from tidelog.maintain.protocol import Engine, EpochOptions
from tidelog.maintain.state import EngineState
from tidelog.queries.answers import NAME
from tidelog.queries.bodies import GIVEN, BodyQuery
from tidelog.queries.meanings import Query
from tidelog.queries.pattern import QUERY, encode_parameters, path_evaluation
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.verdict import check_partitions, parted_certificate
from tidelog.spark.cluster_views import FetchedViews
from tidelog.spark.failures import report_query_errors
from tidelog.spark.rows import DriverRows, Rows, insertion, no_rows, too_many_rows
from tidelog.storage.catalog import Catalog
from tidelog.storage.stored import StoredRelation
from tidelog.workspace.options import THE_QUERY, DatabaseOptions
from tidelog.workspace.workspace import Workspace


class AdHocEvaluator:
    """Evaluations for the database of a workspace; `another` makes a cluster engine."""

    def __init__(self, workspace: Workspace[Any], another: Callable[[], PartitionedEngine]) -> None:
        self._workspace = workspace
        self._another = another
        self._engines: list[Engine[Rows]] = []
        self._explained: FetchedViews | None = None
        self._alone: EngineState | None = None
        """An engine of the driver with births, for proofs that need them."""

    def answer(
        self,
        query: Query,
        parameters: Mapping[str, object],
        engine: Engine[Any],
        most: int,
        options: DatabaseOptions,
        known: Callable[[str], Rows | None],
    ) -> tuple[str, Rows, Sequence[Column]]:
        """Return the name, rows and columns of an answer of the cluster engine, see `_goal`; `known` has the rows of a
        relation. Of a pattern with a path, the rows are the pairs that this connects, at least those that match."""
        committed, dictionary = self._workspace.committed, self._workspace.dictionary
        if isinstance(query, BodyQuery):
            kept, evaluation = committed.core.relations, query.evaluation(committed.checked)
            facts = {GIVEN: encode_parameters(parameters, query.parameters, dictionary)} if query.parameters else {}
            with report_query_errors():
                rows = self._goal(
                    evaluation.remaining_program(kept), evaluation.reads(kept), facts, engine, most, options
                )
            return NAME, rows, query.columns
        if query.program is None:
            columns = self._workspace.relation(query.relation).columns
            rows = known(query.relation) or no_rows(len(columns))
        else:
            columns = query.program.relations[QUERY].columns
            with report_query_errors():
                asked = path_evaluation(query, dictionary, committed.checked, committed.core.relations)
                rows = self._goal(asked.core, asked.reads, asked.facts, engine, most, options)
        return query.relation, rows.select_matching(query, dictionary), columns

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
            with defer_interrupts(watch):
                with ForeignCode(watch.interrupts):
                    local = {name: found.local() for name, found in rows.items()}
                return DriverRows(evaluate_program(self._workspace.dictionary, core, local, watch).views[QUERY].words())
        other = self._another()
        other.is_brief = True
        self._engines.append(other)
        changes = {name: insertion(found) for name, found in rows.items()}
        other.epoch(core, changes, options.watch(work=THE_QUERY), options)
        return other.relation(QUERY)

    def check(self, engine: PartitionedEngine, most: int, watch: Watch) -> None:
        """Check the views of the last epoch of `engine`: on the driver if they have at most `most` rows, otherwise in
        the partitions. Raise as `tidelog.certificate.check`."""
        if self._size(engine) <= most:
            check(self.certificate(engine, most, watch), watch)
            return
        with self._prepare_certificate(engine, watch) as (program, ranked):
            check_partitions(program, engine, ranked, watch)

    @contextmanager
    def certificate_to_save(
        self, engine: PartitionedEngine, most: int, watch: Watch
    ) -> Iterator[Certificate | PartedCertificate]:
        """Give the certificate of the last epoch of `engine` to be written: with more than `most` rows, they come from
        the partitions, some at a time."""
        if self._size(engine) <= most:
            yield self.certificate(engine, most, watch)
            return
        with self._prepare_certificate(engine, watch) as (program, ranked):
            yield parted_certificate(program, engine, ranked, watch)

    @contextmanager
    def _prepare_certificate(
        self, engine: PartitionedEngine, watch: Watch
    ) -> Iterator[tuple[CertifiedProgram, PartitionedEngine]]:
        """Give the program of a certificate, and an engine with the rows of `engine` and births that can be compared,
        see `check_partitions`: itself, or else another one, which evaluates the program once more."""
        committed, ranked = self._workspace.committed, engine
        compiled = compile_program(committed.checked, look=partial(look, watch))
        try:
            if not engine.is_ordered:
                ranked = self._another()
                ranked.is_brief = True
                changes = {name: insertion(engine.facts(name)) for name in committed.checked.relations}
                ranked.epoch(committed.core, changes, watch, EpochOptions())
            program = drop_candidates(compiled, ranked.find_unsettled_relations())
            yield CertifiedProgram(program, self._workspace.dictionary, "the database"), ranked
        finally:
            if ranked is not engine:
                ranked.close()

    def _size(self, engine: Engine[Rows]) -> int:
        """Return the number of rows of all relations."""
        return sum(map(engine.size, self._workspace.committed.checked.relations))

    def certificate(self, engine: Engine[Rows], most: int, watch: Watch) -> Certificate:
        """Return the certificate of the last epoch of `engine`. Raises UsageError (E0688) where it has more than `most`
        rows, LimitError or KeyboardInterrupt."""
        alone = certificate_of(
            self._evaluate_on_driver(engine, most, watch, "a certificate"), self._workspace.committed.checked
        )

        def view(name: str) -> tuple[Words, Words]:
            with ForeignCode(watch.interrupts):
                rows = engine.relation(name).local()
            return rows, _births(rows, *alone.view(name))

        return replace(alone, view=view)

    def views_to_explain(self, engine: PartitionedEngine, most: int) -> EngineViews:
        """Return the views of the last epoch of `engine` for explanations, of which at most `most` rows come to the
        driver."""
        if self._explained is None or self._explained.most != most:

            def alone(watch: Watch) -> EngineState:
                if self._alone is None:
                    limits = Watch(watch.timeout, started=watch.started, interrupts=watch.interrupts, work=watch.work)
                    self._alone = self._evaluate_on_driver(
                        engine, most, limits, "the proof of a tuple with many derivations"
                    )
                return self._alone

            committed = self._workspace.committed
            self._explained = FetchedViews(engine, committed.core, self._workspace.dictionary, most, alone)
        return self._explained

    def _evaluate_on_driver(self, engine: Engine[Rows], most: int, watch: Watch, what: str) -> EmbeddedEngine:
        """Return an engine of the driver that has evaluated the program over the facts of `engine`. Raise UsageError
        (E0688) where `engine` has more than `most` rows."""
        draft = self._workspace.committed
        count = self._size(engine)
        if count > most:
            message = f"{what} needs {count:,} rows at the driver, the embedded_limit is {most:,}"
            raise too_many_rows(message)
        with ForeignCode(watch.interrupts):
            facts = {name: engine.facts(name).local() for name in draft.checked.relations}
        return evaluate_program(self._workspace.dictionary, draft.core, facts, watch)

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
