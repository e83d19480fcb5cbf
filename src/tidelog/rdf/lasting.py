"""A store in a folder: everything beside the facts and rules of its database that it needs to come back.

    facts and rules   in the database underneath, whose epochs `GroupKeeper` lets last: triples, graphs, instances of
                      rules, the rules of programs and views
    NAMES             a relation of the database: the relations of properties and classes, with IRIs and sorts
    NOTE              a note in the manifest of the folder: rule sets, prefixes, and which rules are of programs

When a store comes back, it computes the consequences of the schema alone, and from these the rules that it should have:
they are those of the database, unless another version of tidelog has other tables. The data are not evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.common.arrays import Words
from tidelog.database.database import Database
from tidelog.functions.callables import FunctorSource, marked
from tidelog.language.syntax import Program, Rule
from tidelog.limits.interrupts import Interrupts
from tidelog.rdf.earlier import EarlierState, StoreParts
from tidelog.rdf.guards import guards
from tidelog.rdf.n3.functions import FUNCTIONS as N3_FUNCTIONS
from tidelog.rdf.names import COLON, ILL, NAMES, Names, declaration, is_internal
from tidelog.rdf.prefix_table import PrefixTable
from tidelog.rdf.shapes.testing import FUNCTIONS as SHAPE_FUNCTIONS
from tidelog.rdf.sparql.computing import FUNCTIONS as SPARQL_FUNCTIONS
from tidelog.rdf.tables import Triple
from tidelog.rdf.terms import TYPE

if TYPE_CHECKING:
    from tidelog.store import GroupKeeper

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
        names = [given.name for given in marked(functions)]
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
        gone, is_missing = store._instances.adopt(
            store._needed, store._guards, store._alive, program, old, int(note["count"])
        )
        present = {rule.name: str(rule) for rule in program.texts}
        wrong = [rule for rule in fixed if present.get(rule.name) != str(rule)]
        store._database.rules.remove(*gone, *(str(rule.name) for rule in wrong if rule.name in present))
        store._declare(wrong)
        if gone or wrong or is_missing or _binary_names(store) is not None:
            store.commit()
        return True

    # --- committing --------------------------------------------------------------------------------------------------

    def put_names(self, store: StoreParts) -> None:
        """Assert the names that the store has made since its last epoch, with the next one."""
        stored = store._triples.stored(NAMES, asserted=True)
        meanings = store._names.meanings
        if stored is not None and len(stored) == len(meanings):
            return
        encode = store._triples.dictionary.encode
        rows = numpy.array(
            [[encode(part, "symbol") for part in (name, *_meant(meaning))] for name, meaning in meanings.items()],
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
            made = self._fixed.union(rule.name for rule in store._instances.current.values())
            texts = store._database.workspace.committed.checked.texts
            self._own = programs, [rule.name for rule in texts if rule.name and rule.name not in made]
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
        stored = store._triples.stored(relation, asserted=True)
        if stored is not None and store._schema.has(meaning) and not is_internal(meaning.predicate):
            found |= dict.fromkeys(store._triples.decoded(meaning, stored.words().astype(numpy.int64)))
    return found


def _meant(meaning: Triple) -> tuple[str, str]:
    """Return the IRI of a property or class, and which of the two it is."""
    is_class = meaning.predicate == TYPE and not meaning.object.startswith("?")
    return (meaning.object, "class") if is_class else (meaning.predicate, "property")


def _binary_names(store: StoreParts) -> Words | None:
    """Return the facts of _BINARY_NAMES, None for no facts."""
    stored = store._triples.stored(_BINARY_NAMES, asserted=True)
    return None if stored is None or not len(stored) else stored.words().astype(numpy.int64)
