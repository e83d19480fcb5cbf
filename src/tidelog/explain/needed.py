"""The facts and rules that all known derivations of a tuple need.

Some of the derivations of a tuple are known, and some of those of the tuples that these need. A fact without which they
do not lead to the tuple may end it; one without which they do cannot end it, whatever other derivations there are.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tidelog.explain.batches import TupleDerivation
from tidelog.explain.walks import Key

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
    return _counted(bits, needs.get(goal, everything), needs.values())


def _counted(bits: Mapping[object, int], needed: int, needs: Iterable[int]) -> dict[object, int]:
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
