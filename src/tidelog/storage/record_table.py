"""The records of one type and their ids: the part of the dictionary that maps records to their fields."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 65_536  # keys that are held as Python tuples at a time
_FIRST = 16  # rows of a new table

Key = tuple[int, ...]


class RecordTable:
    """The records of one type: `rows[id]` has the words of the fields, `rows[0]` is nil.

    The first `count` rows are valid, except those with reclaimed ids. The ids by fields follow them, as in
    `SymbolList`, so that an interruption does no harm.
    """

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.count = 1
        self.made = 0
        """How many records were new when they came."""
        self.rows: NDArray[np.int64] = np.zeros((_FIRST, arity), dtype=np.int64)
        self._ids: dict[Key, int] = {}
        self._known = 1  # The ids of the rows below this place are known.
        self._free: NDArray[np.int64] = np.empty(0, np.int64)
        self._left = 0  # So many of `_free` are still to be used; it may name ids that are in use, which are skipped.

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._ids)

    def one(self, key: Key, grow: bool) -> int | None:
        """Return the id of one record. If it is new, return a new id with `grow`, otherwise None."""
        found = self._ids.get(key)
        return self._added([key])[0] if found is None and grow else found

    def row(self, word: int) -> list[int]:
        """Return the fields of one record."""
        return self.rows[word].tolist()  # type: ignore[no-any-return]

    def pack(self, keys: Iterable[Key]) -> NDArray[np.int64]:
        """Return the ids of records given by their fields; new ones get reclaimed ids, and then the next ones."""
        keys, parts = iter(keys), []
        while True:
            some = list(islice(keys, _AT_ONCE))
            found = list(map(self._ids.get, some))
            parts.append(np.array(self._added(some) if None in found else found, dtype=np.int64))
            if len(some) < _AT_ONCE:
                return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _added(self, keys: list[Key]) -> list[int]:
        """Return the ids of records, and add new ones."""
        ids = self._ids
        self._follow()
        new = [key for key in dict.fromkeys(keys) if key not in ids]
        if new:
            self.made += len(new)
            if self._left:
                new = self._reuse(new)
            end = self.count + len(new)
            self._reserve(end)
            if self.arity:
                self.rows[self.count : end] = np.array(new, np.int64).reshape(len(new), self.arity)
            start, self.count = self.count, end
            ids.update(zip(new, range(start, end), strict=True))
            self._known = end
        return list(map(ids.__getitem__, keys))

    def _reuse(self, new: list[Key]) -> list[Key]:
        """Give reclaimed ids to the first of these records; return the others."""
        start = max(0, self._left - len(new))
        free = [word for word in self._free[start : self._left].tolist() if self._is_free(word)][::-1]
        if free:
            self.rows[free] = new[: len(free)]
        self._ids.update(zip(new, free, strict=False))
        self._left = start
        return new[len(free) :]

    def stop_reusing(self) -> None:
        """Let new records have the ids after all others, until ids are given back again."""
        self._left = 0

    def follow(self, start: int, rows: NDArray[np.int64], present: NDArray[np.bool_]) -> bool:
        """Add the records that another table has from the id `start` on, where they are `present`. Return True if that
        is possible. An interruption is harmless where all are present."""
        self._follow()
        both = max(0, min(self.count - start, len(rows)))
        known = np.zeros(both, np.bool_)
        known[self.present(start, start + both) - start] = True
        same = np.array_equal(known, present[:both])
        if start > self.count or not same or (self.rows[start : start + both][known] != rows[:both][known]).any():
            return False
        new = [(key, start + i) for i, key in enumerate(map(tuple, rows.tolist())) if i >= both and present[i]]
        if not self._ids.keys().isdisjoint(key for key, _ in new):
            return False
        end = self.count + len(rows) - both
        self._reserve(end)
        self.rows[self.count : end] = rows[both:]
        self.made += len(new)
        self.count = end
        self._ids.update(new)
        self._known = end
        return True

    def present(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the ids from `start` to `stop` that belong to records."""
        self._follow()
        return np.array([word for word in range(start, stop) if not self._is_free(word)], np.int64)

    def _is_free(self, word: int) -> bool:
        """Return True if no record has this id, even if its row has old values."""
        return self._ids.get(tuple(self.row(word))) != word

    def _follow(self) -> None:
        """Let the ids by fields know rows that an interruption has kept from them."""
        start, end = self._known, self.count
        if start < end:
            self._ids.update(zip(map(tuple, self.rows[start:end].tolist()), range(start, end), strict=True))
            self._known = end

    def _reserve(self, count: int) -> None:
        if count > len(self.rows):
            rows = np.zeros((max(count, 2 * len(self.rows)), self.arity), dtype=np.int64)
            rows[: self.count] = self.rows[: self.count]
            self.rows = rows

    def give_back(self, used: NDArray[np.bool_]) -> None:
        """Forget the records whose ids are not used, which others get from now on. That of nil, 0, is never free."""
        self._follow()
        ids = self._ids
        free = np.flatnonzero(~used[1:]) + 1
        before = len(ids)
        for word, key in zip(free.tolist(), map(tuple, self.rows[free].tolist()), strict=True):
            if ids.get(key) == word:
                del ids[key]
        end = self.count - int(np.argmax(used[::-1])) if used[1:].any() else 1
        self._left = 0
        self._known = min(self._known, end)
        self.count = end
        if len(self.rows) > 4 * end + _FIRST:
            self.rows = self.rows[: end + _FIRST].copy()
        free = free[free < end][::-1].copy()
        self._free = free
        self._left = len(free)
        if len(ids) < before // 2:
            self._ids = dict(ids)  # A dictionary shrinks only when it is copied.

    def bytes(self) -> int:
        """Estimate the memory that the records take."""
        key_bytes = sys.getsizeof((0,) * self.arity) + 32 * self.arity
        return int(self.rows.nbytes) + sys.getsizeof(self._ids) + key_bytes * len(self._ids) + self._free.nbytes
