"""Since which epoch a tuple holds by the facts and rules that are there now.

A fact has been there since the epoch that last asserted it, a rule since the one that last added it. A proof stands
since the youngest of its facts and rules, and a tuple since the oldest such epoch among its proofs: the algorithm of
`search.heights`, with epochs in the place of heights. Walks are followed step by step, since the shortest one need not
be the oldest.

Of negations and aggregates nobody knows since when they hold. They are listed as conditions.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tidelog.explain.derivations import TupleDerivation, rows_of
from tidelog.explain.proof import Proof
from tidelog.explain.search import LARGE, WALKS, Cone, Found, OverBudgetError, ProofSearch, by_relation
from tidelog.explain.steps import Condition, Facts
from tidelog.explain.walks import Key
from tidelog.storage.record_text import row_text

SinceOf = Callable[[str], int]
"""The epoch in which a rule came, by its name: negative for that one or before, 0 where nobody knows."""


@dataclass(frozen=True, repr=False, kw_only=True)
class BlameAnswer(ABC):
    """Since when a tuple holds, by the facts and rules that are there now, and the `facts` and `rules` that came then.
    `proof` is one that stands since then; its `conditions` may hold for a shorter time.

    With `or_before`, the tuple may hold longer: its facts have come then or before, or there are too many derivations
    to look at all."""

    or_before: bool
    facts: Facts
    rules: tuple[str, ...]
    proof: Proof

    @property
    @abstractmethod
    def moment(self) -> str:
        """Return in words since when the tuple holds."""

    @property
    def fact_lines(self) -> tuple[str, ...]:
        """Return the facts as text."""
        goals = {(step.relation, step.values): step.tuple_text for step in self.proof.steps}
        return tuple(goals.get(fact) or row_text(*fact) for fact in self.facts)

    @property
    def rule_lines(self) -> tuple[str, ...]:
        """Return the rules as text."""
        return self.rules

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The negations and aggregates of the proof."""
        return tuple(each for step in self.proof.steps for each in step.conditions if each.sort != "comparison")

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON has it."""
        return {
            "or_before": self.or_before,
            "facts": [[relation, list(values)] for relation, values in self.facts],
            "rules": list(self.rules),
            "conditions": [each.text for each in self.conditions],
        }

    def __str__(self) -> str:
        """Return the answer as text."""
        lines = [f"{self.proof.goal.tuple_text} holds {self.moment}"]
        lines += [f"  fact: {line}" for line in self.fact_lines]
        lines += [f"  rule: {line}" for line in self.rule_lines]
        lines += [f"  under the condition: {each.text}" for each in dict.fromkeys(self.conditions)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.proof.goal.tuple_text}: {self.moment}>"


@dataclass(frozen=True, repr=False, kw_only=True)
class Blame(BlameAnswer):
    """An answer of a database: the tuple holds since an `epoch`."""

    epoch: int

    @property
    def moment(self) -> str:
        return f"since epoch {self.epoch}{' or before' * self.or_before}"

    def to_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, **super().to_dict()}


@dataclass
class Ages:
    """The search for the oldest proof of a tuple."""

    search: ProofSearch
    since: SinceOf
    known: dict[Key, int] = field(default_factory=dict)
    """Since when asserted facts are there."""

    def oldest(self, goal: Key) -> tuple[Found, bool]:
        """Return the derivations of a proof that stands since the oldest epoch, and True if all have been looked at.
        Closures of many pairs are looked at walk by walk, as if each took all of their rules; else it is a proof that
        births found."""
        for steps, candidates in WALKS:
            cone = Cone(self.search, goal, through_facts=True, steps=steps, candidates=candidates)
            with suppress(OverBudgetError):
                while not cone.is_complete:
                    cone.grow(LARGE)
                done = self._oldest_ways(cone)
                if goal in done:
                    return self.search.without_steps(done, goal, steps), steps == "paths"
        return self.search.founded_proof(goal), False

    def blame(self, found: Found, proof: Proof, numbers: Mapping[Key, int], *, is_whole: bool) -> Blame:
        """Return the answer for the derivations of a proof, whose steps have these `numbers`."""
        facts = self.facts([key for key, way in found.chosen.items() if way is None])
        rules: dict[str, int] = {}
        for key, way in found.chosen.items():
            if way is not None and way.flat is not None and way.flat.rule.name is not None:
                rules[way.flat.rule.name] = self.since(way.flat.rule.name)
            elif way is not None:
                rules |= {name: self.since(name) for name in self.search.derivations.rules_of(key.relation)}
        epoch = max(map(abs, (*facts.values(), *rules.values())), default=0)
        steps = [proof.steps[numbers[key]] for key, each in facts.items() if abs(each) == epoch and key in numbers]
        brought = tuple(dict.fromkeys((step.relation, step.values) for step in steps))
        before = not is_whole or -epoch in (*facts.values(), *rules.values())
        names = tuple(name for name, each in rules.items() if abs(each) == epoch and name in proof.rules)
        return Blame(epoch=epoch, or_before=before, facts=brought, rules=names, proof=proof)

    def epoch_of_way(self, key: Key, way: TupleDerivation) -> int:
        """Return since when the rules of a derivation are there: negative for that epoch or before."""
        if way.flat is not None:
            return self.since(way.flat.rule.name) if way.flat.rule.name is not None else 0
        return max(map(self.since, self.search.derivations.rules_of(key.relation)), key=abs, default=0)

    def facts(self, keys: list[Key]) -> dict[Key, int]:
        """Return since when asserted facts are there."""
        groups = by_relation([key for key in keys if key not in self.known])
        shown = self.search.derivations.selection_of
        epochs = self.search.views.epochs([(shown(name), rows_of(group)) for name, group in groups.items()])
        for group, each in zip(groups.values(), epochs, strict=True):
            self.known.update(zip(group, each.tolist(), strict=True))
        return {key: self.known[key] for key in keys}

    def _oldest_ways(self, cone: Cone) -> dict[Key, TupleDerivation | None]:
        """Return for each tuple of a cone the derivation of its oldest proof, among these the lowest one."""
        readers: dict[Key, list[int]] = defaultdict(list)
        ways: list[tuple[Key, TupleDerivation]] = []
        missing: list[int] = []
        heap: list[tuple[int, int, int, Key, TupleDerivation | None]] = []
        known: dict[Key, tuple[int, int]] = {}
        done: dict[Key, TupleDerivation | None] = {}

        def push(number: int) -> None:
            key, way = ways[number]
            ages = [known[each] for each in set(way.premises)]
            epoch = max([abs(self.epoch_of_way(key, way)), *(epoch for epoch, _ in ages)])
            heapq.heappush(heap, (epoch, 1 + max((height for _, height in ages), default=0), number, key, way))

        # Where ages and heights are equal, the first way of a tuple counts: its premises were all done before.
        for number, (fact, epoch) in enumerate(self.facts(list(cone.facts)).items(), 1):
            heapq.heappush(heap, (abs(epoch), 0, -number, fact, None))
        for key, each in cone.derivations.items():
            for way in sorted(each, key=self.search.order) if len(each) > 1 else each:
                for premise in set(way.premises):
                    readers[premise].append(len(ways))
                ways.append((key, way))
                missing.append(len(set(way.premises)))
                if not way.premises:
                    push(len(ways) - 1)
        while heap:
            epoch, height, _, key, chosen = heapq.heappop(heap)
            if key in done:
                continue
            done[key], known[key] = chosen, (epoch, height)
            for number in readers.get(key, ()):
                missing[number] -= 1
                if not missing[number] and ways[number][0] not in done:
                    push(number)
        return done
