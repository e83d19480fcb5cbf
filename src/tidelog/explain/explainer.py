"""From a relation and a tuple to a proof.

An `Explainer` belongs to a database. What it has compiled of the rules it keeps until they change. A search finds
derivations, and a `Composer` makes the steps of a proof from them. A proof may have thousands of steps: words become
values in batches, all tuples of a relation and all instances of a rule together, and each step is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from tidelog.common.collecting import pause_collection
from tidelog.errors import LimitError, Problem, UsageError
from tidelog.explain.absence import Absence, Missing, Rivals, check_depth
from tidelog.explain.alternatives import Repair, all_proofs, smallest_ends
from tidelog.explain.blame import Ages, Blame
from tidelog.explain.derivations import TupleDerivation, TupleDerivations, new_frozen
from tidelog.explain.instances import FlatRule
from tidelog.explain.proof import Proof
from tidelog.explain.questions import MOST_MEMBERS
from tidelog.explain.search import Found, ProofSearch
from tidelog.explain.steps import (
    BoundRule,
    Facts,
    ProofStep,
    Removal,
    StepSort,
    Walk,
    Wording,
    check_members,
    conditions_of,
    with_witnesses,
)
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.io import encode
from tidelog.io.relation import with_tuples
from tidelog.language.syntax import CheckedProgram, RelationType, Value
from tidelog.limits.watch import Watch
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.record_text import row_text
from tidelog.workspace.workspace import Workspace

Numbers = tuple[int, ...]


class Composer:
    """The maker of the proofs of one search."""

    def __init__(self, search: ProofSearch, rivals: Rivals, wording: Wording) -> None:
        self.search = search
        self.derivations = search.derivations
        self.rivals = rivals
        self.wording = wording
        self.numbers: dict[Key, int] = {}
        """The steps of tuples in the last proof."""

    @pause_collection()
    def proof(self, goal: Key, found: Found, members: int | None = MOST_MEMBERS) -> Proof:
        """Return the proof that a search has found, premises first; of aggregates at most so many members."""
        numbers = self.numbers = in_order(goal, found)
        chosen = [found.chosen.get(key) for key in numbers]
        instances = self._instances(chosen)
        competing = {name for name in {key.relation for key in numbers} if self._competes(name)}
        steps: list[ProofStep] = []
        heights: list[int] = []
        for key, way, values in zip(numbers, chosen, self.derivations.values_of(numbers), strict=True):
            height = 0
            if way is None:
                sort: StepSort = "fact" if key in found.chosen else "open"
                name = self.derivations.selection_of(key.relation)
                step = new_frozen(ProofStep, relation=name, values=values, sort=sort, variables={})
            else:
                below = tuple([numbers[premise] for premise in way.premises])
                height = 1 + max([heights[number] for number in below], default=0)
                if way.flat is None:
                    step = self._walk(key, values, below, height)
                else:
                    step = self._rule(way, values, next(instances[way.flat.number]), below, height, members)
            steps.append(self._with_rivals(step, key) if key.relation in competing else step)
            heights.append(height)
        return Proof(tuple(steps))

    def _instances(self, chosen: Sequence[TupleDerivation | None]) -> dict[int, Iterator[tuple[Value, ...]]]:
        """Return the values of the variables of the instances of each rule, by its number, in the order of steps."""
        words: dict[int, tuple[FlatRule, list[tuple[int, ...]]]] = {}
        for way in chosen:
            if way is not None and way.flat is not None:
                if way.flat.number not in words:
                    words[way.flat.number] = way.flat, []
                words[way.flat.number][1].append(way.words)
        return {number: self._values(flat, rows) for number, (flat, rows) in words.items()}

    def _values(self, flat: FlatRule, words: list[tuple[int, ...]]) -> Iterator[tuple[Value, ...]]:
        rows = numpy.array(words, numpy.int64).reshape(len(words), -1)
        return iter(self.derivations.decode_rows(rows, [flat.kinds[name] for name in flat.variables]))

    def _walk(self, key: Key, values: tuple[Value, ...], below: Numbers, height: int) -> ProofStep:
        name = self.derivations.selection_of(key.relation)
        walk = Walk(name, self.derivations.automaton(self.search.views, key.relation))
        return ProofStep(name, values, "walk", premises=below, height=height, instance=walk)

    def _rule(
        self,
        way: TupleDerivation,
        values: tuple[Value, ...],
        bound: tuple[Value, ...],
        below: Numbers,
        height: int,
        members: int | None,
    ) -> ProofStep:
        """Return the step by an instance of a rule whose variables have the values `bound`."""
        flat = way.flat
        assert flat is not None
        instance = BoundRule(flat, dict(zip(flat.variables, bound, strict=True)))
        rule = self.wording.rule(flat)
        conditions = conditions_of(flat, way.words, instance.values, self.search, members) if flat.conditions else ()
        if flat.witnesses:
            conditions = with_witnesses(conditions, flat, below)
        return new_frozen(
            ProofStep,
            relation=flat.head.relation,
            values=values,
            sort="rule",
            rule=flat.rule.name,
            text=rule.text,
            span=rule.span,
            variables=instance.source_values,
            premises=below,
            conditions=conditions,
            height=height,
            instance=instance,
        )

    def _competes(self, name: str) -> bool:
        return name != self.derivations.selection_of(name) or name in self.rivals.selections

    def _with_rivals(self, step: ProofStep, key: Key) -> ProofStep:
        """Return the step of a tuple of a relation that selects with the tuples that it competes with."""
        if step.relation != key.relation:
            if self.derivations.holds(self.search.views, Key(step.relation, key.words)):
                return step
            better: tuple[Any, ...] | None
            try:
                better = self.rivals.better(self.search.views, key, self.search.watch)
            except LimitError:
                better = None
            return replace(step, is_candidate=True, better=better)
        rivals = self.rivals.rivals(self.search.views, key)
        return replace(step, rivals=len(rivals), first_rivals=tuple(rivals[:MOST_MEMBERS])) if rivals else step


def in_order(goal: Key, found: Found) -> dict[Key, int]:
    """Return the tuples of a proof, numbered so that each comes after its premises, and these in their order."""
    numbers: dict[Key, int] = {}

    def premises(key: Key) -> Iterator[Key]:
        way = found.chosen.get(key)
        return iter(()) if way is None else iter(way.premises)

    waiting = [(goal, premises(goal))]
    while waiting:
        key, rest = waiting[-1]
        for premise in rest:
            if premise not in numbers:
                waiting.append((premise, premises(premise)))
                break
        else:
            numbers[key] = len(numbers)
            waiting.pop()
    return numbers


class Explainer:
    """Explains tuples of the views of an engine. The caller keeps other threads away."""

    def __init__(self, workspace: Workspace[Any]) -> None:
        self._workspace = workspace
        self._dictionary = workspace.dictionary
        self._derivations: TupleDerivations | None = None
        self._rivals: Rivals | None = None
        self._wording = Wording({})

    @pause_collection()
    def explain(
        self, relation: str, values: object, views: EngineViews, watch: Watch, members: int | None = MOST_MEMBERS
    ) -> Proof:
        """Return a proof of a tuple, see `Database.explain`."""
        check_members(members)
        search, goal = self._search(relation, values, views, watch)
        return self._composer(search).proof(goal, search.proof(goal), members)

    def founded_proof(self, relation: str, values: object, views: EngineViews, watch: Watch | None = None) -> Proof:
        """Return the proof that births give, however few derivations there are: for tests."""
        search, goal = self._search(relation, values, views, watch or Watch())
        return self._composer(search).proof(goal, search.founded_proof(goal))

    def proofs(
        self, relation: str, values: object, views: EngineViews, watch: Watch, members: int | None = MOST_MEMBERS
    ) -> Iterator[Proof]:
        """Yield all proofs of a tuple, the smallest first."""
        check_members(members)
        search, goal = self._search(relation, values, views, watch)
        composer = self._composer(search)
        return (composer.proof(goal, found, members) for found in all_proofs(search, goal))

    def blame(self, relation: str, values: object, views: EngineViews, watch: Watch, since: Mapping[str, int]) -> Blame:
        """Return since which epoch a tuple holds, see `Database.blame`; `since` has the epochs of rules."""
        search, goal = self._search(relation, values, views, watch)
        ages = Ages(search, lambda name: since.get(name, 0))
        found, is_whole = ages.oldest(goal)
        composer = self._composer(search)
        proof = composer.proof(goal, found)
        return ages.blame(found, proof, composer.numbers, is_whole=is_whole)

    def ends(
        self,
        relation: str,
        values: object,
        views: EngineViews,
        watch: Watch,
        *,
        rules: bool,
        confirmed: Callable[[Key, Removal], bool],
    ) -> Iterator[Removal]:
        """Yield the smallest sets of facts, or rules, without which a tuple would not hold, see
        `Database.ways_to_remove`."""
        search, goal = self._search(relation, values, views, watch)

        def removal(parts: frozenset[object]) -> Removal:
            ordered = sorted(parts, key=lambda part: search.derivations.sort_key([part]))
            facts = [(each.relation, search.derivations.values(each)) for each in ordered if isinstance(each, Key)]
            return Removal(tuple(facts), tuple(each for each in ordered if isinstance(each, str)))

        found = smallest_ends(search, goal, rules=rules, confirmed=lambda parts: confirmed(goal, removal(parts)))
        return map(removal, found)

    def absence(self, relation: str, values: object, depth: int, views: EngineViews, watch: Watch) -> Absence:
        """Return why a tuple does not hold, see `Database.why_not`."""
        check_depth(depth)
        key, derivations = self._absent(relation, values, views)
        assert self._rivals is not None
        return Missing(derivations, self._rivals, views, watch, self._wording).absence(key, depth)

    def _absent(self, relation: str, values: object, views: EngineViews) -> tuple[Key, TupleDerivations]:
        """Return a tuple in words. Raise UsageError (E0672) if it holds."""
        checked = self._workspace.committed.checked
        declared = with_tuples(checked.relations, relation)
        derivations = self._derivations_for(checked)
        encode([values], declared, Dictionary(checked.records))
        (words,) = encode([values], declared, self._dictionary).tolist()
        key = Key(relation, tuple(words))
        if derivations.holds(views, key):
            message = f"{row_text(relation, derivations.values(key))} holds"
            raise UsageError(Problem("E0672", message, hint="ask `explain` for a proof"))
        return key, derivations

    def repairs(
        self,
        relation: str,
        values: object,
        views: EngineViews,
        watch: Watch,
        confirmed: Callable[[Key, Facts], bool],
    ) -> Iterator[Facts]:
        """Yield the smallest sets of facts that would make a tuple hold, see `Database.ways_to_derive`."""
        key, derivations = self._absent(relation, values, views)

        def facts(keys: frozenset[Key]) -> Facts:
            ordered = sorted(keys, key=lambda each: derivations.sort_key([each]))
            return tuple((each.relation, derivations.values(each)) for each in ordered)

        found = Repair(derivations, views, watch).smallest(key, lambda keys: confirmed(key, facts(keys)))
        return map(facts, found)

    def title(self, verb: str, relation: str, values: object) -> str:
        """Return the name of a question about a tuple for messages."""
        declared = with_tuples(self._workspace.committed.checked.relations, relation)
        return f"{verb} of {row_text(relation, _in_order(declared, values))}"

    def _search(self, relation: str, values: object, views: EngineViews, watch: Watch) -> tuple[ProofSearch, Key]:
        """Return a search over the last epoch, and the tuple in words. Raise UsageError (E0670) if it does not hold."""
        checked = self._workspace.committed.checked
        declared = with_tuples(checked.relations, relation)
        key = self._key(declared, values, checked)
        derivations = self._derivations_for(checked)
        if key is None or not derivations.holds(views, key):
            message = f"{row_text(relation, _in_order(declared, values))} does not hold"
            raise UsageError(Problem("E0670", message, hint="ask `why_not` for the reason"))
        return ProofSearch(derivations, views, watch), key

    def _derivations_for(self, checked: CheckedProgram) -> TupleDerivations:
        if self._derivations is None or self._derivations.checked is not checked:
            self._derivations = TupleDerivations(checked, self._dictionary)
            self._rivals = Rivals(self._derivations)
            self._wording = Wording({rule.name: rule for rule in checked.texts if rule.name is not None})
        return self._derivations

    def _key(self, relation: RelationType, values: object, checked: CheckedProgram) -> Key | None:
        """Return a tuple in words, None if no relation can have it. Raise DataError for values that do not fit."""
        encode([values], relation, Dictionary(checked.records))
        ordered = _in_order(relation, values)
        words = [
            self._dictionary.find(value, column.kind) for value, column in zip(ordered, relation.columns, strict=True)
        ]
        known = [word for word in words if word is not None]
        return Key(relation.name, tuple(known)) if len(known) == len(words) else None

    def _composer(self, search: ProofSearch) -> Composer:
        assert self._rivals is not None
        return Composer(search, self._rivals, self._wording)


def _in_order(relation: RelationType, values: object) -> tuple[Any, ...]:
    """Return the values of a row that fits a relation: a tuple, a list, or a dict by column name."""
    if isinstance(values, Mapping):
        return tuple(values[column.name] for column in relation.columns)
    assert isinstance(values, Iterable)
    return tuple(values)
