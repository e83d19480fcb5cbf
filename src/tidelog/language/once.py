"""Each problem once, however often it occurs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidelog.errors import Problem


def once(problems: Iterable[Problem]) -> list[Problem]:
    """Return each problem once: one for a missing relation, type or component, however many uses it has, and one for a
    mistake in a component, however many instances it has."""
    alike: dict[object, list[Problem]] = {}
    for problem in problems:
        missing = problem.code in ("E0201", "E0203", "E0231")
        copied = problem.span is not None and problem.span.via
        key = (problem.code, problem.message if missing else problem.span) if missing or copied else id(problem)
        alike.setdefault(key, []).append(problem)
    return [_with_count(first, others) for first, *others in alike.values()]


def _with_count(first: Problem, others: list[Problem]) -> Problem:
    """Return the problem with the number of others that it stands for."""
    span, used = first.span, len({problem.span for problem in others} - {first.span})
    if used:
        first = replace(first, message=f"{first.message} (and {'1 other use' if used == 1 else f'{used} other uses'})")
    elif others and span is not None and span.via:
        (place, label), *outer = span.via
        more = "1 other" if len(others) == 1 else f"{len(others)} others"
        first = replace(first, span=replace(span, via=((place, f"{label}, and likewise in {more}"), *outer)))
    return first
