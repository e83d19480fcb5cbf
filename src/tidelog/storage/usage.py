"""The words of a dictionary in use: a sweep reclaims all others.

Words in rows are marked by `add`; `flags` follows the fields of records and marks the used words of each kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Flags
from tidelog.language.syntax import Kind
from tidelog.storage.dictionary import Dictionary

_FEW = 64  # records whose fields are followed one by one


class Usage:
    """The words of a dictionary, as it is now, that have been seen in use."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        kinds = ("symbol", *dictionary.types)
        self._flags = {kind: np.zeros(dictionary.extent(kind), np.bool_) for kind in kinds}
        for kind in dictionary.types:
            self._flags[kind][0] = True  # nil
        self._waiting: list[tuple[Kind, NDArray[np.int64]]] = []

    def add(self, kinds: Sequence[Kind], rows: NDArray[Any]) -> None:
        """Mark the words in the columns of rows that are of these kinds."""
        for position, kind in enumerate(kinds):
            if kind in self._flags:
                self._mark(kind, rows[:, position])

    def add_value(self, value: object, kind: Kind) -> None:
        """Mark the word of a value, if it has one."""
        word = self._dictionary.find(value, kind) if kind in self._flags else None
        if word is not None:
            self._mark(kind, np.array([word]))

    def flags(self) -> dict[Kind, Flags]:
        """Return for each kind as many flags as its extent: True for words in use, also as fields of records in use."""
        while self._waiting:
            kind, words = self._waiting.pop()
            kinds = [field.kind for field in self._dictionary.types[kind].fields]
            if self._flags.keys().isdisjoint(kinds):
                continue
            if len(words) <= _FEW:  # Lists go as deep as they are long, one record at a time.
                self._follow(kind, words.tolist())
            else:
                self.add(kinds, np.stack(self._dictionary.unpack(kind, words)[1], axis=1))
        return self._flags

    def _follow(self, kind: Kind, words: list[int]) -> None:
        """Mark the fields of some records, and theirs in turn."""
        waiting = [(kind, word) for word in words]
        while waiting:
            kind, word = waiting.pop()
            for field, part in zip(self._dictionary.types[kind].fields, self._dictionary.row(kind, word), strict=True):
                flags = self._flags.get(field.kind)
                if flags is not None and not flags[part]:
                    flags[part] = True
                    if field.kind != "symbol":
                        waiting.append((field.kind, part))

    def _mark(self, kind: Kind, words: NDArray[Any]) -> None:
        flags = self._flags[kind]
        if kind == "symbol":
            flags[words] = True
            return
        new = words[~flags[words]]
        if len(new):
            new = np.unique(new).astype(np.int64) if len(new) > 1 else new.astype(np.int64)
            flags[new] = True
            self._waiting.append((kind, new))


def renumber(flags: dict[Kind, Flags]) -> dict[Kind, NDArray[np.int64]]:
    """Return for each kind the new words of the used ones when all others are left out; nil stays 0."""
    return {kind: np.cumsum(used, dtype=np.int64) - 1 for kind, used in flags.items()}


def translate(kinds: Iterable[Kind], rows: NDArray[Any], numbers: dict[Kind, NDArray[np.int64]]) -> NDArray[Any]:
    """Return rows whose columns are of these kinds with other words."""
    rows = rows.copy()
    for position, kind in enumerate(kinds):
        if kind in numbers:
            rows[:, position] = numbers[kind][rows[:, position]]
    return rows
