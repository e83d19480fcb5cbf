"""Calls before a kernel is compiled: a notice for the user, and looks at limits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Here(threading.local):
    """The state of a thread."""

    look: Callable[[], object] | None = None


_here = _Here()
_notices: list[Callable[[], object]] = []


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


def tell(notice: Callable[[], object]) -> None:
    """Let `notice` be called before this process compiles its first kernel; one that is loaded does not count."""
    _notices[:] = [notice]


def before_compiling() -> None:
    """Call the function of `tell`, once, and what `between_kernels` has set in this thread."""
    while _notices:
        _notices.pop()()
    if _here.look is not None:
        _here.look()
