"""From a relation and a tuple to a proof.

An `Explainer` belongs to a database. What it has compiled of the rules it keeps until they change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tidelog.common.collecting import uncollected
from tidelog.errors import Problem, UsageError
from tidelog.explain.absence import Absence, Missing, check_depth
from tidelog.explain.alternatives import all_proofs, smallest_ends
from tidelog.explain.blame import Ages, Blame
from tidelog.explain.composing import Composer
from tidelog.explain.conditions import check_members
from tidelog.explain.derivations import TupleDerivations
from tidelog.explain.proof import Proof
from tidelog.explain.questions import MOST_MEMBERS
from tidelog.explain.repair import Repair
from tidelog.explain.rivals import Rivals
from tidelog.explain.search import ProofSearch
from tidelog.explain.steps import Facts, Removal
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.explain.wording import Wording
from tidelog.io import encode
from tidelog.io.relation import with_tuples
from tidelog.language.syntax import CheckedProgram, RelationType
from tidelog.limits.watch import Watch
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.record_text import row_text
from tidelog.workspace.workspace import Workspace


class Explainer:
    """Explains tuples of the views of an engine. The caller keeps other threads away."""

    def __init__(self, workspace: Workspace[Any]) -> None:
        self._workspace = workspace
        self._dictionary = workspace.dictionary
        self._derivations: TupleDerivations | None = None
        self._rivals: Rivals | None = None
        self._wording = Wording({})

    @uncollected()
    def explain(
        self, relation: str, values: object, views: EngineViews, watch: Watch, members: int | None = MOST_MEMBERS
    ) -> Proof:
        """Return a proof of a tuple, see `Database.explain`."""
        check_members(members)
        search, goal = self._search(relation, values, views, watch)
        return self._composer(search).proof(goal, search.proof(goal), members)

    def founded(self, relation: str, values: object, views: EngineViews, watch: Watch | None = None) -> Proof:
        """Return the proof that births give, however few derivations there are: for tests."""
        search, goal = self._search(relation, values, views, watch or Watch())
        return self._composer(search).proof(goal, search.founded(goal))

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
        found_in = with_tuples(checked.relations, relation)
        derivations = self._following(checked)
        encode([values], found_in, Dictionary(checked.records))
        (words,) = encode([values], found_in, self._dictionary).tolist()
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
        found_in = with_tuples(self._workspace.committed.checked.relations, relation)
        return f"{verb} of {row_text(relation, _in_order(found_in, values))}"

    def _search(self, relation: str, values: object, views: EngineViews, watch: Watch) -> tuple[ProofSearch, Key]:
        """Return a search over the last epoch, and the tuple in words. Raise UsageError (E0670) if it does not hold."""
        checked = self._workspace.committed.checked
        found_in = with_tuples(checked.relations, relation)
        key = self._key(found_in, values, checked)
        derivations = self._following(checked)
        if key is None or not derivations.holds(views, key):
            message = f"{row_text(relation, _in_order(found_in, values))} does not hold"
            raise UsageError(Problem("E0670", message, hint="ask `why_not` for the reason"))
        return ProofSearch(derivations, views, watch), key

    def _following(self, checked: CheckedProgram) -> TupleDerivations:
        """Return the derivations of a program, with what is known of it."""
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
