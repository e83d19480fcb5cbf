"""A partition: an embedded engine over its share of the rows, and the rows that it sends to others.

In a round a partition goes to the plan of the round, applies the pieces that are for it as one epoch of its engine, and
writes what its exports have gained and lost to a file. Nothing of this is lost with the process: the files say it all,
and `Partition.restored` comes to the same relations from them.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.durable.files import checksum_of, damage_error
from tidelog.errors import InternalError, Problem
from tidelog.functions.callables import GivenFunctions, Named
from tidelog.limits.watch import Watch
from tidelog.maintain.deltas import Deltas, rows_of
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.protocol import EpochOptions, NodeReport, Prospect, net_changes
from tidelog.rules.core import CoreProgram
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.births import CyclicRows, losing_cycles
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.pieces import Bundle, Piece, PieceChange, PieceFile, PieceMessage, read_pieces
from tidelog.spark.cluster.exchange.rounds import NOWHERE, Logged, Lookup, Reply, Round, RoundState, Saved, Task
from tidelog.spark.cluster.exchange.texts import dictionary_extent, learn_values, values_beyond
from tidelog.spark.cluster.placement.buckets import (
    EVERYBODY,
    FIRST,
    MINE,
    OWN,
    PARTITIONS,
    Lookout,
    homes_of,
    owners,
    parcels,
)
from tidelog.spark.cluster.placement.plan import ClusterPlan, Export, ExportRoute, facts_name, is_shown, moved_relations
from tidelog.storage.changes import date, date_changes
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.extents import RowEpochs
from tidelog.store.checkpoint import Checkpoint, EngineImage

_MEMORY = "PYSPARK_EXECUTOR_MEMORY_MB"
"""The environment variable by which Spark reports `spark.executor.pyspark.memory`, divided by the executor's cores."""
MORE_MEMORY = "raise `spark.executor.pyspark.memory`, or take more partitions by `partitions`"


class Partition:
    """The state of one partition."""

    def __init__(self, folder: Folder, number: int, partitions: int) -> None:
        self.folder = folder
        self.number = number
        self.partitions = partitions
        self.dictionary = Dictionary({})
        self.given = GivenFunctions()
        self.functions: dict[str, Named] = {}
        self.symbols: set[str] = set()
        """The files of symbols and records that the dictionary has."""
        self.known: Sequence[str] = ()
        """The files with all symbols and records, for a plan that needs them."""
        self.engine = EmbeddedEngine(self.dictionary, CoreProgram({}, {}, ()))
        self.plan: ClusterPlan | None = None
        self.plan_name = ""
        self.state: RoundState = NOWHERE
        self.came_from: RoundState = NOWHERE
        self.restored = False
        self.replayed = 0
        """The rows of the log that it has evaluated again for that."""
        self.knows_changes = True
        """False if it is restored from what it has saved after the last epoch."""
        self.established: frozenset[ExportRoute] = frozenset()
        self.reply: Reply | None = None
        self.epoch = ""
        self.cyclic = CyclicRows()
        self.had: frozenset[str] = frozenset()
        """The relations that had rows before the epoch; what the epoch has brought so far to these is in `deltas`."""
        self.deltas: dict[str, list[tuple[Words, Words]]] = {}
        self.moved: dict[str, Words] = {}
        """For relations that have got another home in this epoch, the rows that lived here before."""
        self.unordered: set[int] = set()
        """Cycles in which copies may be older than their rows, since the last reply."""
        self.lookout = Lookout(partitions)
        self.narrowed: frozenset[str] = frozenset()
        """The facts of which only those that live here have been kept in this epoch."""

    @classmethod
    def at(cls, task: Task) -> Partition:
        """Return the partition in the state that a task wants, from files."""
        partition = cls(Folder(task.folder), task.partition, task.partitions)
        partition.import_functions(task)
        partition.known = task.symbols
        saved = task.saved
        if saved is not None and saved.entries is None and task.reads_changes:
            saved = None
        if saved is not None:
            partition.load(saved)
        partition.knows_changes = saved is None or saved.entries is not None
        if partition.knows_changes:
            plan, log = wire.loads(partition.folder.read(task.past)) if task.past else ("", ())
            rest = log if saved is None else log[saved.entries :]
            if plan and (saved is None or rest or plan != saved.plan):
                partition.repeat(plan, rest)
            for name in task.since:
                partition.apply(wire.loads(partition.folder.read(name)), task.options, send=False)
        partition.state = task.state
        partition.restored = True
        return partition

    def import_functions(self, task: Task) -> None:
        """Import the functions of a task that are new. Raise UsageError (E0649) if this process cannot."""
        sys.path += [each for each in task.paths if each not in sys.path]
        for function in task.functions:
            if self.functions.get(function.name) != function:
                self.given.replace(function.resolve("an executor"))
                self.functions[function.name] = function

    def load(self, saved: Saved) -> None:
        """Become the partition that has saved itself in a file. Raise DataError (E0682), also where that was another
        version of tidelog."""
        self.load_plan(saved.plan)
        assert self.plan is not None
        with self.folder.open(saved.file) as file:
            if checksum_of(file) != saved.checksum:
                raise damage_error(self.folder.address, f"the checksum of {saved.file} is another")
            file.seek(0)
            checkpoint = Checkpoint(Path(self.folder.address, saved.file), file)
            found = checkpoint.restore(self.program, self.dictionary, hidden_facts=True)
        if found is None:
            raise damage_error(self.folder.address, f"{saved.file} is of another version of tidelog")
        self.engine = found
        self.established = frozenset(self.plan.routes().values())

    def save(self, prefix: str) -> tuple[str, str]:
        """Write all that is here to a file; return its name and its checksum."""
        name = f"{prefix}-{self.number}-{secrets.token_hex(4)}"
        return name, self.folder.write_by(name, EngineImage(self.engine, "", values=False).write)

    def repeat(self, plan: str, log: Sequence[Logged]) -> None:
        """Come from what is here to what a log of rounds has led to, as far as relations go."""
        rows: dict[str, list[PieceChange]] = {}
        is_new, had = self.plan is None, dict(self.engine.asserted)
        for entry in log:
            for name in entry.forget:
                rows[name] = [self.asserted_rows(name)._replace(asserts=False)] if name in had else []
            for name in entry.narrow:
                rows[name] = [each._replace(words=self.local_rows(each.words, True)) for each in rows.get(name, ())]
                if name in had:
                    rows[name].insert(0, _retraction_of_others(self, name))
            for each in read_pieces(self.folder, self.number, entry.shared, entry.bundles):
                rows.setdefault(each.relation, []).append(each._replace(epoch=each.epoch or entry.epoch))
        self.load_plan(plan)
        assert self.plan is not None
        known = self.program.relations
        facts = [each for name, statements in rows.items() if name in known for each in statements]
        self.replayed = sum(len(each.words) for each in facts)
        self.engine.epoch_number = 0
        self.step([*(self.own_facts() if is_new else []), *facts], watch_of({}), EpochOptions(threads=1))
        for name in map(facts_name, self.plan.facts):
            if rows.get(name) and name in known:
                self.date(name, rows[name], is_new)
        self.established = frozenset(self.plan.routes().values())

    def date(self, facts: str, statements: Sequence[PieceChange], is_new: bool) -> None:
        """Give the facts of a relation here the epochs in which these statements brought them: all facts, if the
        partition `is_new`."""
        stored = self.engine.asserted[facts]
        if is_new and len({each.epoch for each in statements}) == 1:  # Mostly so, and much faster.
            stored.epochs = RowEpochs(numpy.array([(0, statements[0].epoch)]))
            return
        changes = [(each.asserts, each.words, numpy.full(len(each.words), each.epoch)) for each in statements]
        date_changes(stored, changes)

    def own_facts(self) -> list[PieceChange]:
        """Return the facts that each partition has of itself: its number, how many there are, and whether it is the
        first."""
        count, number = numpy.array([[[self.partitions]], [[self.number]]], numpy.int64)
        first = numpy.empty((1 if self.number == 0 else 0, 0), numpy.int64)
        return [PieceChange(PARTITIONS, True, count), PieceChange(MINE, True, number), PieceChange(FIRST, True, first)]

    def load_plan(self, name: str) -> None:
        """Read a plan, unless it is at hand."""
        if self.plan_name != name:
            self.plan, self.plan_name = wire.loads(self.folder.read(name), self.given), name
            assert self.plan is not None
            self.dictionary.add_records(self.plan.program.records)
            if self.plan.dictionary:
                self.learn(self.known)

    @property
    def program(self) -> CoreProgram:
        """Return the program that this partition runs."""
        assert self.plan is not None
        return self.plan.others if self.number else self.plan.program

    def learn(self, symbols: Sequence[str]) -> None:
        """Read the files of symbols and records that came since, some of them in place of others."""
        for name in symbols:
            if name not in self.symbols:
                learn_values(self.dictionary, self.folder.read(name), self.folder)
        self.symbols = set(symbols)

    # --- rounds ----------------------------------------------------------------------------------------------------

    def apply(self, round: Round, options: Mapping[str, Any], send: bool = True) -> Reply:
        """Do what a round says."""
        started = time.perf_counter()
        if self.epoch != round.token:
            self.epoch = round.token
            self.deltas, self.moved, self.narrowed = {}, {}, frozenset()
            self.had = frozenset(name for name, rows in self.engine.views.items() if len(rows))
            self.cyclic = CyclicRows()
        before = self.plan
        if send:  # Files of a round that is repeated may be part of others by now.
            self.known = round.symbols
        self.load_plan(round.plan)
        plan = self.plan
        assert plan is not None
        if before is not None and before is not plan:
            self.note_moves(before, plan)
        if plan.dictionary:
            self.learn(self.known)
        kinds = plan.program.records
        known = dictionary_extent(self.dictionary, kinds)
        self.engine.epoch_number = round.epoch
        self.engine.round = max(self.engine.round, round.clock)
        statements = self.statements(round)
        again = {route for export, route in plan.routes().items() if export.cycle in round.cycles}
        going_on = self.established - again
        self.cyclic.begin([export for export, route in plan.routes().items() if route in going_on], self.engine.views)
        deltas, nodes = self.step(
            [*(self.own_facts() if before is None else []), *statements],
            watch_of(options),
            _choice(options),
        )
        for name, _, rows, epoch in statements:
            if epoch:  # They have come from another partition.
                date(self.engine.asserted[name], rows, numpy.full(len(rows), epoch))
        file = PieceFile(f"sent-{round.token}-{round.number}-{self.number}-{secrets.token_hex(4)}")
        said = self.exported_changes(plan, round, deltas, going_on)
        messages: tuple[PieceMessage, ...] = ()
        if send:
            messages = tuple(self.messages(plan, said, file))
        else:
            list(said)  # `cyclic` knows what a round that is repeated has said.
        self.established = frozenset(plan.routes().values())
        made, now = "", dictionary_extent(self.dictionary, kinds)
        if send:
            file.write(self.folder)
            if now != known:
                made = f"symbols-{round.token}-{round.number}-{secrets.token_hex(4)}"
                self.folder.write(made, values_beyond(self.dictionary, known, now, self.folder))
                self.symbols.add(made)
        self.came_from, self.state = self.state, (round.token, round.number, secrets.token_hex(4))
        self.reply = Reply(
            self.number,
            self.state,
            messages,
            tuple(self.cyclic.shrunk),
            tuple(losing_cycles(plan, deltas, statements)),
            tuple(range(len(plan.cycles)) if self.replayed else self.unordered),
            {name: len(self.engine.views[copy]) for name, copy in plan.views.items()},
            sum(8 * len(rows) * max(rows.arity, 1) for rows in self.engine.asserted.values()),
            dict(self.count_changes(plan)),
            nodes,
            made,
            time.perf_counter() - started,
            self.restored,
            self.replayed,
            self.lookout.look(plan, self.engine.views, deltas),
            self.engine.round,
        )
        if send:
            self.restored, self.replayed, self.unordered = False, 0, set()
        return self.reply

    def statements(self, round: Round) -> list[PieceChange]:
        """Return the statements of a round about relations of the plan, those that it forgets first."""
        assert self.plan is not None
        relations = self.program.relations
        asserted = self.engine.asserted
        forgotten = [
            PieceChange(name, False, asserted[name].words().astype(numpy.int64))
            for name in round.forget
            if name in asserted
        ]
        self.narrowed |= frozenset(round.narrow)
        forgotten += [_retraction_of_others(self, name) for name in round.narrow]
        sent = read_pieces(self.folder, self.number, round.shared, round.bundles)
        return [each for each in [*forgotten, *sent] if each.relation in relations]

    def note_moves(self, before: ClusterPlan, plan: ClusterPlan) -> None:
        """Keep the rows of relations that get another home, before these go."""
        for name in moved_relations(before, plan):
            copy = before.views[name]
            if copy in self.engine.views and name not in self.moved:
                rows = self.engine.views[copy].words().astype(numpy.int64)
                self.moved[name] = self.local_rows(rows, before.homes[name] == "all")

    def step(
        self, statements: list[PieceChange], watch: Watch, choice: EpochOptions
    ) -> tuple[Deltas, tuple[NodeReport, ...]]:
        """Run one epoch of the engine; keep the changes of the relations that users see."""
        plan = self.plan
        assert plan is not None

        def look(_: Prospect[Any]) -> None:
            self.cyclic.look(plan, self.engine.views)

        outcome = self.engine.epoch(self.program, net_changes(each[:3] for each in statements), watch, choice, look)
        views = {name: copy for name, copy in plan.views.items() if is_shown(name)}
        shown = {*views.values(), *map(facts_name, views)}
        for name, delta in outcome.deltas.items():
            if name in shown and name in self.had:
                inserted, deleted = (rows_of(rows).astype(numpy.int64) for rows in (delta.inserted, delta.deleted))
                self.deltas.setdefault(name, []).append((inserted, deleted))
        if plan.cycles:
            self.unordered |= self.cyclic.find_unordered_cycles(plan, outcome.report.nodes)
        return outcome.deltas, outcome.report.visited

    def messages(
        self, plan: ClusterPlan, said: Iterable[tuple[Export, PieceChange]], file: PieceFile
    ) -> Iterator[PieceMessage]:
        """Write what exports say into a file, a piece for each receiver and level."""
        parts: dict[int, dict[int, list[PieceChange]]] = {}
        for export, (name, asserts, words, _) in said:
            for target, rows in self.rows_by_target(plan, export, words.astype(numpy.int64)):
                part = parts.setdefault(export.levels[asserts], {}).setdefault(target, [])
                part.append(PieceChange(name, asserts, rows))
        for level, pieces in sorted(parts.items()):
            everybody = pieces.pop(EVERYBODY, None)
            shared = None if everybody is None else file.add(everybody)
            bundle = file.bundle(pieces)
            yield PieceMessage(level, bundle, shared, file.bundled[self.number] if self.number in pieces else None)

    def exported_changes(
        self, plan: ClusterPlan, round: Round, deltas: Deltas, going_on: frozenset[ExportRoute]
    ) -> Iterator[tuple[Export, PieceChange]]:
        """Yield the messages of exports to their targets after a round: deltas, all rows of exports that are not
        `going_on`, and in cycles what `CyclicRows` says."""
        for export, route in plan.routes().items():
            stored = self.engine.views[export.source]
            removed = inserted = numpy.empty((0, stored.arity), numpy.int64)
            if route not in going_on:
                inserted = stored.words()
            elif export.source in deltas:
                delta = deltas[export.source]
                removed, inserted = rows_of(delta.deleted), rows_of(delta.inserted)
            if export.cycle is not None:
                removed, inserted = self.cyclic.select_copies(
                    export, round, removed, inserted, stored, goes_on=route in going_on
                )
            yield export, PieceChange(export.target, False, removed)
            yield export, PieceChange(export.target, True, inserted)

    def rows_by_target(self, plan: ClusterPlan, export: Export, words: Words) -> Iterator[tuple[int, Words]]:
        """Yield the rows that an export sends to each partition, EVERYBODY for all."""
        homes = homes_of(export.place, words, plan.skewed_keys, self.partitions)
        if export.signed:
            words = numpy.column_stack([words, numpy.full(len(words), self.number, numpy.int64)])
        if export.origin == "all":  # Everybody has them and keeps what lives here.
            here = words[(homes == self.number) | (homes == EVERYBODY)]
            if len(here):
                yield self.number, here
        elif len(words):
            yield from parcels(homes, words)

    # --- reading ---------------------------------------------------------------------------------------------------

    def rows(self, name: str, replicated: bool) -> Iterator[Words]:
        """Yield the rows of a relation of the partitions' program that live here, some at a time."""
        stored = self.engine.views.get(name)
        for words in stored.batches() if stored is not None else ():
            yield self.local_rows(words.astype(numpy.int64), replicated)

    def look_up_rows(self, lookup: Lookup) -> Words:
        """Return the rows that a lookup asks for and that live here."""
        assert self.plan is not None
        name, plan = lookup.relation, self.plan
        copy = facts_name(name) if lookup.facts else plan.views.get(name, "")
        place = plan.facts.get(name, "all") if lookup.facts else plan.homes.get(name)
        stored = self.engine.views.get(copy)
        if stored is None:
            return lookup.groups[:0, :0]
        rows = stored.rows_with(lookup.columns, lookup.groups).astype(numpy.int64)
        return self.local_rows(rows, place == "all")[: lookup.most]

    def epochs(self, name: str, rows: Words) -> Words:
        """Return since which epoch asserted facts of a relation are here, 0 for others."""
        stored = self.engine.asserted.get(facts_name(name))
        return numpy.zeros(len(rows), numpy.int64) if stored is None else stored.epochs_of(stored.find(rows))

    def changes(self, name: str, copy: str, replicated: bool, epoch: str) -> tuple[Words, Words]:
        """Return the local rows of a relation inserted and deleted in an epoch: the last, or one without messages to
        this partition. For a moved relation, return all its present and all its former local rows."""
        stored = self.engine.views.get(copy)
        if stored is None:
            raise InternalError(Problem("E0901", f"partition {self.number} has no relation {copy}"))
        if epoch != self.epoch:
            return stored.words(0).astype(numpy.int64), stored.words(0).astype(numpy.int64)
        if name in self.moved or copy not in self.had:
            inserted = stored.words().astype(numpy.int64)
            return self.local_rows(inserted, replicated), self.moved.get(name, inserted[:0])
        inserted, deleted = self.net_change(copy)
        return self.local_rows(inserted, replicated), self.local_rows(deleted, replicated or copy in self.narrowed)

    def net_change(self, copy: str) -> tuple[Words, Words]:
        """Return the net rows inserted and deleted in a relation by the changes of the epoch, each of which is
        exact."""
        steps = self.deltas.get(copy, [])
        if len(steps) == 1:
            return steps[0]
        none = numpy.empty((0, self.engine.views[copy].arity), numpy.int64)
        rows = numpy.concatenate([none, *(each for step in steps for each in step)])
        signs = numpy.concatenate(
            [numpy.repeat((1, -1), (len(inserted), len(deleted))) for inserted, deleted in steps or [(none, none)]]
        )
        if not rows.shape[1]:
            total = int(signs.sum())
            net = rows[: max(total, 0)], rows[: max(-total, 0)]
        elif not len(rows):
            net = rows, rows
        else:
            order = numpy.lexsort(rows.T)  # several times as fast as numpy.unique of rows
            rows = rows[order]
            first = numpy.flatnonzero(numpy.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
            totals = numpy.add.reduceat(signs[order], first)
            net = rows[first[totals > 0]], rows[first[totals < 0]]
        self.deltas[copy] = [net]
        return net

    def count_changes(self, plan: ClusterPlan) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the visible relations that the epoch has changed here so far, each with the numbers of inserted and
        deleted rows."""
        for name, copy in plan.views.items():
            if not is_shown(name):
                continue
            if name in self.moved or copy not in self.had:
                inserted, deleted = len(self.engine.views[copy]), len(self.moved.get(name, ()))
            elif copy in self.deltas:
                rows = self.net_change(copy)
                inserted, deleted = len(rows[0]), len(self.local_rows(rows[1], copy in self.narrowed))
            else:
                continue
            if inserted or deleted:
                yield name, (inserted, deleted)

    def write_all(self, name: str) -> tuple[Piece | None, Bundle | None]:
        """Write all that has been sent here to files: what all partitions have, once, and the rest."""
        assert self.plan is not None
        facts = {facts_name(each): place for each, place in self.plan.facts.items()}
        everywhere = {each for each, place in facts.items() if place == "all"}
        everywhere |= {export.target for export in self.plan.exports if export.place == "all"}
        file = PieceFile(f"{name}-{self.number}-{secrets.token_hex(4)}")
        held = [
            each
            for copy in self.engine.asserted
            for each in (self.facts_by_epoch(copy) if copy in facts else [self.asserted_rows(copy)])
            if len(each.words) and copy not in OWN
        ]
        shared = [each for each in held if each.relation in everywhere]
        own = [each for each in held if each.relation not in everywhere]
        pieces = (
            file.add(shared) if shared and self.number == 0 else None,
            file.bundle({self.number: own}) if own else None,
        )
        file.write(self.folder)
        return pieces

    def write_facts_for_homes(self, prefix: str, facts: str) -> Bundle | None:
        """Write all facts of a relation here, to be asserted where the words of each row together say, to a file."""
        if facts not in self.engine.asserted:
            return None
        file = PieceFile(f"{prefix}-{self.number}-{secrets.token_hex(4)}")
        homes = partial(homes_of, "rows", skewed_keys=(), partitions=self.partitions)
        bundle = file.bundle_by_home(self.facts_by_epoch(facts), homes)
        file.write(self.folder)
        return bundle

    def asserted_rows(self, copy: str) -> PieceChange:
        """Return the statement of all that is asserted here for a relation."""
        return PieceChange(copy, True, self.engine.asserted[copy].words().astype(numpy.int64))

    def facts_by_epoch(self, facts: str) -> list[PieceChange]:
        """Return the statements of all facts of a relation here, one for each epoch in which some have come."""
        every, stored = self.asserted_rows(facts), self.engine.asserted[facts]
        epochs = stored.epochs_of(stored.live())
        order = numpy.argsort(epochs, kind="stable")
        known, firsts = numpy.unique(epochs[order], return_index=True)
        ends = numpy.append(firsts, len(order))[1:]
        return [
            every._replace(words=every.words[order[first:end]], epoch=epoch)
            for epoch, first, end in zip(known.tolist(), firsts, ends, strict=True)
        ]

    def local_rows(self, words: Words, replicated: bool) -> Words:
        """Of rows that all partitions have, those that live here."""
        if not replicated:
            return words
        if not words.shape[1]:
            return words if self.number == 0 else words[:0]
        here: Words = words[owners(words[:, 0], self.partitions) == self.number]
        return here


def _retraction_of_others(partition: Partition, copy: str) -> PieceChange:
    """Return the statement that takes back what a partition has asserted for a relation and lives in others."""
    words = partition.engine.asserted[copy].words().astype(numpy.int64)
    return PieceChange(copy, False, words[owners(words[:, 0], partition.partitions) != partition.number])


def watch_of(options: Mapping[str, Any]) -> Watch:
    """Return the limits of a round. The memory is what Spark gives each Python process of an executor, if it does."""
    memory = int(os.environ.get(_MEMORY, "0"))
    limit = memory << 20 if memory > 0 else None
    return Watch(options.get("timeout"), options.get("max_rows"), memory=limit, remedy=MORE_MEMORY)


def _choice(options: Mapping[str, Any]) -> EpochOptions:
    return EpochOptions(
        **{name: options[name] for name in ("strategy", "switch", "closures", "maintain") if name in options},
        threads=1,  # Each core has a partition of its own.
    )
