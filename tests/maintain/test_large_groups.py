"""The state of a large group that replaces its members."""

from __future__ import annotations

from math import inf

import numpy
import pytest

from tidelog.maintain.large_groups import Total

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
    total = Total("sum").changed(numpy.array(born), NONE).changed(NONE, numpy.array(died))
    assert total.value() == value
    assert total.size == len(born) - len(died)
    assert Total("sum").changed(numpy.array(born), numpy.array(died)) == total
