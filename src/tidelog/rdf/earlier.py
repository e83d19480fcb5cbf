"""A store as it was before a commit that may fail, or that is a trial."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from tidelog.common.arrays import AnyWords, Words
from tidelog.database.database import Database
from tidelog.language.syntax import Declaration, Program, Rule
from tidelog.rdf.change import StoreChange
from tidelog.rdf.data import Triples
from tidelog.rdf.literals import Literals
from tidelog.rdf.matching import SchemaFacts
from tidelog.rdf.names import GRAPH, TRIPLE, Names
from tidelog.rdf.prefix_table import PrefixTable
from tidelog.rdf.quads import FactCalls
from tidelog.rdf.rules import Instances
from tidelog.rdf.schema import Schema
from tidelog.rdf.specialise import RuleInstance
from tidelog.rdf.tables import TableRule, Triple
from tidelog.storage.changes import date
from tidelog.workspace.change import Change
from tidelog.workspace.options import DatabaseOptions


class StoreParts(Protocol):
    """The parts of a store that come back with an earlier state."""

    _prefixes: PrefixTable
    _document_prefixes: dict[str, str]
    _table: tuple[TableRule, ...]
    _database: Database
    _names: Names
    _triples: Triples
    _schema: Schema
    _known: SchemaFacts
    _needed: SchemaFacts
    _instances: Instances
    _literals: Literals
    _guards: tuple[RuleInstance, ...]
    _alive: frozenset[str]
    _asks_nodes: bool
    _has_given: bool
    _options: DatabaseOptions
    _epochs: int

    def _use(self, schema: dict[Triple, None]) -> None: ...
    def _declare(self, rules: Iterable[Rule] = ()) -> None: ...
    def commit(self) -> StoreChange: ...


class EarlierState:
    """A store as it was before a commit: `undo` undoes the facts, once one of `changes` has been made. The pending
    triples keep its words and wait again."""

    def __init__(self, store: StoreParts) -> None:
        self.store = store
        self.waiting = store._database.workspace.waiting()
        self.schema = store._schema.triples
        self.current = store._instances.current
        self.guards = store._guards
        self.alive = store._alive
        self.given = store._has_given
        self.program = store._database.workspace.committed.checked
        self.programs = store._database.workspace.committed.programs
        self.since = store._database.workspace.committed.since
        self.undo: FactCalls = []
        self.ages: list[tuple[str, Words, AnyWords]] = []
        """Since when the facts are there that the commit retracts."""
        self.changes: list[Change] = []

    def note_ages(self) -> None:
        """Note since when the facts are there that come back with `undo`."""
        for name, asserts, rows in self.undo:
            stored = self.store._triples.stored(name, asserted=True)
            if asserts and stored is not None:
                self.ages.append((name, rows, stored.epochs_of(stored.find(rows))))

    def restore(self) -> None:
        """Undo everything."""
        store, database = self.store, self.store._database
        workspace = database.workspace
        database.rollback()
        if store._schema.triples is not self.schema:
            store._use(self.schema)
        store._guards = self.guards
        store._alive = self.alive
        store._has_given = self.given
        store._instances.restore(self.current)
        if not self.changes:
            database.workspace.wait_again(self.waiting)
            return
        current = database.workspace.committed.checked
        before, now = ({rule.name: rule for rule in each.rules} for each in (self.program, current))
        database.rules.remove(*map(str, now.keys() - before.keys()))
        lost = tuple(rule for name, rule in before.items() if name not in now)
        came = current.relations.keys() - self.program.relations.keys() - {GRAPH, TRIPLE}
        workspace.remove_relations([name for name in came if store._names.meaning(name) is None])
        database.load(Program(declarations=_undeclared(self.programs, database), rules=lost))
        store._triples.put(self.undo)
        database.options(timeout=None, max_rows=None, memory=None)
        try:
            database.commit()
        finally:
            limits = store._options
            database.options(timeout=limits.timeout, max_rows=limits.max_rows, memory=limits.memory)
        database.workspace.committed = replace(database.workspace.committed, since=self.since)
        for name, rows, epochs in self.ages:
            date(database.engine.asserted[name], rows, epochs)
        wanted = {rule.name: rule for program in self.waiting.programs for rule in program.rules if rule.name}
        left = {each.name for program in self.waiting.programs for each in program.declarations}
        dropped = [name for name in self.program.relations if name not in left]
        workspace.remove_relations(dropped, [str(name) for name in before.keys() - wanted.keys()])
        new = tuple(rule for name, rule in wanted.items() if name not in before)
        declarations = _undeclared(self.waiting.programs, database)
        if new or declarations:
            database.load(Program(declarations=declarations, rules=new))


def _undeclared(programs: Iterable[Program], database: Database) -> tuple[Declaration, ...]:
    """Return the declarations of programs that a database lacks."""
    declared = database.program.relations
    return tuple(each for program in programs for each in program.declarations if each.name not in declared)
