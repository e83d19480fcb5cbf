"""From a relation and a tuple to a proof.

An `Explainer` belongs to a database. What it has compiled of the rules it keeps until they change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tidelog.errors import LimitError, Problem, UsageError
from tidelog.explain.absence import Absence, Missing
from tidelog.explain.alternatives import all_proofs, smallest_ends
from tidelog.explain.blame import Ages, Blame
from tidelog.explain.conditions import MOST_MEMBERS, conditions_of, with_witnesses
from tidelog.explain.derivations import TupleDerivation, TupleDerivations
from tidelog.explain.instances import FlatRule
from tidelog.explain.proof import Proof
from tidelog.explain.repair import Repair
from tidelog.explain.rivals import Rivals
from tidelog.explain.search import Found, ProofSearch
from tidelog.explain.steps import BoundRule, Facts, ProofStep, Removal, Walk, row_text
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.explain.wording import Wording
from tidelog.io import encode
from tidelog.language.syntax import CheckedProgram, RelationType, Rule, Value
from tidelog.limits.watch import Watch
from tidelog.relation import declared
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace import Workspace


class Explainer:
    """Explains tuples of the views of an engine. The caller keeps other threads away."""

    def __init__(self, workspace: Workspace[Any]) -> None:
        self._workspace = workspace
        self._dictionary = workspace.dictionary
        self._derivations: TupleDerivations | None = None
        self._rivals: Rivals | None = None
        self._written: Mapping[str, Rule] = {}
        self._texts: dict[str, str] = {}

    def explain(
        self, relation: str, values: object, views: EngineViews, watch: Watch, members: int | None = MOST_MEMBERS
    ) -> Proof:
        """Return a proof of a tuple, see `Database.explain`."""
        search, goal = self._search(relation, values, views, watch)
        return self._proof(goal, search.proof(goal), search, members)

    def founded(self, relation: str, values: object, views: EngineViews, watch: Watch | None = None) -> Proof:
        """Return the proof that births give, however few derivations there are: for tests."""
        search, goal = self._search(relation, values, views, watch or Watch())
        return self._proof(goal, search.founded(goal), search)

    def proofs(
        self, relation: str, values: object, views: EngineViews, watch: Watch, members: int | None = MOST_MEMBERS
    ) -> Iterator[Proof]:
        """Yield all proofs of a tuple, the smallest first."""
        search, goal = self._search(relation, values, views, watch)
        return (self._proof(goal, found, search, members) for found in all_proofs(search, goal))

    def blame(self, relation: str, values: object, views: EngineViews, watch: Watch, since: Mapping[str, int]) -> Blame:
        """Return since which epoch a tuple holds, see `Database.blame`; `since` has the epochs of rules."""
        search, goal = self._search(relation, values, views, watch)
        ages = Ages(search, lambda name: since.get(name, 0))
        found, is_whole = ages.oldest(goal)
        proof, numbers = self._numbered(goal, found, search, MOST_MEMBERS)
        return ages.blame(found, proof, numbers, is_whole=is_whole)

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
        """Yield the smallest sets of facts, or rules, without which a tuple would not hold, see `Database.undo`."""
        search, goal = self._search(relation, values, views, watch)

        def removal(parts: frozenset[object]) -> Removal:
            ordered = sorted(parts, key=lambda part: search.derivations.sort_key([part]))
            facts = [(each.relation, search.derivations.values(each)) for each in ordered if isinstance(each, Key)]
            return Removal(tuple(facts), tuple(each for each in ordered if isinstance(each, str)))

        found = smallest_ends(search, goal, rules=rules, confirmed=lambda parts: confirmed(goal, removal(parts)))
        return map(removal, found)

    def absence(self, relation: str, values: object, depth: int, views: EngineViews, watch: Watch) -> Absence:
        """Return why a tuple does not hold, see `Database.why_not`."""
        key, derivations = self._absent(relation, values, views)
        return Missing(derivations, views, watch, Wording(self._written)).absence(key, depth)

    def _absent(self, relation: str, values: object, views: EngineViews) -> tuple[Key, TupleDerivations]:
        """Return a tuple in words. Raise UsageError (E0672) if it holds."""
        checked = self._workspace.committed.checked
        found_in = declared(checked.relations, relation)
        derivations = self._following(checked)
        encode([values], found_in, Dictionary(checked.records))
        (words,) = encode([values], found_in, self._dictionary).tolist()
        key = Key(relation, tuple(words))
        if derivations.holds(views, key):
            message = f"{row_text(relation, derivations.values(key))} holds"
            raise UsageError(Problem("E0672", message, hint="ask db.explain for a proof"))
        return key, derivations

    def repairs(
        self,
        relation: str,
        values: object,
        views: EngineViews,
        watch: Watch,
        confirmed: Callable[[Key, Facts], bool],
    ) -> Iterator[Facts]:
        """Yield the smallest sets of facts that would make a tuple hold, see `Database.repair`."""
        key, derivations = self._absent(relation, values, views)

        def facts(keys: frozenset[Key]) -> Facts:
            ordered = sorted(keys, key=lambda each: derivations.sort_key([each]))
            return tuple((each.relation, derivations.values(each)) for each in ordered)

        found = Repair(derivations, views, watch).smallest(key, lambda keys: confirmed(key, facts(keys)))
        return map(facts, found)

    def _search(self, relation: str, values: object, views: EngineViews, watch: Watch) -> tuple[ProofSearch, Key]:
        """Return a search over the last epoch, and the tuple in words. Raise UsageError (E0670) if it does not hold."""
        checked = self._workspace.committed.checked
        key = self._key(declared(checked.relations, relation), values, checked)
        derivations = self._following(checked)
        if key is None or not derivations.holds(views, key):
            message = f"{row_text(relation, tuple(values))} does not hold"  # type: ignore[arg-type]  # It fits.
            raise UsageError(Problem("E0670", message, hint="ask db.why_not for the reason"))
        return ProofSearch(derivations, views, watch), key

    def _following(self, checked: CheckedProgram) -> TupleDerivations:
        """Return the derivations of a program, with what is known of it."""
        if self._derivations is None or self._derivations.checked is not checked:
            self._derivations = TupleDerivations(checked, self._dictionary)
            self._rivals = Rivals(self._derivations)
            self._texts = {}
            self._written = {rule.name: rule for rule in checked.texts if rule.name is not None}
        return self._derivations

    def _key(self, relation: RelationType, values: object, checked: CheckedProgram) -> Key | None:
        """Return a tuple in words, None if no relation can have it. Raise DataError for values that do not fit."""
        encode([values], relation, Dictionary(checked.records))
        assert isinstance(values, Iterable)
        words = [
            self._dictionary.find(value, column.kind) for value, column in zip(values, relation.columns, strict=True)
        ]
        known = [word for word in words if word is not None]
        return Key(relation.name, tuple(known)) if len(known) == len(words) else None

    # --- proofs ------------------------------------------------------------------------------------------------------

    def _proof(self, goal: Key, found: Found, search: ProofSearch, members: int | None = MOST_MEMBERS) -> Proof:
        """Return the proof that a search has found, premises first."""
        return self._numbered(goal, found, search, members)[0]

    def _numbered(
        self, goal: Key, found: Found, search: ProofSearch, members: int | None
    ) -> tuple[Proof, Mapping[Key, int]]:
        """Return a proof, and the number of the step of each tuple."""
        numbers: dict[Key, int] = {}
        steps: list[ProofStep] = []
        waiting = [(goal, False)]
        while waiting:
            key, ready = waiting.pop()
            if key in numbers:
                continue
            chosen = found.chosen.get(key)
            if not ready and chosen is not None:
                waiting.append((key, True))
                waiting += [(premise, False) for premise in reversed(chosen.premises)]
                continue
            below = () if chosen is None else tuple(numbers[premise] for premise in chosen.premises)
            height = 0 if chosen is None else 1 + max((steps[number].height for number in below), default=0)
            numbers[key] = len(steps)
            step = self._with_rivals(self._step(key, chosen, search, members), key, search)
            if chosen is not None and chosen.flat is not None:
                step = replace(step, conditions=with_witnesses(step.conditions, chosen.flat, below))
            sort = step.sort if key in found.chosen else "open"
            steps.append(replace(step, premises=below, height=height, sort=sort))
        return Proof(tuple(steps)), numbers

    def _step(self, key: Key, chosen: TupleDerivation | None, search: ProofSearch, members: int | None) -> ProofStep:
        """Return the step for a tuple, without its premises."""
        derivations = search.derivations
        name, values = derivations.shown(key.relation), derivations.values(key)
        if chosen is None:
            return ProofStep(name, values, "fact")
        flat = chosen.flat
        if flat is None:
            walk = Walk(name, derivations.automaton(search.views, key.relation))
            return ProofStep(name, values, "walk", instance=walk)
        instance = BoundRule(flat, self._bound(flat, chosen))
        rule = self._written.get(flat.rule.name or "", flat.rule)
        return ProofStep(
            name,
            values,
            "rule",
            flat.rule.name,
            self._text(rule),
            rule.span,
            instance.written,
            conditions=conditions_of(flat, chosen.words, search, members),
            instance=instance,
        )

    def _with_rivals(self, step: ProofStep, key: Key, search: ProofSearch) -> ProofStep:
        """Return the step of a tuple of a relation that selects with the tuples that it competes with."""
        assert self._rivals is not None
        if step.relation != key.relation:
            if search.derivations.holds(search.views, Key(step.relation, key.words)):
                return step
            try:
                better = self._rivals.better(search.views, key, search.watch)
            except LimitError:
                better = None
            return replace(step, is_candidate=True, better=better)
        rivals = self._rivals.rivals(search.views, key)
        return replace(step, rivals=len(rivals), first_rivals=tuple(rivals[:MOST_MEMBERS])) if rivals else step

    def _text(self, rule: Rule) -> str:
        """Return a rule as text, which is made once."""
        name = rule.name or ""
        if name not in self._texts:
            self._texts[name] = str(rule)
        return self._texts[name]

    def _bound(self, flat: FlatRule, chosen: TupleDerivation) -> dict[str, Any]:
        """Return the values of the variables of an instance."""
        decode = self._dictionary.decode
        found: dict[str, Value] = {}
        for name, word in zip(flat.variables, chosen.words, strict=True):
            found[name] = decode(word, flat.kinds[name])
        return found
