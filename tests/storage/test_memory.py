"""Blocks of memory keep their contents, whatever has been done to them before."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.storage.memory import Block

SIZES = st.sampled_from([1, 100, 5_000, 100_000, 140_000, 300_000])
"""Below and above the size from which blocks are mapped."""


@given(SIZES, st.lists(st.tuples(st.booleans(), SIZES), max_size=8))
def test_a_block_keeps_its_contents_when_it_grows_and_is_zero_when_cleared(
    first: int, steps: list[tuple[bool, int]]
) -> None:
    block = Block(first)
    for number, (clears, size) in enumerate(steps, start=1):
        block.view(numpy.uint8, block.size)[:] = number
        expected = numpy.full(block.size, number, numpy.uint8)
        if clears:
            block.clear(size)
            expected = numpy.zeros(block.size, numpy.uint8)
        else:
            block.grow(size)
            expected = numpy.concatenate([expected, numpy.zeros(block.size - len(expected), numpy.uint8)])
        assert (block.view(numpy.uint8, block.size) == expected).all()


def test_a_small_block_that_was_large_keeps_its_contents() -> None:
    block = Block(5_000_000)
    block.clear(5_000)
    block.view(numpy.uint8, 100)[:] = 7
    block.grow(block.size + 1)
    assert (block.view(numpy.uint8, 100) == 7).all()


FAULTS = """
import os, resource
os.environ["NUMPY_MADVISE_HUGEPAGE"] = "0"  # one fault for each small page
import numpy
from tidelog.storage.memory import reuse_memory
{first}
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(6):
    numpy.ones(40_000_000, numpy.uint8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library has no mallopt")
def test_memory_that_is_used_again_is_not_touched_for_the_first_time() -> None:
    def faults(first: str) -> int:
        code = FAULTS.format(first=first)
        return int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)

    assert faults("reuse_memory()") * 3 < faults("")
