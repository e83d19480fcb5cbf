"""The meaning of functors on texts, on Python values. Lengths and positions count code points, the first one is 0.

No functor finds an empty pattern, except `positions`, which finds it everywhere; `split` then gives the characters.
Letters change case as Unicode says for all languages, and `trim` removes the white space that Unicode names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tidelog.language.regex import grouper
from tidelog.semantics.values import NoValueError


def index_of(text: str, part: str) -> int:
    """Return the first position of a part. Raise NoValueError where it does not occur."""
    position = text.find(part)
    if position < 0:
        raise NoValueError
    return position


def positions(text: str, part: str) -> Iterator[int]:
    """Return the positions at which a part occurs, also where these overlap."""
    position = text.find(part)
    while position >= 0:
        yield position
        position = text.find(part, position + 1) if position < len(text) else -1


def split(text: str, separator: str) -> list[str]:
    """Return the parts of a text between the separators."""
    return text.split(separator) if separator else list(text)


def replaced(text: str, old: str, new: str) -> str:
    """Return a text with each `old` replaced, from left to right."""
    return text.replace(old, new) if old else text


def groups(pattern: str, text: str) -> list[str | None]:
    """Return the texts of the groups of a pattern that the whole text matches, None for a group that took no part. The
    list is empty if the text does not match, or if the pattern is malformed."""
    find = grouper(pattern)
    return [] if find is None else find(text)[1:]


def part(text: str, separator: str, number: int) -> str:
    """Return the part of a text with a number. Raise NoValueError if it has no such part."""
    return _chosen(split(text, separator), number)


def group(pattern: str, text: str, number: int) -> str:
    """Return the text of the group with a number, of which 0 is the whole text. Raise NoValueError if it has none."""
    find = grouper(pattern)
    return _chosen([] if find is None else find(text), number)


def _chosen(found: list[str] | list[str | None], number: int) -> str:
    value = found[number] if 0 <= number < len(found) else None
    if value is None:
        raise NoValueError
    return value


ONE: dict[tuple[str, int], Callable[..., int | str]] = {
    ("lower", 1): str.lower,
    ("upper", 1): str.upper,
    ("trim", 1): str.strip,
    ("replace", 3): replaced,
    ("index_of", 2): index_of,
    ("split", 3): part,
    ("groups", 3): group,
}
"""By name and number of arguments, the functors with at most one value."""

SEVERAL: dict[str, Callable[[str, str], Iterable[int | str | None]]] = {
    "split": split,
    "groups": groups,
    "positions": positions,
}
"""Functors with several values; those that are None do not count, and equal ones count once."""
