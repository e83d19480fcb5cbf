"""Functors on texts for the checker, written after docs/reference/language.md. It matches patterns for their groups as
the engine does, with RE2: DuckDB cannot tell an empty group from one that took no part."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.language.regex import grouper
from tidelog.semantics.values import Scalar

_MOST = 1 << 26
"""Characters of the longest text that a functor makes."""


def _replaced(text: str, old: str, new: str) -> str:
    parts = text.split(old) if old else [text]
    if len(text) + (len(parts) - 1) * (len(new) - len(old)) > _MOST:
        raise MemoryError(f"a text has more than {_MOST:,} characters")
    return new.join(parts)


def _parts(text: str, separator: str) -> list[str]:
    return [*text] if separator == "" else text.split(separator)


def _at(values: list[str | None] | list[str], number: int) -> str | None:
    return values[number] if number in range(len(values)) else None


def _groups(pattern: str, text: str) -> list[str | None]:
    find = grouper(pattern)
    return find(text) if find is not None else []


def _once(values: list[Scalar]) -> list[Scalar]:
    return [value for value in dict.fromkeys(values) if value is not None]


TEXTS: dict[tuple[str, int], Callable[..., Scalar]] = {
    ("lower", 1): lambda text: text.lower(),
    ("upper", 1): lambda text: text.upper(),
    ("trim", 1): lambda text: text.strip(),
    ("replace", 3): _replaced,
    ("index_of", 2): lambda text, part: text.index(part),
    ("split", 3): lambda text, separator, number: _at(_parts(text, separator), number),
    ("groups", 3): lambda pattern, text, number: _at(_groups(pattern, text), number),
    ("split", 2): lambda text, separator: _once(_parts(text, separator)),
    ("groups", 2): lambda pattern, text: _once(_groups(pattern, text)[1:]),
    ("positions", 2): lambda text, part: [i for i in range(len(text) + 1) if text.startswith(part, i)],
}
"""By name and number of arguments; those with several values give lists."""
