"""The numbers that `ord` gives to the values of one kind, by their words: each is computed once.

The dictionary has one table for each kind. A word has the number 0 as long as none is known. No two words may have the
same number: sorted runs of all known numbers, each at most half as long as the one before, find such a collision.
"""

from __future__ import annotations

import numpy as np

from tidelog.common.arrays import Flags, Words


class OrdinalTable:
    """Numbers by words."""

    def __init__(self) -> None:
        self._numbers: Words = np.zeros(0, np.int64)
        self._runs: list[Words] = []

    def of(self, words: Words) -> Words:
        """Return the numbers of words, 0 for those that are not known. Threads do so while another one adds some."""
        numbers = self._numbers
        found = np.zeros(len(words), np.int64)
        there = words < len(numbers)
        found[there] = numbers[words[there]]
        return found

    def words_without_number(self, words: Words) -> Words:
        """Return the words without a number, each once."""
        return np.unique(words[self.of(words) == 0])

    def add(self, words: Words, numbers: Words) -> tuple[int, int] | None:
        """Keep the numbers of different words. Return two words with one number, if there are such, and keep nothing
        then."""
        new = self.of(words) == 0  # Another thread may have added some.
        words, numbers = words[new], numbers[new]
        order = np.argsort(numbers)
        run = numbers[order]
        same = np.flatnonzero(run[1:] == run[:-1])
        if len(same):
            return int(words[order[same[0]]]), int(words[order[same[0] + 1]])
        for known in self._runs:
            places = np.minimum(np.searchsorted(known, run), len(known) - 1)
            same = np.flatnonzero(known[places] == run)
            if len(same):
                (other,) = np.flatnonzero(self._numbers == run[same[0]])
                return int(other), int(words[order[same[0]]])
        self._reserve(int(words.max(initial=-1)) + 1)
        self._numbers[words] = numbers  # An interruption behind it leaves numbers with which nothing is compared.
        if len(run):
            self._runs.append(run)
        while len(self._runs) > 1 and 2 * len(self._runs[-1]) > len(self._runs[-2]):
            self._runs[-2:] = [np.sort(np.concatenate(self._runs[-2:]))]
        return None

    def give_back(self, used: Flags) -> None:
        """Forget the numbers of words that are not used, which other values get."""
        numbers = self._numbers[: len(used)]
        numbers[~used[: len(numbers)]] = 0
        self._numbers, self._runs = numbers.copy(), []
        if numbers.any():
            self._runs = [np.sort(numbers[numbers != 0])]

    def bytes(self) -> int:
        """Return the memory that the table takes."""
        return self._numbers.nbytes + sum(run.nbytes for run in self._runs)

    def _reserve(self, count: int) -> None:
        if count > len(self._numbers):
            numbers = np.zeros(max(count, 2 * len(self._numbers)), np.int64)
            numbers[: len(self._numbers)] = self._numbers
            self._numbers = numbers
