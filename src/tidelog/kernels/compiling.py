"""Compiling and loading a kernel: it tells the user, looks at limits, and counts as a step of a profile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import inf
from time import monotonic, monotonic_ns
from typing import Any


class _Here(threading.local):
    """The state of a thread."""

    look: Callable[[], object] | None = None
    passed: Callable[[int], object] | None = None
    is_loading = False


_here = _Here()
LOGGER = logging.getLogger("tidelog.kernels")
_PATIENCE = 1.0
"""Seconds."""
_since: list[float] = []
"""The time at which this process began to compile, or `inf` when it has said so; empty before."""
_steps: list[Callable[[], AbstractContextManager[object]]] = [nullcontext]


@contextmanager
def between_kernels(look: Callable[[], object]) -> Iterator[None]:
    """Call `look` inside the block, in this thread, before each kernel that has to be compiled. An exception of `look`
    ends the call of a kernel that needs that one; the next call compiles the missing kernels."""
    before = _here.look
    _here.look = look
    try:
        yield
    finally:
        _here.look = before


@contextmanager
def hearing_of_loads(passed: Callable[[int], object]) -> Iterator[None]:
    """Call `passed` inside the block, in this thread, with the nanoseconds that it took to compile or load a kernel."""
    before = _here.passed
    _here.passed = passed
    try:
        yield
    finally:
        _here.passed = before


def count_as(step: Callable[[], AbstractContextManager[object]]) -> None:
    """Let kernels be compiled and loaded inside of what `step` returns."""
    _steps[:] = [step]


def loading(compile: Callable[..., Any], *arguments: Any) -> Any:
    """Compile or load a kernel, with those that it calls, and say how long that took."""
    if _here.is_loading:
        return compile(*arguments)
    started, _here.is_loading = monotonic_ns(), True
    try:
        with _steps[0]():
            return compile(*arguments)
    finally:
        _here.is_loading = False
        if _here.passed is not None:
            _here.passed(monotonic_ns() - started)


def before_compiling() -> None:
    """Say once what takes so long, if the first kernel was compiled a second ago; call what `between_kernels` has set
    in this thread."""
    now = monotonic()
    if not _since:
        _since.append(now)
    elif now > _since[0] + _PATIENCE:
        _since[0] = inf
        LOGGER.warning("tidelog compiles its kernels, some 20 s once on a machine; `tidelog warm` compiles all")
    if _here.look is not None:
        _here.look()
