"""The search for a proof of a tuple: of least height, or one that births found.

The *cone* of a tuple has the tuples that its derivations need, and those that these need, level by level. A proof of
height h lies in the first h levels. So after h levels the heights in the cone say whether the tuple has a proof of that
height: a fact has height 0, and a tuple is one higher than the highest premise of its best derivation (Knuth's
generalisation of Dijkstra's algorithm). The first height found is the least one. Of several derivations of a height the
first one counts, by the order of rules and then by values: equal states have equal proofs.

A cone may have very many derivations. Beyond a budget the search goes by births (section "Founded" of docs/theory.md):
each tuple has a derivation whose premises of the same recursion were born before it, so that the search ends.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy

from tidelog.common.collecting import pause_collection
from tidelog.errors import LimitError, Problem
from tidelog.explain.derivations import Batch, Known, TupleDerivation, TupleDerivations, rows_of
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key, is_step
from tidelog.limits.watch import Watch

LARGE = 20_000
"""Derivations of the cone in which sets of facts are looked for that end a tuple."""


WalkSteps: TypeAlias = Literal["none", "paths", "all"]
WALKS: tuple[tuple[WalkSteps, bool], ...] = (("paths", False), ("paths", True), ("all", False))
"""The steps of walks to look at, and whether along candidates, until one has a proof within the budget."""


class OverBudgetError(Exception):
    """A cone has more derivations than the budget allows."""


@dataclass
class Found:
    """The result of a search: the derivation of each tuple of the proof, None for an asserted fact. A tuple that has
    none is open: a limit has ended the search before it."""

    chosen: dict[Key, TupleDerivation | None] = field(default_factory=dict)


@dataclass
class ProofSearch:
    """One search over the views of an engine, none of which changes meanwhile."""

    derivations: TupleDerivations
    views: EngineViews
    watch: Watch
    avoided: frozenset[object] = frozenset()
    avoided_relations: frozenset[str] = frozenset()
    """The relations of those that are facts."""

    @property
    def known_answers(self) -> Known:
        """The answers of searches over the same state."""
        return self.derivations.known.of(self.views)

    @pause_collection()
    def proof(self, goal: Key) -> Found:
        """Return the derivations of a proof of a tuple that holds: one of least height if the budget allows. A limit
        leaves tuples open, or raises LimitError where the goal itself has no derivation yet."""
        cone = Cone(self, goal)
        try:
            try:
                return self.least_proof(cone)
            except OverBudgetError:
                self.views = self.views.with_births(self.watch)
                found = self.proof_by_births(goal)
        except LimitError:
            if not cone.derivations.get(goal):
                raise
            return self.partial_proof(cone)
        return found if is_founded(goal, found) else self.proof_by_steps(goal)

    def select_asserted(self, keys: Iterable[Key]) -> set[Key]:
        """Return those of some tuples that are asserted facts."""
        keys, known = list(keys), self.known_answers.facts
        fresh = [key for key in keys if key not in known]
        known.update(zip(fresh, self.derivations.are_asserted(self.views, fresh), strict=True))
        return {key for key in keys if known[key]}

    # --- by height ---------------------------------------------------------------------------------------------------

    def least_proof(self, cone: Cone) -> Found:
        """Return a proof of least height. Raise OverBudgetError, also if these views show none."""
        goal = cone.goal
        while not cone.is_complete and (goal not in cone.heights or cone.heights[goal] > cone.levels):
            cone.grow(self.views.budget)
        if goal not in cone.heights:
            raise OverBudgetError
        return self.proof_of_cone(cone)

    def partial_proof(self, cone: Cone) -> Found:
        """Return the proof of least height if all tuples held whose derivations have not been asked for: these are
        open."""
        ways = (way for each in cone.derivations.values() for way in each)
        reached = dict.fromkeys(key for way in ways for key in way.premises)
        unknown = [key for key in reached if key not in cone.derivations and key not in cone.facts]
        cone.facts |= self.select_asserted(unknown)
        cone.settle(unknown)
        return self.proof_of_cone(cone)

    def proof_of_cone(self, cone: Cone) -> Found:
        """Return the proof that the heights of a cone stand for."""
        return self.lowest(cone.goal, cone.derivations, cone.facts, cone.heights)

    def lowest(
        self,
        goal: Key,
        ways: Mapping[Key, Collection[TupleDerivation]],
        facts: Collection[Key],
        least: Mapping[Key, int],
    ) -> Found:
        """Return the proof that the `least` heights of tuples stand for: of each the first derivation of its height,
        except for facts. Tuples without derivations that are no facts are open."""
        found = Found()
        waiting = [goal]
        while waiting:
            key = waiting.pop()
            if key in found.chosen or not (key in facts or key in ways):
                continue
            height, best = least[key] - 1, None
            if height >= 0 or key not in facts:
                fitting = [
                    way
                    for way in ways[key]
                    if max((least.get(each, 1 << 60) for each in way.premises), default=0) == height
                ]
                best = min(fitting, key=self.order) if len(fitting) > 1 else fitting[0]
                waiting += best.premises
            found.chosen[key] = best
        return found

    def order(self, derivation: TupleDerivation) -> tuple[int, str]:
        """Return the place of a derivation among those of a tuple: by rule, then by values."""
        flat = derivation.flat
        if flat is None:
            premises = derivation.premises
            return -1, repr([key[1][-1] if is_step(key) else self.derivations.values(key) for key in premises])
        decode = self.derivations.dictionary.decode
        kinds = (flat.kinds[name] for name in flat.variables)
        return flat.number, repr([decode(word, kind) for word, kind in zip(derivation.words, kinds, strict=True)])

    # --- step by step --------------------------------------------------------------------------------------------

    def proof_by_steps(self, goal: Key) -> Found:
        """Return a proof of least height in which each step of a walk counts: where a path leads along tuples that are
        recursive with it, its shortest walk may need the goal. Where shown tuples do not suffice, it leads along the
        candidates of relations that select. Raise LimitError (E0505) beyond the budget."""
        for steps, candidates in WALKS:
            cone = Cone(self, goal, steps=steps, candidates=candidates)
            with suppress(OverBudgetError):
                while not cone.is_complete and goal not in cone.heights:
                    cone.grow(LARGE)
                if goal in cone.heights:
                    return self.without_steps(self.proof_of_cone(cone).chosen, goal, steps)
        message = f"the tuple has more than {LARGE:,} derivations to look at"
        raise LimitError(Problem("E0505", message, hint="ask for a tuple that it needs"))

    def without_steps(self, done: Mapping[Key, TupleDerivation | None], goal: Key, steps: WalkSteps) -> Found:
        """Return the part of a search that a proof of its goal needs, with whole walks in the place of steps."""
        found, waiting = Found(), [goal]
        while waiting:
            key = waiting.pop()
            if key not in found.chosen:
                way = done[key]
                if way is not None and self.derivations.has_steps(self.views, key.relation, closures=steps == "all"):
                    way = TupleDerivation(None, (), edges_of(done, key))
                found.chosen[key] = way
                waiting += way.premises if way is not None else ()
        return found

    # --- by births ---------------------------------------------------------------------------------------------------

    def founded_proof(self, goal: Key, avoided: Collection[object] = ()) -> Found:
        """Return a proof that births found, or, where walks need each other, one step by step."""
        found = self.proof_by_births(goal, avoided)
        return found if is_founded(goal, found) else self.proof_by_steps(goal)

    @pause_collection()
    def proof_by_births(self, goal: Key, avoided: Collection[object] = ()) -> Found:
        """Return a proof whose tuples each follow from tuples born before them, level by level, and those of the last
        hyper-nodes first, so that tuples of the ones before are asked for together. Where a limit ends the search below
        the goal, the rest is open. Of several derivations those come first that need few `avoided` facts or rules."""
        self.avoided = frozenset(avoided)
        self.avoided_relations = frozenset(each.relation for each in avoided if isinstance(each, Key))
        found = Found()
        waiting: dict[int, list[Key]] = {}
        self.take_known([goal], found, waiting)
        while waiting:
            try:
                needed = self.founded_level(waiting.pop(max(waiting)), found)
            except LimitError:
                if goal not in found.chosen:
                    raise
                return found
            self.take_known(needed, found, waiting)
        return found

    def take_known(self, needed: Iterable[Key], found: Found, waiting: dict[int, list[Key]]) -> None:
        """Take the derivations that are known of tuples, and of those that these need. The others wait, by the
        positions of their hyper-nodes."""
        known = {} if self.avoided else self.known_answers.founded
        unknown: list[Key] = []
        stack = list(needed)
        while stack:
            key = stack.pop()
            if key in found.chosen:
                continue
            try:
                way = found.chosen[key] = known[key]
            except KeyError:
                unknown.append(key)
                continue
            if way is not None:
                stack += way.premises
        for name, keys in by_relation(unknown).items():
            waiting.setdefault(self.views.place_of(name), []).extend(keys)

    def founded_level(self, waiting: list[Key], found: Found) -> list[Key]:
        """Find derivations of tuples that have none yet, and return the tuples that these need."""
        self.watch.look()
        fresh = [key for key in dict.fromkeys(waiting) if key not in found.chosen]
        facts = self.select_asserted(fresh)
        chosen: dict[Key, TupleDerivation | None] = dict.fromkeys(key for key in fresh if key in facts)
        rest = [key for key in fresh if key not in facts]
        self.derivations.prepare_answers(self.views, rest, self.watch)
        for name, keys in by_relation(rest).items():
            chosen |= self.founded_ways(name, keys)
        found.chosen |= chosen
        if not self.avoided:
            self.known_answers.founded |= chosen
        return [premise for way in chosen.values() if way is not None for premise in way.premises]

    def founded_ways(self, name: str, keys: list[Key]) -> dict[Key, TupleDerivation]:
        """Return for each tuple of a relation a derivation from tuples born before it: one with the oldest premises."""
        if self.derivations.is_walk(self.views, name):
            return {key: self.walk(key) for key in keys}
        own = self.derivations.recursive(self.views, name)
        born = self.views.births(name, rows_of(keys), self.watch) if own else numpy.zeros(len(keys), numpy.int64)
        best: dict[int, tuple[tuple[int, int], TupleDerivation]] = {}
        for batch in self.derivations.instances(self.views, keys, self.watch):
            youngest, avoided = self.births_of_youngest(batch, own), self.avoided_counts(batch)
            firsts = numpy.flatnonzero(youngest < born[batch.numbers]) if own else numpy.arange(len(youngest))
            if len(firsts) > 1:
                # The last keys count first. Words make the choice independent of what else is asked for.
                ranks_of = youngest[firsts], avoided[firsts], batch.numbers[firsts]
                order = firsts[numpy.lexsort((*batch.words[firsts].T[::-1], *ranks_of))]
                numbers = batch.numbers[order]
                firsts = order[numpy.append(True, numbers[1:] != numbers[:-1])]
            ranks = zip(avoided[firsts].tolist(), youngest[firsts].tolist(), strict=True)
            ways = batch.derivations(firsts)
            for number, rank, way in zip(batch.numbers[firsts].tolist(), ranks, ways, strict=True):
                if number not in best or rank < best[number][0]:
                    best[number] = rank, way
        return {keys[number]: derivation for number, (_, derivation) in best.items()}

    def births_of_youngest(self, batch: Batch, own: frozenset[str]) -> numpy.ndarray:
        """Return for each instance the birth of its youngest premise among the relations `own`."""
        youngest = numpy.full(len(batch.words), -1, numpy.int64)
        for premise in batch.premises:
            if premise.relation in own:
                born = self.views.births(premise.relation, batch.rows(premise), self.watch)
                numpy.maximum(youngest, born, out=youngest)
        return youngest

    def avoided_counts(self, batch: Batch) -> numpy.ndarray:
        """Return for each instance how many of its premises are to be avoided; one more if its rule is."""
        found = numpy.full(len(batch.words), batch.flat.rule.name in self.avoided, numpy.int64)
        if not self.avoided:
            return found
        for premise in batch.premises:
            if premise.relation in self.avoided_relations:
                rows = map(tuple, batch.rows(premise).tolist())
                found += [Key(premise.relation, row) in self.avoided for row in rows]
        return found

    def walk(self, key: Key) -> TupleDerivation:
        """Return the walk that derives a pair that holds."""
        found = self.derivations.walk(self.views, key, self.watch)
        assert found is not None
        return found


class Cone:
    """The tuples that derivations of a goal need, as many levels as have been grown."""

    def __init__(
        self,
        search: ProofSearch,
        goal: Key,
        *,
        through_facts: bool = False,
        steps: WalkSteps = "none",
        candidates: bool = False,
    ) -> None:
        """`through_facts` also takes the derivations of tuples that are asserted facts. `steps` takes all walks along
        paths, or along closures as well, not only the shortest ones: their steps are tuples of their own, see
        `TupleDerivations.steps`, also for `candidates`. Closures are left to their rules where only paths have
        steps."""
        self.search = search
        self.candidates = candidates
        self.through_facts = through_facts
        self.steps = steps
        self.goal = goal
        self.levels = 0
        self.derivations: dict[Key, list[TupleDerivation]] = {}
        self.facts: set[Key] = set()
        self.size = 0
        self._exceeded = 0
        self._heights: dict[Key, int] | None = None
        self._frontier: list[Key] = [goal]
        self._note_facts()

    @property
    def is_complete(self) -> bool:
        """Return True if no tuple of the cone has derivations that have not been asked for."""
        return not self._frontier

    @property
    def heights(self) -> dict[Key, int]:
        """The least heights of the tuples that have a proof within the levels that have been grown."""
        if self._heights is None:
            self._heights = heights(self.derivations, self.facts)
        return self._heights

    def settle(self, open_: Iterable[Key]) -> None:
        """Let heights be those that there would be if some tuples were facts."""
        self._heights = heights(self.derivations, [*self.facts, *open_])

    def _note_facts(self) -> None:
        """Note which tuples of the frontier are facts, and take these out of it."""
        self.facts |= self.search.select_asserted(self._frontier)
        if not self.through_facts:
            self._frontier = [key for key in self._frontier if key not in self.facts]

    @pause_collection()
    def grow(self, budget: int) -> None:
        """Add the next level: the derivations of the tuples that the last one has reached. Raise OverBudgetError."""
        if budget <= self._exceeded:
            raise OverBudgetError
        search, size = self.search, self.size
        search.watch.look()
        reached: dict[Key, None] = {}
        search.derivations.prepare_answers(search.views, self._frontier, search.watch)
        for name, keys in by_relation(self._frontier).items():
            try:
                found = self._ways(name, keys, budget)
            except OverBudgetError:
                self.size, self._exceeded = size, budget
                raise
            self.derivations |= found
            reached.update((key, None) for ways in found.values() for way in ways for key in way.premises)
        self._frontier = [key for key in reached if key not in self.derivations and key not in self.facts]
        self._note_facts()
        self.levels += 1
        self._heights = None

    def _ways(self, name: str, keys: list[Key], budget: int) -> dict[Key, list[TupleDerivation]]:
        """Return the derivations of tuples of one relation."""
        search = self.search
        found: dict[Key, list[TupleDerivation]]
        if self.steps != "none" and search.derivations.has_steps(search.views, name, closures=self.steps == "all"):
            found = {key: list(search.derivations.steps(search.views, key, candidates=self.candidates)) for key in keys}
            self.size += sum(map(len, found.values()))
            if self.size > budget:
                raise OverBudgetError
            return found
        if self.steps == "none" and search.derivations.is_walk(search.views, name):
            self.size += len(keys)
            walks = {key: search.derivations.walk(search.views, key, search.watch) for key in keys}
            return {key: [] if walk is None else [walk] for key, walk in walks.items()}
        found = {key: [] for key in keys}
        for batch in search.derivations.instances(search.views, keys, search.watch):
            self.size += len(batch.words)
            if self.size > budget:
                raise OverBudgetError
            for number, way in zip(batch.numbers.tolist(), batch.derivations(), strict=True):
                found[keys[number]].append(way)
        return found


def is_founded(goal: Key, found: Found) -> bool:
    """Return True if no tuple of a proof is among those that it needs."""
    open_, done = set[Key](), set[Key]()
    waiting = [(goal, False)]
    while waiting:
        key, is_left = waiting.pop()
        if is_left:
            open_.discard(key)
            done.add(key)
        elif key in open_:
            return False
        elif key not in done:
            open_.add(key)
            way = found.chosen.get(key)
            waiting.append((key, True))
            waiting += ((each, False) for each in (way.premises if way is not None else ()))
    return True


def edges_of(done: Mapping[Key, TupleDerivation | None], pair: Key) -> tuple[Key, ...]:
    """Return the tuples along a walk between a pair of nodes; an edge that is a walk itself is replaced by its own."""
    edges: list[Key] = []
    way = done[pair]
    while way is not None and way.premises:
        *before, last = way.premises
        if before and last.relation == pair.relation and done[last] is not None:
            edges += edges_of(done, last)[::-1]
        elif before:
            edges.append(last)
        way = done[before[0] if before else last]
    return tuple(edges[::-1])


def heights(derivations: Mapping[Key, list[TupleDerivation]], facts: Iterable[Key]) -> dict[Key, int]:
    """Return the least height of a proof of each tuple that has one."""
    readers: dict[Key, list[tuple[Key, int]]] = defaultdict(list)
    missing: list[int] = []
    done: dict[Key, int] = {}
    heap: list[tuple[int, int]] = []
    keys: list[Key] = []

    def push(height: int, key: Key) -> None:
        heapq.heappush(heap, (height, len(keys)))
        keys.append(key)

    for fact in facts:
        push(0, fact)
    for key, ways in derivations.items():
        for way in ways:
            premises = set(way.premises)
            if not premises:
                push(1, key)
                continue
            for premise in premises:
                readers[premise].append((key, len(missing)))
            missing.append(len(premises))
    while heap:
        height, number = heapq.heappop(heap)
        key = keys[number]
        if key in done:
            continue
        done[key] = height
        for head, place in readers.get(key, ()):
            missing[place] -= 1
            if not missing[place] and head not in done:
                push(height + 1, head)
    return done


def by_relation(keys: Iterable[Key]) -> dict[str, list[Key]]:
    """Return tuples by relation, in the order in which they come."""
    found: dict[str, list[Key]] = {}
    for key in keys:
        found.setdefault(key.relation, []).append(key)
    return found
