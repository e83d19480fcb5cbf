"""Fewer steps with the same closure: a hierarchy of classes or properties for rules that take one step at a time.

Restrictions that say the same are below each other, each below all others: of n such classes n steps in a circle say as
much as n * (n - 1). Between circles one step is enough, and none where others lead the same way. Asserted steps stay,
because a user looks for the rules of these.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.rdf.matching import Pair
from tidelog.rules.components import components


def fewer(asserted: Iterable[Pair], derived: Iterable[Pair]) -> list[Pair]:
    """Return all asserted steps, and steps that together with these have the closure of all; none of a class to
    itself."""
    fixed = dict.fromkeys(step for step in asserted if step[0] != step[1])
    more = [step for step in dict.fromkeys(derived) if step[0] != step[1] and step not in fixed]
    above: dict[str, dict[str, None]] = {}
    for low, high in (*fixed, *more):
        above.setdefault(low, {})[high] = None
        above.setdefault(high, {})
    circles = components(above)
    number = {name: i for i, circle in enumerate(circles) for name in circle}
    found = dict(fixed)
    for circle in circles:
        if len(circle) > 1 and not _connects(circle, fixed):
            ordered = sorted(circle)
            found.update(dict.fromkeys(zip(ordered, [*ordered[1:], ordered[0]], strict=True)))
    reached: list[int] = []
    between: list[dict[int, Pair | None]] = [{} for _ in circles]
    for step in more:
        between[number[step[0]]].setdefault(number[step[1]], step)
    for step in fixed:
        between[number[step[0]]][number[step[1]]] = None  # It is there in any case.
    # Circles come after all those that are above them. The nearest ones lead to most others, so they go first.
    for i, targets in enumerate(between):
        reach = 1 << i
        for j in (j for j, each in targets.items() if each is None and j != i):
            reach |= reached[j]
        for j in sorted(targets, reverse=True):
            nearest = targets[j]
            if nearest is not None and not reach >> j & 1:
                reach |= reached[j]
                found[nearest] = None
        reached.append(reach)
    return list(found)


def _connects(circle: list[str], steps: dict[Pair, None]) -> bool:
    """Return True if steps alone lead from each member of a circle to each other one."""
    members = set(circle)
    inside = [step for step in steps if step[0] in members and step[1] in members]
    above: dict[str, dict[str, None]] = {name: {} for name in circle}
    for low, high in inside:
        above[low][high] = None
    return len(components(above)) == 1
