"""Work that ends when nobody waits for it any more: another thread cancels it, and it raises at its next look.

A server gives each request a `Cancellation`. The thread that does the work is `cancelled_by` it, so that all looks of
the thread see it: between calls of kernels, and while it waits for a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.errors import LimitError, Problem
from tidelog.storage.room import resident, shown


class Cancellation:
    """The way to end the work of a thread from another one. While it lasts, the process may grow by `room` bytes, None
    for no limit."""

    def __init__(self, room: int | None = None) -> None:
        self.is_cancelled = False
        self._most = None if room is None else resident() + room
        self._room = room

    def cancel(self) -> None:
        """End the work at its next look."""
        self.is_cancelled = True

    def look(self) -> None:
        """Raise LimitError if the work was cancelled (E0509), or if the process has grown too much (E0503)."""
        if self.is_cancelled:
            message = "the work was cancelled: nobody waits for it any more"
            raise LimitError(Problem("E0509", message, hint="nothing has changed; ask again"))
        if self._most is not None and self._room is not None and resident() > self._most:
            message = f"out of memory: the process has {shown(resident())}, {shown(self._room)} more than before"
            hint = "nothing has changed; ask for less at a time, or raise the memory of a request"
            raise LimitError(Problem("E0503", message, hint=hint))


class _Here(threading.local):
    """The state of a thread."""

    cancellation: Cancellation | None = None


_here = _Here()


def cancellation_here() -> Cancellation | None:
    """Return that of the work of this thread, None without one."""
    return _here.cancellation


@contextmanager
def cancelled_by(cancellation: Cancellation) -> Iterator[None]:
    """Let a cancellation end the work of this thread inside the block."""
    before, _here.cancellation = _here.cancellation, cancellation
    try:
        yield
    finally:
        _here.cancellation = before
