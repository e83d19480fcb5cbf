"""Run one epoch of the cluster engine: facts to where they live, then rounds until no partition has anything to
send."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tidelog.functions.callables import Named
from tidelog.limits.watch import Watch
from tidelog.maintain.protocol import EpochOptions, Report, RowChange
from tidelog.maintain.structure import prepares, rule_names
from tidelog.rules.core import CoreProgram, head_of
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.pieces import Bundle, Piece, PieceMessage
from tidelog.spark.cluster.exchange.rounds import NOWHERE, Logged, Reply, Round, RoundState, Task, merge_reports
from tidelog.spark.cluster.exchange.texts import (
    SYMBOLS,
    count_values,
    dictionary_extent,
    files_in,
    learn_values,
    values_beyond,
)
from tidelog.spark.cluster.manifest import ClusterManifest, Log, extended_log, is_long, read_past
from tidelog.spark.cluster.placement.buckets import Frequent, find_skew, is_outdated
from tidelog.spark.cluster.placement.place import (
    PlacementLimits,
    edges_of_closures,
    place_program,
    written_closures,
)
from tidelog.spark.cluster.placement.plan import LEVELS, NEVER, ClusterPlan, facts_name, relation_of
from tidelog.spark.cluster.processes.executors import Delivery, Executors, PartitionCount, Scattered
from tidelog.spark.cluster.processes.serve import Moved, has_signed_exports
from tidelog.spark.jobs import step
from tidelog.spark.rows import Rows
from tidelog.storage.dictionary import Dictionary, blocks_of
from tidelog.storage.distant_symbols import TextBlock
from tidelog.version import MEANING

_MANY = 0.5
"""The part of a recursion of which copies go at most, or else it is evaluated anew."""
_FEW = 1_000
"""So many rows are never too many for that."""
_OUTGROWN = 4
"""Facts stay everywhere until they are so many times as many as are put everywhere."""
_SHOWN = 5
"""The rules that the description of a job names."""


@dataclass
class Explanation:
    """The course of the last epoch: rounds with the seconds of each, and the messages, bytes and rows that partitions
    sent each other; restored partitions, and the rows of earlier epochs that these have evaluated again; recursions
    evaluated from scratch or retracted in part, and the evaluation of each hyper-node."""

    rounds: int = 0
    messages: int = 0
    bytes: int = 0
    rows: int = 0
    seconds: list[float] = field(default_factory=list)
    restored: int = 0
    replayed: int = 0
    repartitioned: str = ""
    """Why there are more or fewer partitions than before, or nothing."""
    resets: int = 0
    rederived: int = 0
    nodes: tuple[tuple[tuple[str, ...], str], ...] = ()


class ClusterState(Protocol):
    """The part of an engine that an attempt at an epoch reads and changes, see `engine.PartitionedEngine`."""

    dictionary: Dictionary
    executors: Executors
    folder: Folder
    limits: PlacementLimits
    epoch_number: int
    committed: ClusterManifest
    plan: ClusterPlan | None
    symbols: tuple[str, ...]
    """The files of symbols that partitions know."""
    starts: dict[str, dict[str, int]]
    """The extent of the dictionary before each of these files."""
    written_extent: dict[str, int]
    """The extent of the dictionary that these files have."""
    named: set[TextBlock]
    """The blocks of symbols that they name."""
    functions: dict[str, Named]
    """The functions of functors."""
    counting: PartitionCount
    lasting: bool
    """True if another process may go on from the folder, and has to know all symbols and records then."""

    def tasks(self, what: str, arguments: tuple[Any, ...] = ()) -> list[Task]:
        """Return a task for each partition in the committed state."""


class Attempt:
    """One attempt at an epoch, which leads to `partitions` partitions."""

    def __init__(
        self, engine: ClusterState, core: CoreProgram, watch: Watch, choice: EpochOptions, partitions: int
    ) -> None:
        self.engine = engine
        self.folder = engine.folder
        self.core = core
        self.watch = watch
        self.choice = choice
        self.committed = engine.committed
        self.partitions = partitions
        self.moves = bool(self.committed.past) and partitions != self.committed.partitions
        """True if rows go to another number of partitions."""
        self.token = secrets.token_hex(6)
        self.started = time.perf_counter()
        self.places = dict(self.committed.facts)
        self.sizes = dict(self.committed.sizes)
        self.kept = dict(self.committed.kept)
        self.states: dict[int, RoundState] = dict(self.committed.states)
        self.rounds: list[Round] = []
        self.pending: dict[int, list[PieceMessage]] = {}
        self.dirty: set[int] = set()
        """Cycles to be evaluated anew."""
        self.shrunk: set[int] = set()
        """Cycles in which copies have to go."""
        self.ordered: set[int] = set()
        """Cycles in which each copy is younger than its row, see `exchange.births`."""
        self.losses: dict[int, int] = {}
        """The numbers of rows that have gone in cycles, by level."""
        self.replies: dict[int, Reply] = {}
        self.reports: list[tuple[Reply, bool]] = []
        self.explanation = Explanation()
        self.past = ""
        self.snapshot = None if self.moves else self.committed.snapshot
        """The snapshot from which partitions are restored, if the log has it at its beginning."""
        self.narrowed: list[str] = []
        """Relations whose facts have been everywhere up to now, and are to be by their first column."""
        self.spread: list[str] = []
        """Relations whose facts have been by their first column up to now, and are to be by all their words."""
        self.fact_rows: dict[str, int] = {}
        self.frequent = dict(self.committed.frequent)
        self.seen: list[Mapping[str, Frequent]] = list(self.frequent.values())
        self.plan: ClusterPlan
        self.plan_name = ""

    def run(self, facts: Mapping[str, RowChange[Rows]]) -> ClusterManifest:
        """Do everything but the commit; return the manifest for it."""
        self.write_past()
        bundles, shared = self.deliver(facts)
        changed = self.make_plan()
        self.explanation.nodes = self.plan.nodes
        before = self.engine.plan
        self.ordered = self.ordered_cycles(before, changed)
        forget: tuple[str, ...] = ()
        if changed and before is not None:
            removed = set(before.routes().values()) - set(self.plan.routes().values())
            forget = tuple(sorted({target for _, target, *_ in removed} | set(map(facts_name, self.spread))))
            self.dirty = _weakened_cycles(before, self.plan, forget)
        if changed or bundles or shared or self.moves:
            narrow = tuple(map(facts_name, self.narrowed))
            first = Round(self.token, 1, self.plan_name, forget, (), narrow, bundles, shared)
            everybody = changed or bool(shared) or self.moves
            self.round(first, self.core.relations if changed else facts, everybody)
        while True:
            levels = [level for level, waiting in self.pending.items() if waiting]
            levels += [self.plan.cycles[number].level for number in self.dirty | self.shrunk]
            if not levels:
                break
            level = min(levels)
            cycles = self.cycles_at(level)
            if not self.dirty.isdisjoint(cycles):
                self.reset_cycles(level)
            elif self.pending.get(level) or self.shrunk.isdisjoint(cycles):
                self.release_messages(level)
            else:
                self.settle_cycles(level)
        return self.manifest()

    def ordered_cycles(self, before: ClusterPlan | None, changed: bool) -> set[int]:
        """Return the cycles of the plan that are ordered as the epoch begins: as they were with the plan `before`, and
        those of which no partition has copies yet."""
        if before is not None and not changed:
            return set(self.committed.ordered)
        known = [] if before is None else [before.cycles[number].relations for number in self.committed.ordered]
        former = frozenset() if before is None else frozenset(before.routes().values())
        fed = {export.cycle for export, route in self.plan.routes().items() if route in former}
        return {
            number for number, cycle in enumerate(self.plan.cycles) if cycle.relations in known or number not in fed
        }

    def write_past(self) -> None:
        """Make what has been up to now the past, shortened where it has become long."""
        manifest = self.committed
        _, log = read_past(self.folder, manifest.past)
        rounds: list[Round] = [wire.loads(self.folder.read(name)) for name in manifest.since]
        if self.moves:
            log = self.move_rows()
        elif is_long(log := extended_log(log, rounds), manifest.kept):
            log = self.shorten_log()
            self.snapshot = self.snapshot if manifest.is_saved else None
        if self.snapshot is not None and manifest.is_saved:
            self.snapshot = replace(self.snapshot, entries=len(log))
        self.past = f"past-{self.token}"
        self.folder.write(self.past, wire.dumps((manifest.plan, log)))

    def shorten_log(self) -> Log:
        """Return the net content of all that partitions have been sent, as one entry."""
        with step("shorten the log"):
            written = self.engine.executors.run(self.engine.tasks("keep", (f"kept-{self.token}",)))
        shared = [each for each, _ in written if each is not None]
        own = [each for _, each in written if each is not None]
        return (Logged((), (), tuple(shared), tuple(own), 0),)

    def move_rows(self) -> Log:
        """Return all that partitions have been sent, as one entry for the partitions that there are to be."""
        before, now = self.committed.partitions, self.partitions
        self.explanation.repartitioned = self.engine.counting.reason(before, now)
        executors, plan = self.engine.executors, self.engine.plan
        asked = self.engine.tasks("spread", (f"moved-{self.token}", now))
        with step(f"move rows from {before} to {now} partitions"):
            written: list[tuple[Moved, Moved]] = executors.run(asked)
        executors.stop(self.folder)  # The partitions are others from now on.
        self.states.clear()
        moved = [rows for rows, _ in written]
        if plan is not None and has_signed_exports(plan):
            past = f"moving-{self.token}"
            seeded = [*moved, *(seeds for _, seeds in written)]
            self.folder.write(past, wire.dumps((self.committed.plan, _log_of(seeded))))
            state = past, 0, ""  # No round leads to this state: the log has no senders.
            arguments = (f"signed-{self.token}",)
            tasks = [self.task(number, "signed", state, past, (), arguments) for number in range(now)]
            with step(f"move what {now} partitions send"):
                moved += executors.run(tasks)
        return _log_of(moved)

    def task(
        self,
        number: int,
        what: str,
        state: RoundState,
        past: str,
        since: tuple[str, ...],
        arguments: tuple[Any, ...] = (),
    ) -> Task:
        """Return a task of the attempt for a partition."""
        return Task(
            self.folder.address,
            number,
            self.partitions,
            state,
            past,
            since,
            self.engine.symbols,
            what,
            arguments=arguments,
            functions=tuple(self.engine.functions.values()),
            saved=None if self.snapshot is None else self.snapshot.of(number, self.snapshot.entries),
        )

    # --- facts -----------------------------------------------------------------------------------------------------

    def deliver(self, facts: Mapping[str, RowChange[Rows]]) -> tuple[list[Bundle], list[Piece]]:
        """Write the facts to where they live: pieces for single partitions, and pieces for all."""
        own: list[Bundle] = []
        shared: list[Piece] = []
        for name in () if self.moves else self.unevenly_placed():  # Another epoch comes.
            self.places[name] = "rows"
            self.spread.append(name)
            asked = self.engine.tasks("send home", (f"facts-{self.token}", facts_name(name)))
            with step(f"spread facts of {name}"):
                found = self.engine.executors.run(asked)
            own += [bundle for bundle in found if bundle is not None]
        for name, change in facts.items():
            inserted = self.scatter_facts(name, change.inserted, True)
            count = sum(each.bundle.rows for each in inserted if each.bundle is not None)
            if count and name not in self.places:
                small = count <= self.engine.limits.replicate or not self.core.relations[name].columns
                self.places[name] = "all" if small else 0
                if not small and self.is_skewed([{name: each.frequent} for each in inserted], {name: count}, name):
                    self.places[name] = "rows"
                    inserted = self.scatter_facts(name, change.inserted, True)
            elif count and self.has_outgrown(name, count):
                self.places[name] = 0
                self.narrowed.append(name)
            self.fact_rows[name] = count
            self.seen += [{name: each.frequent} for each in inserted]
            for each in (*self.scatter_facts(name, change.deleted, False), *inserted):
                if each.bundle is not None and self.places.get(name, "all") == "all":
                    shared.append(each.bundle.whole)
                elif each.bundle is not None:
                    own.append(each.bundle)
        return own, shared

    def scatter_facts(self, name: str, rows: Rows, asserts: bool) -> list[Scattered]:
        """Write facts of a relation in pieces for the partitions where they live."""
        place = self.places.get(name, 0)
        delivery = Delivery((facts_name(name), asserts), 0 if place == "all" else place, self.partitions)
        with step(f"deliver facts of {name}"):
            return self.engine.executors.scatter(self.folder, f"facts-{self.token}", rows, delivery)

    def unevenly_placed(self) -> list[str]:
        """Return the relations whose facts are placed by a column that has skewed keys by now."""
        apart = [name for name, place in self.places.items() if place == 0]
        sizes = {name: size_of(self.engine.plan, self.sizes, name) for name in apart}
        return [name for name in apart if self.is_skewed(self.seen, sizes, name)]

    def is_skewed(self, seen: Iterable[Mapping[str, Frequent]], sizes: Mapping[str, int], name: str) -> bool:
        """Return True if the first column of a relation has skewed keys."""
        limit = self.engine.limits.skew
        return (name, 0) in find_skew(seen, sizes, self.partitions, limit, self.engine.plan).columns()

    def has_outgrown(self, name: str, count: int) -> bool:
        """Return True if facts that are everywhere become too many for that by `count` more."""
        plan = self.engine.plan
        if plan is None or plan.views.get(name) != facts_name(name) or not self.core.relations[name].columns:
            return False
        known = size_of(plan, self.sizes, name)
        return plan.homes[name] == "all" and known + count > _OUTGROWN * self.engine.limits.replicate

    def make_plan(self) -> bool:
        """Plan the program, unless nothing has changed that a plan depends on. Return True for another plan."""
        before = self.engine.plan
        sizes = {name: size_of(before, self.sizes, name) for name in (before.views if before is not None else ())}
        for name, rows in self.fact_rows.items():
            sizes[name] = sizes.get(name, 0) + rows
        skew = find_skew(self.seen, sizes, self.partitions, self.engine.limits.skew, before)
        same = (
            self.core == self.committed.core and self.places == self.committed.facts
        )  # Read again, it is another object.
        edges = edges_of_closures(self.core, sizes)
        limits = self.limits(sizes) if edges else self.engine.limits
        fits = before is not None and any(
            edges.get(name, 0) < limits.edges(self.partitions) for name in written_closures(before)
        )
        if before is not None and same and not is_outdated(before, skew) and not fits:
            self.plan, self.plan_name = before, self.committed.plan
            return False
        self.plan = place_program(
            self.core, self.places, sizes, self.partitions, limits, self.engine.dictionary, before, skew
        )
        if before is not None and self.plan == before:
            self.plan, self.plan_name = before, self.committed.plan
            return False
        self.plan_name = f"plan-{self.token}"
        self.folder.write(self.plan_name, wire.dumps(self.plan))
        return True

    def limits(self, sizes: Mapping[str, int]) -> PlacementLimits:
        """Return the limits of a plan for relations of these sizes, with the memory of partitions where it matters."""
        limits = self.engine.limits
        needs = limits.needs_memory(sum(sizes.values()))
        return replace(limits, memory=self.engine.executors.memory(self.partitions) or 0) if needs else limits

    # --- rounds ----------------------------------------------------------------------------------------------------

    def cycles_at(self, level: int) -> tuple[int, ...]:
        """Return the cycles of a level."""
        return tuple(number for number, cycle in enumerate(self.plan.cycles) if cycle.level == level)

    def release_messages(self, level: int) -> None:
        """Run a round in which partitions get the messages of a level. If much has gone in cycles, let these begin anew
        in place of that."""
        waiting = self.pending.pop(level)
        if cycles := self.cycles_at(level):
            names = {relation_of(name) for number in cycles for name in self.plan.cycles[number].relations}
            many = _MANY * sum(size_of(self.plan, self.sizes, name) for name in names if name in self.plan.homes)
            self.losses[level] = self.losses.get(level, 0) + sum(message.rows for message in waiting)
            if self.losses[level] > max(many, _FEW):
                self.dirty.update(cycles)
                return
        bundles = [each.bundle for each in waiting if each.bundle is not None]
        shared = [each.shared for each in waiting if each.shared is not None]
        number = len(self.rounds) + 1
        round = Round(self.token, number, self.plan_name, (), (), (), bundles, shared, level=level)
        sent = {relation_of(export.target) for export in self.plan.exports if level in export.levels}
        self.round(round, sent, bool(shared), level % LEVELS != LEVELS - 1)

    def settle_cycles(self, level: int) -> None:
        """Run a round in which partitions send what has come in the cycles of a level, or has come back, now that
        nothing goes in them any more (`exchange.births`)."""
        cycles = self.cycles_at(level)
        self.shrunk.difference_update(cycles)
        self.pending.pop(level + 1, None)  # Some of this may have gone since.
        self.explanation.rederived += 1
        names = {relation_of(name) for number in cycles for name in self.plan.cycles[number].relations}
        number = len(self.rounds) + 1
        self.round(Round(self.token, number, self.plan_name, level=level, settled=cycles), names, True, True)

    def reset_cycles(self, level: int) -> None:
        """Run a round in which recursions that cross partitions begin anew, from their inputs."""
        cycles = self.cycles_at(level)
        targets = dict.fromkeys(export.target for export in self.plan.exports if export.cycle in cycles)
        self.shrunk.difference_update(cycles)
        for each in (level, level + 1):
            self.pending.pop(each, None)
        self.explanation.resets += 1
        round = Round(self.token, len(self.rounds) + 1, self.plan_name, tuple(targets), cycles, level=level)
        self.round(round, map(relation_of, targets), True)
        self.dirty.difference_update(cycles)
        self.ordered.update(cycles)

    def round(self, round: Round, given: Iterable[str], everybody: bool, cyclic: bool = False) -> None:
        """Run one round, as one Spark job, in which partitions get rows of some relations."""
        started = time.perf_counter()
        self.watch.look()
        self.tell_symbols()
        clock = max((reply.clock for reply in self.replies.values()), default=0)
        round = replace(round, symbols=self.engine.symbols, epoch=self.engine.epoch_number, clock=clock)
        self.folder.write(round.name, wire.dumps(round))
        numbers: Iterable[int] = range(self.partitions)
        if not everybody:
            numbers = sorted({number for bundle in round.bundles for number in bundle.numbers()})
        done = tuple(each.name for each in self.rounds)
        options = {**vars(self.choice), "timeout": self.watch.timeout, "max_rows": self.watch.max_rows}
        if cyclic and self.choice.strategy == "auto":
            # What comes is new and what goes is to go, however much it is; and what a recursion has cost when it began
            # says nothing of what it costs with all that others have sent since.
            options["strategy"] = "update"
        tasks = [self.task(number, "round", self.states.get(number, NOWHERE), self.past, done) for number in numbers]
        tasks = [replace(task, round=round.name, options=options) for task in tasks]
        self.rounds.append(round)
        with step(f"{reading_rules(self.core, given)}, round {round.number}"):
            replies = self.engine.executors.run(tasks)
        if self.moves and not done:  # All of the new partitions report.
            for known in (self.sizes, self.kept, self.frequent):
                known.clear()
        for reply in replies:
            self.note_reply(reply, round)
        losing = {number for reply in replies for number in reply.losing}.difference(round.cycles)
        self.dirty |= (self.shrunk | losing) - self.ordered
        self.explanation.rounds += 1
        self.explanation.seconds.append(time.perf_counter() - started)
        self.check_sizes()

    def note_reply(self, reply: Reply, round: Round) -> None:
        """Take note of what a partition has done."""
        self.states[reply.partition] = reply.state
        self.sizes[reply.partition] = reply.sizes
        self.kept[reply.partition] = reply.kept
        self.frequent[reply.partition] = reply.frequent
        self.replies[reply.partition] = reply
        self.reports.append((reply, bool(round.cycles)))
        self.explanation.restored += reply.restored
        self.explanation.replayed += reply.replayed
        for message in reply.messages:
            self.pending.setdefault(message.level, []).append(message)
            self.explanation.messages += 1
            for piece, copies in ((message.bundle, 1), (message.shared, self.partitions - 1), (message.own, -1)):
                if piece is not None:
                    self.explanation.bytes += piece.length * copies
                    self.explanation.rows += piece.rows * copies
        self.shrunk |= set(reply.shrunk) - set(round.cycles)
        self.ordered -= set(reply.unordered) - set(round.cycles)
        if reply.symbols:
            learn_values(self.engine.dictionary, self.folder.read(reply.symbols), self.folder)
            # In this order, so that an interruption lets it be written once more, and not never.
            self.engine.starts[reply.symbols] = self.engine.written_extent
            self.engine.symbols = (*self.engine.symbols, reply.symbols)
            self.engine.written_extent = dictionary_extent(self.engine.dictionary, self.core.records)

    def tell_symbols(self) -> None:
        """Write what the driver's dictionary has gained, if others have to know. A file has that of files before it
        as well, unless it is twice as much, so that files are few and no value is written often."""
        engine = self.engine
        if not (self.plan.dictionary or engine.lasting):
            return
        now, blocks = dictionary_extent(engine.dictionary, self.core.records), blocks_of(engine.dictionary)
        known = engine.written_extent.get(SYMBOLS, 0)
        moved = bool(engine.symbols) and any(each.start < known and each not in engine.named for each in blocks)
        first, end = len(engine.symbols), engine.written_extent
        for i, name in reversed(list(enumerate(engine.symbols))):
            start = engine.starts[name]
            if count_values(start, end) < 2 * count_values(end, now):
                first = i
            end = start
        if moved:  # Texts have gone to blocks: one file names these in place of all files.
            first = 0
        if now != engine.written_extent or moved or first < len(engine.symbols) - 1:
            name = f"symbols-{self.token}-{len(self.rounds)}-{secrets.token_hex(4)}"
            start = engine.written_extent if first == len(engine.symbols) else engine.starts[engine.symbols[first]]
            self.folder.write(name, values_beyond(engine.dictionary, start, now, self.folder))
            engine.starts[name] = start
            engine.named = {*(engine.named if first else ()), *blocks}
            engine.symbols, engine.written_extent = (*engine.symbols[:first], name), now

    def check_sizes(self) -> None:
        """Raise if a limit is reached."""
        derived = [name for name in self.plan.views if self.plan.views[name] != facts_name(name)]
        known = self.committed.sizes
        grown = sum(
            max(0, size_of(self.plan, self.sizes, name) - size_of(self.engine.plan, known, name)) for name in derived
        )
        self.watch.look(grown)
        self.watch.present = {name: size_of(self.engine.plan, known, name) for name in self.watch.sizes}
        for name in self.watch.sizes:
            self.watch.look_at(name, size_of(self.plan, self.sizes, name))

    # --- what comes of it ------------------------------------------------------------------------------------------

    def manifest(self) -> ClusterManifest:
        """Return the manifest that commits the attempt."""
        rows, changed = sum(sum(each.values()) for each in self.sizes.values()), sum(self.count_changes().values())
        return ClusterManifest(
            self.partitions,
            self.committed.epoch + 1,
            self.token,
            self.plan_name,
            self.core,
            self.past,
            tuple(round.name for round in self.rounds),
            self.engine.symbols,
            self.states,
            self.places,
            self.sizes,
            self.kept,
            frequent=self.frequent,
            snapshot=self.snapshot,
            unsaved=rows if self.snapshot is None else self.committed.unsaved + changed,
            texts=tuple(sorted(files_in(self.folder, self.engine.named))),
            ordered=frozenset(self.ordered),
            meaning=MEANING,
        )

    def count_changes(self) -> dict[str, int]:
        """Return the relations of the user's program that have changed, each with the number of inserted and
        deleted rows."""
        counts: dict[str, list[int]] = {}
        for reply in self.replies.values():
            for name, both in reply.changed.items():
                counts.setdefault(name, []).append(sum(both))
        total = {name: max(each) if self.plan.homes.get(name) == "all" else sum(each) for name, each in counts.items()}
        return {name: total[name] for name in self.core.relations if name in total and not name.startswith("#")}

    def report(self) -> Report:
        """Return the report of the epoch, hyper-node by hyper-node."""
        seconds = time.perf_counter() - self.started
        nodes = merge_reports(self.core.nodes, self.plan, self.reports, self.replies, len(self.rounds))
        return Report(seconds, nodes, moved=self.explanation.repartitioned or None)


def size_of(plan: ClusterPlan | None, sizes: Mapping[int, Mapping[str, int]], name: str) -> int:
    """Return the number of rows of a relation over all partitions."""
    if plan is None:
        return 0
    found = [each.get(name, 0) for each in sizes.values()]
    return max(found, default=0) if plan.homes.get(name) == "all" else sum(found)


def reading_rules(core: CoreProgram, names: Iterable[str]) -> str:
    """Return the rules that read some relations and the numbers of their hyper-nodes, as text, shortened."""
    given = set(names)
    nodes = [node for node in core.nodes if not prepares(node.relations)]
    found = [(number, node) for number, node in enumerate(nodes, 1) if given & {*node.reads, *node.relations}]
    rules = list(dict.fromkeys(name for _, node in found for name in rule_names(node)))
    if not rules:
        return "no rules"
    shown = ", ".join([*rules[:_SHOWN], *(["…"] if len(rules) > _SHOWN else [])])
    first, last = found[0][0], found[-1][0]
    where = f"hyper-node {first}" if first == last else f"hyper-nodes {first} to {last}"
    return f"{'rule' if len(rules) == 1 else 'rules'} {shown} of {where}"


def _log_of(moved: Sequence[Moved]) -> Log:
    """Return the log of pieces that moved from partition to partition."""
    shared = tuple(each.shared for each in moved if each.shared is not None)
    bundles = tuple(each.bundle for each in moved if each.bundle is not None)
    return (Logged((), (), shared, bundles, 0),)


def _weakened_cycles(before: ClusterPlan, plan: ClusterPlan, forget: tuple[str, ...]) -> set[int]:
    """Return the cycles of a plan that have lost a rule, or a part of what has been sent."""
    rules: dict[str, set[object]] = {}
    for node in before.program.nodes:
        for rule in node.rules:
            if not rule.name.startswith(NEVER):
                rules.setdefault(head_of(rule), set()).add(rule)
    return {
        number
        for number, cycle in enumerate(plan.cycles)
        if any(rules.get(name, set()) - cycle.rules or name in forget for name in cycle.relations)
    }
