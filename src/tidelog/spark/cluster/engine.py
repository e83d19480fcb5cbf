"""The cluster engine: epochs over partitions, as the driver sees them. It never sees rows, only how many there are.

An epoch delivers the facts to where they live and goes from round to round: those partitions that have been told
something do a task each, and what they say in turn waits until everything that could still change it has been said
(`plan.Export.level`). When nobody has anything to say, the epoch is committed by replacing the manifest; until then
nothing has happened. An epoch that fails leaves partitions behind that have gone ahead; they are restored from files
when they are next needed.

Recursions that cross partitions follow insertions round by round. When something that they read has gone, rows could
support each other in a circle, so that they are evaluated anew (`_Epoch.reset`), which reports call a bootstrap.
"""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.database import _size_limits
from tidelog.maintain.limits import Watch
from tidelog.maintain.report import Report
from tidelog.rules.core import CoreProgram
from tidelog.spark.cluster import values
from tidelog.spark.cluster.executors import Executors, scattered
from tidelog.spark.cluster.folder import Folder
from tidelog.spark.cluster.localize import Limits, localize
from tidelog.spark.cluster.manifest import MANIFEST, Log, Manifest, continued, files_of, read_past, weight
from tidelog.spark.cluster.partition import Logged, Reply, Round, State, Task
from tidelog.spark.cluster.pieces import Message, Piece
from tidelog.spark.cluster.plan import Plan, facts_name
from tidelog.spark.cluster.reports import merged
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    from tidelog.spark.engines import Draft, Epoch, RowChange, Rows

_LONG_LOG = 40
_HEAVY_LOG = 1 << 26


@dataclass
class Explanation:
    """How the last epoch went: rounds, jobs, bytes and rows that partitions sent each other, the seconds of each round,
    the operators of a round's Spark plan, and how each hyper-node is computed."""

    rounds: int = 0
    bytes: int = 0
    rows: int = 0
    released: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    restored: int = 0
    resets: int = 0
    nodes: tuple[tuple[tuple[str, ...], str], ...] = ()


class PartitionedEngine:
    """Relations over `partitions` partitions whose state is in `folder`, which goes on where it was left if there is a
    manifest. `dictionary` says what words mean; the engine adds what rules make."""

    name = "cluster"

    def __init__(
        self,
        dictionary: Dictionary,
        executors: Executors,
        folder: Folder,
        partitions: int = 2,
        limits: Limits | None = None,
        *,
        temporary: bool = True,
    ) -> None:
        self.dictionary = dictionary
        self.executors = executors
        self.folder = folder
        self.limits = limits or Limits()
        self.temporary = temporary
        self.explanation = Explanation()
        self.moved: frozenset[str] = frozenset()
        """Relations that have got another home in the last epoch."""
        self.told: dict[str, int] = {}
        self.symbols: tuple[str, ...] = ()
        folder.create()
        if MANIFEST in folder.names():
            self.committed: Manifest = pickle.loads(folder.read(MANIFEST))
            for name in self.committed.symbols:
                values.learn(dictionary, folder.read(name))
            self.told = values.extent(dictionary, self.committed.core.records if self.committed.core else ())
            self.plan: Plan | None = pickle.loads(folder.read(self.committed.plan)) if self.committed.plan else None
            self.symbols = self.committed.symbols
            self.clean()
        else:
            self.committed = Manifest(partitions)
            self.plan = None

    # --- epochs ----------------------------------------------------------------------------------------------------

    def epoch(
        self, draft: Draft, facts: Mapping[str, RowChange], options: Mapping[str, Any], extra: bytes = b""
    ) -> Epoch:
        """One epoch, see `engines.Engine.epoch`; `extra` is kept in the manifest."""
        from tidelog.spark.engines import Epoch

        epoch = _Epoch(self, draft.core, options, _size_limits(draft.checked))
        try:
            manifest = replace(epoch.run(facts), extra=extra)
            self.folder.write(MANIFEST, pickle.dumps(manifest))
        except BaseException:
            self.clean()
            raise
        before, self.plan = self.plan, epoch.plan
        self.committed, self.explanation = manifest, epoch.explanation
        had = before.views if before is not None else {}
        self.moved = frozenset(name for name in had if had[name] != self.plan.views.get(name))
        self.clean()
        return Epoch(_Changes(self, epoch.changed()), epoch.report())

    def clean(self) -> None:
        """Remove the files that the committed epoch does not need."""
        manifest = self.committed
        plan, log = read_past(self.folder, manifest.past, manifest.partitions)
        rounds = [pickle.loads(self.folder.read(name)) for name in manifest.since]
        needed = files_of(continued(log, rounds)) | {round.plan for round in rounds}
        needed |= {MANIFEST, manifest.past, manifest.plan, plan, *manifest.since, *manifest.symbols, *self.symbols}
        self.folder.remove(name for name in self.folder.names() if name not in needed and name != "lock")

    def tasks(self, what: str, arguments: tuple[Any, ...] = ()) -> list[Task]:
        """A task for each partition in the committed state."""
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
            )
            for number in range(manifest.partitions)
        ]

    # --- reading ---------------------------------------------------------------------------------------------------

    def relation(self, name: str) -> Rows:
        """The rows of a relation as of the last epoch."""
        return self._rows("rows", name)

    def asserted(self, name: str) -> Rows:
        """The asserted facts of a relation."""
        if self.plan is None or name not in self.plan.facts:
            return numpy.empty((0, self._arity(name)), numpy.int64)
        replicated = self.plan.facts[name] == "all"
        return self._read("rows", (name, facts_name(name), replicated, ""), self._arity(name))

    def size(self, name: str) -> int:
        """The number of rows of a relation."""
        return _size(self.plan, self.committed.sizes, name)

    def _rows(self, what: str, name: str) -> Rows:
        if self.plan is None or name not in self.plan.views:
            return numpy.empty((0, self._arity(name)), numpy.int64)
        replicated = self.plan.homes[name] == "all"
        return self._read(what, (name, self.plan.views[name], replicated, self.committed.token), self._arity(name))

    def _read(self, what: str, arguments: tuple[Any, ...], arity: int) -> Rows:
        return self.executors.rows(self.tasks(what, arguments), arity)

    def _arity(self, name: str) -> int:
        core = self.committed.core
        return len(core.relations[name].columns) if core is not None and name in core.relations else 0

    def change(self, name: str) -> RowChange:
        """What the last epoch has changed in a relation."""
        from tidelog.spark.engines import RowChange

        came, went = self._rows("came", name), self._rows("went", name)
        if name in self.moved:
            came, went = _without(came, went), _without(went, came)
        return RowChange(came, went)

    # --- the rest --------------------------------------------------------------------------------------------------

    def stats(self) -> Mapping[str, Any]:
        """Sizes, how the last epoch went, and the files of the state."""
        last = self.explanation
        return {
            "partitions": self.committed.partitions,
            "rounds": last.rounds,
            "bytes_shuffled": last.bytes,
            "rows_shuffled": last.rows,
            "restored": last.restored,
            "state": self.folder.address,
            "files": len(self.folder.names()),
        }

    def explain(self) -> str:
        """How the relations are laid out, and what the last epoch took, as text."""
        last = self.explanation
        lines = [
            f"{self.committed.partitions} partitions, epoch {self.committed.epoch}",
            f"last epoch: {last.rounds} rounds, {last.rows:,} rows and {last.bytes:,} bytes between partitions",
            "a round: 1 Spark job of 1 stage, Range -> MapInArrow",
        ]
        for relations, way in last.nodes:
            shown = [name for name in relations if not name.startswith("#")]
            if shown:
                lines.append(f"{', '.join(shown)}: {way}")
        return "\n".join(lines)

    def close(self) -> None:
        """End the partitions, and remove the state if it is temporary."""
        self.executors.stop(self.folder)
        if self.temporary:
            self.folder.destroy()


class _Changes(Mapping[str, "RowChange"]):
    """What an epoch has changed; frames are made when somebody asks."""

    def __init__(self, engine: PartitionedEngine, names: list[str]) -> None:
        self._engine = engine
        self._names = names

    def __getitem__(self, name: str) -> RowChange:
        if name not in self._names:
            raise KeyError(name)
        return self._engine.change(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _Epoch:
    """One attempt at an epoch."""

    def __init__(
        self, engine: PartitionedEngine, core: CoreProgram, options: Mapping[str, Any], limits: Mapping[str, int]
    ) -> None:
        self.engine = engine
        self.folder = engine.folder
        self.core = core
        self.options = options
        self.watch = Watch(options.get("timeout"), options.get("max_rows"), limits)
        self.committed = engine.committed
        self.partitions = self.committed.partitions
        self.token = secrets.token_hex(6)
        self.started = time.perf_counter()
        self.places = dict(self.committed.facts)
        self.sizes = dict(self.committed.sizes)
        self.states: dict[int, State] = dict(self.committed.states)
        self.rounds: list[Round] = []
        self.pending: dict[int, list[Message]] = {}
        self.dirty: set[int] = set()
        self.replies: dict[int, Reply] = {}
        self.reports: list[tuple[Reply, bool]] = []
        self.explanation = Explanation()
        self.past = ""
        self.plan: Plan
        self.plan_name = ""

    def run(self, facts: Mapping[str, RowChange]) -> Manifest:
        """Everything but the commit."""
        self.look_back()
        pieces, shared = self.deliver(facts)
        changed = self.make_plan()
        self.explanation.nodes = self.plan.nodes
        before = self.engine.plan
        forget: tuple[str, ...] = ()
        if changed and before is not None:
            gone = set(before.routes().values()) - set(self.plan.routes().values())
            forget = tuple(sorted({target for _, target, *_ in gone}))
            self.dirty = _weakened(before, self.plan, forget)
        if changed or pieces or shared:
            self.round(Round(self.token, 1, self.plan_name, forget, (), pieces, shared), changed or bool(shared))
        while True:
            levels = [level for level, waiting in self.pending.items() if waiting]
            levels += [self.plan.cycles[number].level for number in self.dirty]
            if not levels:
                break
            level = min(levels)
            if any(self.plan.cycles[number].level == level for number in self.dirty):
                self.reset(level)
            else:
                self.release(level)
        return self.manifest()

    def look_back(self) -> None:
        """Make what has been up to now the past, shortened where it has become long."""
        manifest = self.committed
        _, log = read_past(self.folder, manifest.past, self.partitions)
        rounds: list[Round] = [pickle.loads(self.folder.read(name)) for name in manifest.since]
        log = continued(log, rounds)
        entries, weighs = weight(log)
        kept = sum(len(words) for words in self.sizes.values()) * 8
        if entries > _LONG_LOG or (weighs > _HEAVY_LOG and entries > 4 and weighs > 4 * kept):
            log = self.shortened()
        self.past = f"past-{self.token}"
        self.folder.write(self.past, pickle.dumps((manifest.plan, log)))

    def shortened(self) -> Log:
        """What partitions have been told, on balance, as one entry for each."""
        written = self.engine.executors.run(self.engine.tasks("keep", (f"kept-{self.token}",)))
        shared = [each for each, _ in written if each is not None]
        return {
            number: (Logged((), (*shared, *([own] if own is not None else []))),)
            for number, (_, own) in enumerate(written)
        }

    # --- facts -----------------------------------------------------------------------------------------------------

    def deliver(self, facts: Mapping[str, RowChange]) -> tuple[dict[int, list[Piece]], list[Piece]]:
        """Write the facts to where they live: pieces for single partitions, and pieces for all."""
        found: list[tuple[str, bool, list[tuple[int, Piece]]]] = []
        for name, change in facts.items():
            for asserts, rows in ((False, change.deleted), (True, change.inserted)):
                statement = (facts_name(name), asserts)
                prefix = f"facts-{self.token}"
                if isinstance(rows, numpy.ndarray):
                    if len(rows):
                        file, pieces = scattered(prefix, rows, statement, self.partitions)
                        file.write(self.folder)
                        found.append((name, asserts, pieces))
                else:
                    scatter = self.engine.executors.scatter
                    found.append((name, asserts, scatter(self.folder, prefix, rows, statement, self.partitions)))
        for name in facts:
            count = sum(piece.rows for other, asserts, each in found if other == name and asserts for _, piece in each)
            if count and name not in self.places:
                small = count <= self.engine.limits.replicate or not self.core.relations[name].columns
                self.places[name] = "all" if small else 0
        own: dict[int, list[Piece]] = {}
        shared: list[Piece] = []
        for name, _, pieces in found:
            for target, piece in pieces:
                if self.places.get(name, "all") == "all":
                    shared.append(piece)
                else:
                    own.setdefault(target, []).append(piece)
        self.fact_rows = {
            name: sum(p.rows for n, a, each in found if n == name and a for _, p in each) for name in facts
        }
        return own, shared

    def make_plan(self) -> bool:
        """Plan the program, unless nothing has changed that a plan depends on; whether it is another one."""
        before = self.engine.plan
        if before is not None and self.core is self.committed.core and self.places == self.committed.facts:
            self.plan, self.plan_name = before, self.committed.plan
            return False
        sizes = {name: _size(before, self.sizes, name) for name in (before.views if before is not None else ())}
        for name, rows in self.fact_rows.items():
            sizes[name] = sizes.get(name, 0) + rows
        self.plan = localize(
            self.core, self.places, sizes, self.partitions, self.engine.limits, self.engine.dictionary, before
        )
        if before is not None and self.plan == before:
            self.plan, self.plan_name = before, self.committed.plan
            return False
        self.plan_name = f"plan-{self.token}"
        self.folder.write(self.plan_name, pickle.dumps(self.plan))
        return True

    # --- rounds ----------------------------------------------------------------------------------------------------

    def release(self, level: int) -> None:
        """A round in which partitions hear what has waited on a level."""
        waiting = self.pending.pop(level)
        pieces: dict[int, list[Piece]] = {}
        shared = []
        for message in waiting:
            if message.target < 0:
                shared.append(message.piece)
            else:
                pieces.setdefault(message.target, []).append(message.piece)
        number = len(self.rounds) + 1
        self.round(Round(self.token, number, self.plan_name, (), (), pieces, shared), bool(shared))

    def reset(self, level: int) -> None:
        """A round in which recursions that cross partitions begin anew, from what they read."""
        cycles = tuple(number for number, cycle in enumerate(self.plan.cycles) if cycle.level == level)
        forget = tuple(dict.fromkeys(export.target for export in self.plan.exports if export.cycle in cycles))
        self.pending.pop(level, None)
        self.explanation.resets += 1
        number = len(self.rounds) + 1
        self.round(Round(self.token, number, self.plan_name, forget, cycles), True)
        self.dirty.difference_update(cycles)

    def round(self, round: Round, everybody: bool) -> None:
        """One Spark job."""
        started = time.perf_counter()
        self.watch.look()
        self.tell_symbols()
        round = replace(round, symbols=self.engine.symbols)
        self.folder.write(round.name, pickle.dumps(round))
        numbers = range(self.partitions) if everybody else sorted(round.pieces)
        done = tuple(each.name for each in self.rounds)
        tasks = [
            Task(
                self.folder.address,
                number,
                self.partitions,
                self.states.get(number, ("", 0, "")),
                self.past,
                done,
                self.engine.symbols,
                "round",
                round.name,
                {**self.options, "sizes": self.watch.sizes},
            )
            for number in numbers
        ]
        self.rounds.append(round)
        for reply in self.engine.executors.run(tasks):
            self.hear(reply, round)
        self.explanation.rounds += 1
        self.explanation.seconds.append(time.perf_counter() - started)
        self.check_sizes()

    def hear(self, reply: Reply, round: Round) -> None:
        """Take note of what a partition has done."""
        self.states[reply.partition] = reply.state
        self.sizes[reply.partition] = reply.sizes
        self.replies[reply.partition] = reply
        self.reports.append((reply, bool(round.cycles)))
        self.explanation.restored += reply.restored
        for message in reply.messages:
            self.pending.setdefault(message.level, []).append(message)
            copies = self.partitions - 1 if message.target < 0 else message.target != reply.partition
            self.explanation.bytes += message.piece.length * copies
            self.explanation.rows += message.piece.rows * copies
        self.dirty |= set(reply.shrunk) - set(round.cycles)
        if reply.symbols:
            values.learn(self.engine.dictionary, self.folder.read(reply.symbols))
            self.engine.told = values.extent(self.engine.dictionary, self.core.records)
            self.engine.symbols = (*self.engine.symbols, reply.symbols)

    def tell_symbols(self) -> None:
        """Write what the driver's dictionary has gained, if partitions have to know."""
        if self.plan.dictionary:
            now = values.extent(self.engine.dictionary, self.core.records)
            if now != self.engine.told:
                name = f"symbols-{self.token}-{len(self.rounds)}-{secrets.token_hex(4)}"
                self.folder.write(name, values.told(self.engine.dictionary, self.engine.told, now))
                self.engine.told, self.engine.symbols = now, (*self.engine.symbols, name)

    def check_sizes(self) -> None:
        """Raise if a limit is reached."""
        derived = [name for name in self.plan.views if self.plan.views[name] != facts_name(name)]
        known = self.committed.sizes
        grown = sum(
            max(0, _size(self.plan, self.sizes, name) - _size(self.engine.plan, known, name)) for name in derived
        )
        self.watch.look(grown)
        for name in self.watch.sizes:
            self.watch.look_at(name, _size(self.plan, self.sizes, name))

    # --- what comes of it ------------------------------------------------------------------------------------------

    def manifest(self) -> Manifest:
        """What is to be committed."""
        return Manifest(
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
        )

    def changed(self) -> list[str]:
        """The relations of the user's program that have changed."""
        names = dict.fromkeys(name for reply in self.replies.values() for name in reply.changed)
        return [name for name in self.core.relations if name in names and not name.startswith("#")]

    def report(self) -> Report:
        """The epoch, hyper-node by hyper-node."""
        seconds = time.perf_counter() - self.started
        return Report(seconds, merged(self.core.nodes, self.plan, self.reports, self.replies, len(self.rounds)))


def _without(rows: Rows, others: Rows) -> Rows:
    """Those of the distinct rows that are not among others."""
    if not isinstance(rows, numpy.ndarray):
        return rows.subtract(others)
    unwanted = set(map(tuple, others.tolist()))
    return rows[numpy.array([tuple(row) not in unwanted for row in rows.tolist()], bool)]


def _size(plan: Plan | None, sizes: Mapping[int, Mapping[str, int]], name: str) -> int:
    """The rows of a relation over all partitions."""
    if plan is None:
        return 0
    found = [each.get(name, 0) for each in sizes.values()]
    return max(found, default=0) if plan.homes.get(name) == "all" else sum(found)


def _weakened(before: Plan, plan: Plan, forget: tuple[str, ...]) -> set[int]:
    """The cycles of a plan that have lost a rule, or a part of what has been sent."""
    rules: dict[str, set[object]] = {}
    for node in before.program.nodes:
        for rule in node.rules:
            rules.setdefault(rule.head if isinstance(rule.head, str) else rule.head.relation, set()).add(rule)
    return {
        number
        for number, cycle in enumerate(plan.cycles)
        if any(rules.get(name, set()) - cycle.rules or name in forget for name in cycle.relations)
    }
