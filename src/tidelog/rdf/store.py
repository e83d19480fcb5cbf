"""`Store`: RDF in, RDF out, with its consequences up to date.

Triples wait, encoded, until `commit`. Then they are split into relations, and those about the schema go to `Schema`.
The store compares the rules for the new schema with the present ones, and changes facts and rules in one epoch. The
data may change the schema themselves (a subclass that a rule derives, two properties that are the same). Then further
rules, which keep these facts in their bodies, follow in epochs of their own until there are no more. A commit that
fails is undone as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace as with_values
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy

from tidelog.common.arrays import Words
from tidelog.common.source import SourceText
from tidelog.database.database import Database
from tidelog.database.verbs import callable_one
from tidelog.errors import Problem, ProgramError, UsageError, flag, quote, wrong_argument
from tidelog.io.relation import Relation, WordRows
from tidelog.language.paths import repeats
from tidelog.language.reading import ProgramText
from tidelog.language.syntax import Anonymous, Atom, Column, Constant, Declaration, Literal, Program, Rule, Variable
from tidelog.language.trees import atoms
from tidelog.limits.interrupts import Deferring, ForeignCode, Interrupts
from tidelog.limits.watch import changing_within_memory, defer_interrupts, reading_within_memory
from tidelog.profiling.profile import Profile
from tidelog.queries.answers import NAME, answer
from tidelog.queries.bodies import GIVEN as PARAMETERS
from tidelog.queries.bodies import body_of
from tidelog.queries.pattern import atom_of, encode_parameters, pattern_of
from tidelog.rdf import prefixes
from tidelog.rdf.change import StoreChange, StoreTransaction
from tidelog.rdf.data import COLUMNS, Triples
from tidelog.rdf.documents import Labels
from tidelog.rdf.justifications import INCONSISTENCIES, JUSTIFICATIONS, Justifications, track_view
from tidelog.rdf.literals import Literals
from tidelog.rdf.n3 import N3Verbs, is_n3
from tidelog.rdf.names import COLON, INCONSISTENCY, REST, TRIPLE, Names, PrefixTable, declaration
from tidelog.rdf.naming import body_with_constants, constant_ends, derives, reads
from tidelog.rdf.quads import FactCalls, PendingQuads, Quads
from tidelog.rdf.rules import Instances
from tidelog.rdf.schema import Schema, guards
from tidelog.rdf.sparql.mirror import Mirror
from tidelog.rdf.sparql.texts import is_query, is_update
from tidelog.rdf.specialise import NOTHING, RuleInstance, fixed_rules, is_generic
from tidelog.rdf.state import EarlierState, LastingState
from tidelog.rdf.tables import AXIOM, TableRule, Triple
from tidelog.rdf.terms import PREFIXES, SAME_AS, TYPE, term
from tidelog.workspace.change import Change, RelationChange
from tidelog.workspace.options import THE_QUERY, DatabaseOptions
from tidelog.workspace.programs import Reading, behind

if TYPE_CHECKING:
    pass


class Store(N3Verbs):
    """Triples, rules and their consequences; made by `connect`. Threads may share one: each call has the store to
    itself."""

    def __init__(
        self,
        table: Iterable[TableRule],
        programs: Iterable[str | os.PathLike[str]],
        lasting: LastingState | None = None,
    ) -> None:
        self._prefixes = PrefixTable(PREFIXES)
        self._document_prefixes = {}
        self._table = table = tuple(table)
        self._schema = Schema(table)
        self._known = self._schema.facts()
        self._needed = self._schema.reduce_facts(self._known)
        self._names = Names()
        self._lasting = lasting
        self._database = Database() if lasting is None else Database(lasting.keeper, lasting.functions)
        if lasting is not None:
            lasting.name(self._names, self._database)
        self._names.property(REST)
        self._names.asserted_relation(TYPE)
        self._database._pending_reads.is_on = False  # Of changes that wait, the store warns.
        super().__init__(self._database.turns)
        self._triples = Triples(self._database, self._names)
        self._quads = Quads(self._database, self._names, self._triples)
        self._mirror = Mirror(self._triples, self._quads)
        self._instances = Instances(table, self._names)
        self._literals = Literals(self._triples, self._names, equal=any(rule.name == "dt-eq" for rule in table))
        self._guards: tuple[RuleInstance, ...] = ()
        self._asks_nodes = self._has_given = False
        """True if some rule has a path whose nodes count; true if there are asserted triples apart for that."""
        self._alive: frozenset[str] = frozenset()
        """Those of owl:sameAs and owl:Nothing that have had facts since the ontology changed."""
        self._options = DatabaseOptions()
        self._labels = Labels()
        self._pending: list[PendingQuads] = []
        self._epochs = -1  # The epoch of the rules that are given here is 0.
        self._justifications = Justifications(self._triples.dictionary)
        self._database.workspace.dictionary.hold(self)
        fixed = fixed_rules((rule for rule in table if is_generic(rule)), self._names)
        if lasting is not None and lasting.restore(self, fixed):
            return
        found = declaration(INCONSISTENCY, "rabc")
        self._database.load(Program(declarations=(found, *self._missing_declarations()), rules=fixed))
        if AXIOM in self._schema.properties:
            self._database.insert(self._names.property(AXIOM), [(AXIOM, AXIOM)])
        for program in programs:
            self.load(program)
        self.commit()

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Return the words of triples that wait for a commit, which the dictionary keeps."""
        for change in self._pending:
            yield from change.words_in_use()

    # --- changes -------------------------------------------------------------------------------------------------

    def load(self, program: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Add rules from a path (as in `Database.load`) or text, to take effect with the next `commit`; to `replace`
        those of their names, see `Database.load`.

        The text may have `@prefix` lines, `foaf:knows(x, y)` for a property, `foaf:Person(x)` for a class, `ex:alice`
        for an individual, literals as in Turtle, `xsd:integer(v, n)` for the number of a literal, and `triple(s, p, o)`
        for everything. A path that ends with `.n3` has rules in N3, see `load_n3`. Raise ProgramError, DataError
        (E0461, E0462, E0465), UsageError (E0661, no such prefix), and then change nothing.
        """
        with (
            Deferring() as interrupts,
            interrupts.hold(self.turns.changing),
            interrupts.hold(self.turns.using),
            changing_within_memory,
        ):
            self._check_usable()
            if is_n3(program):
                self.load_n3(program)
                return
            given: object = program
            if not isinstance(given, (str, os.PathLike)):
                message, hint = f"expected a program, found {quote(program)}", "pass its text, or its path"
                raise UsageError(Problem("E0662", message, hint=hint))
            with ForeignCode(interrupts):
                parsed, known = prefixes.parse_program(program, self.prefixes, self._names, self._database.relations)
            declared = {*self._database.relations, *(each.name for each in parsed.declarations)}
            asked = reads(parsed.rules, TRIPLE) or derives(parsed.rules, TRIPLE)
            more = [declaration(TRIPLE, "spo")] if asked and TRIPLE not in declared else []
            declarations = (*self._missing_declarations(), *more, *parsed.declarations)
            self._extend(Reading(with_values(parsed, declarations=declarations)), replace=flag("replace", replace))
            self._names.has_triples |= bool(more)
            self._prefixes.declare(known)

    def _extend(self, reading: Reading, *, replace: bool = False) -> None:
        """Add rules in the names of the database. ProgramError."""
        try:
            self._database.load(reading, replace=replace)
        except ProgramError as error:
            problems = (_add_hint(problem) for problem in error.problems)
            raise ProgramError(*problems) from None
        self._asks_nodes |= any(
            repeat.op != "+"
            for rule in reading.program.rules
            for atom in atoms((*rule.heads, *rule.body))
            for repeat in repeats(atom.path)
        )

    def _load_view(self, text: str) -> None:
        workspace, undeclared = self._database.workspace, self._missing_declarations()
        kept = None
        if prefixes.is_plain(text, self.prefixes):
            form = "\n".join(map(str, undeclared))
            kept = behind(ProgramText(SourceText("<text>", text), Path()), workspace.given, workspace.programs, form)
        if kept is None:
            self.load(text)
            return
        if kept.compiled is None:
            parsed, _ = prefixes.parse_program(text, self.prefixes, self._names, self._database.relations)
            kept = with_values(kept, program=with_values(parsed, declarations=(*undeclared, *parsed.declarations)))
        self._extend(kept)

    @property
    def has_pending(self) -> bool:
        """Return True if changes of triples or rules wait for `commit`."""
        workspace = self._database.workspace
        has_rules = workspace.program.rules != workspace.committed.checked.rules
        return bool(self._pending or workspace.facts) or has_rules

    @overload
    def subscribe(self, callback: Callable[[StoreChange], object]) -> Callable[[], None]: ...
    @overload
    def subscribe(self, callback: Callable[[RelationChange], object], view: str) -> Callable[[], None]: ...

    def subscribe(self, callback: Callable[[Any], object], view: str | None = None) -> Callable[[], None]:
        """Call `callback` with each later commit that inserts or deletes triples, or with the change of a `view` or
        another relation of a program, such as "inconsistencies" and "justifications"; return a function that ends this.

        `commit` calls it in its own thread before it returns, see `Database.subscribe`. The errors that callbacks raise
        are in `StoreChange.errors`. Raises UsageError for a callback that cannot be called (E0609), and for an unknown
        relation (E0601).
        """
        self._check_usable()
        if self._is_view(view, JUSTIFICATIONS):
            return self._subscribers.add(JUSTIFICATIONS, track_view(self.justifications), callable_one(callback))
        name = None if view is None else self._database.workspace.relation(self._own(view)).name
        return self._subscribers.add(name or "triples", partial(_part, name), callable_one(callback))

    def _own(self, view: str) -> str:
        """Return the relation of a view."""
        return INCONSISTENCY if self._is_view(view, INCONSISTENCIES) else view

    def _is_view(self, name: object, view: str) -> bool:
        """Return True for the name of a view of the store, unless a program declares a relation of that name."""
        return isinstance(name, str) and name == view and view not in self._database.relations

    def _drop(self) -> None:
        self._pending = []
        self._prefixes.withdraw()
        self._database.workspace.rollback()

    def _end(self) -> None:
        self._mirror.drop()
        self._database.engine.close()
        if self._lasting is not None:
            self._lasting.keeper.close()

    def options(self, **options: Any) -> Any:
        """Set limits and strategies, see `Database.options`, and the place of the `mirror` for SPARQL: "memory", the
        path of an empty folder, or "off". Without arguments, return them in a dict."""
        if not options:
            return {**self._options.to_dict(), "mirror": self._mirror.where}
        with self._hold_change_turn(), changing_within_memory:
            if "mirror" in options:
                self._mirror.place(options.pop("mirror"))
            self._database.options(**options)
            self._options = self._options.with_options(options)
        return None

    def profile(self) -> Profile:
        """Return where the time of the last epochs went, see `Database.profile`."""
        with self._hold_turn():
            return self._database.profile()

    def _epoch(self, interrupts: Interrupts) -> StoreChange:
        with changing_within_memory:
            has_facts = bool(self._database.workspace.facts)
            earlier = self._earlier_state()
            change = self._evaluate(interrupts, earlier)
            if self._lasting is not None:
                self._lasting.publish(self, earlier, interrupts)
            pending, self._pending = self._pending, []
            self._epochs += 1
            self._prefixes.keep()
            self._note(pending, change, has_facts)
            return change

    def _earlier_state(self) -> EarlierState:
        """Return the state before a commit."""
        return EarlierState(self)

    def _evaluate(self, interrupts: Interrupts, earlier: EarlierState) -> StoreChange:
        """Evaluate the pending changes, or undo everything and raise."""
        added: list[str] = []
        removed: list[str] = []
        self._database.numbered = self._epochs + 1
        try:
            given, self._has_given = self._has_given, self._asks_nodes
            pending, quads = self._quads.resolve(self._pending)
            facts = [*self._earlier_facts(given), *self._facts(pending), *quads]
            earlier.undo = [*self._inverse(facts)]
            earlier.note_ages()
            while True:
                names, rules = self._put_changes(facts)
                added += [str(rule.name) for rule in rules]
                removed += names
                earlier.changes.append(self._database.commit())
                facts, found = (
                    self._literal_facts(earlier.changes[-1]),
                    guards(self._table, self._database, self._names, self._known),
                )
                earlier.undo += self._inverse(facts)
                if not self._learn(found) and not self._triples.learn() and not facts:
                    break
        except BaseException:
            with interrupts.putting_off():
                earlier.restore()
            raise
        return StoreChange(earlier.changes, self._triples, added, removed)

    def _dry_run(self, look: Callable[[], object] = bool) -> StoreChange:
        """Return the change that the pending changes would make, and undo them once `look` has seen their effect."""
        with Deferring() as interrupts, interrupts.hold(self.turns.changing), interrupts.hold(self.turns.using):
            self._check_usable()
            with changing_within_memory:
                earlier = self._earlier_state()
                change = self._evaluate(interrupts, earlier)
                try:
                    look()
                finally:
                    with interrupts.putting_off():
                        earlier.restore()
                return change

    def _facts(self, pending: list[PendingQuads]) -> Iterator[tuple[str, bool, Words]]:
        """Return the pending triples relation by relation; the schema goes along."""
        schema, named = self._schema.triples, dict[Triple, None]()
        for change in pending:
            asserts = change.asserts
            for predicate, value, rows in self._triples.split(change.words):
                pattern = Triple("?s", predicate, value)
                if self._schema.has(pattern):
                    schema = dict(schema) if schema is self._schema.triples else schema
                    for triple in self._triples.decode(pattern, rows):
                        schema[triple] = named[triple] = None
                        if not asserts:
                            del schema[triple]
                yield self._names.relation(pattern)[0], asserts, rows
                if predicate != TYPE and asserts:
                    yield from self._literals.of_rows(predicate, rows)
                if self._has_given:
                    pairs = self._triples.with_class(rows, value) if predicate == TYPE else rows
                    yield self._names.asserted_relation(predicate), asserts, pairs
        if any((triple in schema) != (triple in self._schema.triples) for triple in named):
            self._use(schema, named)

    def _earlier_facts(self, known: bool) -> Iterator[tuple[str, bool, Words]]:
        """Return the asserted triples of earlier commits, when paths ask for nodes for the first time."""
        if self._has_given and not known:
            yield from ((name, True, rows) for name, rows in self._triples.asserted_pairs())

    def _use(self, schema: dict[Triple, None], among: Iterable[Triple] | None = None) -> None:
        """Go to other asserted triples of the schema, see `Schema.change`."""
        self._schema.change(schema, among)
        self._known = self._schema.facts()
        self._needed = self._schema.reduce_facts(self._known)
        self._alive = frozenset()

    def _inverse(self, facts: FactCalls) -> Iterator[tuple[str, bool, Words]]:
        """Return the changes that undo changes of facts."""
        for name, asserts, rows in facts:
            stored = self._triples.stored_relation(name, asserted=True)
            there = stored.find(rows) >= 0 if stored is not None else numpy.zeros(len(rows), bool)
            yield name, not asserts, rows[there != asserts]

    def _put_changes(self, facts: FactCalls) -> tuple[list[str], list[Rule]]:
        """Put changed facts, and the rules to remove and to add, into the database; return these rules."""
        database = self._database
        changed = {name for name, _, _ in facts}
        # Rules about equality stay when its last pair goes, until the ontology changes: the next pair needs them again.
        self._alive |= {iri for iri, name in self._special() if self._triples.count(name) or name in changed}
        removed, new = self._instances.changes(self._needed, self._guards, self._alive, database.program)
        database.rules.remove(*removed)
        self._declare(new)
        if self._lasting is not None:
            self._lasting.put_names(self)
        self._triples.change_facts(facts)
        return removed, new

    def _special(self) -> tuple[tuple[str, str], ...]:
        """Yield the classes or properties that rules read only if they have members, with their relations."""
        return (SAME_AS, self._names.property(SAME_AS)), (NOTHING, self._names.class_(NOTHING))

    def _literal_facts(self, change: Change) -> FactCalls:
        """Return facts about the literals that an epoch has made the same, or has put into datatypes."""
        same = self._names.property(SAME_AS)
        derives = same in change and any(rule.heads[0].relation == same for rule in self._instances.current.values())
        return self._literals.learn(change, derives_same=derives)

    def _learn(self, found: tuple[RuleInstance, ...]) -> bool:
        """Return True if the data require other rules than the present ones."""
        changed = set(found) != set(self._guards)
        self._guards = found
        return changed or any(self._triples.count(name) and iri not in self._alive for iri, name in self._special())

    def _missing_declarations(self) -> list[Declaration]:
        return self._names.declarations(self._database.program.relations.keys())

    def _declare(self, rules: Iterable[Rule] = ()) -> None:
        """Give new properties and classes their relations in the database, and add rules."""
        program = Program(declarations=tuple(self._missing_declarations()), rules=tuple(rules))
        if program.declarations or program.rules:
            self._database.load(program)

    # --- reading -------------------------------------------------------------------------------------------------

    def contains(self, subject: Any, predicate: Any, object: Any) -> bool:
        """Return True if a triple was asserted or follows. Terms are those of `tidelog.rdf.term`."""
        with self._hold_turn(), reading_within_memory:
            return self._triples.holds(term(subject), term(predicate), term(object))

    def __contains__(self, triple: object) -> bool:
        return isinstance(triple, (tuple, list)) and len(triple) == 3 and self.contains(*triple)

    def triples(
        self, subject: Any = None, predicate: Any = None, object: Any = None, *, inferred: bool = True
    ) -> Relation:
        """Return the triples with these terms, any for None; without `inferred`, only the asserted ones."""
        self._note_read()
        with self._hold_turn(), reading_within_memory:
            terms = [None if part is None else term(part) for part in (subject, predicate, object)]
            rows = self._triples.match_terms(*terms, asserted=not flag("inferred", inferred))
            return self._triples.relation("triples", rows)

    def inferred(self) -> Relation:
        """Return the triples that follow and were not asserted."""
        with self._hold_turn(), reading_within_memory:
            return self._triples.relation("inferred", self._triples.inferred_triples())

    def inconsistencies(self) -> Relation:
        """Return the contradictions: the rule, and the up to three terms that clash; empty texts behind them.
        `justifications` has the triples from which they follow."""
        return self._database[INCONSISTENCY]

    def query(self, text: str, /, **parameters: Any) -> Relation:
        """Return the answer to a query: a body of a rule, as `Database.query` does, with prefixes as in rules, or a
        query in SPARQL with the prefixes of the store. Values of `parameters` are terms, or numbers where a functor
        takes or gives them.

        SPARQL gives `Solutions`. It takes `inferred=False` to leave out the triples that follow, `union=True` to ask
        the triples of all graphs as one, a `timeout` in seconds, by default that of `options`, and a `base`.
        `default_graphs` and `named_graphs` are lists of IRIs: the graphs to ask, in the place of those of FROM. It
        raises ProgramError (E0664, with the place), UsageError (E0665: the mirror is off, E0666: SERVICE, E0668) and
        LimitError (E0501).
        """
        given: object = text
        if not isinstance(given, str):
            raise wrong_argument("a query", "the text of a query", text)
        self._note_read()
        if is_query(text) or is_update(text):
            return self._solutions(text, parameters)
        with self._hold_change_turn(), changing_within_memory:
            body = prefixes.query(text, self.prefixes, self._names, self._database.relations)
            self._declare()
            if body is None:
                return self._database.query(text, **parameters)
            atom = None if parameters else atom_of(body)
            if atom is None:
                return self._of_body(body, parameters)
            of_all = self._of_all(atom)
            if of_all is not None:
                return of_all
            if atom.path is None:
                return self._database.query(str(atom))
            workspace, rows = self._database.workspace, self._extra_rows(body, constant_ends(body))
            pattern = pattern_of(atom, workspace.programs)
            return answer(pattern, workspace, self._database.engine, self._options, rows, self._without_nodes())

    def _of_body(self, body: tuple[Literal, ...], parameters: Mapping[str, Any]) -> Relation:
        """Return the answer to a query that is not one atom."""
        body = body_with_constants(body, parameters)
        rows, workspace = self._extra_rows(body), self._database.workspace
        triples = () if TRIPLE in self._database.relations else (Program(declarations=(declaration(TRIPLE, "spo"),)),)
        asked = body_of(body, parameters, (*workspace.programs, *triples), workspace.given)
        if parameters:
            kinds = {column.name: column.kind for column in asked.parameters}
            terms = {name: term(each) if kinds[name] == "symbol" else each for name, each in parameters.items()}
            rows[PARAMETERS] = encode_parameters(terms, asked.parameters, workspace.dictionary)
        evaluation = asked.evaluation(workspace.committed.checked, self._without_nodes(), tuple(rows))
        watch = self._options.watch(work=THE_QUERY)
        with defer_interrupts(watch):
            found = evaluation.rows(self._database.engine, rows, watch)
        return Relation(NAME, WordRows(asked.columns, workspace.dictionary, found))

    def _extra_rows(self, body: tuple[Literal, ...], constants: Iterable[str] = ()) -> dict[str, Words]:
        """Return rows of relations that a query reads and that are not there: types, all triples, and nodes, with
        `constants`."""
        names = {atom.relation for atom in atoms(body) if atom.path is None}
        has_path = any(atom.path is not None for atom in atoms(body))
        types, rows = self._names.property(TYPE), dict[str, Words]()
        if has_path:
            rows[types] = self._triples.types(asserted=False)
            asks = any(repeat.op != "+" for atom in atoms(body) for repeat in repeats(atom.path))
            nodes = self._triples.nodes(self._epochs, constants) if asks else numpy.empty((0, 2), numpy.int64)
            rows[self._names.asserted_relation(TYPE)] = nodes
        elif types in names:
            rows[types] = self._triples.match_terms(None, TYPE, None, asserted=False)[:, [0, 2]]
        if TRIPLE in names and (self._names.has_triples or TRIPLE not in self._database.relations):
            rows[TRIPLE] = self._triples.match_terms(None, None, None, asserted=False)
        self._declare()
        return rows

    def _without_nodes(self) -> tuple[str, ...]:
        """Return the relations that give no nodes to a query: all but that of `_extra_rows`, which has the nodes."""
        own = self._names.asserted_relation(TYPE)
        return tuple(name for name in self._names.properties.values() if name != own)

    def _of_all(self, atom: Atom) -> Relation | None:
        """Return the matches of an atom of all types, or of all triples, which have no relation of their own."""
        own = TRIPLE in self._database.relations and not self._names.has_triples
        is_triple = atom.relation == TRIPLE and not own and len(atom.args) == 3
        if not is_triple and (atom.relation != self._names.properties.get(TYPE) or len(atom.args) != 2):
            return None
        given = atom.args if is_triple else (atom.args[0], Constant(TYPE, "symbol"), atom.args[1])
        if not all(isinstance(arg, (Constant, Variable, Anonymous)) for arg in given):
            return None
        terms = [str(arg.value) if isinstance(arg, Constant) else None for arg in given]
        words = self._triples.match_terms(*terms, asserted=False)
        for i, j in combinations(range(3), 2):
            if isinstance(given[i], Variable) and given[i] == given[j]:
                words = words[words[:, i] == words[:, j]]
        columns = [0, 1, 2] if is_triple else [0, 2]
        rows = WordRows(tuple(COLUMNS[i] for i in columns), self._database.workspace.dictionary, words[:, columns])
        return Relation(atom.relation, rows)

    def _block(self, commit: Callable[[], StoreChange] | None) -> StoreTransaction:
        return StoreTransaction(self, commit)

    def __getitem__(self, name: str) -> Relation:
        """Return a relation that a program declares, "inconsistencies" or "justifications". Raise UsageError (E0601)
        for an unknown name."""
        self._note_read()
        if self._is_view(name, JUSTIFICATIONS):
            return self.justifications()
        return self._database[self._own(name)]

    def __len__(self) -> int:
        """Return the number of triples, inferred ones included."""
        with self._hold_turn(), reading_within_memory:
            return len(self.triples())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.triples())

    @property
    def database(self) -> Database:
        """Return the database underneath, to look at: reports, sizes, certificates. Make all changes through the
        store."""
        return self._database

    def stats(self) -> dict[str, Any]:
        """Return the stats of the database underneath, see `Database.stats`, with the number of `triples`, inferred
        ones included, of the `rules` that the ontology and the programs ask for now, and the `mirror` of SPARQL: its
        place, its quads, and its bytes in memory, about."""
        with self._hold_turn():
            return {
                **self._database.stats(),
                "triples": len(self.triples()),
                "rules": len(self._database.workspace.committed.checked.written),
                "mirror": self._mirror.stats(),
            }

    def check(self) -> None:
        """Check the inferred triples independently of the engine, see `Database.check`."""
        self._database.check()

    def save_certificate(self, folder: str | os.PathLike[str]) -> None:
        """Write the last commit to a new folder as a certificate, see `Database.save_certificate`."""
        self._database.save_certificate(folder)

    def __repr__(self) -> str:
        wrong = self._triples.count(INCONSISTENCY)
        more = f", {wrong:,} inconsistencies" if wrong else ""
        return f"<Store: {self._triples.total():,} triples, {len(self._instances.current)} rules{more}>"


def _part(view: str | None, change: StoreChange) -> StoreChange | RelationChange | None:
    """Return a change, or that of a view, if it inserts or deletes something; None for a view that was dropped."""
    if view is not None and not change.knows(view):
        return None
    part = change if view is None else change[view]
    return part if len(part.inserted) or len(part.deleted) else None


def _add_hint(problem: Problem) -> Problem:
    """Return a problem of types, with a hint if it is about the value of a property."""
    if problem.code != "E0211" or f"`p{COLON}" not in problem.message:
        return problem
    return with_values(
        problem, hint="use n of `xsd:integer(v, n)` for the number of a literal v; values of properties are terms"
    )
