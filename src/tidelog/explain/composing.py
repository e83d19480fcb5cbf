"""From the derivations that a search has found to the steps of a proof.

A proof may have thousands of steps. Words become values in batches, all tuples of a relation and all instances of a
rule together, and each step is made once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy

from tidelog.common.collecting import uncollected
from tidelog.errors import LimitError
from tidelog.explain.batches import TupleDerivation, made
from tidelog.explain.conditions import conditions_of, with_witnesses
from tidelog.explain.instances import FlatRule
from tidelog.explain.proof import Proof
from tidelog.explain.questions import MOST_MEMBERS
from tidelog.explain.rivals import Rivals
from tidelog.explain.search import Found, ProofSearch
from tidelog.explain.steps import BoundRule, ProofStep, StepSort, Walk
from tidelog.explain.walks import Key
from tidelog.explain.wording import Wording
from tidelog.language.syntax import Value

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

    @uncollected()
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
                name = self.derivations.shown(key.relation)
                step = made(ProofStep, relation=name, values=values, sort=sort, variables={})
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
        return iter(self.derivations.decoded(rows, [flat.kinds[name] for name in flat.variables]))

    def _walk(self, key: Key, values: tuple[Value, ...], below: Numbers, height: int) -> ProofStep:
        name = self.derivations.shown(key.relation)
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
        return made(
            ProofStep,
            relation=flat.head.relation,
            values=values,
            sort="rule",
            rule=flat.rule.name,
            text=rule.text,
            span=rule.span,
            variables=instance.written,
            premises=below,
            conditions=conditions,
            height=height,
            instance=instance,
        )

    def _competes(self, name: str) -> bool:
        """Return True for candidates, and for relations that select from theirs."""
        return name != self.derivations.shown(name) or name in self.rivals.selections

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
