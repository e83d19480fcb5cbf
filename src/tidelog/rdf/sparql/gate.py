"""`Gate`: what many threads read at a time, and one thread changes while nobody reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """A lock for many threads that share something, or for one that has it alone.

    A thread that waits to be alone comes before those that arrive later, so that readers do not starve it.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._sharing = 0
        self._waiting = 0
        self._is_taken = False

    def enter(self, *, waits: bool = True) -> bool:
        """Share from now on until `leave`. Return False without it if `waits` is False and a thread is alone, or waits
        for that."""
        with self._condition:
            if not waits and (self._is_taken or self._waiting):
                return False
            self._condition.wait_for(lambda: not (self._is_taken or self._waiting))
            self._sharing += 1
            return True

    def leave(self) -> None:
        """Share no longer."""
        with self._condition:
            self._sharing -= 1
            self._condition.notify_all()

    @contextmanager
    def alone(self, seconds: float | None = None) -> Iterator[bool]:
        """Be alone inside the block, with True. With False, others have not left within some seconds."""
        with self._condition:
            self._waiting += 1
            try:
                found = self._condition.wait_for(lambda: not (self._is_taken or self._sharing), seconds)
                self._is_taken |= found
            finally:
                self._waiting -= 1
                self._condition.notify_all()
        try:
            yield found
        finally:
            if found:
                with self._condition:
                    self._is_taken = False
                    self._condition.notify_all()
