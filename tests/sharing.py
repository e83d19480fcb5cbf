"""Epochs on several threads, however little there is to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy
import pytest

from tidelog.kernels import calling
from tidelog.maintain import epoch, machine, threads


class Seen(list[int]):
    """The number of threads of each piece of work, and the tasks of the plans among them."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[int] = []


@contextmanager
def sharing(count: int, least: int = 1) -> Iterator[Seen]:
    """Inside, so many threads share all work that they can, from `least` rows or bindings on. Gives a list that gets
    the number of threads of each piece of work."""
    seen = Seen()
    together, share_plan = threads.together, threads.share_plan

    def counted(works, look, stop):  # type: ignore[no-untyped-def]  # as `together`
        seen.append(len(works))
        return together(works, look, stop)

    def noted(plan, lanes, ledgers, look):  # type: ignore[no-untyped-def]  # as `share_plan`
        seen.tasks.append(plan.task)
        share_plan(plan, lanes, ledgers, look)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "SHARED_FROM", least)
        patch.setattr(threads, "UPDATED_FROM", least)
        patch.setattr(threads, "OWNED", 0)
        patch.setattr(threads, "together", counted)
        patch.setattr(machine, "share_plan", noted)
        patch.setattr(epoch, "cores", lambda: count)
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
