"""The records of one type and their ids: the part of the dictionary that says which fields a record has."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 65_536  # keys that are held as Python tuples at a time

Key = tuple[int, ...]


class RecordTable:
    """The records of one type: `rows[id]` holds the words of the fields, `rows[0]` stands for nil.

    The first `count` rows are what counts. The ids by fields follow them, as in `SymbolList`, so that an interruption
    anywhere does no harm.
    """

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.count = 1
        self.rows: NDArray[np.int64] = np.zeros((16, arity), dtype=np.int64)
        self._ids: dict[Key, int] = {}
        self._known = 1  # The ids of the rows below this place are known.

    def one(self, key: Key, grow: bool) -> int | None:
        """The id of one record; if it is new, the next id with `grow`, or else None."""
        found = self._ids.get(key)
        return self._added([key])[0] if found is None and grow else found

    def row(self, word: int) -> list[int]:
        """The fields of one record."""
        return self.rows[word].tolist()  # type: ignore[no-any-return]

    def pack(self, keys: Iterable[Key]) -> NDArray[np.int64]:
        """The ids of records given by their fields; new ones get the next ids."""
        keys, parts = iter(keys), []
        while True:
            some = list(islice(keys, _AT_ONCE))
            found = list(map(self._ids.get, some))
            parts.append(np.array(self._added(some) if None in found else found, dtype=np.int64))
            if len(some) < _AT_ONCE:
                return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _added(self, keys: list[Key]) -> list[int]:
        """The ids of records; new ones get the next ids."""
        ids = self._ids
        self._follow()
        new = [key for key in dict.fromkeys(keys) if key not in ids]
        if new:
            end = self.count + len(new)
            self._reserve(end)
            if self.arity:
                self.rows[self.count : end] = new
            start, self.count = self.count, end
            ids.update(zip(new, range(start, end), strict=True))
            self._known = end
        return list(map(ids.__getitem__, keys))

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

    def bytes(self) -> int:
        """About how much memory the records take."""
        key_bytes = sys.getsizeof((0,) * self.arity) + 32 * self.arity
        return int(self.rows.nbytes) + sys.getsizeof(self._ids) + key_bytes * len(self._ids)
