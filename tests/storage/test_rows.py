"""Equal rows of words: each is there once, also where hashes of different rows are equal."""

from __future__ import annotations

import numpy
import pytest

from tidelog.storage import rows


@pytest.mark.parametrize("bits", [64, 2, 0])
def test_distinct_rows_are_each_there_once(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes, mask = rows.row_hashes, numpy.uint64((1 << bits) - 1)
    monkeypatch.setattr(rows, "row_hashes", lambda words: hashes(words) & mask)
    words = numpy.random.default_rng(1).integers(0, 9, (300, 3))
    found = rows.distinct(words)
    assert len(found) == len(set(map(tuple, found.tolist())))
    assert set(map(tuple, found.tolist())) == set(map(tuple, words.tolist()))
    assert rows.equal_rows(words) == len(words) - len(found)


def test_rows_that_are_there_twice_keep_the_place_of_the_first() -> None:
    words = numpy.array([[3, 1], [2, 2], [3, 1], [1, 1], [2, 2]])
    assert rows.distinct(words).tolist() == [[3, 1], [2, 2], [1, 1]]
