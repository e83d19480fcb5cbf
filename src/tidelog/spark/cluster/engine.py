"""The cluster engine: epochs over partitions, as the driver sees them. It never sees rows, only their numbers.

An epoch delivers the facts to their partitions and runs rounds: partitions with new messages do a task each, and their
own messages wait until nothing can come any more that would change them (`plan.Export.level`). When no partition has
anything to send, replacing the manifest commits the epoch; until then nothing has happened. A failing epoch leaves
partitions behind that have gone ahead; they are restored from files when they are next needed.

Recursions that cross partitions follow insertions round by round. After a deletion in their input, rows could support
each other in a circle, which births prevent (`exchange.births`). If much goes, rules were removed, or births cannot be
compared, the recursion is evaluated from scratch (`epoch.Attempt.reset`), which reports call a bootstrap.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy
from pyspark.sql import SparkSession

from tidelog.common.arrays import Words
from tidelog.durable.files import damage_error
from tidelog.durable.remote import TakenOverError
from tidelog.errors import Problem, ProgramError, TidelogError
from tidelog.functions.callables import Named
from tidelog.limits.interrupts import Deferring, ForeignCode
from tidelog.limits.watch import Watch, changing_within_memory
from tidelog.maintain.protocol import EpochOptions, Outcome, Prospect, RowChange, Seal, sealed_at_once
from tidelog.maintain.structure import prepares, rule_names
from tidelog.rules.core import CoreProgram
from tidelog.rules.recursions import facts_of
from tidelog.semantics.user_aggregates import given_of
from tidelog.spark.cluster.epoch import Attempt, Explanation, size_of
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.folder import LOCK, Folder
from tidelog.spark.cluster.exchange.rounds import Lookup, Task
from tidelog.spark.cluster.exchange.texts import SYMBOLS, files_in, learn_values
from tidelog.spark.cluster.manifest import (
    BEFORE,
    MANIFEST,
    ClusterManifest,
    SavedPartitions,
    extended_log,
    files_of,
    read_past,
)
from tidelog.spark.cluster.placement.place import (
    PlacementLimits,
    edges_of_closures,
    memory_of_closure,
    written_closures,
)
from tidelog.spark.cluster.placement.plan import ClusterPlan, facts_name, is_shown, moved_relations, relation_of
from tidelog.spark.cluster.processes.executors import Executors, PartitionCount, SparkExecutors
from tidelog.spark.failures import ignore_stopped_session
from tidelog.spark.jobs import step
from tidelog.spark.rows import DriverRows, Rows, no_rows, too_many_rows
from tidelog.storage.dictionary import Dictionary, blocks_of
from tidelog.storage.distant_symbols import TextBlock
from tidelog.storage.room import size_text

if TYPE_CHECKING:
    from tidelog.durable.local import Owner


class PartitionedEngine:
    """Relations over `partitions` partitions, or over as many as the executors do tasks at once, see `PartitionCount`.
    The state is in `folder`, which goes on where it was left if there is a manifest. `dictionary` says what words mean;
    the engine adds what rules make.

    A folder that is not `temporary` stays when the engine is closed. Where somebody else keeps which epoch was the
    last, `token` is that epoch's; DataError (E0682) if the folder is in another state.
    """

    name = "cluster"

    def __init__(
        self,
        dictionary: Dictionary,
        executors: Executors,
        folder: Folder,
        partitions: int | None = None,
        limits: PlacementLimits | None = None,
        *,
        temporary: bool = True,
        lasting: bool | None = None,
        token: str | None = None,
    ) -> None:
        self.dictionary = dictionary
        dictionary.stop_reusing()  # Partitions learn what came after the last word that they know.
        self.executors = executors
        self.folder = folder
        self.limits = limits or PlacementLimits()
        self.temporary = temporary
        self.lasting = not temporary if lasting is None else lasting
        self.is_brief = False
        """True if it is for one epoch, after which partitions need not save themselves."""
        self.epoch_number = 0
        """The number of the next epoch, see `Engine`."""
        self.explanation = Explanation()
        self.moved: frozenset[str] = frozenset()
        """Relations that have got another home in the last epoch."""
        self.written_extent: dict[str, int] = {}
        self.named: set[TextBlock] = set()
        self.symbols: tuple[str, ...] = ()
        self.starts: dict[str, dict[str, int]] = {}
        self.counting = PartitionCount(partitions)
        self.committed = ClusterManifest(0)
        self.plan: ClusterPlan | None = None
        self.functions: dict[str, Named] = {}
        """The functions of functors and aggregates, by which partitions import them."""
        self.owner: Owner | None = None
        self.taken = False
        """True if another process has taken the state folder that this one is in."""
        try:
            folder.create()
            self.owner = folder.lock()
            if token is not None or MANIFEST in folder.names():
                self.resume(token)
        except BaseException as error:
            if self.owner is not None:
                self.owner.release()
            if isinstance(error, OSError):
                raise folder.unusable(error) from error
            raise

    @property
    def is_ordered(self) -> bool:
        """True if births of all partitions can be compared: every tuple is younger than those that it follows from."""
        return self.plan is None or self.committed.ordered.issuperset(range(len(self.plan.cycles)))

    @property
    def is_own(self) -> bool:
        """True if this process has the folder, and not another one since a fork, or since the lock is gone."""
        return self.owner is not None and self.owner.stands and not self.taken

    def resume(self, token: str | None = None) -> None:
        """Go on from the manifest that is there, or from the one of the epoch `token`. DataError (E0682) when that or
        what it names is damaged or missing."""
        try:
            manifest: ClusterManifest = wire.loads(self.folder.read(MANIFEST))
            if token not in (None, manifest.token):
                data = self.folder.read(BEFORE)
                manifest = wire.loads(data)
                if token != manifest.token:
                    raise wire.DamagedError(f"{BEFORE} is of another epoch")
                self.folder.write(MANIFEST, data)
            extent = {SYMBOLS: 0}
            for name in manifest.symbols:
                self.starts[name] = dict(extent)
                extent |= learn_values(self.dictionary, self.folder.read(name), self.folder)
            self.plan = wire.loads(self.folder.read(manifest.plan)) if manifest.plan else None
            self.committed, self.symbols, self.written_extent = manifest, manifest.symbols, extent
            self.named = set(blocks_of(self.dictionary))
            if missing := files_in(self.folder, self.named).difference(self.folder.names()):
                raise FileNotFoundError(min(missing))
            self.clean()
        except (wire.DamagedError, FileNotFoundError) as error:
            raise damage_error(self.folder.address, str(error)) from error

    # --- epochs ----------------------------------------------------------------------------------------------------

    def epoch(
        self,
        program: CoreProgram,
        changes: Mapping[str, RowChange[Rows]],
        watch: Watch,
        choice: EpochOptions,
        seal: Seal[Rows] = sealed_at_once,
    ) -> Outcome[Rows]:
        """Make one epoch, see `Engine`."""
        assert self.owner is not None
        self.owner.check()
        changes = {program.candidates.get(name, name): change for name, change in changes.items()}
        self._check_program(program)
        self.functions |= {name: given_of(each).importable_form for name, each in program.functors.items()}
        count = self.counting.next(self.committed.partitions, self.executors.slots())
        epoch = Attempt(self, program, watch, choice, count)
        with changing_within_memory, Deferring() as interrupts:
            try:
                former = wire.dumps(self.committed)
                with ForeignCode(interrupts):
                    manifest = epoch.run(changes)
                interrupts.look()
                self.owner.check()
                if self.lasting:
                    self.folder.write(BEFORE, former)
                self.folder.write(MANIFEST, wire.dumps(manifest))
                before = self.committed, self.plan, self.explanation, self.moved
                try:
                    self.moved = moved_relations(self.plan, epoch.plan) if self.plan is not None else frozenset()
                    self.committed, self.plan, self.explanation = manifest, epoch.plan, epoch.explanation
                    deltas = ClusterChanges(self, epoch.count_changes())
                    seal(Prospect(deltas, self.relation, self.size))
                except BaseException as error:
                    self.committed, self.plan, self.explanation, self.moved = before
                    self.taken = isinstance(error.__cause__, TakenOverError)
                    with suppress(OSError):
                        if self.is_own:
                            self.folder.write(MANIFEST, former)
                    raise
            except BaseException as error:
                with suppress(OSError, MemoryError):  # The next epoch removes them.
                    self.clean()
                if isinstance(error, OSError):
                    raise self.folder.unusable(error) from error
                raise
            with suppress(TidelogError, OSError, MemoryError), ignore_stopped_session():  # The epoch is safe without.
                if manifest.is_far_ahead and not self.is_brief:
                    self.save()
            with suppress(OSError, MemoryError):
                self.clean()
            return Outcome(deltas, epoch.report())

    def clean(self) -> None:
        """Remove the files that the committed epoch does not need, if the folder is still this engine's."""
        if not self.is_own:
            return
        manifest = self.committed
        plan, log = read_past(self.folder, manifest.past)
        rounds = [wire.loads(self.folder.read(name)) for name in manifest.since]
        needed = files_of(extended_log(log, rounds)) | {round.plan for round in rounds}
        symbols = {*manifest.symbols, *self.symbols}
        self.starts = {name: start for name, start in self.starts.items() if name in symbols}
        # Blocks may have been joined since: partitions that go back to this epoch read the former ones.
        needed |= {*manifest.texts, *files_in(self.folder, blocks_of(self.dictionary))}
        needed |= {MANIFEST, manifest.past, manifest.plan, plan, *manifest.since, *symbols}
        if manifest.snapshot is not None:
            needed |= {manifest.snapshot.plan, *(name for name, _ in manifest.snapshot.files.values())}
        self.folder.remove(name for name in self.folder.names() if name not in needed and name != LOCK)

    def tasks(self, what: str, arguments: tuple[Any, ...] = ()) -> list[Task]:
        """Return a task for each partition in the committed state."""
        manifest = self.committed
        return [
            Task(
                self.folder.address,
                number,
                manifest.partitions,
                manifest.state(number),
                manifest.past,
                manifest.since,
                manifest.symbols,
                what,
                arguments=arguments,
                functions=tuple(self.functions.values()),
                saved=manifest.saved_state(number),
            )
            for number in range(manifest.partitions)
        ]

    def _check_program(self, program: CoreProgram) -> None:
        """Raise ProgramError (E0709) if partitions cannot evaluate a program, or if a relation that is there already
        begins or ceases to select."""
        before = self.committed.core
        for name in () if before is None else before.relations.keys() & program.relations.keys():
            if before is not None and before.candidates.get(name) != program.candidates.get(name):
                message = f"`{name}` begins or ceases to select, which partitions cannot follow"
                hint = "declare the selection together with the relation, or use the embedded engine"
                if facts_of(name) in (before.candidates.get(name), program.candidates.get(name)):
                    message = f"an aggregate begins or ceases to take its groups from the recursion of `{name}`"
                    message += ", which partitions cannot follow"
                    hint = "add the rule before there are facts, or use the embedded engine"
                raise ProgramError(Problem("E0709", message, place="program", hint=hint))
        hint = 'evaluate in the driver: `db.options(engine="embedded")`'
        for rule in program.counters:
            message = f"partitions cannot evaluate the counter of rule {rule.origin}: they would give a number twice"
            raise ProgramError(Problem("E0709", message, rule.span, hint=hint))
        for name in program.choices:
            message = f"partitions cannot choose tuples of `{name}` by `choice-domain`: none knows which comes first"
            raise ProgramError(Problem("E0709", message, place="program", hint=hint))
        for functor in program.functors.values():
            if functor.name in functor.given.waiting:
                message = f"partitions keep the functions that {functor.title} has"
                hint = "call `rollback()`, and declare an aggregate of another name"
                raise ProgramError(Problem("E0709", message, functor.span, hint=hint))

    # --- reading ---------------------------------------------------------------------------------------------------

    def relation(self, name: str) -> Rows:
        """Return the rows of a relation as of the last epoch."""
        return self._rows("rows", name)

    def facts(self, name: str) -> Rows:
        """Return the asserted facts of a relation."""
        name = self.committed.core.candidates.get(name, name) if self.committed.core is not None else name
        if self.plan is None or name not in self.plan.facts:
            return no_rows(self._arity(name))
        replicated = self.plan.facts[name] == "all"
        return self._read_rows("rows", (name, facts_name(name), replicated, ""), self._arity(name))

    def size(self, name: str) -> int:
        """Return the number of rows of a relation."""
        return size_of(self.plan, self.committed.sizes, name)

    def look_up_rows(self, lookups: Sequence[Lookup]) -> list[Words]:
        """Return the rows that lookups ask for, as of the last epoch: by one job for all of them."""
        with step("fetch rows"):
            found: list[list[Words]] = self.executors.run(self.tasks("match", tuple(lookups))) if self.plan else []
        none = [numpy.empty((0, self._arity(each.relation)), numpy.int64) for each in lookups]
        return [
            numpy.concatenate([none[i], *(parts[i] for parts in found if len(parts[i]))]) for i in range(len(lookups))
        ]

    def epochs(self, asked: Sequence[tuple[str, Words]]) -> list[Words]:
        """Return since which epoch asserted facts of relations are there, see `RowEpochs`: by one job for all."""
        found: list[Words] = [numpy.zeros(len(rows), numpy.int64) for _, rows in asked]
        parts: list[list[Words]] = []
        if self.plan and asked:
            with step("epochs of facts"):
                parts = self.executors.run(self.tasks("epochs", tuple(asked)))
        for part in parts:  # Facts that all partitions have are equally old in each.
            found = [numpy.where(known, known, more) for known, more in zip(found, part, strict=True)]
        return found

    def find_unsettled_relations(self) -> set[str]:
        """Return the relations that select from all of their candidates in a partition, see `EngineState.unsettled`."""
        found: list[list[str]] = self.executors.run(self.tasks("unsettled")) if self.plan else []
        return {relation_of(name) for each in found for name in each}

    def _rows(self, what: str, name: str) -> Rows:
        if self.plan is None or name not in self.plan.views:
            return no_rows(self._arity(name))
        replicated = self.plan.homes[name] == "all"
        return self._read_rows(what, (name, self.plan.views[name], replicated, self.committed.token), self._arity(name))

    def _read_rows(self, what: str, arguments: tuple[Any, ...], arity: int) -> Rows:
        return self.executors.rows(self.tasks(what, arguments), arity)

    def _arity(self, name: str) -> int:
        core = self.committed.core
        return len(core.relations[name].columns) if core is not None and name in core.relations else 0

    def change(self, name: str) -> RowChange[Rows]:
        """Return the change of a relation in the last epoch."""
        inserted, deleted = self._rows("came", name), self._rows("went", name)
        if name in self.moved:
            inserted, deleted = inserted.without(deleted), deleted.without(inserted)
        return RowChange(inserted, deleted)

    def local_changes(self, names: Sequence[str]) -> dict[str, RowChange[Words]]:
        """Return the changes of relations in the last epoch on the driver, by one job for all of them."""
        assert self.plan is not None
        views, homes, token = self.plan.views, self.plan.homes, self.committed.token
        asked = tuple((name, views[name], homes[name] == "all", token) for name in names)
        with step("fetch changes"):
            found = self.executors.run(self.tasks("changes", asked))
        changes = {}
        for i, name in enumerate(names):
            inserted, deleted = (DriverRows(numpy.concatenate([parts[i][side] for parts in found])) for side in (0, 1))
            if name in self.moved:
                inserted, deleted = inserted.without(deleted), deleted.without(inserted)
            changes[name] = RowChange(inserted.words, deleted.words)
        return changes

    @property
    def hyper_nodes(self) -> tuple[tuple[str, ...], ...]:
        """The names of the rules of each hyper-node, in the order of evaluation."""
        nodes = self.committed.core.nodes if self.committed.core is not None else ()
        return tuple(rule_names(node) for node in nodes if not prepares(node.relations))

    # --- the rest --------------------------------------------------------------------------------------------------

    def stats(self) -> Mapping[str, Any]:
        """Sizes, how the last epoch went, and the files of the state."""
        last = self.explanation
        return {
            "partitions": self.committed.partitions,
            "rows_of_partitions": [sum(rows.values()) for _, rows in sorted(self.committed.sizes.items())],
            "rounds": last.rounds,
            "seconds_of_rounds": [round(seconds, 3) for seconds in last.seconds],
            "messages": last.messages,
            "bytes_shuffled": last.bytes,
            "rows_shuffled": last.rows,
            "restored": last.restored,
            "replayed": last.replayed,
            "repartitioned": last.repartitioned,
            "state": self.folder.address,
            "files": len(self.folder.names()),
        }

    def describe(self) -> str:
        """Return the layout of the relations, and the costs of the last epoch, as text."""
        last = self.explanation
        lines = [
            f"{self.committed.partitions} partitions, epoch {self.committed.epoch}",
            f"last epoch: {last.rounds} rounds, {last.rows:,} rows and {last.bytes:,} bytes between partitions",
            "a round: 1 Spark job of 1 stage, Range -> MapInArrow",
        ]
        lines += [last.repartitioned] if last.repartitioned else []
        for relations, way in last.nodes:
            names = [name for name in relations if is_shown(name)]
            if names:
                lines.append(f"{', '.join(names)}: {way}")
        lines += self._closures_without_room()
        if self.plan is not None and self.plan.skewed_keys:
            lines += [f"{name}: facts by all their words" for name, at in self.plan.facts.items() if at == "rows"]
            lines.append(f"skewed keys: {len(self.plan.skewed_keys)}, in {', '.join(self.skewed_columns())}")
        return "\n".join(lines)

    def _closures_without_room(self) -> list[str]:
        """Return the memory that each closure whose pairs are written would need to be everywhere, as text."""
        if self.plan is None or self.committed.core is None:
            return []
        sizes = {name: self.size(name) for name in self.committed.core.relations}
        count, written = self.committed.partitions, written_closures(self.plan)
        return [
            f"{name}: partitions with {size_text(int(memory_of_closure(edges, edges / 2, count)))} of memory would "
            f"keep its {edges:,} edges as components, and write no pairs"
            for name, edges in edges_of_closures(self.committed.core, sizes).items()
            if name in written
        ]

    def skewed_columns(self) -> list[str]:
        """Return the columns in which skewed keys are known or presumed, as text."""
        assert self.plan is not None
        infos = self.committed.core.relations if self.committed.core is not None else {}
        found = sorted(self.plan.skewed_columns)
        return [
            f"{name}.{infos[name].columns[column].name}" for name, column in found if name in infos and name[0] != "#"
        ]

    def save(self) -> None:
        """Have partitions write all that they have, so that other processes do not have to derive it."""
        if self.plan is None or self.committed.is_saved or self.functions:
            return
        with step("save the partitions"):
            files = self.executors.run(self.tasks("save", (f"saved-{self.committed.token}",)))
        snapshot = SavedPartitions(self.committed.token, self.committed.plan, dict(enumerate(files)))
        saved = replace(self.committed, snapshot=snapshot, unsaved=0)
        self.folder.write(MANIFEST, wire.dumps(saved))
        self.committed = saved

    def close(self) -> None:
        """End the partitions, and remove the state if it is temporary; what others may have is left to them."""
        own = self.is_own
        if own:
            self.executors.stop(self.folder)
        if self.owner is not None:
            self.owner.release()
        if own and self.temporary:
            self.folder.destroy()


class ClusterChanges(Mapping[str, RowChange[Rows]]):
    """The changes of an epoch; frames are made on demand. `sizes` are the numbers of changed rows."""

    def __init__(self, engine: PartitionedEngine, sizes: Mapping[str, int]) -> None:
        self._engine = engine
        self._sizes = sizes

    def local(self, most: int) -> dict[str, RowChange[Words]]:
        """Return the changes on the driver. Raise UsageError (E0688) for more than `most` rows."""
        count = sum(self._sizes.values())
        if count > most:
            raise too_many_rows(f"a trial changes {count:,} rows, the embedded_limit is {most:,}")
        return self._engine.local_changes(tuple(self._sizes))

    def __getitem__(self, name: str) -> RowChange[Rows]:
        if name not in self._sizes:
            raise KeyError(name)
        return self._engine.change(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def __contains__(self, name: object) -> bool:
        return name in self._sizes


class ClusterEngine(PartitionedEngine):
    """Partitions beside the Python workers of a session: `partitions`, or as many as it has slots for tasks.

    `state` is a folder that all executors reach, as a path or address (`hdfs://…`, `s3://…`); what is in it when the
    engine is closed stays, and an engine opened on it goes on from there, from the epoch `token` if that is given.
    Without it, the state is in a temporary folder: in the folder `within`, or of this machine, which does where
    executors run on this machine, too. It can become one that stays (`temporary`) if the engine is `lasting`.
    """

    def __init__(
        self,
        session: SparkSession,
        dictionary: Dictionary,
        *,
        state: str | None = None,
        within: str | os.PathLike[str] | None = None,
        partitions: int | None = None,
        limits: PlacementLimits | None = None,
        lasting: bool | None = None,
        token: str | None = None,
    ) -> None:
        self.session = session
        if state is not None:
            folder = Folder(state)
        elif within is not None:
            place = os.fspath(within)
            folder = Folder(place if "://" in place else os.path.abspath(place)).inside(
                f"tidelog-{secrets.token_hex(6)}"
            )
        else:
            folder = Folder(tempfile.mkdtemp(prefix="tidelog-cluster-"))
        executors, temporary = SparkExecutors(session), state is None
        super().__init__(
            dictionary, executors, folder, partitions, limits, temporary=temporary, lasting=lasting, token=token
        )
