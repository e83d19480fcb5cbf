"""Problems as a user of the text wants them: each once, under the names in the text, with their instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidelog.common.source import Span
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


def note(span: Span | None, text: str) -> tuple[tuple[Span, str], ...]:
    """Return the notes of a problem with a text about a place, none where there is no place."""
    return () if span is None else ((span, text),)


def how_many(number: int, noun: str) -> str:
    """Return a number of things in words: "1 column", "2 columns"."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _with_count(first: Problem, others: list[Problem]) -> Problem:
    """Return the problem with the number of others that it stands for."""
    span, used = first.span, len({problem.span for problem in others} - {first.span})
    if used:
        first = replace(first, message=f"{first.message} (and {how_many(used, 'other use')})")
    elif others and span is not None and span.via:
        (place, label), *outer = span.via
        label = f"{label}, and likewise in {how_many(len(others), 'other')}"
        first = replace(first, span=replace(span, via=((place, label), *outer)))
    return first


def as_written(problems: Iterable[Problem], written: Mapping[str, str]) -> list[Problem]:
    """Return the problems of a rule with the names of its text; `written` has them by the new names."""

    def text(shown: str) -> str:
        for new, old in written.items():
            shown = shown.replace(f"`{new}`", f"`{old}`").replace(f"`{new} =", f"`{old} =")
        return shown

    return [
        replace(
            problem,
            message=text(problem.message),
            notes=tuple((span, text(label)) for span, label in problem.notes),
            hint=problem.hint and text(problem.hint),
        )
        for problem in problems
    ]


def with_instances(problems: list[Problem], place: Span | None) -> list[Problem]:
    """Return the problems of a statement, with the instances that it came through."""
    if place is None or not place.via:
        return problems
    return [replace(p, span=replace(p.span, via=place.via)) if p.span is not None else p for p in problems]
