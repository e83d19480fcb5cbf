"""All proofs of a tuple, the smallest first; and what would end it.

A proof chooses one derivation for each tuple that it uses, or that it is an asserted fact, and none of its tuples is
used in its own proof. Proofs are enumerated best first, by the number of their tuples.

A tuple ends with a set of facts, or of rules, that contains one of every proof: a hitting set. To find the smallest
ones, take a proof, leave out each of its facts in turn, and take a proof of what remains.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count

from tidelog.errors import LimitError, Problem
from tidelog.explain.batches import TupleDerivation
from tidelog.explain.needed import needed_by_all
from tidelog.explain.search import LARGE, Cone, Found, OverBudgetError, ProofSearch, WalkSteps, heights
from tidelog.explain.walks import Key

OTHER_PROOFS = 2
"""Proofs of a tuple with many derivations that are compared with a first one."""


def all_proofs(search: ProofSearch, goal: Key) -> Iterator[Found]:
    """Yield all proofs of a tuple by the number of their tuples, ties by the order of rules and by values."""
    ways: dict[Key, list[TupleDerivation | None]] = {}

    def ways_of(key: Key) -> list[TupleDerivation | None]:
        if key not in ways:
            found: list[TupleDerivation | None] = [None] if search.derivations.asserted(search.views, [key])[0] else []
            if search.derivations.is_walk(search.views, key.relation):
                found += [] if found else [search.walk(key)]
            else:
                batches = search.derivations.instances(search.views, [key], search.watch)
                instances: list[TupleDerivation] = [each for batch in batches for each in batch.derivations()]
                instances.sort(key=search.order)
                found += instances
            ways[key] = found
        return ways[key]

    is_first = True
    numbers = count()
    heap: list[tuple[int, int, dict[Key, TupleDerivation | None], tuple[Key, ...]]] = [(1, next(numbers), {}, (goal,))]
    while heap:
        search.watch.look()
        _, _, chosen, waiting = heapq.heappop(heap)
        if not waiting:
            is_first = False
            yield Found(chosen)
            continue
        key, rest = waiting[0], waiting[1:]
        for way in ways_of(key):
            extended = {**chosen, key: way}
            if way is not None and _reaches(extended, way.premises, key):
                continue
            fresh = [each for each in dict.fromkeys(way.premises if way else ()) if each not in extended]
            pending = (*rest, *(each for each in fresh if each not in rest))
            heapq.heappush(heap, (len(extended) + len(pending), next(numbers), extended, pending))
    if is_first:  # The shortest walks of paths need each other.
        yield search.stepped(goal)


def _reaches(chosen: dict[Key, TupleDerivation | None], premises: tuple[Key, ...], goal: Key) -> bool:
    """Return True if the tuples `premises`, as far as they are chosen, need `goal`."""
    waiting, seen = list(premises), set[Key]()
    while waiting:
        key = waiting.pop()
        if key == goal:
            return True
        if key not in seen:
            seen.add(key)
            way = chosen.get(key)
            waiting += way.premises if way is not None else ()
    return False


def smallest_ends(
    search: ProofSearch, goal: Key, *, rules: bool, confirmed: Callable[[frozenset[object]], bool]
) -> Iterator[frozenset[object]]:
    """Yield the smallest sets of facts, as keys, or with `rules` of names of rules, without which a tuple does not
    hold, none with another one inside: by size, ties by relation and values. `confirmed` says that a set does it.
    Raise LimitError (E0505) at the end if the tuple has more derivations than are looked at."""
    steps: WalkSteps = "paths" if rules else "all"
    cone = Cone(search, goal, through_facts=True, steps=steps)
    if is_grown(cone, search.views.budget) and goal not in cone.heights:
        cone = Cone(search, goal, through_facts=True, steps=steps, candidates=True)
    tried: dict[frozenset[object], bool] = {}

    def ends(parts: frozenset[object]) -> bool:
        if parts not in tried:
            tried[parts] = confirmed(parts)
        return tried[parts]

    found: list[frozenset[object]] = []
    if not is_grown(cone, search.views.budget):
        for sole in sole_ends(cone, rules=rules, confirmed=ends):
            found.append(sole)
            yield sole
    waiting: list[tuple[int, tuple[object, ...]]] = [(0, ())]
    seen: set[frozenset[object]] = {frozenset()}
    left_out = False
    while waiting:
        waiting.sort(key=lambda item: (item[0], search.derivations.sort_key(item[1])))
        _, ordered = waiting.pop(0)
        without = frozenset(ordered)
        if any(each <= without for each in found):
            continue
        search.watch.look()
        proof = proof_without(cone, without)
        if proof is None:
            if ends(without):
                found.append(without)
                yield without
            else:
                left_out |= not cone.is_complete
            continue
        for part in parts_of(proof, search, rules=rules):
            more = without | {part}
            if more not in seen:
                seen.add(more)
                waiting.append((len(more), tuple(more)))
    if left_out:
        message = f"the tuple has more than {LARGE:,} derivations: there may be other sets"
        raise LimitError(Problem("E0505", message, hint="take sets one by one, and try others with `what_if`"))


def parts_of(proof: Found, search: ProofSearch, *, rules: bool) -> dict[object, None]:
    """Return the facts of a proof, or the names of its rules, in the order in which the search came to them."""
    parts: dict[object, None] = {}
    for key, way in proof.chosen.items():
        if rules and way is not None:
            parts.update(dict.fromkeys(names_of_rules(search, key, way)))
        elif not rules and way is None:
            parts[key] = None
    return parts


def names_of_rules(search: ProofSearch, key: Key, way: TupleDerivation) -> tuple[str, ...]:
    """Return the names of the rules of a derivation that can go; a walk may take all of its relation. Those that a
    declaration brings, such as `#symmetric.r`, stay with it."""
    names = search.derivations.rules_of(key.relation) if way.flat is None else (way.flat.rule.name,)
    return tuple(name for name in names if name is not None and not name.startswith("#"))


def is_grown(cone: Cone, budget: int) -> bool:
    """Return True if a cone has all derivations of its tuples, within a budget."""
    try:
        while not cone.is_complete:
            cone.grow(budget)
    except OverBudgetError:
        return False
    return True


def sole_ends(
    cone: Cone, *, rules: bool, confirmed: Callable[[frozenset[object]], bool]
) -> Iterator[frozenset[object]]:
    """Yield the facts, or rules, that end the goal of a cone alone. They are among those that all known derivations
    need: those of the cone, of a proof, and, once one has not ended it, of proofs that avoid the rest. Those that few
    tuples need come first, because what depends on many is slow to try."""
    search, goal = cone.search, cone.goal
    search.views = search.views.with_births(search.watch)
    ways: dict[Key, list[TupleDerivation]] = {key: list(each) for key, each in cone.derivations.items()}
    facts = set(cone.facts)

    def rules_of(key: Key, way: TupleDerivation) -> Iterable[object]:
        return names_of_rules(search, key, way) if rules else ()

    def remaining(proof: Found, parts: Collection[object]) -> list[object]:
        for key, way in proof.chosen.items():
            if way is None:
                facts.add(key)
            else:
                ways.setdefault(key, []).append(way)
        needed = needed_by_all(goal, ways, facts, list(parts), rules_of)
        return sorted(needed, key=lambda part: (needed[part], search.derivations.sort_key([part])))

    proof = search.founded(goal)
    waiting, others = remaining(proof, parts_of(proof, search, rules=rules)), OTHER_PROOFS
    while waiting:
        search.watch.look()
        part = waiting.pop(0)
        if confirmed(frozenset([part])):
            yield frozenset([part])
        elif waiting and others:
            others -= 1
            waiting = remaining(search.founded(goal, waiting), waiting)


def proof_without(cone: Cone, without: frozenset[object]) -> Found | None:
    """Return a proof that uses none of some facts and rules, as far as the budget of the cone shows one."""

    def allowed(way: TupleDerivation) -> bool:
        return way.flat is None or way.flat.rule.name not in without

    while True:
        ways = {key: [way for way in each if allowed(way)] for key, each in cone.derivations.items()}
        known = heights(ways, [fact for fact in cone.facts if fact not in without])
        if cone.goal in known:
            return _extracted(cone, ways, known, without)
        if cone.is_complete:
            return None
        try:
            cone.grow(LARGE)
        except OverBudgetError:
            return None


def _extracted(
    cone: Cone, ways: dict[Key, list[TupleDerivation]], known: dict[Key, int], without: frozenset[object]
) -> Found:
    """Return the proof of the goal that heights stand for."""
    found = Found()
    waiting = [cone.goal]
    while waiting:
        key = waiting.pop()
        if key in found.chosen:
            continue
        if known[key] == 0 and key in cone.facts and key not in without:
            found.chosen[key] = None
            continue
        height = known[key] - 1
        best = next(
            way for way in ways[key] if max((known.get(each, 1 << 60) for each in way.premises), default=0) == height
        )
        found.chosen[key] = best
        waiting += best.premises
    return found
