"""The records of one type and their ids: the part of the dictionary that says which fields a record has."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray


class RecordTable:
    """The records of one type: `rows[id]` holds the words of the fields, `rows[0]` stands for nil."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.count = 1
        self.rows: NDArray[np.int64] = np.zeros((16, arity), dtype=np.int64)
        self._ids: dict[tuple[int, ...], int] = {}

    def one(self, key: tuple[int, ...], grow: bool) -> int | None:
        """The id of one record; if it is new, the next id with `grow`, or else None."""
        return int(self.pack([key])[0]) if grow else self._ids.get(key)

    def row(self, word: int) -> list[int]:
        """The fields of one record."""
        return self.rows[word].tolist()  # type: ignore[no-any-return]

    def pack(self, keys: Iterable[tuple[int, ...]]) -> NDArray[np.int64]:
        """The ids of records given by their fields; new ones get the next ids."""
        ids = self._ids
        before = len(ids)
        words = np.array([ids.setdefault(key, len(ids) + 1) for key in keys], dtype=np.int64)
        added = len(ids) - before
        if added:
            new = list(islice(reversed(ids), added))
            new.reverse()
            self._reserve(self.count + added)
            if self.arity:
                self.rows[self.count : self.count + added] = new
            self.count += added
        return words

    def _reserve(self, count: int) -> None:
        if count > len(self.rows):
            rows = np.zeros((max(count, 2 * len(self.rows)), self.arity), dtype=np.int64)
            rows[: self.count] = self.rows[: self.count]
            self.rows = rows

    def bytes(self) -> int:
        """About how much memory the records take."""
        key_bytes = sys.getsizeof((0,) * self.arity) + 32 * self.arity
        return int(self.rows.nbytes) + sys.getsizeof(self._ids) + key_bytes * len(self._ids)
