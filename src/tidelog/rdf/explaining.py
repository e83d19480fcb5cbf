"""Explanations over triples: why a triple, a contradiction, or a tuple of a program's own relation holds, or does not.

The searches are those of `explain/`, over the derivations of `derivations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tidelog.database.database import Database
from tidelog.errors import Problem, UsageError
from tidelog.explain.absence import Absence, Missing, Rivals, check_depth
from tidelog.explain.alternatives import Repair, all_proofs, smallest_ends
from tidelog.explain.blame import Ages, Blame
from tidelog.explain.derivations import rows_of
from tidelog.explain.instances import FlatRule
from tidelog.explain.steps import RowOf
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.io import encode
from tidelog.io.relation import with_tuples
from tidelog.language.syntax import Literal, Value
from tidelog.limits.watch import Watch
from tidelog.rdf.derivations import TRIPLES, TripleDerivations, TripleSearch, TripleWording
from tidelog.rdf.matching import SchemaFacts
from tidelog.rdf.names import HIDDEN, INCONSISTENCY, REST, TRIPLE, Names, is_internal
from tidelog.rdf.proofs import ProofOfTriples, TripleProof, TripleViews
from tidelog.rdf.rules import Instances
from tidelog.rdf.tables import TableRule, Triple
from tidelog.rdf.terms import TYPE, term
from tidelog.semantics.values import normal
from tidelog.storage.dictionary import Dictionary

StoredTriple: TypeAlias = tuple[str, str, str]


class TripleExplainer:
    """Explains the triples of a store. The caller keeps other threads away."""

    def __init__(self, database: Database, names: Names, table: Sequence[TableRule], instances: Instances) -> None:
        """`instances` has the specialised rules of `table`."""
        self._database = database
        self._names = names
        self._table = tuple(table)
        self._instances = instances
        self._derivations: TripleDerivations | None = None

    # --- verbs -------------------------------------------------------------------------------------------------------

    def explain(self, goal: Sequence[Any], now: Now) -> TripleProof:
        """Return a proof, see `Store.explain`."""
        search, key = self._search(goal, now)
        return self._proof(key, search, now)(search.proof(key))

    def founded_proof(self, goal: Sequence[Any], now: Now) -> TripleProof:
        """Return the proof that births give, however few derivations there are: for tests."""
        search, key = self._search(goal, now)
        return self._proof(key, search, now)(search.founded_proof(key))

    def proofs(self, goal: Sequence[Any], now: Now) -> Iterator[TripleProof]:
        """Yield all proofs, the smallest first."""
        search, key = self._search(goal, now)
        return (self._proof(key, search, now)(found) for found in all_proofs(search, key))

    def blame(self, goal: Sequence[Any], now: Now) -> Blame:
        """Return since which commit a triple holds, see `Store.blame`."""
        search, key = self._search(goal, now)
        since, own = self._database.workspace.committed.since, search.derivations.of_programs
        ages = Ages(search, lambda name: since.get(name, 0) if name in own else 0)
        found, is_whole = ages.oldest(key)
        maker = ProofOfTriples(search, now.wording(search.derivations), self._table)
        proof = maker.proof(key, found)
        return ages.blame(found, proof, maker.numbers, is_whole=is_whole)

    def ends(
        self, goal: Sequence[Any], now: Now, confirmed: Callable[[tuple[StoredTriple, ...]], bool]
    ) -> Iterator[tuple[StoredTriple, ...]]:
        """Yield the smallest sets of asserted triples without which a triple would not hold, see
        `Store.ways_to_remove`."""
        search, key = self._search(goal, now)
        wording = now.wording(search.derivations)

        def triples(parts: frozenset[object]) -> tuple[StoredTriple, ...]:
            return _triples((each for each in parts if isinstance(each, Key)), search.derivations, wording)

        def is_end(parts: frozenset[object]) -> bool:
            found = triples(parts)
            return len(found) == len(parts) and confirmed(found)

        return map(triples, smallest_ends(search, key, rules=False, confirmed=is_end))

    def absence(self, goal: Sequence[Any], depth: int, now: Now) -> Absence:
        """Return why a triple does not hold, see `Store.why_not`."""
        check_depth(depth)
        derivations, key, wording = self._absent(goal, now)
        if key is None:
            relation, values = self._goal_row(goal)
            return Absence(relation, values, (), (), wording.shown_text(relation, values))
        return TripleMissing(derivations, Rivals(derivations), self._views, now.watch, wording).absence(key, depth)

    def repairs(
        self, goal: Sequence[Any], now: Now, confirmed: Callable[[tuple[StoredTriple, ...]], bool]
    ) -> Iterator[tuple[StoredTriple, ...]]:
        """Yield the smallest sets of triples that would make a triple hold, see `Store.ways_to_derive`."""
        derivations, key, wording = self._absent(goal, now)

        def is_repair(keys: frozenset[Key]) -> bool:
            found = _triples(keys, derivations, wording)
            return len(found) == len(keys) and confirmed(found)

        if key is None:
            return iter(())
        found = TripleRepair(derivations, self._views, now.watch).smallest(key, is_repair)
        return (_triples(keys, derivations, wording) for keys in found)

    def title(self, verb: str, goal: Sequence[Any], now: Now) -> str:
        """Return the name of a question about a triple for messages."""
        return f"{verb} of {now.wording(self._current_derivations(now)).shown_text(*self._goal_row(goal))}"

    def views(self, now: Now) -> TripleViews:
        """Return all triples and facts, for the check of a proof."""
        return TripleViews(self._database, now.wording(self._current_derivations(now)))

    def holds(self, goal: Sequence[Any]) -> bool:
        """Return True if a triple, a contradiction, or a tuple of a relation holds at the moment."""
        key = self._key(*self._goal_row(goal))
        return key is not None and bool(self._views.holds(key.relation, rows_of([key]))[0])

    @property
    def _views(self) -> EngineViews:
        return EngineViews(self._database.engine)

    # --- goals -------------------------------------------------------------------------------------------------------

    def _search(self, goal: Sequence[Any], now: Now) -> tuple[TripleSearch, Key]:
        """Return a search, and what is asked for in words. Raise UsageError (E0670) if it does not hold."""
        shown = self._goal_row(goal)
        derivations = self._current_derivations(now)
        key = self._key(*shown)
        if key is None or not derivations.holds(self._views, key):
            message = f"{now.wording(derivations).shown_text(*shown)} does not hold"
            raise UsageError(Problem("E0670", message, hint="ask `why_not` for the reason"))
        return TripleSearch(derivations, self._views, now.watch), key

    def _absent(self, goal: Sequence[Any], now: Now) -> tuple[TripleDerivations, Key | None, TripleWording]:
        """Return what is asked for in words, None if no relation could have it. Raise UsageError (E0672) if it
        holds."""
        shown = self._goal_row(goal)
        derivations = self._current_derivations(now)
        wording = now.wording(derivations)
        key = self._key(*shown, encoding=True)
        if key is not None and derivations.holds(self._views, key):
            raise UsageError(Problem("E0672", f"{wording.shown_text(*shown)} holds", hint="ask `explain` for a proof"))
        return derivations, key, wording

    def _goal_row(self, goal: Sequence[Any]) -> RowOf:
        """Return a triple, a contradiction, or a tuple of a relation. Raise UsageError (E0673) for anything else."""
        if len(goal) == 3:
            return TRIPLES, tuple(map(term, goal))
        if len(goal) == 4 and all(isinstance(part, str) for part in goal):
            return INCONSISTENCY[:-1], tuple(goal)
        if len(goal) == 2 and isinstance(goal[0], str) and isinstance(goal[1], (tuple, list)):
            found = with_tuples(self._database.workspace.committed.checked.relations, goal[0])
            encode([goal[1]], found, Dictionary(self._database.workspace.committed.checked.records))
            return goal[0], tuple(
                normal(value, column.kind) for value, column in zip(goal[1], found.columns, strict=True)
            )
        message = f"{len(goal)} values are neither a triple nor a contradiction"
        hint = "pass three terms, a row of store.inconsistencies(), or a relation of a program and a tuple"
        raise UsageError(Problem("E0673", message, hint=hint))

    def _key(self, relation: str, values: tuple[Value, ...], *, encoding: bool = False) -> Key | None:
        """Return a tuple in words, None if no relation can have it. With `encoding`, new terms get words."""
        row: tuple[Value, ...] = values
        relations = self._database.workspace.committed.checked.relations  # The names know those of pending rules, too.
        if relation == TRIPLES:
            subject, predicate, value = map(str, values)
            known = self._names.classes.get(value) if predicate == TYPE else self._names.properties.get(predicate)
            if is_internal(predicate):
                return None
            if known is not None and known in relations:
                relation, row = known, (subject,) if predicate == TYPE else (subject, value)
            elif predicate == TYPE:
                relation, row = self._names.property(REST), (subject, value)
            elif TRIPLE in relations:
                relation = TRIPLE
            else:
                return None
        elif relation == INCONSISTENCY[:-1]:
            relation = INCONSISTENCY
        columns = relations[relation].columns
        dictionary = self._database.workspace.dictionary
        turn = dictionary.encode if encoding else dictionary.find
        words = [turn(value, column.kind) for value, column in zip(row, columns, strict=True)]
        found = tuple(word for word in words if word is not None)
        return Key(relation, found) if len(found) == len(words) else None

    def _current_derivations(self, now: Now) -> TripleDerivations:
        """Return the derivations of the rules of the moment, with what is known of them."""
        checked, facts = self._database.workspace.committed.checked, now.facts
        known = self._derivations
        if known is None or known.checked is not checked or known.facts is not facts:
            dictionary, current = self._database.workspace.dictionary, self._instances.current
            known = TripleDerivations(checked, dictionary, self._table, self._names, current, facts)
            self._derivations = known
        return known

    def _proof(self, key: Key, search: TripleSearch, now: Now) -> Callable[..., TripleProof]:
        wording = now.wording(search.derivations)
        return lambda found: ProofOfTriples(search, wording, self._table).proof(key, found)


class Now:
    """The moment of a question to a store: its limits, its prefixes, and the facts of its schema."""

    def __init__(self, watch: Watch, prefixes: Mapping[str, str], facts: SchemaFacts) -> None:
        self.watch = watch
        self.prefixes = prefixes
        self.facts = facts

    def wording(self, derivations: TripleDerivations) -> TripleWording:
        written = {rule.name: rule for rule in derivations.checked.texts if rule.name is not None}
        return TripleWording(written, derivations, self.prefixes)


def _triples(keys: Any, derivations: TripleDerivations, wording: TripleWording) -> tuple[StoredTriple, ...]:
    """Return the triples among some tuples, in their order."""
    shown = (wording.row(key.relation, derivations.values(key)) for key in keys)
    triples = {tuple(map(str, values)) for relation, values in shown if relation == TRIPLES}
    return tuple((s, p, o) for s, p, o in sorted(triples))


class TripleMissing(Missing):
    """Explains why triples do not hold."""

    derivations: TripleDerivations

    def rules(self, key: Key) -> Iterator[tuple[FlatRule, Key]]:
        """Yield the rules that could derive a triple, also those of other relations that have the same triple."""
        return self.derivations.rules_for(key)

    def near_and_below(
        self, literal: Literal, bound: Any, words: Any, depth: int
    ) -> tuple[tuple[str, ...], Absence | None]:
        """Return the tuples near a literal without a match, and why it has none; nothing for internal relations."""
        meaning = self.derivations.names.triple_pattern(getattr(literal, "relation", ""))
        if meaning is not None and meaning.predicate in HIDDEN:
            return (), None
        return super().near_and_below(literal, bound, words, depth)


class TripleRepair(Repair):
    """The search for triples that would make one hold: any triple may be asserted, also one that rules derive."""

    derivations: TripleDerivations

    def is_answer(self, wanted: frozenset[Key], goal: Key) -> bool:
        """Return True if a set of tuples may be asserted."""
        return goal not in wanted and not any(map(self.is_internal, wanted))

    def to_derive(self, wanted: frozenset[Key]) -> list[Key]:
        """Return the tuples of a set in whose place the search puts those that would derive them: all."""
        return sorted(wanted, key=lambda key: self.derivations.sort_key([key]))

    def rules(self, key: Key) -> Iterator[tuple[FlatRule, Key]]:
        """Yield the rules that could derive a triple, also those of other relations that have the same triple."""
        return self.derivations.rules_for(key)

    def is_internal(self, key: Key) -> bool:
        """Return True for a tuple that nobody can assert, such as one about the members of a list."""
        meaning = self.derivations.names.triple_pattern(key.relation)
        return meaning is None or is_internal(meaning.predicate) or meaning == Triple("?s", TYPE, "?o")
