"""From a relation and a tuple to a proof.

An `Explainer` belongs to a database. What it has compiled of the rules it keeps until they change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.errors import Problem, UsageError
from tidelog.explain.conditions import conditions_of
from tidelog.explain.derivations import Derivation, Derivations
from tidelog.explain.instances import FlatRule
from tidelog.explain.proof import Proof, Step, value_text
from tidelog.explain.search import Found, Search
from tidelog.explain.walks import Key
from tidelog.io import encode
from tidelog.language.syntax import CheckedProgram, RelationType, Rule, Value
from tidelog.limits.watch import Watch
from tidelog.maintain.state import EngineState
from tidelog.relation import declared
from tidelog.storage.dictionary import Dictionary


class Explainer:
    """Explains tuples of the views of an engine. The caller keeps other threads away."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._derivations: Derivations | None = None
        self._written: Mapping[str, Rule] = {}

    def explain(
        self, relation: str, values: object, checked: CheckedProgram, state: EngineState, watch: Watch
    ) -> Proof:
        """Return a proof of a tuple, see `Database.explain`."""
        found_in = declared(checked.relations, relation)
        derivations = self._following(checked)
        key = self._key(found_in, values, checked)
        if key is None or not derivations.holds(state, key):
            row = tuple(values) if isinstance(values, Iterable) else (values,)
            message = f"{relation}({', '.join(map(value_text, row))}) does not hold"
            raise UsageError(Problem("E0650", message, hint="ask db.why_not for the reason"))
        return self._proof(key, Search(derivations, state, watch).proof(key), derivations, state, watch)

    def _following(self, checked: CheckedProgram) -> Derivations:
        """Return the derivations of a program, with what is known of it."""
        if self._derivations is None or self._derivations.checked is not checked:
            self._derivations = Derivations(checked, self._dictionary)
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

    def _proof(self, goal: Key, found: Found, derivations: Derivations, state: EngineState, watch: Watch) -> Proof:
        """Return the proof that a search has found, premises first."""
        numbers: dict[Key, int] = {}
        steps: list[Step] = []
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
            step = self._step(key, chosen, key in found.chosen, numbers, steps, derivations, state, watch)
            numbers[key] = len(steps)
            steps.append(step)
        return Proof(tuple(steps))

    def _step(
        self,
        key: Key,
        chosen: Derivation | None,
        explained: bool,
        numbers: Mapping[Key, int],
        steps: list[Step],
        derivations: Derivations,
        state: EngineState,
        watch: Watch,
    ) -> Step:
        name, values = derivations.shown(key.relation), derivations.values(key)
        candidate = name != key.relation and not derivations.holds(state, Key(name, key.words))
        if chosen is None:
            return Step(name, values, "fact" if explained else "open", is_candidate=candidate)
        premises = tuple(numbers[premise] for premise in chosen.premises)
        height = 1 + max((steps[number].height for number in premises), default=0)
        flat = chosen.flat
        if flat is None:
            return Step(name, values, "walk", premises=premises, height=height, is_candidate=candidate)
        bound = self._bound(flat, chosen)
        rule = self._written.get(flat.rule.name or "", flat.rule)
        return Step(
            name,
            values,
            "rule",
            flat.rule.name,
            str(rule),
            rule.span,
            {name: value for name, value in bound.items() if "#" not in name},
            premises,
            conditions_of(flat, bound, derivations, state, watch),
            height,
            candidate,
        )

    def _bound(self, flat: FlatRule, chosen: Derivation) -> dict[str, Any]:
        """Return the values of the variables of an instance."""
        decode = self._dictionary.decode
        found: dict[str, Value] = {}
        for name, word in zip(flat.variables, chosen.words, strict=True):
            found[name] = decode(word, flat.kinds[name])
        return found
