"""The difference of two sequences of objects that live on, such as the rules of a program before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TypeVar

Item = TypeVar("Item")


def difference(before: Sequence[Item], now: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]] | None:
    """Return the objects that have gone and those that have come; None if the others stand in another order."""
    start = _common_prefix_length(before, now)
    old, new = before[start:], now[start:]
    end = _common_prefix_length(old[::-1], new[::-1])
    old, new = old[: len(old) - end], new[: len(new) - end]
    were, are = set(map(id, old)), set(map(id, new))
    if not all(map(is_, [rule for rule in old if id(rule) in are], [rule for rule in new if id(rule) in were])):
        return None
    return [rule for rule in old if id(rule) not in are], [rule for rule in new if id(rule) not in were]


def _common_prefix_length(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the number of objects with which both sequences begin."""
    same = [*map(is_, one, other)]
    return same.index(False) if False in same else len(same)


def difference_if_appended(before: Sequence[Item], now: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """Return the objects that have gone, and those that have come behind the rest; all, if some have come between or if
    the rest stands in another order."""
    gone, added = difference(before, now) or (before, now)
    kept = len(now) - len(added)
    if kept + len(gone) != len(before) or not all(map(is_, now[kept:], added)):
        return before, now
    return gone, added
