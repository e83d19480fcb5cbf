"""What an epoch does to the engine's state.

It applies the net changes of asserted facts and then walks the hyper-nodes in order. A node for which nothing has
changed is skipped; every other is updated in place or, where that is dearer, bootstrapped (`Epoch.visit` chooses).
What is changed in place can be taken back until the epoch ends (`Epoch.undo`).
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.arrays import AnyWords
from tidelog.limits.watch import Watch
from tidelog.maintain import closures
from tidelog.maintain.aggregates import update_aggregate
from tidelog.maintain.assemble import UNIT
from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.choice import EpochOptions
from tidelog.maintain.deltas import Delta, Outcome, Seal
from tidelog.maintain.large_groups import LargeGroups
from tidelog.maintain.machine import Inputs
from tidelog.maintain.overlay import Overlay
from tidelog.maintain.report import NodeReport, Report, names_of, prepares, shown, skipped, with_demand
from tidelog.maintain.structure import Structure
from tidelog.maintain.update import CutOffError, NodeChange, forget_indexes, prepare, update
from tidelog.rules.core import AggregateRule, CoreProgram, CoreRule, HyperNode
from tidelog.rules.edges import body_of, head_of
from tidelog.rules.graph import coarsened
from tidelog.rules.projections import PROJECTION
from tidelog.storage.closure import ClosedRelation
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

if TYPE_CHECKING:
    from tidelog.maintain.engine import EmbeddedEngine

_RECLAIM = 4_096
"""Dead rows of a relation below this number are not worth reclaiming."""
_ALWAYS_WORTH = 0.1
"""Seconds that an update may take whatever the last bootstrap took."""
_SHOWING = 2e-7
"""Seconds per pair that an update takes at least to see what has changed in a closure."""
_RESERVE = 3 << 20
"""Bytes for what taking an epoch back, or ending it, needs beside the memory that it has: Python's own objects."""
_DIFFERING = 2e-7
"""Seconds per tuple that telling what has changed adds to the next bootstrap, as long as there has been none."""


class Attempt:
    """One attempt at an epoch: everything that it replaces or changes is kept until it succeeds."""

    def __init__(self, engine: EmbeddedEngine, program: CoreProgram, watch: Watch, choice: EpochOptions) -> None:
        self.engine = engine
        self.program = program
        self.watch = watch
        self.choice = choice
        self.started = time.perf_counter()
        self.growing = engine.catalog.growing
        self.views = Overlay(engine.views)
        self.asserted = Overlay(engine.asserted)
        self.structure = engine.structure
        self.is_new = program is not engine.program or not engine.views
        """Whether there are other rules than before; only then every relation and every hyper-node is looked at."""
        if self.is_new:
            groups = [frozenset(node.relations) for node in engine.nodes if len(node.relations) > 1]
            self.structure = Structure(program, coarsened(program.nodes, groups))
        self.reshaped = {
            name
            for name, info in (program.relations.items() if self.is_new else ())
            if name in engine.views and engine.views[name].arity != len(info.columns)
        }
        """Auxiliary relations of a rule that another one of the same name has replaced."""
        for name in self.reshaped:
            del self.views[name], self.asserted[name]
        self.derived = self.structure.derived
        self.before = engine.structure.derived
        self.deltas: dict[str, Delta] = {}
        self.facts: dict[str, tuple[AnyWords, AnyWords]] = {}
        """For derived relations whose asserted facts have changed: the rows that came and that went."""
        self.opened: dict[int, StoredRelation] = {}
        self.shifted: list[tuple[StoredRelation, int]] = []
        self.large = Overlay(engine.large)
        self.costs: dict[str, float] = {}
        self.kept: list[HyperNode] = []
        """What a hyper-node is after the epoch: one that is bootstrapped is as fine as the rules allow."""
        self.split: dict[int, list[HyperNode]] = {}
        """The positions of hyper-nodes that are others after the epoch, and these."""
        self.round = engine.round
        self.closures = closures.Closures(self)
        self.wasted = 0.0
        """Seconds of updates that were given up."""
        self.grouped: list[LargeGroups] = []
        """What has been changed of `large`."""
        self.reserve: Block | None = Block(_RESERVE)
        """Given back before what must not fail."""

    def run(self, changes: Mapping[str, tuple[AnyWords, AnyWords]], seal: Seal) -> Outcome:
        if UNIT not in self.views:
            self.views[UNIT] = StoredRelation(self.engine.catalog, 0)
            self.views[UNIT].insert(numpy.empty((1, 0), numpy.int64))
        self.views[UNIT].settle()
        self.place_relations()
        for name, (insert, delete) in changes.items():
            self.assert_facts(name, insert, delete)
        dropped = tuple(self.drop_relations())
        visited = self.walk()
        state = self.other_state() if self.is_new or self.split else {}
        self.watch.look()
        seal(self.views, self.deltas)
        return self.finish(state, dropped, visited)

    def walk(self) -> dict[int, NodeReport]:
        """Visit the hyper-nodes for which something may have changed, in their order; their reports by position."""
        if self.choice.closures is not self.engine.compressing:
            waiting = list(range(len(self.structure.nodes)))
        else:
            changed = {self.derived[name] for name in self.facts if name in self.derived}
            waiting = sorted(changed.union(self.others(), *map(self.readers, (*self.deltas, *self.reshaped))))
        seen = set(waiting)
        reports = {}
        while waiting:
            position = heapq.heappop(waiting)
            node, self.kept = self.structure.nodes[position], []
            reports[position] = self.visit(node)
            if len(self.kept) != 1 or self.kept[0] is not node:
                self.split[position] = self.kept
            for name in node.relations:
                if name in self.deltas or name in self.views.changed:
                    for reader in self.readers(name):
                        if reader not in seen:
                            seen.add(reader)
                            heapq.heappush(waiting, reader)
        return reports

    def others(self) -> Iterator[int]:
        """The positions of the hyper-nodes that other rules may have changed: all but those that are the same objects.
        What shows a closure depends on rules that read it, too."""
        if self.is_new:
            before = {id(node) for node in self.engine.nodes}
            for position, node in enumerate(self.structure.nodes):
                if id(node) not in before or node.mirrors is not None:
                    yield position

    def readers(self, name: str) -> tuple[int, ...]:
        """The positions of the hyper-nodes that read a relation."""
        return self.structure.readers.get(name, ())

    def open(self, stored: StoredRelation) -> StoredRelation:
        """Begin to change a relation in place."""
        if id(stored) not in self.opened:
            self.opened[id(stored)] = stored
            stored.open()
        return stored

    def place_relations(self) -> None:
        """Give every relation of the program its storage; facts and view part where a relation has become derived."""
        if not self.is_new:
            return
        for name, info in self.program.relations.items():
            if name not in self.asserted:
                self.asserted[name] = StoredRelation(self.engine.catalog, len(info.columns))
            if name not in self.derived and name not in self.before:
                self.views[name] = self.asserted[name]
            elif name not in self.views:
                self.views[name] = StoredRelation(self.engine.catalog, len(info.columns))
            elif name in self.derived and self.views[name] is self.asserted[name]:
                self.asserted[name] = self.views[name].copy_to(self.engine.catalog)

    def drop_relations(self) -> list[NodeReport]:
        """Reduce the relations whose last rule has gone to their asserted facts, without evaluating anything."""
        reports = []
        for node in self.engine.nodes if self.is_new else ():
            gone = [name for name in node.relations if name not in self.derived]
            for name in gone:
                self.drop(name)
            if not prepares(gone):
                impact = sum(len(self.deltas.get(name, ())) for name in gone)
                reason = self.closures.told(gone, "its last rule is gone")
                reports.append(NodeReport(shown(gone), names_of(node), "drop", reason, 0.0, impact))
        return reports

    def drop(self, name: str) -> None:
        old = self.views[name]
        facts = self.asserted.get(name)
        if facts is None or (not len(facts) and not self.readers(name)):
            if len(old):
                none = numpy.empty((0, old.arity), numpy.int64)
                whole = self.engine.whole(old)
                if name in self.closures.mirrors:  # What it showed may live on, and change.
                    whole.keep()
                self.deltas[name] = Delta(none, whole)
            self.views[name] = self.asserted[name] = StoredRelation(self.engine.catalog, old.arity)
            self.closures.forget(name)
            return
        if old is not facts:
            self.closures.own(name)
            self.closures.forget(name)
            old = self.changeable(name)
            self.open(old).absorb(facts)
            self.views[name] = self.asserted[name] = old
            self.note(name, old)

    def changeable(self, name: str) -> StoredRelation:
        """A view as one that can be changed in place, though what it counts may be wrong."""
        if not self.views[name].counted:
            self.views[name] = self.views[name].copy_to(self.engine.catalog, counted=True)
        return self.views[name]

    def note(self, name: str, stored: StoredRelation) -> int:
        """Settle the change of an open relation and note it; returns the number of rows that came and went."""
        died, born = stored.settle_change()
        if len(died) or len(born):
            came = self.engine.whole(stored) if len(born) == stored.rows else stored.take(born)
            self.deltas[name] = Delta(came, stored.take(died))
        return len(died) + len(born)

    def note_new(self, name: str) -> None:
        """Note that all rows of a relation, which had none, have come."""
        new = self.views[name]
        if len(new):
            none = numpy.empty((0, new.arity), numpy.int64)
            self.deltas[name] = Delta(self.engine.whole(new), none)
            if self.engine.nodes and new.counted and not isinstance(new, ClosedRelation):
                self.open(new).call_all_new()

    def assert_facts(self, name: str, insert: AnyWords, delete: AnyWords) -> None:
        """Apply the net change of the asserted facts of a relation."""
        stored = self.asserted[name]
        present = stored.find(delete)
        gone = numpy.unique(present[present >= 0])
        came = insert[stored.find(insert) < 0] if len(stored) else insert
        if not len(gone) and not len(came):
            return
        lost = stored.take(gone)
        start = stored.rows
        self.open(stored).change_facts(gone, came)
        if name not in self.derived and name not in self.before:
            self.note(name, stored)
        else:
            self.facts[name] = stored.take(numpy.arange(start, stored.rows)), lost

    def visit(self, node: HyperNode) -> NodeReport:
        """Skip, update or bootstrap a hyper-node."""
        started, names = time.perf_counter(), names_of(node)
        reads = dict.fromkeys(node.reads)
        old = self.made_of(node)
        added, dropped = self.rule_changes(node, old)
        reason = self.why(node, reads, added, dropped)
        parted = self.parted(node)
        if parted:
            reason = "its hyper-node could not be kept"
        if self.closures.is_mirror(node):
            return self.closures.visit_mirror(node, names)
        if self.closures.is_kept(node):
            return self.closures.visit(node, names, reason, reads, old)
        reduced = self.closures.is_reduced(node)
        if self.closures.part_with(node, changed=bool(added or dropped)):
            parted, reason = True, "its closure could not be kept"
        if reason is None:
            self.kept.append(node)
            return skipped(node)
        # What only dropped rules read may be gone already; they see it as the epoch found it.
        relations = {name: self.engine.views[name] for rule in dropped for name, _ in body_of(rule)}
        relations |= {name: self.views[name] for name in [*reads, *node.relations, UNIT]}
        for name, stored in relations.items():
            if not stored.changing and stored is self.engine.views.get(name):
                stored.start()
        inputs = Inputs(self.engine.catalog, self.engine.dictionary, relations, self.watch, self.round)
        strategy, first = ("bootstrap", "") if parted else self.estimate(node, reads, old)
        rounds = None
        if strategy == "update":
            rounds, first = self.try_update(node, old, added, dropped, inputs)
        if rounds is None:
            strategy, reason = "bootstrap", f"{reason}; {first}" if first else reason
            rounds = self.bootstrap_all(node, inputs)
            if reduced:
                strategy, reason = "drop", "its recursive rules are gone, its edges are left"
            impact = sum(len(self.deltas.get(name, ())) for name in node.relations)
        else:
            self.kept.append(node)
            impact = sum(self.note(name, self.views[name]) for name in node.relations)
            reason = self.closures.told(node.relations, reason)
        self.watch.derived += impact if strategy == "update" else sum(len(self.views[name]) for name in node.relations)
        reason = with_demand(reason, node)
        return NodeReport(shown(node.relations), names, strategy, reason, time.perf_counter() - started, impact, rounds)

    def made_of(self, node: HyperNode) -> list[HyperNode]:
        """The hyper-nodes of the last epoch that derived relations of this one."""
        found = (self.engine.structure.node_of(name) for name in node.relations)
        return list({id(other): other for other in found if other is not None}.values())

    def parted(self, node: HyperNode) -> bool:
        """Whether a hyper-node has to be evaluated anew, being part of a former one or with relations reshaped."""
        names = [*node.relations, *node.reads]
        within = all(set(other.relations) <= set(node.relations) for other in self.made_of(node))
        return not within or not self.reshaped.isdisjoint(names)

    def rule_changes(
        self, node: HyperNode, old: list[HyperNode]
    ) -> tuple[list[CoreRule | AggregateRule], list[CoreRule | AggregateRule]]:
        """The rules that a node has gained and lost against the nodes of the last epoch that it is made of."""
        if len(old) == 1 and old[0].rules is node.rules:
            return [], []
        names = set(node.relations)
        before = {id(rule): rule for other in old for rule in other.rules if head_of(rule) in names}
        now = {id(rule): rule for rule in node.rules}
        # Nearly all rules are the same objects, which need not be compared part by part.
        came = dict.fromkeys(rule for key, rule in now.items() if key not in before)
        went = dict.fromkeys(rule for key, rule in before.items() if key not in now)
        return [rule for rule in came if rule not in went], [rule for rule in went if rule not in came]

    def why(self, node: HyperNode, reads: Mapping[str, None], added: object, dropped: object) -> str | None:
        """The reason to look at a node, or None."""
        if all(name not in self.before for name in node.relations):
            return "new"
        if added or dropped:
            return "its rules have changed"
        changed = sorted(name for name in reads if name in self.deltas and name not in node.relations)
        if changed:
            told = sorted({each for name in changed for each in self.behind(name)})
            return f"{', '.join(shown(told)) or 'an aggregate or a path'} changed"
        if any(name in self.facts for name in node.relations):
            return "its asserted facts changed"
        return None

    def behind(self, name: str) -> set[str]:
        """What has changed of what a relation shows, if it is a part of a body and derived here; else the relation."""
        if not name.startswith(PROJECTION) or name not in self.derived:  # A partition is sent some as well.
            return {name}
        rules = self.structure.nodes[self.derived[name]].rules
        read = {each for rule in rules if head_of(rule) == name for each, _ in body_of(rule) if each in self.deltas}
        return {each for other in read for each in self.behind(other)}

    def estimate(self, node: HyperNode, reads: Mapping[str, None], old: list[HyperNode]) -> tuple[str, str]:
        """update or bootstrap, and the reason for the latter, before anything is done."""
        if not self.choice.maintain:
            return "bootstrap", "views are not maintained"
        if self.choice.strategy != "auto":
            return self.choice.strategy, "forced" if self.choice.strategy == "bootstrap" else ""
        if not old:
            return "bootstrap", ""
        inputs = sum(len(self.views[name]) for name in reads if name not in node.relations)
        change = sum(len(self.deltas[name]) for name in reads if name in self.deltas and name not in node.relations)
        change += sum(len(came) + len(went) for n, (came, went) in self.facts.items() if n in node.relations)
        inputs += sum(len(self.asserted[name]) for name in node.relations)
        if change > max(100, inputs // 2):
            return "bootstrap", f"{change:,} of {inputs:,} input tuples changed"
        pairs = 0 if node.closure else self.closures.changes(reads)
        if pairs * _SHOWING > self.budget(node):
            return "bootstrap", f"{pairs:,} pairs of closures changed"
        return "update", ""

    def try_update(
        self,
        node: HyperNode,
        old: list[HyperNode],
        added: list[CoreRule | AggregateRule],
        dropped: list[CoreRule | AggregateRule],
        inputs: Inputs,
    ) -> tuple[int | None, str]:
        """Update a node in place: the number of rounds, or None and the reason why that was given up, with no trace."""
        relations = [self.views[name] for name in node.relations]
        if not all(stored.counted for stored in relations):
            return None, "nothing was counted"
        if any(stored.saturated for stored in relations):
            return None, "a count is saturated"
        if isinstance(node.rules[0], AggregateRule):
            self.open(relations[0])
            if added:
                self.large.pop(node.rules[0].head, None)
            large = self.large.setdefault(node.rules[0].head, LargeGroups())
            self.grouped.append(large)
            update_aggregate(node.rules[0], inputs, large, everything=bool(added))
            return 1, ""
        self.merge(node, old)
        inputs = replace(inputs, round=self.round)
        if node.recursive or any(other.recursive for other in old):
            for stored in relations:
                stored.keep_births()
                stored.keep_supports()
        for stored in relations:
            self.open(stored)
        new, gone = _plain(added), _plain(dropped)
        fresh = set(map(id, new))
        kept = [rule for rule in _plain(node.rules) if id(rule) not in fresh]
        self.closures.show(inputs.relations, [*kept, *gone])
        key = node.relations
        came = {name: self.facts[name][0] for name in node.relations if name in self.facts}
        went = {name: self.facts[name][1] for name in node.relations if name in self.facts}
        change = NodeChange(came, went, new, gone)
        # Taken out while it is worked on: half of what it gets would do no good to a later epoch.
        maintained = self.engine.maintained.pop(key, None)
        maintained = prepare(node, kept, change, inputs, None if new or gone else maintained)
        if not new and not gone:
            self.engine.maintained[key] = maintained
        seconds = self.budget(node) if self.choice.strategy == "auto" else float("inf")
        before, started = self.round, time.thread_time()
        try:
            self.round = update(node, change, inputs, maintained, seconds)
        except CutOffError as cut:
            for stored in relations:
                stored.take_back()
                self.opened.pop(id(stored), None)
            self.wasted += time.thread_time() - started
            return None, f"an update was given up {cut}"
        return self.round - before, ""

    def budget(self, node: HyperNode) -> float:
        """The seconds that the update of a node may take: as much as its last bootstrap, as long as all updates that
        this epoch gives up stay below `switch` of a bootstrap of everything."""
        costs = self.engine.costs
        left = self.choice.switch * self.engine.spent - self.wasted
        return max(_ALWAYS_WORTH, min(left, sum(costs.get(name, 0.0) for name in node.relations)))

    def merge(self, node: HyperNode, old: list[HyperNode]) -> None:
        """Put the births of several old nodes, now one, one after the other in the old order: every derivation that
        counted still counts, and no other. What no rule derived before has birth 0, before all others."""
        if len(old) < 2 and not (node.recursive and old and not old[0].recursive):
            return
        order = [n for n in self.engine.nodes if any(n is other for other in old)]
        offset = 1
        for other in order:
            relations = [self.views[name] for name in other.relations if name in node.relations]
            for stored in relations:
                stored.keep_births()
                self.shifted.append((stored, offset))
                stored.shift_births(offset)
            offset = max([offset, *(stored.youngest for stored in relations)]) + 1
        self.round = max(self.round, offset)

    def bootstrap_all(self, node: HyperNode, inputs: Inputs) -> int:
        """Evaluate the hyper-nodes of the program that a node is made of; returns the number of rounds."""
        places = self.structure.places
        parts = [self.program.nodes[i] for i in sorted({places[name] for name in node.relations if name in places})]
        for name in set(node.relations).difference(*(part.relations for part in parts)):
            self.drop(name)
        before = self.round
        for part in parts:
            relations = {**inputs.relations, **{name: self.views[name] for name in node.relations}}
            part_inputs = Inputs(inputs.catalog, inputs.dictionary, relations, self.watch, self.round)
            self.bootstrap(part, part_inputs)
        self.kept += parts
        return self.round - before

    def read_elsewhere(self, node: HyperNode, name: str) -> bool:
        """Whether a hyper-node other than the one that a part of the program belongs to reads a relation."""
        return any(self.structure.nodes[i].relations != node.relations for i in self.readers(name))

    def bootstrap(self, node: HyperNode, inputs: Inputs) -> None:
        """Evaluate a node into new relations, and put these in the place of the old, or only what they hold where
        another node reads it, which has to find all rows in their places."""
        if self.closures.can_be_kept(node):
            self.closures.build(node)
            return
        started = time.thread_time()
        relations = dict(inputs.relations)
        read = self.choice.maintain and any(self.read_elsewhere(node, name) for name in node.relations)
        if not read:
            forget_indexes(self.engine.maintained, [self.views[name] for name in node.relations])
        for name in node.relations:
            new = relations[name] = StoredRelation(self.engine.catalog, self.views[name].arity, self.choice.maintain)
            facts = self.asserted[name]
            if len(facts):
                new.insert(facts.words())
        rounds = bootstrap(node, Inputs(inputs.catalog, inputs.dictionary, relations, self.watch, self.round))
        self.round += rounds
        differing = 0.0
        for name in node.relations:
            old, new = self.views[name], relations[name]
            self.large.pop(name, None)
            if not old.rows:
                differing += _DIFFERING * len(new)
                self.views[name] = new
                self.note_new(name)
            elif read:
                old = self.changeable(name)
                self.open(old).absorb(new)
                self.note(name, old)
            else:
                self.views[name] = new
                went, came = old.difference(new)
                if len(went) or len(came):
                    self.deltas[name] = Delta(came, went)
        seconds = (time.thread_time() - started + differing) / len(node.relations)
        self.costs |= dict.fromkeys(node.relations, seconds)

    def other_state(self) -> dict[str, Any]:
        """What becomes of the engine's fields under other rules, or finer hyper-nodes, under which relations may have
        gone."""
        engine, structure = self.engine, self.structure
        nodes = tuple(part for i, node in enumerate(structure.nodes) for part in self.split.get(i, [node]))
        names = dict.fromkeys([*self.program.relations, *(name for node in nodes for name in node.relations)])
        views = {name: self.views[name] for name in [*names, UNIT]}
        return {
            "nodes": nodes,
            "views": views,
            "asserted": {name: self.asserted[name] for name in names},
            "large": {name: large for name, large in self.large.items() if name in self.derived},
            "closures": {name: kept for name, kept in self.closures.kept.items() if name in views},
            "mirrors": {name: shown for name, shown in self.closures.mirrors.items() if name in views},
            "costs": {**engine.costs, **self.costs},
        }

    def finish(
        self, state: Mapping[str, Any], dropped: tuple[NodeReport, ...], visited: Mapping[int, NodeReport]
    ) -> Outcome:
        """Make the result the state of the engine. Nothing in here can fail."""
        engine, self.reserve = self.engine, None
        for stored in self.opened.values():
            stored.close()
        for large in self.grouped:
            large.keep()
        for name in self.closures.changed:
            engine.closures[name][1].keep()
        spent = sum(seconds - engine.costs.get(name, 0.0) for name, seconds in self.costs.items())
        engine.program, engine.compressing, engine.round = self.program, self.choice.closures, self.round
        for field, value in state.items():
            setattr(engine, field, value)
        if not state:
            for overlay in (self.views, self.asserted, self.large, self.closures.kept, self.closures.mirrors):
                overlay.apply()
            engine.costs |= self.costs
        engine.spent += spent
        with suppress(MemoryError):  # They can be reclaimed another time.
            self.reclaim()
        told = (*dropped, *(report for i, report in visited.items() if not prepares(self.structure.nodes[i].relations)))
        engine.bootstraps += sum(report.strategy == "bootstrap" for report in told)
        engine.updates += sum(report.strategy == "update" for report in told)
        seconds, growing = time.perf_counter() - self.started, engine.catalog.growing - self.growing
        return Outcome(self.deltas, Report(seconds, told, growing, partial(self.structure.reports, dropped, visited)))

    def reclaim(self) -> None:
        """Put copies in the place of the changed relations in which more rows are dead than alive."""
        engine = self.engine
        for stored in self.opened.values():
            if _is_sparse(stored):
                tables = (engine.views, engine.asserted)
                places = [(table, name) for table in tables for name, each in table.items() if each is stored]
                compact = stored.copy_to(engine.catalog)
                for table, name in places:  # From here on nothing asks for memory.
                    table[name] = compact

    def undo(self) -> None:
        """Take everything back. It asks for no memory but the little that was reserved."""
        self.reserve = None
        for stored in self.opened.values():
            if stored.changing:
                stored.take_back()
        for stored, offset in self.shifted:
            stored.shift_births(-offset)
        for name in self.closures.changed:
            self.engine.take_back_closure(name)
        for large in self.grouped:
            large.take_back()


def _is_sparse(stored: StoredRelation) -> bool:
    return stored.dead > max(_RECLAIM, len(stored))


def _plain(rules: Iterable[CoreRule | AggregateRule]) -> list[CoreRule]:
    return [rule for rule in rules if isinstance(rule, CoreRule)]
