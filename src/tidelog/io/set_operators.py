"""Set operators of relations: with other relations, and with sets of tuples.

    a | b   a & b   a - b   a ^ b               relations with the columns of a
    a == b  a <= b  a < b  a >= b  a > b  a.isdisjoint(b)

The words of a relation's dictionary are compared, all at once. A tuple of the other side that has no words there, such
as one with a symbol that no relation has, or with values of other types, equals no tuple of the relation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Set
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.language.syntax import Value
from tidelog.storage.catalog import Catalog
from tidelog.storage.stored import StoredRelation

Rows = Collection[tuple[Value, ...]]
_Mask = NDArray[np.bool_]


class SetOperators(ABC):
    """The operators. The other side is of the same class or a set; for others there are none, and nothing is equal."""

    __hash__: ClassVar[None]  # type: ignore[assignment]  # tuples change with the epochs

    @abstractmethod
    def _words_of_both(self, other: SetOperators | Set[Any]) -> tuple[Words, Words, Rows]:
        """Return the rows of both as words of one dictionary, and the tuples of `other` that have none there."""

    @abstractmethod
    def _of_words(self, words: Words) -> Self:
        """Return a relation of these rows."""

    @abstractmethod
    def _of_tuples(self, rows: Iterable[object]) -> Self:
        """Return a relation of these tuples. Raise DataError or UsageError if they do not fit the columns."""

    @abstractmethod
    def _tuples_of(self, words: Words) -> Iterable[tuple[Value, ...]]:
        """Return the tuples of these rows."""

    def __and__(self, other: object) -> Self:
        if not isinstance(other, SetOperators | Set):
            return NotImplemented
        mine, others, _ = self._words_of_both(other)
        return self._of_words(mine[_membership_mask(mine, others)])

    def __sub__(self, other: object) -> Self:
        if not isinstance(other, SetOperators | Set):
            return NotImplemented
        mine, others, _ = self._words_of_both(other)
        return self._of_words(mine[~_membership_mask(mine, others)])

    def __or__(self, other: object) -> Self:
        """Return the tuples that are in one of the two. Raise DataError or UsageError if some of the other do not fit
        the columns."""
        if not isinstance(other, SetOperators | Set):
            return NotImplemented
        mine, others, strange = self._words_of_both(other)
        return self._with(mine, others[~_membership_mask(others, mine)], strange)

    def __xor__(self, other: object) -> Self:
        """Return the tuples that are in one of the two, but not in both. Raise as `|`."""
        if not isinstance(other, SetOperators | Set):
            return NotImplemented
        mine, others, strange = self._words_of_both(other)
        return self._with(mine[~_membership_mask(mine, others)], others[~_membership_mask(others, mine)], strange)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __rsub__(self, other: object) -> Self:
        """Return the tuples of a set that are not in the relation. Raise as `|`."""
        if not isinstance(other, Set):
            return NotImplemented
        mine, others, strange = self._words_of_both(other)
        return self._with(others[:0], others[~_membership_mask(others, mine)], strange)

    def __eq__(self, other: object) -> bool:
        """Return True if both have the same tuples."""
        if not isinstance(other, SetOperators | Set):
            return NotImplemented
        mine, others, strange = self._words_of_both(other)
        return not strange and len(mine) == len(others) and bool(_membership_mask(mine, others).all())

    def __le__(self, other: object) -> bool:
        if not isinstance(other, SetOperators | Set):
            return NotImplemented
        mine, others, _ = self._words_of_both(other)
        return bool(_membership_mask(mine, others).all())

    def __ge__(self, other: object) -> bool:
        if not isinstance(other, SetOperators | Set):
            return NotImplemented
        mine, others, strange = self._words_of_both(other)
        return not strange and bool(_membership_mask(others, mine).all())

    def __lt__(self, other: object) -> bool:
        return self <= other and not self >= other

    def __gt__(self, other: object) -> bool:
        return self >= other and not self <= other

    def isdisjoint(self, other: SetOperators | Set[Any]) -> bool:
        mine, others, _ = self._words_of_both(other)
        return not _membership_mask(mine, others).any()

    def _with(self, words: Words, more: Words, strange: Rows) -> Self:
        """Return a relation of two arrays of rows, and of tuples that have no words yet."""
        rows = np.concatenate([words, more])
        return self._of_tuples([*self._tuples_of(rows), *strange]) if strange else self._of_words(rows)


def _membership_mask(rows: Words, among: Words) -> _Mask:
    """Return a mask of the rows that are `among` others."""
    stored = StoredRelation(Catalog(64), rows.shape[1], counted=False)
    stored.insert(among)
    found: _Mask = stored.find(rows) >= 0
    return found
