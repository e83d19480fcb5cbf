"""The state of a large group that replaces its members."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf
from statistics import median

import numpy
import pytest

from tests.suite import FIRST_SEED
from tidelog.language.aggregates import AggregateName
from tidelog.maintain import large_groups
from tidelog.maintain.large_groups import Total, Window

NONE = numpy.empty(0)


@pytest.mark.parametrize(
    ("born", "died", "value"),
    [
        ([1.0, 2.5], [], 3.5),
        ([1.0, -inf], [], -inf),
        ([1.0, -inf, -inf], [-inf], -inf),
        ([1.0, -inf, -inf], [-inf, -inf], 1.0),
        ([1.0, inf, inf], [inf], inf),
        ([1.0, inf, inf], [inf, inf], 1.0),
        ([inf, -inf, 2.0], [], None),
        ([inf, -inf, 2.0], [inf], -inf),
        ([inf, -inf, 2.0], [-inf], inf),
        ([inf, -inf, 2.0], [-inf, inf], 2.0),
    ],
)
def test_infinities_are_counted_by_their_signs(born: list[float], died: list[float], value: float | None) -> None:
    total = Total("sum").with_changes(numpy.array(born), NONE).with_changes(NONE, numpy.array(died))
    assert total.value() == value
    assert total.size == len(born) - len(died)
    assert Total("sum").with_changes(numpy.array(born), numpy.array(died)) == total


VALUES: dict[AggregateName, Callable[[list[float]], float]] = {"min": min, "max": max, "median": median}


@pytest.mark.parametrize("op", VALUES)
def test_a_window_gives_the_value_of_its_group_or_ends(op: AggregateName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_groups, "WIDTH", 2)
    rng, ended = random.Random(FIRST_SEED), 0
    for _ in range(100):
        group = [float(rng.randrange(20)) for _ in range(rng.randint(4, 12))]
        window: Window | None = Window.of(op, numpy.array(group))
        while window is not None and len(group) < 30:
            assert window.value() == VALUES[op](group)
            died = rng.sample(group, rng.randint(0, min(2, len(group) - 1)))
            born = [float(rng.randrange(20)) for _ in range(rng.randint(0, 2))]
            for each in died:
                group.remove(each)
            group += born
            window = window.with_changes(numpy.array(born), numpy.array(died))
        ended += window is None
    assert ended > 50
