"""The engine: asserted facts, views, and what an epoch does to them.

An epoch first applies the net changes of asserted facts, then walks the hyper-nodes in order. A node whose rules, facts
and inputs have not changed is skipped; every other is bootstrapped into new relations, which replace the old ones only
after all of them are done. An epoch that fails for whatever reason leaves everything as it was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.errors import LimitError, Problem
from tidelog.maintain.assemble import UNIT
from tidelog.maintain.bootstrap import Inputs, WidenError, bootstrap
from tidelog.maintain.limits import Watch
from tidelog.maintain.report import NodeReport, Report
from tidelog.rules.core import AggregateRule, Atom, CoreProgram, HyperNode
from tidelog.storage.catalog import Catalog
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.stored import StoredRelation

Words = NDArray[numpy.signedinteger[Any]]
"""Rows of words, int32 or int64, shape (n, arity)."""

_RECLAIM = 4_096
"""Dead rows of a relation below this number are not worth reclaiming."""


@dataclass(frozen=True)
class Delta:
    """The net change of a relation: rows that came and rows that went. `all_of` stands for "every row of this relation"
    in the place of `inserted` where a relation was empty before."""

    inserted: Words | None
    deleted: Words
    all_of: StoredRelation | None = None

    def __len__(self) -> int:
        came = len(self.all_of) if self.all_of is not None else len(self.inserted) if self.inserted is not None else 0
        return came + len(self.deleted)

    def words(self) -> Words:
        """The rows that came."""
        if self.inserted is not None:
            return self.inserted
        assert self.all_of is not None
        return self.all_of.words()


@dataclass
class Outcome:
    """What an epoch did: the net change of each relation that changed, and the report."""

    deltas: dict[str, Delta]
    report: Report


@dataclass
class Engine:
    """The state of an embedded database. `views` maps every relation to its rows; `asserted` holds the facts apart for
    relations that are also derived (for all others they are the view itself)."""

    dictionary: Dictionary
    program: CoreProgram
    catalog: Catalog = field(default_factory=Catalog)
    asserted: dict[str, StoredRelation] = field(default_factory=dict)
    views: dict[str, StoredRelation] = field(default_factory=dict)
    round: int = 0
    bootstraps: int = 0

    def widen(self) -> None:
        """Go on with words of 64 bits."""
        catalog = Catalog(64)
        views = {name: stored.copy_to(catalog) for name, stored in self.views.items()}
        self.asserted = {
            name: views[name] if stored is self.views.get(name) else stored.copy_to(catalog)
            for name, stored in self.asserted.items()
        }
        self.catalog, self.views = catalog, views

    def epoch(self, program: CoreProgram, changes: Mapping[str, tuple[Words, Words]], watch: Watch) -> Outcome:
        """Go to `program` and apply `changes`, relation -> (rows to assert, rows to retract), both net of each other.

        Raises LimitError or KeyboardInterrupt, and then has changed nothing (but for the word size).
        """
        if self.catalog.bits == 32 and _needs_wide_words(program, changes):
            self.widen()
        while True:
            epoch = _Epoch(self, program, watch)
            try:
                return epoch.run(changes)
            except WidenError:
                epoch.undo()
                del epoch
                self.widen()
            except MemoryError as error:
                epoch.undo()
                hint = "nothing has changed; set `max_rows`, or run on a machine with more memory"
                raise LimitError(Problem("E0503", f"out of memory: {error}", hint=hint)) from None
            except BaseException:
                epoch.undo()
                raise


def _needs_wide_words(program: CoreProgram, changes: Mapping[str, tuple[Words, Words]]) -> bool:
    floats = any(column.kind == "float" for info in program.relations.values() for column in info.columns)
    return floats or any(rows.size and (rows.min() < -(2**31) or rows.max() >= 2**31) for rows, _ in changes.values())


class _Epoch:
    """One attempt at an epoch: everything that it replaces is kept aside until it succeeds."""

    def __init__(self, engine: Engine, program: CoreProgram, watch: Watch) -> None:
        self.engine = engine
        self.program = program
        self.watch = watch
        self.started = time.perf_counter()
        self.growing = engine.catalog.growing
        self.views = dict(engine.views)
        self.asserted = dict(engine.asserted)
        self.derived = {name for node in program.nodes for name in node.relations}
        self.deltas: dict[str, Delta] = {}
        self.touched: set[str] = set()
        """Derived relations whose asserted facts have changed."""
        self.applied: list[tuple[StoredRelation, int, Words]] = []
        self.round = engine.round

    def run(self, changes: Mapping[str, tuple[Words, Words]]) -> Outcome:
        catalog = self.engine.catalog
        unit = StoredRelation(catalog, 0)
        unit.insert(numpy.empty((1, 0), numpy.int64))
        self.views[UNIT] = unit
        self.place_relations()
        for name, (insert, delete) in changes.items():
            self.assert_facts(name, insert, delete)
        before = {node.relations: node for node in self.engine.program.nodes}
        reports = [self.visit(node, before.get(node.relations)) for node in self.program.nodes]
        self.watch.look()
        del self.views[UNIT]
        return self.finish(reports)

    def place_relations(self) -> None:
        """Give every relation of the program its storage; facts and view part where a relation has become derived."""
        for name, info in self.program.relations.items():
            if name not in self.asserted:
                self.asserted[name] = StoredRelation(self.engine.catalog, len(info.columns))
            if name not in self.derived:
                self.views[name] = self.asserted[name]
            elif name not in self.views:
                self.views[name] = StoredRelation(self.engine.catalog, len(info.columns))
            elif self.views[name] is self.asserted[name]:
                self.asserted[name] = self.views[name].copy_to(self.engine.catalog)

    def assert_facts(self, name: str, insert: Words, delete: Words) -> None:
        """Apply the net change of the asserted facts of a relation, and note how to undo it."""
        stored = self.asserted[name]
        present = stored.find(delete)
        gone = numpy.unique(present[present >= 0])
        came = insert[stored.find(insert) < 0] if len(stored) else insert
        lost = stored.take(gone)
        first = stored.rows
        self.applied.append((stored, first, lost))
        stored.remove(gone)
        stored.insert(came)
        if name in self.derived:
            self.touched.add(name)
        elif stored.rows > first or len(gone):
            self.deltas[name] = Delta(stored.take(numpy.arange(first, stored.rows)), lost)

    def visit(self, node: HyperNode, before: HyperNode | None) -> NodeReport:
        """Skip or bootstrap a hyper-node."""
        started = time.perf_counter()
        names = tuple(dict.fromkeys(rule.origin for rule in node.rules))
        reads = _reads(node)
        reason = self.why(node, before, reads)
        if reason is None:
            return NodeReport(node.relations, names, "skip", "nothing that it reads has changed", 0.0, 0)
        relations = {name: self.views[name] for name in reads if name not in node.relations}
        relations[UNIT] = self.views[UNIT]
        for name in node.relations:
            new = relations[name] = StoredRelation(self.engine.catalog, self.views[name].arity)
            facts = self.asserted[name]
            if len(facts):
                new.insert(facts.words())
        inputs = Inputs(self.engine.catalog, self.engine.dictionary, relations, self.watch, self.round)
        rounds = bootstrap(node, inputs)
        self.round += rounds
        impact = sum(self.replace(name, relations[name]) for name in node.relations)
        self.watch.derived += sum(len(relations[name]) for name in node.relations)
        return NodeReport(node.relations, names, "bootstrap", reason, time.perf_counter() - started, impact, rounds)

    def why(self, node: HyperNode, before: HyperNode | None, reads: set[str]) -> str | None:
        """The reason to evaluate a node, or None."""
        if before is None:
            return "new"
        if before.rules != node.rules:
            return "its rules have changed"
        changed = sorted(name for name in reads if name in self.deltas and not name.startswith("#"))
        if changed or any(name in self.deltas for name in reads):
            return f"{', '.join(changed) or 'an aggregate'} changed"
        if any(name in self.touched for name in node.relations):
            return "its asserted facts changed"
        return None

    def replace(self, name: str, new: StoredRelation) -> int:
        """Put a new relation in the place of an old one; the number of rows that came and went."""
        old = self.views[name]
        self.views[name] = new
        if not len(old):
            delta = Delta(None, numpy.empty((0, new.arity), numpy.int64), new)
        else:
            old_words, new_words = old.words(), new.words()
            delta = Delta(new_words[old.find(new_words) < 0], old_words[new.find(old_words) < 0])
        if len(delta):
            self.deltas[name] = delta
        return len(delta)

    def finish(self, reports: list[NodeReport]) -> Outcome:
        """Make the result the state of the engine. Nothing in here can fail."""
        engine = self.engine
        for name, stored in self.asserted.items():
            if stored.dead > max(_RECLAIM, len(stored)):
                compact = stored.copy_to(engine.catalog)
                if self.views[name] is stored:
                    self.views[name] = compact
                self.asserted[name] = compact
        engine.program, engine.views, engine.asserted, engine.round = (
            self.program,
            self.views,
            self.asserted,
            self.round,
        )
        engine.bootstraps += sum(report.strategy == "bootstrap" for report in reports)
        seconds = time.perf_counter() - self.started
        return Outcome(self.deltas, Report(seconds, tuple(reports), engine.catalog.growing - self.growing))

    def undo(self) -> None:
        """Take back what was done to the asserted facts."""
        for stored, first, lost in reversed(self.applied):
            stored.remove(numpy.arange(first, stored.rows))
            stored.insert(lost)
        self.applied.clear()


def _reads(node: HyperNode) -> set[str]:
    """The relations in the bodies of a node's rules."""
    reads: set[str] = set()
    for rule in node.rules:
        if isinstance(rule, AggregateRule):
            reads |= {rule.outer, rule.inner}
        else:
            reads |= {literal.relation for literal in rule.body if isinstance(literal, Atom)}
    return reads
