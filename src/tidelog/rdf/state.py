"""A store in a folder: everything beside the facts and rules of its database that it needs to come back.

    facts and rules   in the database underneath, whose epochs `GroupKeeper` lets last: triples, graphs, instances of
                      rules, the rules of programs and views
    NAMES             a relation of the database: the relations of properties and classes, with IRIs and sorts
    NOTE              a note in the manifest of the folder: rule sets, prefixes, and which rules are of programs

When a store comes back, it computes the consequences of the schema alone, and from these the rules that it should have:
they are those of the database, unless another version of tidelog has other tables. The data are not evaluated.

`EarlierState` is a store as it was before a commit that may fail, or that is a trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy

from tidelog.common.arrays import AnyWords, Words
from tidelog.database.database import Database
from tidelog.functions.callables import FunctorSource, collect_functions
from tidelog.language.syntax import Declaration, Program, Rule
from tidelog.limits.interrupts import Interrupts
from tidelog.rdf.change import StoreChange
from tidelog.rdf.data import Triples
from tidelog.rdf.literals import Literals
from tidelog.rdf.matching import SchemaFacts
from tidelog.rdf.n3 import FUNCTIONS as N3_FUNCTIONS
from tidelog.rdf.names import COLON, GRAPH, ILL, NAMES, TRIPLE, Names, PrefixTable, declaration, is_internal
from tidelog.rdf.quads import FactCalls
from tidelog.rdf.rules import Instances
from tidelog.rdf.schema import Schema, guards
from tidelog.rdf.shapes.testing import FUNCTIONS as SHAPE_FUNCTIONS
from tidelog.rdf.sparql.computing import FUNCTIONS as SPARQL_FUNCTIONS
from tidelog.rdf.specialise import RuleInstance
from tidelog.rdf.tables import TableRule, Triple
from tidelog.rdf.terms import TYPE
from tidelog.storage.changes import date
from tidelog.workspace.change import Change
from tidelog.workspace.options import DatabaseOptions

if TYPE_CHECKING:
    from tidelog.store import GroupKeeper


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
        self.waiting = store._database.workspace.copy_pending()
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
            stored = self.store._triples.stored_relation(name, asserted=True)
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
        inserted = current.relations.keys() - self.program.relations.keys() - {GRAPH, TRIPLE}
        workspace.remove_relations([name for name in inserted if store._names.triple_pattern(name) is None])
        database.load(Program(declarations=_missing_declarations(self.programs, database), rules=lost))
        store._triples.change_facts(self.undo)
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
        declarations = _missing_declarations(self.waiting.programs, database)
        if new or declarations:
            database.load(Program(declarations=declarations, rules=new))


def _missing_declarations(programs: Iterable[Program], database: Database) -> tuple[Declaration, ...]:
    """Return the declarations of programs that a database lacks."""
    declared = database.program.relations
    return tuple(each for program in programs for each in program.declarations if each.name not in declared)


# --- stores in folders -----------------------------------------------------------------------------------------------


NOTE = "rdf"
_BINARY_NAMES = f"name{COLON}"
"""NAMES without sorts, in folders of 0.2; the first commit empties it."""


class LastingState:
    """The folder of a store. `given` describes the rules that the store was made with."""

    def __init__(self, keeper: GroupKeeper, given: Mapping[str, Any]) -> None:
        self.keeper = keeper
        self._given = given
        self._fixed: frozenset[str | None] = frozenset()
        """The rules that the store has in any case, by name."""
        self._own: tuple[object, list[str]] = None, []
        """The rules of programs and views, by name, with the programs of which they are."""

    # --- opening -----------------------------------------------------------------------------------------------------

    @property
    def functions(self) -> FunctorSource:
        """Return the functions that the program of the folder may call: none if possible, because then its compiled
        form may be in the cache."""
        text = self.keeper.state.manifest.text
        functions = *SHAPE_FUNCTIONS, *N3_FUNCTIONS, *SPARQL_FUNCTIONS
        names = [given.name for given in collect_functions(functions)]
        return [each for each, name in zip(functions, names, strict=True) if f" {name}(" in text]

    def name(self, names: Names, database: Database) -> None:
        """Give properties and classes the relations that they have had, if the store comes back."""
        note = self.keeper.notes.get(NOTE)
        if note is not None:
            for each in {NAMES, _BINARY_NAMES}.intersection(database.relations):
                for relation, iri, *_ in database[each]:
                    names.know(str(relation), str(iri))
            names.has_triples = note["has_triples"]
            names.with_ill = dict.fromkeys(note["with_ill"])
            names.with_outside = dict.fromkeys(note["with_outside"])

    def restore(self, store: StoreParts, fixed: tuple[Rule, ...]) -> bool:
        """Bring an empty store to the state of the folder, which its database has; return False for a new folder. Rules
        that other tables ask for are a commit. `fixed` are the rules that the store has in any case."""
        self._fixed = frozenset(rule.name for rule in fixed)
        note = self.keeper.notes.get(NOTE)
        if note is None:
            return False
        store._prefixes = PrefixTable(note["prefixes"])
        store._document_prefixes = dict(note.get("document_prefixes", {}))
        store._epochs = self.keeper.state.manifest.number
        store._asks_nodes, store._has_given = note["asks_nodes"], note["has_given"]
        if ILL in store._names.properties:
            store._triples.ill = {
                str(term): str(datatype) for term, datatype in store._database[store._names.property(ILL)]
            }
        store._use(_schema(store))
        store._alive = frozenset(note["alive"])
        store._guards = guards(store._table, store._database, store._names, store._known)
        store._literals.recall()
        program = store._database.program
        theirs = self._fixed.union(note["own"])
        old = {rule.name: rule for rule in program.texts if rule.name is not None and rule.name not in theirs}
        removed, is_missing = store._instances.adopt(
            store._needed, store._guards, store._alive, program, old, int(note["count"])
        )
        present = {rule.name: str(rule) for rule in program.texts}
        wrong = [rule for rule in fixed if present.get(rule.name) != str(rule)]
        store._database.rules.remove(*removed, *(str(rule.name) for rule in wrong if rule.name in present))
        store._declare(wrong)
        if removed or wrong or is_missing or _binary_names(store) is not None:
            store.commit()
        return True

    # --- committing --------------------------------------------------------------------------------------------------

    def put_names(self, store: StoreParts) -> None:
        """Assert the names that the store has made since its last epoch, with the next one."""
        stored = store._triples.stored_relation(NAMES, asserted=True)
        meanings = store._names.meanings
        if stored is not None and len(stored) == len(meanings):
            return
        encode = store._triples.dictionary.encode
        rows = numpy.array(
            [
                [encode(part, "symbol") for part in (name, *_iri_and_sort(meaning))]
                for name, meaning in meanings.items()
            ],
            numpy.int64,
        ).reshape(-1, 3)
        if NAMES not in store._database.relations:
            store._database.load(Program(declarations=(declaration(NAMES, "nis"),)))
        store._database.insert_words(NAMES, rows if stored is None else rows[stored.find(rows) < 0])
        earlier = _binary_names(store)
        if earlier is not None:
            store._database.delete_words(_BINARY_NAMES, earlier)

    def publish(self, store: StoreParts, earlier: EarlierState, interrupts: Interrupts) -> None:
        """Let a commit last, or undo it and raise UsageError (E0681, E0628) where the disk does not take it."""
        try:
            self.keeper.publish(store._database.engine, {NOTE: self._note(store)})
        except BaseException:
            with interrupts.putting_off():
                earlier.restore()
            raise

    def _note(self, store: StoreParts) -> Mapping[str, Any]:
        programs = store._database.workspace.committed.programs
        if self._own[0] is not programs:
            not_theirs = self._fixed.union(rule.name for rule in store._instances.current.values())
            texts = store._database.workspace.committed.checked.texts
            self._own = programs, [rule.name for rule in texts if rule.name and rule.name not in not_theirs]
        names_of = store._names
        return {
            **self._given,
            "prefixes": dict(store._prefixes),
            "document_prefixes": store._document_prefixes,
            "own": self._own[1],
            "count": store._instances.count,
            "alive": sorted(store._alive),
            "with_ill": list(names_of.with_ill),
            "with_outside": list(names_of.with_outside),
            "has_triples": names_of.has_triples,
            "asks_nodes": store._asks_nodes,
            "has_given": store._has_given,
        }


def _schema(store: StoreParts) -> dict[Triple, None]:
    """Return the asserted triples of the schema."""
    found: dict[Triple, None] = {}
    for relation, meaning in store._names.meanings.items():
        stored = store._triples.stored_relation(relation, asserted=True)
        if stored is not None and store._schema.has(meaning) and not is_internal(meaning.predicate):
            found |= dict.fromkeys(store._triples.decode(meaning, stored.words().astype(numpy.int64)))
    return found


def _iri_and_sort(meaning: Triple) -> tuple[str, str]:
    """Return the IRI of a property or class, and which of the two it is."""
    is_class = meaning.predicate == TYPE and not meaning.object.startswith("?")
    return (meaning.object, "class") if is_class else (meaning.predicate, "property")


def _binary_names(store: StoreParts) -> Words | None:
    """Return the facts of _BINARY_NAMES, None for no facts."""
    stored = store._triples.stored_relation(_BINARY_NAMES, asserted=True)
    return None if stored is None or not len(stored) else stored.words().astype(numpy.int64)
