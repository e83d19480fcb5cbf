"""Keys: columns by whose values rows replace facts, or say which facts to delete."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.common.arrays import Words
from tidelog.errors import DataError, Problem, UsageError, quote
from tidelog.language.syntax import RelationType
from tidelog.storage.equal_rows import distinct


def names_of(option: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the texts of an option that takes one or several. UsageError (E0685)."""
    texts = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Sequence) else ()
    if not texts or not all(isinstance(text, str) for text in texts):
        message = f"{option!r} must be a text or a list of texts, found {quote(given)}"
        example = '["I", "U"]' if option in ("insert", "delete") else '["id"]'
        raise UsageError(Problem("E0685", message, place=option, hint=f"pass for example {example}"))
    return texts


def key_positions(relation: RelationType, names: Sequence[str] | None) -> tuple[int, ...]:
    """Return the positions of the columns of a key, ascending; None is all of them. UsageError (E0485, E0685)."""
    known = [column.name for column in relation.columns]
    if names is None:
        return tuple(range(len(known)))
    for i, name in enumerate(names):
        if name not in known:
            hint = f"use some of: {', '.join(known)}"
            raise UsageError(
                Problem("E0485", f"{relation.name} has no column {name!r} for a key", place="key", hint=hint)
            )
        if name in names[:i]:
            raise UsageError(Problem("E0685", f"the key names {name!r} twice", place="key", hint="name it once"))
    return tuple(sorted(known.index(name) for name in names))


def with_columns(relation: RelationType, positions: Sequence[int]) -> RelationType:
    """Return the relation with some of its columns."""
    return RelationType(relation.name, tuple(relation.columns[position] for position in positions))


def refuse_undecided(relation: RelationType, words: Words, key: Sequence[int]) -> None:
    """Raise DataError (E0487) if rows of a relation are different and have the same key."""
    rows = distinct(words)
    different = len(rows) - len(distinct(rows[:, list(key)]))
    if different:
        names = ", ".join(relation.columns[position].name for position in key)
        message = f"{names}: {different:,} of {len(rows):,} rows have the key of another one"
        raise DataError(Problem("E0487", message, place=f"relation {relation.name}", hint="keep one row of each key"))
