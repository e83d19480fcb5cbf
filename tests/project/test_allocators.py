"""The allocators of tests see every request for memory, of NumPy, of kernels and of Arrow."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pyarrow as pa
import pytest

from tests.allocators import ON_LINUX, asked
from tidelog.kernels.layout import ENTRIES, FAMILIES, SAVED
from tidelog.kernels.lists import compacted

LISTS = numpy.zeros((FAMILIES + SAVED, 1, 3), numpy.int64)


def in_a_kernel() -> object:
    return compacted(numpy.zeros(0, numpy.int32), LISTS, numpy.zeros(ENTRIES, numpy.int64))


REQUESTS: dict[str, Callable[[], object]] = {
    "numpy.empty": lambda: numpy.empty(1_000),
    "numpy.zeros": lambda: numpy.zeros(1_000),
    "pyarrow.array": lambda: pa.array(range(1_000)),
    "an array in a kernel": in_a_kernel,
}
SEEN = [name for name in REQUESTS if name.startswith("numpy") or ON_LINUX]


@pytest.mark.parametrize("name", SEEN)
def test_it_fails_where_it_is_not_granted(name: str) -> None:
    sizes: list[int] = []
    REQUESTS[name]()

    def small(size: int) -> bool:
        sizes.append(size)
        return size < 64

    with asked(small), pytest.raises(MemoryError):
        REQUESTS[name]()
    assert max(sizes) >= 64
    REQUESTS[name]()


@pytest.mark.parametrize("name", SEEN)
def test_it_succeeds_where_it_is_granted(name: str) -> None:
    with asked(lambda size: True):
        kept = REQUESTS[name]()
    assert kept is not None
