"""Qualifiers of a declaration that stand twice, or of which only one can be right (E0117)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lark import Token

from tidelog.common.source import Span
from tidelog.errors import Problem

_EITHER = (
    frozenset(("btree", "btree_delete", "brie", "eqrel")),
    frozenset(("inline", "no_inline")),
    frozenset(("magic", "no_magic")),
)


def qualifier_problems(qualifiers: Sequence[Token], place: Callable[[Token], Span]) -> Iterator[Problem]:
    """Yield a problem for each qualifier that an earlier one repeats or contradicts."""
    for i, word in enumerate(qualifiers):
        earlier = next((each for each in qualifiers[:i] if each == word or {each, word} <= _group(word)), None)
        if earlier is None:
            continue
        if earlier == word:
            message, hint = f"the qualifier `{word}` stands twice", "remove one of the two"
        else:
            message, hint = f"the qualifiers `{earlier}` and `{word}` contradict each other", "keep one of the two"
        yield Problem("E0117", message, place(word), ((place(earlier), "the first one"),), hint)


def _group(word: Token) -> frozenset[str]:
    return next((group for group in _EITHER if word in group), frozenset())
