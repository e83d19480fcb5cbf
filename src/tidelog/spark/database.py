"""`SparkDatabase`: what `tidelog.connect(spark=session)` gives, the verbs of a Database over the session's data frames.

Facts come as DataFrames, as names of tables or as anything that a Database takes; views and changes go out as
DataFrames. The front (`embedded.Front`) reads programs and local data. At `commit` everything pending becomes one epoch
of the engine: the embedded one or, above `embedded_limit` facts or on demand, that of the cluster. `streams` and
`pipelines` make their epochs by `SparkDatabase.apply`, `keeping` writes what is to survive the process, and `aside`
evaluates what an engine does not have at hand.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from tidelog.arrays import Words
from tidelog.copies import Uncopied
from tidelog.errors import TidelogError
from tidelog.io import at_hand
from tidelog.language.syntax import Program
from tidelog.limits.interrupts import Deferring, Interrupts
from tidelog.limits.watch import Watch, changing_within_memory, guarded
from tidelog.pattern import QUERY, matching
from tidelog.pending import net_changes
from tidelog.ruleset import RuleSet
from tidelog.spark.aside import Aside
from tidelog.spark.change import Delivered, SparkChange, SparkRelationChange, SparkReport, nowhere
from tidelog.spark.choice import EngineChoice
from tidelog.spark.embedded import Embedded, Front
from tidelog.spark.engines import Draft, Engine, Prospect, RowChange
from tidelog.spark.failures import reading, working
from tidelog.spark.frames.collect import collect_words
from tidelog.spark.frames.parts import shared_folder
from tidelog.spark.frames.translation import Translation
from tidelog.spark.keeping import Keeping, changes_in, stored, tables_of
from tidelog.spark.machine import check_session, check_workers
from tidelog.spark.rows import DriverRows, Rows, SparkRows, no_rows
from tidelog.spark.sources.facts import FactFrame, PendingFacts
from tidelog.spark.sources.mapping import CheckedSource, check_sources, map_exactly, refuse_bad_rows
from tidelog.spark.sources.readers import located
from tidelog.spark.sources.streams import Streams
from tidelog.spark.sources.target import target_of
from tidelog.store.state import StateFolder, merged
from tidelog.subscribers import Subscribers
from tidelog.transaction import Transaction, checked
from tidelog.turns import Turns

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

CLUSTER = "cluster"
"""The folder in the state folder that the cluster engine works in."""


class SparkDatabase(Uncopied):
    """Facts, rules and views over a Spark session, which is the caller's: its configuration, its temporary views and
    its cached frames stay as they are, and `close` (or the end of a `with` block) removes all that is kept in it."""

    def __init__(self, session: SparkSession, state: str | os.PathLike[str] | None = None) -> None:
        check_session(session)
        self.session = session
        self.turns = Turns()
        """Which thread may do what now: for modules of this package."""
        self._front = Front()
        self._engine: Engine = Embedded(self._front)
        self._translation = Translation(session, self._front.interned)
        self._choice = EngineChoice()
        self._limits: dict[str, Any] = {}
        self._pending: list[PendingFacts] = []
        self._kept: list[CheckedSource] = []
        self._views: dict[str, DataFrame] = {}
        self._aside = Aside(self._front, self._cluster_engine)
        self._subscribers: Subscribers[SparkRelationChange] = Subscribers()
        self._epochs = 0
        self._released = False
        self._restoring = False
        self._notes: Mapping[str, Any] = {}
        self._state = None if state is None else StateFolder(state, "spark")
        self._streams = Streams(self)
        if self._state is not None:
            try:
                rmtree(self._state.folder / CLUSTER, ignore_errors=True)  # of a process that was killed
                self._restore(self._state)
            except BaseException:
                self.close()
                raise

    # --- changes -------------------------------------------------------------------------------------------------

    def load(self, program: str | os.PathLike[str] | Program) -> None:
        """Add a program, see `Database.load`."""
        with self._changing():
            self._front.load(program)
            self._take_local()

    def insert(self, relation: str, data: Any) -> None:
        """Assert facts, to take effect with the next `commit`.

        `data` is a DataFrame, the name of a table or view of the session, or what `Database.insert` takes. Columns go
        by name, in any case, or by position where all names are others, and types are exact: integers for numbers,
        strings for symbols; see docs/how-to/spark.md. Frames are read now, and once. Raises UsageError or DataError,
        and then adds nothing.
        """
        self._change(relation, data, asserts=True)

    def delete(self, relation: str, data: Any) -> None:
        """Retract facts like `insert`, to take effect with the next `commit`; an absent fact changes nothing."""
        self._change(relation, data, asserts=False)

    def _change(self, relation: str, data: Any, asserts: bool) -> None:
        if not isinstance(data, (str, DataFrame)):
            data = at_hand(data, relation)
        with self._changing():
            if isinstance(data, str):
                with reading(f"table {data}"):
                    data = self.session.table(data)
            if not isinstance(data, DataFrame):
                (self._front.insert if asserts else self._front.delete)(relation, data)
                self._take_local()
                return
            self._take_local()
            source = map_exactly(self._front.program, relation, data)
            [checked] = check_sources([source])
            try:
                refuse_bad_rows(checked)
            except BaseException:
                checked.release()
                raise
            self._kept.append(checked)
            self._pending.append(PendingFacts(relation, asserts, checked.inserted, checked.read))

    def _take_local(self) -> None:
        """Put what the front has collected behind what is pending already."""
        with Deferring():  # In between it would be in neither.
            taken = self._front.take_facts()
            self._pending += [PendingFacts(name, asserts, DriverRows(rows), len(rows)) for name, asserts, rows in taken]

    @property
    def rules(self) -> RuleSet:
        """The rules by name, with `add` and `remove`, see `Database.rules`."""
        return RuleSet(self._front)

    def commit(self) -> SparkChange:
        """Make all pending changes one epoch and return what it did.

        Raises LimitError, DataError, SetupError, KeyboardInterrupt, or UsageError (E0625) inside of a transaction. Then
        no fact, rule or view has changed, and the pending changes still wait, see `Database.commit`.
        """
        return self.commit_and({}, nowhere)

    def commit_and(self, notes: Mapping[str, Mapping[str, Any]], deliver: Callable[[Delivered], object]) -> SparkChange:
        """`commit` for modules of this package: `notes` for the state folder, and what is to be done with the epoch
        before it lasts. When that fails, or the state folder cannot have the epoch then, nothing has changed here; what
        `deliver` has done elsewhere is up to its caller."""
        with Deferring() as interrupts:
            return self._commit(interrupts, notes, deliver)

    def _commit(
        self,
        interrupts: Interrupts,
        notes: Mapping[str, Mapping[str, Any]],
        deliver: Callable[[Delivered], object],
    ) -> SparkChange:
        with interrupts.holding(self.turns.changing):
            self.turns.check_outside("commit()")
            with interrupts.holding(self.turns.using), changing_within_memory:
                self._check_usable()
                self._take_local()
                change = self._epoch(self._front.draft, self._pending, notes, deliver, interrupts)
                self._forget_pending()
            self._subscribers.tell(change, interrupts)
            return change

    def rollback(self) -> None:
        """Drop all pending changes, loaded programs included. UsageError (E0625) inside of a transaction."""
        with Deferring() as ctrl_c, ctrl_c.holding(self.turns.changing), ctrl_c.holding(self.turns.using):
            self.turns.check_outside("rollback()")
            self._front.rollback()
            self._forget_pending()

    def _forget_pending(self) -> None:
        self._pending = []
        self._front.keep_no_more()
        while self._kept:
            self._kept.pop().release()

    def transaction(self) -> Transaction[SparkChange]:
        """A block whose changes are committed together at its end, see `Database.transaction`."""
        with self._changing():
            checked(self)
            return Transaction(self)

    def apply(self, pending: Sequence[PendingFacts], notes: Mapping[str, Mapping[str, Any]]) -> SparkChange:
        """Make these facts an epoch of their own, whatever else is pending. Raises as `commit`, and what a subscriber
        raises, with the epoch committed."""
        with Deferring() as interrupts, interrupts.holding(self.turns.changing):
            with interrupts.holding(self.turns.using), changing_within_memory:
                self._check_usable()
                self._take_local()
                change = self._epoch(self._front.unchanged, pending, notes, nowhere, interrupts)
            self._subscribers.tell(change, interrupts)
        if change.errors:
            raise change.errors[0]
        return change

    def pend(self, pending: Sequence[PendingFacts]) -> None:
        """Have these changes wait for `commit` as well."""
        with self._changing():
            self._take_local()
            self._front.keep((each.relation, each.facts.held) for each in pending if each.facts.held is not None)
            self._pending += pending

    @property
    def has_pending(self) -> bool:
        """Whether facts or rules wait for `commit`."""
        with self.turns.changing, self.turns.using:
            self._take_local()
            return bool(self._pending) or self._front.draft.programs is not self._front.unchanged.programs

    @property
    def state_quarantine(self) -> str | None:
        """The folder for bad rows of streams in the state folder, if there is one."""
        return None if self._state is None else str(self._state.folder / "quarantine")

    @property
    def id(self) -> str:
        """What no other database has, and this one keeps in its state folder."""
        if "database" not in self._notes:
            new = {"database": {"id": secrets.token_hex(8)}}
            if self._state is not None:
                self._state.note(new)
            self._notes = merged(self._notes, new)
        found: str = self._notes["database"]["id"]
        return found

    @property
    def notes(self) -> Mapping[str, Any]:
        """What streams and pipelines have noted, in the state folder if there is one."""
        return self._notes

    def maintain(
        self,
        stream: DataFrame,
        into: str | Mapping[str, Any],
        *,
        name: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        trigger: Mapping[str, Any] | None = None,
        quarantine: str | os.PathLike[str] | None = None,
    ) -> StreamingQuery:
        """Start a query that makes each micro-batch of a stream one epoch, exactly once. What is pending is committed
        before.

        `into` is a relation, or a mapping that says where its columns come from and which column says what a row does
        (`target.target_of`). `name` is what stats() calls the stream, the relation's if nothing else is said.
        `checkpoint` is where Spark keeps how far it has read: in the state folder, if there is one. `trigger` are the
        arguments of Spark's `trigger`. Rows that do not fit go to the folder `quarantine`, to the one of the state
        folder, or, some of them, to memory: see `quarantine()`, and docs/how-to/spark-streams.md for all of this.

        Raises UsageError (E0691: executors do not share the state folder) and DataError. What goes wrong later ends it.
        """
        with self._changing():
            target = target_of(into)
            name = name or target.relation
            if self._state is not None:
                checkpoint = checkpoint or self._state.folder / "streams" / name
                if quarantine is None:  # Executors write bad rows there.
                    shared_folder(self.session, self._state.folder / CLUSTER)
                quarantine = quarantine or self.state_quarantine
            if self.has_pending:
                self.commit()
        places = [None if place is None else located(self.session, place) for place in (checkpoint, quarantine)]
        return self._streams.start(stream, target, name, places[0], trigger or {}, places[1])

    def quarantine(self) -> DataFrame:
        """The rows of streams that do not fit: relation, reason, row as JSON, source file."""
        with self._using():
            return self._streams.bad_rows()

    def _epoch(
        self,
        draft: Draft,
        pending: Sequence[PendingFacts],
        notes: Mapping[str, Mapping[str, Any]],
        deliver: Callable[[Delivered], object],
        interrupts: Interrupts,
    ) -> SparkChange:
        started = time.perf_counter()
        state = None if self._restoring else self._state
        engine, switched = self._engine_for(sum(change.count for change in pending if change.asserts))
        same = draft.programs is self._front.unchanged.programs
        keeping = Keeping(state, None if same else draft.programs, notes)

        def seal(prospect: Prospect) -> None:
            with interrupts.let_through():
                deliver(Delivered(self._epochs + 1, prospect, self._frame))
            keeping.seal()

        try:
            with working():
                with interrupts.let_through():
                    facts = self._net(engine, draft, pending)
                    if engine is not self._engine:
                        self._hand_over(engine)
                    keeping.prepare(lambda: tables_of(draft.checked.relations, facts, self._translation))
                interrupts.look()
                epoch = engine.epoch(draft, facts, self._limits, seal)
                if not keeping.sealed:  # There was nothing to do.
                    seal(Prospect(epoch.changes, engine.relation, engine.size))
        except BaseException:
            keeping.discard()
            if engine is not self._engine:
                engine.close()
            raise
        if engine is not self._engine:
            self._engine.close()
            self._engine = engine
        if engine.name != "embedded":
            self._front.settle(draft)
        self._epochs += 1
        self._views.clear()
        self._aside.close()
        self._translation.end_frames()
        report, seconds = epoch.report, time.perf_counter() - started
        told = SparkReport(seconds, report.visited, report.growing, report.every, engine.name, switched)
        change = SparkChange(self._epochs, epoch.changes, told, self._frame)
        self._notes = merged(self._notes, notes)
        if state is not None and state.is_scattered:
            with suppress(TidelogError, MemoryError):  # The epoch is safe without.
                self._gather(state, draft)
        return change

    def _gather(self, state: StateFolder, draft: Draft) -> None:
        """Have one segment in the state folder in place of many."""
        everything = {name: (each, self._engine.asserted(name)) for name, each in draft.checked.relations.items()}
        state.gather({(name, True): stored(*each, self._translation) for name, each in everything.items()})

    def _restore(self, state: StateFolder) -> None:
        """Come back to what the state folder has."""
        self._notes = state.manifest.notes
        if not state.manifest.epoch:
            return
        self._restoring = True  # an epoch that the folder has already
        self._front.add_program(state.manifest.text)
        for relation, asserts, data in changes_in(state, self.session, self._front.program):
            self._change(relation, data, asserts)
        self.commit()
        self._restoring, self._epochs = False, state.manifest.epoch

    def _net(self, engine: Engine, draft: Draft, pending: Sequence[PendingFacts]) -> dict[str, RowChange]:
        """What comes and what goes, of several changes about a fact the last one, in a form that suits the engine."""
        relations = draft.checked.relations
        if engine.name == "embedded":
            calls = [(each.relation, each.asserts, self._on_driver(draft, each)) for each in pending]
            return {name: RowChange.of_words(*rows) for name, rows in net_changes(calls).items()}
        names = dict.fromkeys(change.relation for change in pending)
        told = {name: [(c.asserts, c.facts) for c in pending if c.relation == name] for name in names}
        return {name: self._translation.net(relations[name].columns, own) for name, own in told.items()}

    def _on_driver(self, draft: Draft, change: PendingFacts) -> Words:
        if isinstance(change.facts, FactFrame):
            columns = draft.checked.relations[change.relation].columns
            return collect_words(change.facts, columns, self._front.interned)
        return change.facts.local()

    # --- engines -------------------------------------------------------------------------------------------------

    def options(self, **options: Any) -> None:
        """`engine` is "auto" (embedded until there are more than `embedded_limit` facts, then the cluster's),
        "embedded" or "cluster". `cluster_folder` is where the cluster engine has its files: a folder that the driver
        and all executors reach, as a path or an address such as `hdfs:///tmp/tidelog`; if nothing is said, the state
        folder, or a temporary one of this machine. A database that is on the cluster already stays where it is. All
        others are those of `Database.options`. They hold from the next commit on.

        Raises UsageError (E0603) for another name or value, and then sets nothing.
        """
        with self.turns.using:
            choice, others = self._choice.changed(options)
            self._front.options(**others)
            self._choice = choice
            self._limits.update(others)

    def _engine_for(self, incoming: int) -> tuple[Engine, str | None]:
        """The engine of the next epoch, and why it is another one than now."""
        wanted, reason = self._choice.next(self._engine.name, self._front.facts() + incoming)
        if wanted == self._engine.name:
            return self._engine, None
        if wanted == "embedded":
            return Embedded(self._front), reason
        return self._cluster_engine(), reason

    def _cluster_engine(self) -> Engine:
        """A cluster engine, with a folder of its own, in the state folder if there is one. UsageError (E0691) where
        executors do not see that, SetupError (E0704) without workers."""
        from tidelog.spark.cluster import ClusterEngine

        check_workers(self.session)
        # Executors write the facts of a commit into the state folder.
        shared = None if self._state is None else shared_folder(self.session, self._state.folder / CLUSTER)
        within = self._choice.cluster_folder or shared
        return ClusterEngine(self.session, self._front.interned, within=within)

    def is_embedded_with(self, incoming: int) -> bool:
        """Whether the next epoch runs on the driver if it asserts so many facts."""
        return self._choice.next(self._engine.name, self._front.facts() + incoming)[0] == "embedded"

    def size(self, name: str) -> int:
        """The number of rows of a relation as of the last epoch."""
        return self._engine.size(name)

    def difference(self, name: str, wanted: Sequence[PendingFacts]) -> list[PendingFacts]:
        """What has to change for a relation to have these asserted facts and no others."""
        if not self._epochs or name not in self._front.committed.relations:
            return list(wanted)
        columns = self._front.committed.relations[name].columns
        asserted = self._engine.asserted(name)
        if asserted.is_surely_empty:
            return list(wanted)
        local = [each.facts.held for each in wanted if each.facts.held is not None]
        if asserted.held is not None and len(local) == len(wanted):
            words = np.concatenate([np.empty((0, len(columns)), np.int64), *local])
            came, gone = map(DriverRows, self._front.compared(name, words))
            return [PendingFacts(name, False, gone, gone.count()), PendingFacts(name, True, came, came.count())]
        change = self._translation.net(columns, [(True, each.facts) for each in wanted])
        there, new = (SparkRows(self._translation.frame(each), len(columns)) for each in (asserted, change.inserted))
        count = sum(each.count for each in wanted)
        return [PendingFacts(name, False, there.without(new), 0), PendingFacts(name, True, new.without(there), count)]

    def _hand_over(self, engine: Engine) -> None:
        """Bring another engine to where the present one is."""
        draft = self._front.unchanged
        asserted = {name: self._engine.asserted(name) for name in draft.checked.relations}
        facts = {name: RowChange(rows, no_rows(rows.arity)) for name, rows in asserted.items()}
        with self._front.interned.reading():  # What changes then has words that nothing holds yet.
            engine.epoch(draft, facts, self._limits)

    # --- reading -------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> DataFrame:
        """A relation as of the last committed epoch: a frame that does not change with later epochs. With many rows,
        and on the cluster engine, it is read when it is used, and has to be used before the next commit, or persisted.
        Raises UsageError (E0601) if there is no relation of this name, SetupError (E0704) where workers cannot read."""
        with self._using():
            if not isinstance(name, str) or name not in self._views:
                self._views[name] = self._view(name)
            return self._views[name]

    def _view(self, name: str) -> DataFrame:
        columns = self._front[name].columns
        if self._engine.name == "embedded":
            epoch, count = self._front.epoch, len(self._front[name])
            return self._translation.local_values(name, count, lambda: self._front.rows_of(name, epoch), columns)
        return self._translation.values(name, self._rows(name), columns)

    def _rows(self, name: str) -> Rows:
        """The rows of a relation as of the last committed epoch, which need not know it."""
        columns = self._front[name].columns
        known = self._epochs and name in self._front.committed.relations
        return self._engine.relation(name) if known else no_rows(len(columns))

    def _frame(self, name: str, rows: Rows | None) -> DataFrame:
        """Rows of a relation as values; None is no row."""
        columns = self._front[name].columns
        return self._translation.values(name, no_rows(len(columns)) if rows is None else rows, columns)

    def words(self, name: str) -> Words:
        """The rows of a relation, brought to the driver, in words of the front's dictionary: for modules of this
        package."""
        with self._using(), working():
            return self._rows(name).local()

    def query(self, text: str) -> DataFrame:
        """The tuples of a relation, or the pairs that a path connects, that match an atom, see `Database.query`."""
        with self._using():
            if self._engine.name == "embedded":
                found = self._front.query(text)
                return self._translation.values(found.name, DriverRows(self._front.words_of(found)), found.columns)
            pattern = matching(text, self._front.draft.programs)
            if pattern.program is None:
                columns, rows = self._front[pattern.relation].columns, self._rows(pattern.relation)
            else:
                columns = pattern.program.relations[QUERY].columns
                with working():
                    most = self._choice.embedded_limit
                    rows = self._aside.pairs(pattern, self._engine, most, self._limits)
            return self._translation.values(pattern.relation, rows.matching(pattern, self._front.interned), columns)

    def subscribe(self, relation: str, callback: Callable[[SparkRelationChange], object]) -> Callable[[], None]:
        """Call `callback` with the change of a relation after each epoch that changes it, see `Database.subscribe`.
        Epochs of a stream call it in the stream's thread."""
        with self._using():
            given: Any = callback
            self._front.subscribe(relation, given)()  # for its checks
            return self._subscribers.add(relation, callback)

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the declared relations, in the order of their declarations."""
        return self._front.relations

    @property
    def front(self) -> Front:
        """The database on the driver that reads programs and keeps the dictionary: for modules of this package."""
        return self._front

    def stats(self) -> dict[str, Any]:
        """Sizes and totals as of `Database.stats`, `engine`, and in `streams` the progress of each stream that
        `maintain` has started."""
        with self._using():
            sizes = {name: self._engine.size(name) if self._epochs else 0 for name in self._front.committed.relations}
            own = {"engine": self._engine.name, "relations": sizes, "epochs": self._epochs}
            return {**self._engine.stats(), **own, "streams": self._streams.progress()}

    def explain(self) -> str:
        """How the program is evaluated: on the embedded engine its hyper-nodes in their order, on the cluster engine
        how relations are spread, and the rounds, bytes and plan of the last epoch."""
        with self._using():
            return f"{self._engine.name} engine\n\n{self._engine.explain()}"

    def check(self) -> None:
        """Check the views independently of the engine, see `Database.check`: on the driver, on either engine. Raises
        UsageError (E0688) where the cluster engine has more rows than `embedded_limit`."""
        from tidelog.certificate import check

        with self._using(), working():
            if self._engine.name == "embedded":
                self._front.check()
            else:
                watch = Watch(self._limits.get("timeout"))
                with guarded(watch):
                    check(self._aside.certificate(self._engine, self._choice.embedded_limit, watch), watch)

    def save_certificate(self, folder: str | os.PathLike[str]) -> None:
        """Write the last epoch to a new folder of this machine as a certificate, see `Database.save_certificate`.
        Raises as `check`, and UsageError (E0816) where that cannot be written."""
        from tidelog.certificate import program_text, save

        with self._using(), working():
            if self._engine.name == "embedded":
                self._front.save_certificate(folder)
            else:
                text = program_text(self._front.unchanged.programs)
                certificate = self._aside.certificate(self._engine, self._choice.embedded_limit, Watch())
                save(certificate, text, Path(folder))

    def close(self) -> None:
        """Stop the streams, and remove everything that is kept in the session, in memory and in temporary folders.
        Frames of relations and changes must not be used any more."""
        self.turns.check_outside("close()")
        self._streams.stop()  # without the locks, for which their threads may wait
        with Deferring() as ctrl_c, ctrl_c.holding(self.turns.changing), ctrl_c.holding(self.turns.using):
            if self._released:
                return
            self.turns.closed = self._released = True
            self.rollback()
            self._aside.close()
            self._engine.close()
            self._translation.close()
            self._front.close()
            if self._state is not None:
                if self._state.is_own:
                    rmtree(self._state.folder / CLUSTER, ignore_errors=True)
                self._state.close()

    def __enter__(self) -> SparkDatabase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _using(self) -> Iterator[None]:
        """One thread at a time, on an open database whose session is alive."""
        with self.turns.using:
            self._check_usable()
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """`_using` for what changes something, which waits for other threads' transactions."""
        with self.turns.changing, self._using():
            yield

    def _check_usable(self) -> None:
        self.turns.check_open()
        check_session(self.session)

    def __repr__(self) -> str:
        return f"<SparkDatabase: {len(self.relations)} relations, {self._epochs} epochs, {self._engine.name} engine>"
