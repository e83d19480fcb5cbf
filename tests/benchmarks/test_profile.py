"""The interval of a median, by hand."""

from __future__ import annotations

from benchmarks.profile import interval


def test_an_interval_leaves_out_as_many_figures_as_95_percent_allow() -> None:
    assert interval([*range(20, 0, -1)]) == (6, 15)
    assert interval([*range(1, 10)]) == (2, 8)
    assert interval([3, 1, 2]) == (1, 3)
    assert interval([7]) == (7, 7)
