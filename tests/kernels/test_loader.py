"""Machine code that is loaded without numba, beside a program that uses numba for its own functions."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy
import pytest

from tidelog.kernels import checked
from tidelog.kernels.remembered import fill_slots

pytestmark = pytest.mark.skipif(checked.CHECKING, reason="nothing is compiled")

BESIDE = """
import gc, sys
import numpy

def ours():
    from tidelog.storage.closure import Closure
    graph = Closure()
    graph.build([numpy.array([[i, i + 1] for i in range(500)])])  # Kernels that make arrays and return them.
    assert len(graph) == 500 * 501 // 2
    return graph

def theirs():
    import numba

    @numba.njit
    def halves(values, by):
        if by == 0:
            raise ZeroDivisionError("by nothing")
        return values // by, numpy.zeros(1_000), (str(by), len(values))

    for _ in range(100):
        found, zeros, said = halves(numpy.arange(10), 2)
        assert (found.tolist(), zeros.sum(), said) == ([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], 0.0, ("2", 10))
    try:
        halves(numpy.arange(10), 0)
    except ZeroDivisionError as error:
        assert str(error) == "by nothing"
    else:
        raise AssertionError
    return found, zeros

ways = {"ours": ours, "theirs": theirs}
kept = []
for name in sys.argv[1:]:
    kept.append(ways[name]())
    print(name, "numba" in sys.modules)
kept.clear()
gc.collect()
"""


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["ours", "theirs", "ours"], "ours False theirs True ours True"),
        (["theirs", "ours", "theirs"], "theirs True ours True theirs True"),
    ],
    ids=["ours first", "theirs first"],
)
@pytest.mark.parametrize("malloc", ["pymalloc", "malloc_debug"])
def test_kernels_and_functions_of_numba_in_one_process(order: list[str], expected: str, malloc: str) -> None:
    """With a checking allocator, which ends a process that releases what another allocator has given."""
    environment = os.environ | {"TIDELOG_KERNELS": "compiled", "PYTHONMALLOC": malloc}
    command = [sys.executable, "-c", BESIDE, *order]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, expected.split()), done.stderr


@pytest.mark.parametrize("keys", [numpy.asfortranarray, lambda array: array[::2], lambda array: array[:, :1]])
def test_an_array_in_pieces_is_refused(keys: object) -> None:
    array = numpy.arange(20).reshape(10, 2)
    slots = numpy.zeros(64, numpy.int32)
    with pytest.raises(ValueError, match=r"rows do not lie one behind the other.*keys"):
        fill_slots(keys(array), slots, 5)  # type: ignore[operator]
    assert not slots.any()
    fill_slots(array, slots, 5)
    assert sorted(slots[slots > 0]) == [1, 2, 3, 4, 5]
