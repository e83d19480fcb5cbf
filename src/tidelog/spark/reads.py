"""The verbs by which a database over Spark is read, see `database.SparkDatabase`, and temporary views that follow
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from tidelog.certificate import Certificate, PartedCertificate, certificate_of, look
from tidelog.database.relation_verbs import RelationVerbs
from tidelog.errors import Problem, UsageError
from tidelog.explain.views import EngineViews
from tidelog.io.relation import Relation, WordRows
from tidelog.limits.interrupts import foreign_code
from tidelog.limits.watch import Watch
from tidelog.maintain.protocol import Engine
from tidelog.queries.answers import Answers
from tidelog.spark.ad_hoc import AdHocEvaluator
from tidelog.spark.change import SparkChange, SparkRelationChange
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.delivery import Deliveries
from tidelog.spark.engines import Embedded, EngineChoice
from tidelog.spark.failures import ignore_stopped_session, report_query_errors
from tidelog.spark.frames.translation import Translation
from tidelog.spark.jobs import job_description
from tidelog.spark.rows import DriverRows, Rows, no_rows
from tidelog.spark.sources.facts import PendingFacts
from tidelog.spark.sources.readers import sql_name
from tidelog.spark.streams import Streams
from tidelog.storage.dictionary import keep_texts


class SparkReads(RelationVerbs[SparkChange, SparkRelationChange, PendingFacts]):
    """A database over Spark, as far as it is read."""

    session: SparkSession
    engine: Engine[Rows]
    _translation: Translation
    _choice: EngineChoice
    _views: dict[str, DataFrame]
    _answers: Answers
    _ad_hoc: AdHocEvaluator
    _epochs: int
    _streams: Streams
    _deliveries: Deliveries

    @contextmanager
    def _hold_turn(self) -> Iterator[None]:
        with foreign_code(), super()._hold_turn(), job_description(self.session, f"after epoch {self._epochs}"):
            yield

    def __getitem__(self, name: str) -> DataFrame:
        """Return a relation as of the last committed epoch: a frame that raises E0687 after the next commit.

        Use or persist it before. With many rows, and on the cluster engine, its rows are read when you use it. Raise
        UsageError (E0601) if there is no relation of this name, SetupError (E0704) if workers cannot read.
        """
        self._note_read()
        with self._hold_turn():
            if not isinstance(name, str) or name not in self._views:
                self._views[name] = self._view(name)
            return self._views[name]

    def _view(self, name: str) -> DataFrame:
        columns, engine = self.workspace.readable(name).columns, self.engine
        if isinstance(engine, Embedded) and self._is_known(name):
            rows = partial(engine.rows_of, name, columns, engine.number)
            return self._translation.local_values(name, engine.size(name), rows, columns, ends=True)
        return self._frame(name, self._rows(name), ends=True)

    def _is_known(self, name: str) -> bool:
        """Return True if the last epoch had a relation; one of its program may be declared only."""
        return bool(self._epochs) and name in self.workspace.committed.checked.relations

    def _rows(self, name: str) -> Rows | None:
        return self.engine.relation(name) if self._is_known(name) else None

    def _frame(self, name: str, rows: Rows | None, *, ends: bool = False) -> DataFrame:
        """Return rows of a relation as values; None is no row. The frame of a view `ends` with its epoch, one of a
        change stays true."""
        columns = self.workspace.readable(name).columns
        return self._translation.values(name, no_rows(len(columns)) if rows is None else rows, columns, ends=ends)

    def local(self, name: str) -> Relation:
        """Return a relation as of the last committed epoch, with its rows brought to the driver. Raise UsageError
        (E0601) if there is no relation of this name."""
        with self._hold_turn(), report_query_errors():
            columns, rows = self.workspace.readable(name).columns, self._rows(name)
            words = no_rows(len(columns)).local() if rows is None else rows.local()
            keep_texts(self.workspace.dictionary, columns, words)
            return Relation(name, WordRows(columns, self.workspace.dictionary, words))

    def query(self, text: str, /, **parameters: Any) -> DataFrame:
        """Return the answer to a query, see `Database.query`. On the cluster engine, evaluate a query that is more than
        an atom of a relation on the driver if it reads at most `embedded_limit` rows, otherwise on the cluster."""
        self._note_read()
        with self._hold_turn():
            if isinstance(self.engine, Embedded):
                own = self._answers.answer(text, parameters, self.engine.state, self._options)
                words = own.words_in(self.workspace.dictionary)
                assert words is not None
                return self._translation.values(own.name, DriverRows(np.array(words)), own.columns, ends=True)
            query = self._answers.query(text, parameters)
            most, options = self._choice.embedded_limit, self._options
            found = self._ad_hoc.answer(query, parameters, self.engine, most, options, self._rows)
            return self._translation.values(*found, ends=True)

    def stats(self) -> dict[str, Any]:
        """Sizes and totals as of `Database.stats`, `engine`, and in `streams` the progress of each stream that
        `maintain` has started."""
        with self._hold_turn():
            known = self.workspace.committed.checked.relations
            sizes = {name: self.engine.size(name) if self._epochs else 0 for name in known}
            own = {"engine": self.engine.name, "relations": sizes, "epochs": self._epochs}
            found = self._streams.progress()
            streams = {name: {**each, "sinks": self._deliveries.progress(name)} for name, each in found.items()}
            return {**self.engine.stats(), **own, "streams": streams}

    def plan(self) -> str:
        """Return a text about the evaluation: on the embedded engine the hyper-nodes in their order, on the cluster
        engine the placement of relations, and the rounds, bytes and plan of the last epoch."""
        with self._hold_turn():
            return f"{self.engine.name} engine\n\n{self.engine.describe()}"

    def _engine_views(self) -> EngineViews:
        if isinstance(self.engine, Embedded):
            return EngineViews(self.engine.state)
        assert isinstance(self.engine, PartitionedEngine)
        return self._ad_hoc.views_to_explain(self.engine, self._choice.embedded_limit)

    def _check(self, watch: Watch) -> None:
        if isinstance(self.engine, PartitionedEngine):
            self._ad_hoc.check(self.engine, self._choice.embedded_limit, watch)
        else:
            super()._check(watch)

    def _certificate(self, watch: Watch) -> Certificate:
        if isinstance(self.engine, Embedded):
            return certificate_of(self.engine.state, self.workspace.committed.checked, partial(look, watch))
        return self._ad_hoc.certificate(self.engine, self._choice.embedded_limit, watch)

    @contextmanager
    def _certificate_to_save(self, watch: Watch) -> Iterator[Certificate | PartedCertificate]:
        if isinstance(self.engine, PartitionedEngine):
            with self._ad_hoc.certificate_to_save(self.engine, self._choice.embedded_limit, watch) as certificate:
                yield certificate
        else:
            yield self._certificate(watch)

    def quarantine(self) -> DataFrame:
        """Return the rows of streams that do not fit: relation, reason, row as JSON, source file."""
        with self._hold_turn():
            return self._streams.bad_rows()

    def size(self, name: str) -> int:
        """Return the number of rows of a relation as of the last epoch."""
        return self.engine.size(name)

    @contextmanager
    def _report_read_errors(self) -> Iterator[None]:
        with super()._report_read_errors(), report_query_errors():
            yield


class TemporaryViews:
    """The views that a database keeps in its session, named like their relations behind a prefix. `frame` returns a
    relation as it is now."""

    def __init__(self, session: SparkSession, frame: Callable[[str], DataFrame]) -> None:
        self._session = session
        self._frame = frame
        self._wanted: dict[str, tuple[str, ...]] = {}
        """Names of relations by prefix, none for all."""
        self._made: set[str] = set()

    def create(self, names: Sequence[str], prefix: str, relations: Sequence[str]) -> None:
        """Create views of some relations, or of all. Raise UsageError (E0603) if another table or view has a name."""
        made = {f"{prefix}{name}": name for name in names or relations}
        taken = [view for view in made if view not in self._made and self._session.catalog.tableExists(sql_name(view))]
        if taken:
            hint = f'choose other names: db.create_views(prefix="{prefix}tidelog_")'
            message = f"the session has a table or view {taken[0]!r} already"
            raise UsageError(Problem("E0603", message, place="create_views", hint=hint))
        self._create(made)
        self._wanted[prefix] = tuple(names)

    def follow(self, relations: Sequence[str]) -> None:
        """Have the views show the relations of a new epoch; those of relations that have gone go as well."""
        made = {
            f"{prefix}{name}": name
            for prefix, names in self._wanted.items()
            for name in relations
            if not names or name in names
        }
        self._drop(self._made - made.keys())
        self._create(made)

    def close(self) -> None:
        """Drop the views."""
        self._wanted.clear()
        self._drop(set(self._made))

    def _create(self, made: dict[str, str]) -> None:
        for view, name in made.items():
            self._frame(name).createOrReplaceTempView(sql_name(view))
            self._made.add(view)

    def _drop(self, views: set[str]) -> None:
        for view in views:
            with ignore_stopped_session():
                self._session.catalog.dropTempView(view)
            self._made.discard(view)
