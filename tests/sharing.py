"""Bootstraps on several threads, however little there is to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy
import pytest

from tidelog.kernels import calling
from tidelog.maintain import threads
from tidelog.maintain.strategies import rows


@contextmanager
def sharing(count: int) -> Iterator[list[int]]:
    """Inside, so many threads share all work that they can. Gives a list that gets the number of threads of each piece
    of work."""
    seen: list[int] = []
    together = threads.together

    def counted(works, look, stop):  # type: ignore[no-untyped-def]  # as `together`
        seen.append(len(works))
        return together(works, look, stop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "SHARED_FROM", 1)
        patch.setattr(threads, "together", counted)
        patch.setattr(rows, "cores", lambda: count)
        yield seen


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Inside, kernels run in Python."""

    def call(kernel: calling.Kernel, *arguments: object) -> object:
        with numpy.errstate(all="ignore"):
            return kernel.plain(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calling.Kernel, "__call__", call)
        yield


@contextmanager
def interleaved() -> Iterator[None]:
    """Inside, kernels run in Python, whose threads take turns after a few bytecodes: between a look at a slot and
    filling it, for example."""
    before = sys.getswitchinterval()
    with plain_kernels():
        sys.setswitchinterval(1e-6)
        try:
            yield
        finally:
            sys.setswitchinterval(before)
