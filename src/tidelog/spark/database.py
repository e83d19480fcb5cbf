"""`SparkDatabase`: what `tidelog.connect(spark=session)` gives, the verbs of a Database over the session's data frames.

Facts come as DataFrames, as names of tables or as anything that a Database takes; views and changes go out as
DataFrames. Programs and local data go to the workspace on the driver, like those of a Database. At `commit` everything
pending becomes one epoch of the engine: the embedded one or, above `embedded_limit` facts or on demand, that of the
cluster. `streams` and `pipelines` make their epochs by `SparkDatabase.apply`, `keeping` writes what is to survive the
process, and `ad_hoc` evaluates what an engine does not have at hand. `reads` has the verbs that change nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from tidelog.common.arrays import Words
from tidelog.errors import DataError, TidelogError
from tidelog.functions.callables import FunctorSource, files_of
from tidelog.io.encode import key_positions, with_columns
from tidelog.io.relation import find_relation_type
from tidelog.language import read
from tidelog.language.syntax import CheckedProgram, Column, RelationType
from tidelog.limits.interrupts import Deferring, ForeignCode, Interrupts, foreign_code
from tidelog.limits.watch import changing_within_memory
from tidelog.maintain.protocol import Engine, Outcome, Prospect, Report, RowChange, TakenBackError
from tidelog.queries.answers import Answers
from tidelog.queries.pattern import Pattern
from tidelog.spark.ad_hoc import AdHocEvaluator
from tidelog.spark.change import SparkChange, SparkReport, UnsealedEpoch, deliver_nothing, local_changes
from tidelog.spark.cluster.engine import ClusterEngine, PartitionedEngine
from tidelog.spark.delivery import Deliveries
from tidelog.spark.engines import DriverChanges, Embedded, EngineChoice, only_embedded
from tidelog.spark.failures import report_job_errors, report_source_errors
from tidelog.spark.frames.translation import Translation, rows_on_driver
from tidelog.spark.jobs import Phases, Records, job_description
from tidelog.spark.keeping import Notes, StateKeeper, changes_in, resume_engine, stored_rows, tables_of
from tidelog.spark.machine import check_session, check_workers
from tidelog.spark.pending import KeyedFacts, difference, keyed_facts, net_rows
from tidelog.spark.reads import SparkReads, TemporaryViews
from tidelog.spark.rows import DriverRows, Rows, insertion, no_rows
from tidelog.spark.sessions import ship
from tidelog.spark.sinks.sink import Sink
from tidelog.spark.sources.changes import Operation, by_key, target_of
from tidelog.spark.sources.facts import (
    ChangeKey,
    CheckedSource,
    PendingFacts,
    check_sources,
    local_facts,
    refuse_bad_rows,
)
from tidelog.spark.sources.mapping import map_exactly, relation_type
from tidelog.spark.sources.orders import Latest
from tidelog.spark.sources.readers import analyzed_frame, spark_path
from tidelog.spark.streams import Streams
from tidelog.storage.dictionary import gather_symbols
from tidelog.store.keeper import RULES, known_since, note_of
from tidelog.store.state import StateFolder
from tidelog.workspace.change import EqualRows
from tidelog.workspace.options import DatabaseOptions
from tidelog.workspace.workspace import Draft, Workspace

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


class SparkDatabase(SparkReads):
    """Facts, rules and views over a Spark session, which is the caller's: its configuration, its temporary views and
    its cached frames stay as they are, and `close` (or the end of a `with` block) removes all that is kept in it."""

    def __init__(
        self, session: SparkSession, state: str | os.PathLike[str] | None = None, functors: FunctorSource = ()
    ) -> None:
        check_session(session)
        super().__init__(Workspace(local_facts))
        self.session = session
        self._epochs = 0
        self.records = Records()
        """The records of events for the log and for metrics: for modules of this package."""
        self.import_functions(functors)
        self.engine: Engine[Rows] = Embedded(self.workspace)
        self._translation = Translation(session, self.workspace.dictionary)
        self._choice = EngineChoice()
        self._options = DatabaseOptions()
        self._sources: list[CheckedSource] = []
        """The sources whose rows are kept in Spark until the next commit."""
        self._views: dict[str, DataFrame] = {}
        self._answers = Answers(self.workspace)
        self._ad_hoc = AdHocEvaluator(self.workspace, self._cluster_engine)
        self._streams = Streams(self)
        self._deliveries = Deliveries(self)
        self.follow("the sinks of streams", lambda change: self._deliveries.deliver())
        self._temporary_views = TemporaryViews(session, self.__getitem__)
        self.follow("temporary views", lambda change: self._temporary_views.follow(self.relations))
        self.workspace.dictionary.hold(self)
        self.keeper = StateKeeper(None if state is None else StateFolder(state, "spark"))
        """The state folder, if there is one, and the notes in it: for modules of this package."""
        try:
            with foreign_code():
                self._restore()
        except BaseException:
            self.close()
            raise

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Return the words of pending facts, which the dictionary keeps."""
        for each in self.workspace.facts:
            if each.facts.driver_words is not None:
                yield each.columns(self.workspace.relation(each.relation)), each.facts.driver_words

    # --- changes -------------------------------------------------------------------------------------------------

    def import_functions(self, source: FunctorSource) -> None:
        """Give functions, see `Database.import_functions`. Ship their files, so that executors can import them."""
        super().import_functions(source)
        for path in files_of(source):
            ship(self.session, path)

    def insert(self, relation: str, data: Any, *, key: str | Sequence[str] | None = None) -> EqualRows | None:
        """Assert facts, to take effect with the next `commit`. Return how many rows are equal to others, as
        `Database.insert`.

        `data` is a DataFrame, the name of a table or view of the session, or what `Database.insert` takes. Columns go
        by name as everywhere, and types are exact: integers for numbers, strings for symbols; see
        docs/how-to/spark.md. Frames are read now, and once. With a `key` of some columns, each
        row replaces the facts of its key. Raises UsageError or DataError, and then adds nothing.
        """
        return super().insert(relation, data, key=key)

    def _change(self, relation: str, data: Any, *, asserts: bool) -> EqualRows | None:
        if not isinstance(data, (str, DataFrame)):
            return super()._change(relation, data, asserts=asserts)
        with self._hold_change_turn():
            checked = self._check_frame(relation_type(self.program, relation), data)
            duplicates = checked.equal_rows() if asserts else 0
            self.workspace.facts.extend(replace(each, asserts=asserts) for each in checked.pending_facts())
            return self.workspace.note_equal(relation, checked.read, duplicates)

    def _check_frame(
        self, declared: RelationType, data: str | DataFrame, operation: Operation | None = None
    ) -> CheckedSource:
        """Return the rows of a frame or a table for a relation, kept until the next commit."""
        if isinstance(data, str):
            with report_source_errors(f"table {data}"):
                data = analyzed_frame(self.session.table(data))
        [checked] = check_sources([map_exactly(self.program, declared, data, operation)])
        try:
            refuse_bad_rows(checked)
        except BaseException:
            checked.release()
            raise
        self._sources.append(checked)
        return checked

    def _change_by_key(self, relation: str, data: Any, key: str | Sequence[str], *, asserts: bool) -> EqualRows | None:
        if not isinstance(data, (str, DataFrame)):
            return super()._change_by_key(relation, data, key, asserts=asserts)
        with self._hold_change_turn(), changing_within_memory:
            own, operation = self.workspace.with_tuples(relation), by_key(key)
            columns = key_positions(own, operation.key)
            given = own if asserts else with_columns(own, columns)
            checked = self._check_frame(given, data, operation if asserts else None)
            duplicates = checked.equal_rows() if asserts else 0
            [found] = checked.pending_facts()
            self.workspace.facts.append(replace(found, asserts=asserts, key=ChangeKey(columns)))
            return self.workspace.note_equal(relation, checked.read, duplicates)

    def _change_keys(self, relation: RelationType, columns: tuple[int, ...], words: Words, *, asserts: bool) -> None:
        pending = PendingFacts(relation.name, asserts, DriverRows(words), len(words), ChangeKey(columns))
        self.workspace.facts.append(pending)

    def _retract(self, pattern: Pattern) -> None:
        name, dictionary = pattern.relation, self.workspace.dictionary
        columns = self.workspace.relation(name).columns
        waiting = [each for each in self.workspace.facts if each.asserts and each.relation == name]
        with report_job_errors():
            most, facts = self._choice.embedded_limit, [each.facts for each in waiting]
            local = [
                each if isinstance(each, Rows) else rows_on_driver(each, columns, dictionary, most) for each in facts
            ]
            if self._is_known(name):
                local.append(self.engine.facts(name))
            rows = [each.select_matching(pattern, dictionary) for each in local]
        self.workspace.facts.extend(PendingFacts(name, False, each, 0) for each in rows if not each.is_surely_empty)

    def add_pending(self, pending: Sequence[PendingFacts]) -> None:
        """Have these changes wait for `commit` as well."""
        with self._hold_change_turn():
            self.workspace.facts.extend(pending)

    def commit_delivering(self, notes: Notes, deliver: Callable[[UnsealedEpoch], object]) -> SparkChange:
        """Commit, for modules of this package, with `notes` for the state folder and work to do before the epoch lasts.

        If that fails, or the state folder cannot take the epoch then, nothing has changed here; the caller handles the
        output of `deliver`.
        """
        with Deferring() as interrupts:
            return self._commit(interrupts, partial(self._epoch, notes=notes, deliver=deliver))

    def _epoch(
        self,
        interrupts: Interrupts,
        notes: Notes | None = None,
        deliver: Callable[[UnsealedEpoch], object] = deliver_nothing,
    ) -> SparkChange:
        with changing_within_memory:
            self.workspace.epoch_number = self._epoch_number
            draft, facts = self.workspace.draft(), self.workspace.due(self._retraction)
            with job_description(self.session, f"epoch {self._epochs + 1}"):
                change = self._commit_epoch(draft, facts, notes or {}, deliver, interrupts)
            self._release()
            return change

    def apply(self, pending: Sequence[PendingFacts], notes: Notes) -> SparkChange:
        """Make these facts an epoch of their own, whatever else is pending. Raise as `commit`; exceptions of
        subscribers come with the epoch committed."""
        with Deferring() as interrupts, interrupts.hold(self.turns.changing):
            with interrupts.hold(self.turns.using), changing_within_memory:
                self._check_usable()
                with job_description(self.session, f"epoch {self._epochs + 1}"):
                    change = self._commit_epoch(self.workspace.committed, pending, notes, deliver_nothing, interrupts)
            self._subscribers.publish(change, interrupts, again=True)
        if change.errors:
            raise change.errors[0]
        return change

    def _retraction(self, relation: str) -> PendingFacts:
        return PendingFacts(relation, False, self.engine.facts(relation), self.engine.size(relation))

    def _drop(self) -> None:
        super()._drop()
        self._release()

    def _release(self) -> None:
        while self._sources:
            self._sources.pop().release()

    def maintain(
        self,
        stream: DataFrame,
        into: str | Mapping[str, Any],
        *,
        name: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        trigger: Mapping[str, Any] | None = None,
        quarantine: str | os.PathLike[str] | None = None,
        sinks: Sequence[Sink] = (),
    ) -> StreamingQuery:
        """Start a query that makes each micro-batch of a stream one epoch, exactly once. Commit pending changes first.

        `into` is a relation, or a mapping with the sources of its columns and the column for the operation of a row
        (`changes.target_of`). `name` is the stream's name in stats(), by default the relation's. `checkpoint` is
        Spark's folder for its progress: by default in the state folder, if there is one. `trigger` are the arguments of
        Spark's `trigger`. Rows that do not fit go to the folder `quarantine`, to the one of the state folder, or, some
        of them, to memory: see `quarantine()`, and docs/how-to/spark-streams.md for all of this.

        `sinks` get the views or changes of every epoch, also of other streams and commits, once each. First they get
        the epochs that they lack. Then subscribers that raised at an epoch of a stream are called again with it.

        Raise UsageError (E0691: executors do not share the state folder), DataError, what a sink raises (E0483) and
        what subscribers raise. Later errors end the query.
        """
        with self._hold_change_turn():
            target = target_of(into)
            name = name or target.relation
            given = (("checkpoint", checkpoint), ("quarantine", quarantine))
            kept = [(what, place) for what, place in given if place is not None]
            targets = self._deliveries.check_sinks(name, sinks, kept)
            checkpoint = checkpoint or self.keeper.checkpoint(name)
            if quarantine is None:
                self.keeper.shared_cluster_folder(self.session)  # Executors write bad rows there.
                quarantine = self.keeper.quarantine
            places = [None if place is None else spark_path(self.session, place) for place in (checkpoint, quarantine)]
            self.keep_latest(self._streams.check(stream, target, name, places[0]).latest)
            self._deliveries.register(name, targets)
            if self.has_pending:
                self.commit()
            self._deliveries.deliver()
            self._subscribers.repeat()
        return self._streams.start(stream, target, name, places[0], trigger or {}, places[1])

    def keep_latest(self, latest: Latest | None) -> None:
        """Have the program declare the relation of the latest events of another one, if a feed needs it and it does not
        yet: for modules of this package."""
        if latest is not None and latest.name not in self.program.relations:
            self.load(read(latest.declaration, name="<latest events>"))

    @property
    def epoch(self) -> int:
        """Return the number of the last epoch: for modules of this package."""
        return self._epochs

    # --- epochs --------------------------------------------------------------------------------------------------

    def _commit_epoch(
        self,
        draft: Draft,
        pending: Sequence[PendingFacts],
        notes: Notes,
        deliver: Callable[[UnsealedEpoch], object],
        interrupts: Interrupts,
    ) -> SparkChange:
        """Go to a draft, the committed one or that to which all pending changes lead, with some facts."""
        started, keeper, phases = time.perf_counter(), self.keeper, Phases()
        keeper.check(draft.core)
        engine, switched = self._engine_for(sum(change.count for change in pending if change.asserts))
        self._translation.place_symbols(engine)
        same = draft.programs is self.workspace.committed.programs
        keeping = keeper.epoch(
            None if same else draft.programs, draft.relations_lost_since(self.workspace.committed), notes
        )

        def seal(prospect: Prospect[Rows]) -> None:
            with ForeignCode(interrupts):
                with phases("deliver"):
                    deliver(UnsealedEpoch(self._epochs + 1, prospect, self._frame))
                if not keeper.restoring:
                    tables = partial(tables_of, draft.checked.relations, translation=self._translation)
                    keeping.add(self._deliveries.keep(self.epoch + 1, prospect.deltas, tables))
                    keeping.add(keeper.partitions_note(engine))
                    keeping.add({} if same else {RULES: note_of(draft.since)})
            with phases("store"):
                keeping.seal()

        keyed = self._keyed_facts(engine, draft)
        try:
            with report_job_errors():
                with ForeignCode(interrupts):
                    with phases("facts"):
                        facts = net_rows(
                            engine, draft.checked.relations, keyed.without_keys(pending), self._translation
                        )
                        if engine is not self.engine:
                            self._bring_to_present(engine)
                    engine.epoch_number = self._epoch_number
                    with phases("store"):
                        keeping.prepare(lambda: tables_of(draft.checked.relations, facts, self._translation))
                interrupts.look()
                sizes = {} if keeper.restoring else draft.checked.size_limits
                watch = self._options.watch(sizes, interrupts)
                with phases("evaluate"), watch.report_end():
                    outcome = engine.epoch(draft.core, facts, watch, self._options, seal)
                if not keeping.sealed:  # There was nothing to do.
                    seal(Prospect(outcome.deltas, engine.relation, engine.size))
        except BaseException:
            keeping.discard()
            self._deliveries.forget(self.epoch + 1)
            if engine is not self.engine:
                self._translation.place_symbols(self.engine)
                gather_symbols(self.workspace.dictionary)
                engine.close()
            raise
        finally:
            keyed.close()
        if engine is not self.engine:
            keeper.retain(self.engine)
            self.engine.close()
            self.engine = engine
        keeper.retain(engine)
        duplicates = self.workspace.duplicates if draft is not self.workspace.committed else {}
        if draft is not self.workspace.committed:
            self.workspace.settle(draft)
        self._epochs += 1
        self._views.clear()
        self._ad_hoc.close()
        if isinstance(engine, Embedded):
            self._answers.release(engine.state)
        self._translation.end_frames()
        report, seconds = outcome.report, time.perf_counter() - started
        known = seconds, report.visited, report.growing, report.every, report.moved
        own = SparkReport(*known, duplicates, engine=engine.name, switched=switched or report.moved)
        change = SparkChange(self._epochs, outcome.deltas, own, self._frame)
        keeper.note(keeping.notes)
        keeper.gather(
            lambda: {
                (name, True): stored_rows(each, engine.facts(name), self._translation)
                for name, each in draft.checked.relations.items()
            }
        )
        number = self._epochs if keeper.state is None or not keeper.restoring else keeper.state.manifest.epoch
        self.records.epoch(number, engine.name, report.impact, phases.seconds, opened=keeper.restoring)
        return change

    @property
    def _epoch_number(self) -> int:
        """Return the number of the next epoch for `blame`. Facts and rules of a state folder came in its last epoch or
        before."""
        state = self.keeper.state
        return -state.manifest.epoch if self.keeper.restoring and state is not None else self._epochs + 1

    def _dry_run(self, interrupts: Interrupts) -> tuple[CheckedProgram, Outcome[Words]]:
        started, deltas = time.perf_counter(), dict[str, RowChange[Words]]()

        def seal(prospect: Prospect[Rows]) -> None:
            with ForeignCode(interrupts):
                deltas.update(local_changes(prospect.deltas, self._choice.embedded_limit))
            raise TakenBackError

        with changing_within_memory, report_job_errors("evaluate the trial", "try again; nothing has changed"):
            with ForeignCode(interrupts):
                draft = self.workspace.draft()
            with closing(self._keyed_facts(self.engine, draft)) as keyed:
                with ForeignCode(interrupts):
                    pending = keyed.without_keys(self.workspace.due(self._retraction))
                    facts = net_rows(self.engine, draft.checked.relations, pending, self._translation)
                watch = self._options.watch(draft.checked.size_limits, interrupts)
                with suppress(TakenBackError), watch.report_end():
                    self.engine.epoch(draft.core, facts, watch, self._options, seal)
        return draft.checked, Outcome(deltas, Report(time.perf_counter() - started, ()))

    def _to_change(self, program: CheckedProgram, outcome: Outcome[Words]) -> SparkChange:
        columns = {name: each.columns for name, each in program.relations.items()}
        changes = DriverChanges({name: columns[name] for name in outcome.deltas if name in columns}, outcome.deltas)
        self.workspace.dictionary.hold(changes)

        def frame(name: str, rows: Rows | None) -> DataFrame:
            own = find_relation_type(program.relations, name).columns
            return self._translation.values(name, no_rows(len(own)) if rows is None else rows, own)

        report = SparkReport(outcome.report.seconds, (), engine=self.engine.name, duplicates=self.workspace.duplicates)
        return SparkChange(self._epochs + 1, changes, report, frame)

    def _restore(self) -> None:
        """Restore the content of the state folder."""
        keeper, state = self.keeper, self.keeper.state
        if state is None or not state.manifest.epoch:
            return
        keeper.restoring = True
        self.workspace.known_since = known_since(state.manifest.notes.get(RULES), state.manifest.epoch)
        self.rules.add(state.manifest.text)
        with job_description(self.session, f"state of epoch {state.manifest.epoch}"):
            changes = list(changes_in(state, self.session, self.program))  # Damage is found, whoever needs them.
            if not self._resume():
                for relation, asserts, data in changes:
                    self._change(relation, data, asserts=asserts)
                self.commit()
                with suppress(TidelogError):  # The next epoch names them, too.
                    keeper.write(keeper.partitions_note(self.engine))
                keeper.retain(self.engine)
        keeper.restoring, self._epochs, self.workspace.known_since = False, state.manifest.epoch, None

    def _resume(self) -> bool:
        """Go on from the partitions that the state folder names, and return True, unless it names none or they are
        damaged."""
        named, phases = self.keeper.partitions, Phases()
        if named is None:
            return False
        self.workspace.epoch_number = self._epoch_number
        try:
            with phases("restore"):
                engine = resume_engine(partial(self._cluster_engine, *named), self.workspace)
        except DataError as error:
            self.records.rebuilt(error.problems[0].message)
            gather_symbols(self.workspace.dictionary, blocks=False)  # Their files go with those of the partitions.
            return False
        self.engine.close()
        self.engine = engine
        self._translation.place_symbols(engine)
        epoch = -self._epoch_number
        self.records.epoch(epoch, engine.name, 0, phases.seconds, opened=True)
        return True

    def _keyed_facts(self, engine: Engine[Rows], draft: Draft) -> KeyedFacts:
        """Return the facts of the last epoch, in which changes by key find theirs."""
        return keyed_facts(engine, self.engine, draft.checked.relations, self._is_known, self._translation)

    # --- engines -------------------------------------------------------------------------------------------------

    def options(self, **options: Any) -> Any:
        """Set options, or without arguments return them in a dict.

        `engine` is "auto" (embedded until there are more than `embedded_limit` facts, then the cluster's),
        "embedded" or "cluster". `cluster_folder` is where the cluster engine has its files: a folder that the driver
        and all executors reach, as a path or an address such as `hdfs:///tmp/tidelog`; if nothing is said, the state
        folder, or a temporary one of this machine. A database that is on the cluster already stays where it is.
        `partitions` is the number of its partitions; with None it follows the executors. All others are those of
        `Database.options`. They hold from the next commit on.

        Raises UsageError (E0603) for another name or value, and then sets nothing.
        """
        if not options:
            return {**asdict(self._choice), **self._options.to_dict()}
        choice, others = self._choice.apply_options(options)
        changed = self._options.with_options(others)
        with self.turns.using:
            self._choice, self._options = choice, changed
            if isinstance(self.engine, PartitionedEngine):
                self.engine.counting.fixed = choice.partitions
        return None

    def _engine_for(self, incoming: int) -> tuple[Engine[Rows], str | None]:
        """Return the engine of the next epoch, and why it is another one than now."""
        wanted, reason = self._wanted_engine(incoming)
        if wanted == self.engine.name:
            return self.engine, None
        return Embedded(self.workspace) if wanted == "embedded" else self._cluster_engine(), reason

    def _wanted_engine(self, incoming: int) -> tuple[str, str]:
        if self._choice.engine == "auto":
            reason = only_embedded(self.workspace.draft().core)
            if reason is not None:
                return "embedded", reason
        count = self.engine.count() if isinstance(self.engine, Embedded) else 0
        return self._choice.next(self.engine.name, count + incoming)

    def is_embedded_with(self, incoming: int) -> bool:
        """Return True if the next epoch runs on the driver with so many asserted facts."""
        return self._wanted_engine(incoming)[0] == "embedded"

    def _cluster_engine(self, state: str | None = None, token: str | None = None) -> PartitionedEngine:
        """Return a cluster engine, with a folder of its own, in the state folder if there is one, or with what is in
        the folder `state`, as of the epoch `token`. UsageError (E0691) where executors do not see that, SetupError
        (E0704) without workers, DataError (E0682) if it is damaged."""
        check_workers(self.session)
        shared = None if self._choice.cluster_folder else self.keeper.shared_cluster_folder(self.session)
        return ClusterEngine(
            self.session,
            self.workspace.dictionary,
            state=state,
            within=self._choice.cluster_folder or shared,
            partitions=self._choice.partitions,
            lasting=shared is not None,
            token=token,
        )

    def _bring_to_present(self, engine: Engine[Rows]) -> None:
        """Bring another engine to where the present one is."""
        committed = self.workspace.committed
        if isinstance(engine, Embedded):
            gather_symbols(self.workspace.dictionary)
        engine.epoch_number = -self._epochs
        facts = {name: insertion(self.engine.facts(name)) for name in committed.checked.relations}
        with self.workspace.dictionary.hold_words():  # What changes then has words that nothing holds yet.
            engine.epoch(committed.core, facts, self._options.watch(), self._options)

    def difference(self, name: str, wanted: Sequence[PendingFacts]) -> list[PendingFacts]:
        """Return the changes after which a relation has these asserted facts and no others."""
        known = self.workspace.committed.checked.relations
        if not self._epochs or name not in known:
            return list(wanted)
        return difference(self.engine, known[name], wanted, self._translation)

    # --- the rest ------------------------------------------------------------------------------------------------

    def create_views(self, *relations: str, prefix: str = "") -> None:
        """Create a temporary view of the session for each of these relations, or for all, named like it behind the
        `prefix`. Until `close`, each commit makes them anew, so that `session.sql` reads the last epoch. Raise
        UsageError: no such relation (E0601), or a table or view has the name of one already (E0603)."""
        with self._hold_turn():
            for name in relations:
                self.workspace.relation(name)
            self._temporary_views.create(relations, prefix, self.relations)

    def close(self) -> None:
        """Stop the streams, and remove everything that is kept in the session, in memory and in temporary folders.
        Frames of relations and changes must not be used any more."""
        self.turns.check_outside("close()")
        self._streams.stop()  # without the locks, for which their threads may wait
        super().close()

    def _end(self) -> None:
        self._drop()
        self._temporary_views.close()
        self._ad_hoc.close()
        self.keeper.save(self.session, self.engine)
        self.engine.close()
        self._translation.close()
        self.keeper.close()

    def _check_usable(self) -> None:
        super()._check_usable()
        check_session(self.session)

    def __repr__(self) -> str:
        return f"<SparkDatabase: {len(self.relations)} relations, {self._epochs} epochs, {self.engine.name} engine>"
