"""The smallest sets of facts that would make a tuple hold.

For each rule of the tuple, some of its atoms are left out, and the rest is asked for with the head bound. An answer
gives values to the variables of the atoms that are left out: these tuples would complete the instance. Where they are
tuples of relations without rules, they can be asserted; where rules derive them, the search continues with them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, count

import numpy

from tidelog.errors import LimitError, Problem
from tidelog.explain.derivations import TupleDerivations
from tidelog.explain.instances import FlatRule, Premise
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.language.syntax import Atom, Constant
from tidelog.language.trees import variables
from tidelog.limits.watch import Watch
from tidelog.rules.grounding import grounded
from tidelog.semantics.values import normal

MOST_FACTS = 3
"""Facts of an answer."""
MOST_ANSWERS = 200
"""Answers of one part of a rule that are followed."""
MOST_TRIED = 5_000
"""Sets of tuples that are looked at."""


@dataclass
class Repair:
    """The search for facts that would make a tuple hold."""

    derivations: TupleDerivations
    views: EngineViews
    watch: Watch
    left_out: bool = False

    def smallest(self, goal: Key, confirmed: Callable[[frozenset[Key]], bool]) -> Iterator[frozenset[Key]]:
        """Yield the smallest sets of facts that would make a tuple hold, none with another one inside, by size, ties by
        relation and values. `confirmed` says that a set does it. Raise LimitError (E0505) at the end if not all sets of
        so few facts were looked at."""
        numbers = count()
        found: list[frozenset[Key]] = []
        seen: set[frozenset[Key]] = set()
        heap: list[tuple[int, list[str], int, frozenset[Key], int]] = []

        def push(wanted: frozenset[Key], steps: int) -> None:
            if wanted not in seen and len(wanted) <= MOST_FACTS:
                if len(seen) == MOST_TRIED:
                    self.left_out = True
                    return
                seen.add(wanted)
                order = self.derivations.sort_key(wanted)
                heapq.heappush(heap, (len(wanted), [str(steps), *order], next(numbers), wanted, steps))

        push(frozenset([goal]), 0)
        while heap:
            self.watch.look()
            *_, wanted, steps = heapq.heappop(heap)
            if any(each <= wanted for each in found):
                continue
            if self.is_answer(wanted, goal) and confirmed(wanted):
                found.append(wanted)
                yield wanted
            for key in self.to_derive(wanted):
                for flat, head in self.rules(key):
                    for missing in self.completions(flat, head):
                        if key not in missing:
                            push((wanted - {key}) | missing, steps + 1)
        if self.left_out:
            message = f"more than {MOST_TRIED:,} sets of facts, or {MOST_ANSWERS:,} at one place, could do it"
            raise LimitError(Problem("E0505", message, hint="take sets one by one, and try others with `what_if`"))

    def is_answer(self, wanted: frozenset[Key], goal: Key) -> bool:
        """Return True if a set of tuples may be asserted: rules derive none of them."""
        return not any(key.relation in self.derivations.by_head for key in wanted)

    def to_derive(self, wanted: frozenset[Key]) -> list[Key]:
        """Return the tuples of a set in whose place the search puts those that would derive them: the first one that
        rules derive."""
        derived = [key for key in wanted if key.relation in self.derivations.by_head]
        return sorted(derived, key=lambda key: self.derivations.sort_key([key]))[:1]

    def rules(self, key: Key) -> Iterator[tuple[FlatRule, Key]]:
        """Yield the rules that could derive a tuple, each with the tuple that it would derive."""
        yield from ((flat, key) for flat in self.derivations.by_head[key.relation])

    def completions(self, flat: FlatRule, goal: Key) -> Iterator[frozenset[Key]]:
        """Yield sets of missing tuples that would complete instances of a rule, the smaller ones first."""
        plain = [i for i, premise in enumerate(flat.premises) if premise.atom.path is None]
        for size in range(1, min(len(plain), MOST_FACTS) + 1):
            for left_out in combinations(plain, size):
                yield from self.without(flat, goal, left_out)

    def without(self, flat: FlatRule, goal: Key, places: tuple[int, ...]) -> Iterator[frozenset[Key]]:
        """Yield the tuples of the premises at some places for the answers of the rest of a body."""
        left_out = [flat.premises[i] for i in places]
        given, *rest = flat.body
        atoms = [literal for literal in rest if isinstance(literal, Atom) and literal.relation not in flat.read]
        omitted = {id(atoms[i]) for i in places}
        body = (given, *(literal for literal in rest if id(literal) not in omitted))
        bound = grounded(body)
        body = tuple(literal for literal in body if bound.issuperset(variables([literal], aggregates=False)))
        needed = [flat.variables[each] for one in left_out for each in one.arguments if isinstance(each, int)]
        if len(grounded(body)) != len(bound) or not bound.issuperset(needed):
            return
        shown = variables(body, aggregates=False)
        rows = numpy.array([goal.words], numpy.int64).reshape(1, -1)
        answers = self.derivations.partial(flat, body, shown, {}).answers(self.views, rows, self.watch)
        self.left_out |= len(answers) > MOST_ANSWERS
        for answer in answers[:MOST_ANSWERS].tolist():
            values = dict(zip(shown, answer, strict=True))
            keys = [Key(one.relation, self._words(one, flat, values)) for one in left_out]
            missing = frozenset(key for key in keys if not self.derivations.holds(self.views, key))
            if missing:
                yield missing

    def _words(self, premise: Premise, flat: FlatRule, values: dict[str, int]) -> tuple[int, ...]:
        encode = self.derivations.dictionary.encode
        return tuple(
            encode(normal(source.value, kind), kind) if isinstance(source, Constant) else values[flat.variables[source]]
            for source, kind in zip(premise.arguments, premise.kinds, strict=True)
        )
