"""All proofs of a tuple, the smallest first; the facts or rules that would end it; the facts that would make it hold.

A proof chooses one derivation for each tuple that it uses, or that it is an asserted fact, and none of its tuples is
used in its own proof. Proofs are enumerated best first, by the number of their tuples.

A tuple ends with a set of facts, or of rules, that contains one of every proof: a hitting set. To find the smallest
ones, take a proof, leave out each of its facts in turn, and take a proof of what remains. Some of the derivations of a
tuple are known, and some of those of the tuples that these need. A fact without which they do not lead to the tuple may
end it; one without which they do cannot end it, whatever other derivations there are.

A missing tuple is repaired rule by rule: some atoms of the rule are left out, and the rest is asked for with the head
bound. An answer gives values to the variables of the atoms that are left out: these tuples would complete the instance.
Where they are tuples of relations without rules, they can be asserted; where rules derive them, the search continues
with them.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count

import numpy

from tidelog.errors import LimitError, Problem
from tidelog.explain.derivations import TupleDerivation, TupleDerivations
from tidelog.explain.instances import FlatRule, Premise
from tidelog.explain.search import LARGE, Cone, Found, OverBudgetError, ProofSearch, WalkSteps, heights
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.language.syntax import Atom, Constant
from tidelog.language.trees import variables
from tidelog.limits.watch import Watch
from tidelog.rules.grounding import grounded_variables
from tidelog.semantics.values import normal

Ways = Mapping[Key, Collection[TupleDerivation]]
"""The known derivations of tuples."""


def needed_by_all(
    goal: Key,
    ways: Ways,
    facts: Iterable[Key],
    parts: Sequence[object],
    rules_of: Callable[[Key, TupleDerivation], Iterable[object]],
) -> dict[object, int]:
    """Return those of some `parts`, facts as keys or rules by name, without which known derivations do not lead to a
    tuple, each with the number of tuples that need it so. `facts` are the asserted ones, and `rules_of` has the rules
    of a derivation, which are looked at where parts are rules.

    The parts that a tuple needs are a set of bits. At first each tuple needs all of them. A derivation needs what any
    of its premises does, a tuple what all of its derivations do; this is repeated until nothing changes.
    """
    bits = {part: 1 << i for i, part in enumerate(parts)}
    everything = (1 << len(parts)) - 1
    asserted = {fact: bits.get(fact, 0) for fact in facts}
    needs: dict[Key, int] = {}
    own: dict[Key, list[tuple[int, tuple[Key, ...]]]] = {}
    readers: dict[Key, dict[Key, None]] = defaultdict(dict)
    for key, each in ways.items():
        own[key] = []
        for way in each:
            needed = 0
            for rule in rules_of(key, way):
                needed |= bits.get(rule, 0)
            own[key].append((needed, way.premises))
            for premise in way.premises:
                readers[premise][key] = None
    waiting = deque(asserted)
    waiting += (key for key, each in own.items() if any(not premises for _, premises in each))
    queued = set(waiting)
    while waiting:
        key = waiting.popleft()
        queued.discard(key)
        found = asserted.get(key, everything)
        for needed, premises in own.get(key, ()):
            if not found:
                break
            for premise in premises:
                needed |= needs.get(premise, everything)
            found &= needed
        if found != needs.get(key, everything):
            needs[key] = found
            for reader in readers.get(key, ()):
                if reader not in queued:
                    queued.add(reader)
                    waiting.append(reader)
    return _parts_with_counts(bits, needs.get(goal, everything), needs.values())


def _parts_with_counts(bits: Mapping[object, int], needed: int, needs: Iterable[int]) -> dict[object, int]:
    """Return the parts whose bits are `needed`, with the number of `needs` that have each."""
    left = {bit: part for part, bit in bits.items() if bit & needed}
    counts = dict.fromkeys(left, 0)
    for each in needs:
        each &= needed
        while each:
            bit = each & -each
            counts[bit] += 1
            each ^= bit
    return {part: counts[bit] for bit, part in left.items()}


OTHER_PROOFS = 2
"""Proofs of a tuple with many derivations that are compared with a first one."""


def all_proofs(search: ProofSearch, goal: Key) -> Iterator[Found]:
    """Yield all proofs of a tuple by the number of their tuples, ties by the order of rules and by values."""
    ways: dict[Key, list[TupleDerivation | None]] = {}

    def ways_of(key: Key) -> list[TupleDerivation | None]:
        if key not in ways:
            found: list[TupleDerivation | None] = (
                [None] if search.derivations.are_asserted(search.views, [key])[0] else []
            )
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
        yield search.proof_by_steps(goal)


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

    def find_common_parts(proof: Found, parts: Collection[object]) -> list[object]:
        for key, way in proof.chosen.items():
            if way is None:
                facts.add(key)
            else:
                ways.setdefault(key, []).append(way)
        needed = needed_by_all(goal, ways, facts, list(parts), rules_of)
        return sorted(needed, key=lambda part: (needed[part], search.derivations.sort_key([part])))

    proof = search.founded_proof(goal)
    waiting, others = find_common_parts(proof, parts_of(proof, search, rules=rules)), OTHER_PROOFS
    while waiting:
        search.watch.look()
        part = waiting.pop(0)
        if confirmed(frozenset([part])):
            yield frozenset([part])
        elif waiting and others:
            others -= 1
            waiting = find_common_parts(search.founded_proof(goal, waiting), waiting)


def proof_without(cone: Cone, without: frozenset[object]) -> Found | None:
    """Return a proof that uses none of some facts and rules, as far as the budget of the cone shows one."""

    def is_allowed(way: TupleDerivation) -> bool:
        return way.flat is None or way.flat.rule.name not in without

    while True:
        ways = {key: [way for way in each if is_allowed(way)] for key, each in cone.derivations.items()}
        facts = cone.facts - without
        least = heights(ways, facts)
        if cone.goal in least:
            return cone.search.lowest(cone.goal, ways, facts, least)
        if cone.is_complete:
            return None
        try:
            cone.grow(LARGE)
        except OverBudgetError:
            return None


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
        bound = grounded_variables(body)
        body = tuple(literal for literal in body if bound.issuperset(variables([literal], aggregates=False)))
        needed = [flat.variables[each] for one in left_out for each in one.arguments if isinstance(each, int)]
        if len(grounded_variables(body)) != len(bound) or not bound.issuperset(needed):
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
