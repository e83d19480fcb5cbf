"""Changes on their way to clients that follow them at their own pace, as server-sent events.

A feed keeps the last changes, and each client has a place in it. So a slow client costs nothing, and holds nobody up.
A client that is too far behind gets an event which says that changes are missing.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

SILENCE = 15.0
"""Seconds until a comment shows whether the client is still there."""
NOTHING = ": no change\n\n"
"""This comment."""


class FeedEntry(Protocol):
    """A change with its number, one more than that of the change before, and its size."""

    @property
    def number(self) -> int: ...
    @property
    def size(self) -> int: ...


Entry = TypeVar("Entry", bound=FeedEntry)


class Feed(Generic[Entry]):
    """The last changes of something, those after the one with the number `last`: `most` of them, of `most_size` in all,
    and the last one in any case. All threads may use it."""

    def __init__(self, last: int, most: int, most_size: int) -> None:
        self.last = last
        """The number of the last change."""
        self.followers = 0
        """Clients that follow the changes, for those who serve them to count."""
        self.has_ended = False
        """True once no more changes come, so that their streams end."""
        self._most = most
        self._most_size = most_size
        self._kept: deque[Entry] = deque()
        self._size = 0
        self._lock = threading.Lock()
        self._wake: set[Callable[[], None]] = set()

    def add(self, entry: Entry) -> None:
        """Add a change, and wake the clients that wait for one. After a gap, clients hear that changes are missing."""
        with self._lock:
            if entry.number != self.last + 1:
                self._kept.clear()
                self._size = 0
            self._keep(entry)
            self.last = entry.number
            wake = list(self._wake)
        for call in wake:
            call()

    def _keep(self, entry: Entry) -> None:
        self._kept.append(entry)
        self._size += entry.size
        while len(self._kept) > self._most or (self._size > self._most_size and len(self._kept) > 1):
            self._size -= self._kept.popleft().size

    def after(self, number: int, most: int) -> tuple[list[Entry], int]:
        """Return the first changes after one that are here, so many at `most`, and the number of the change from which
        on they follow each other without a gap."""
        with self._lock:
            first = self._kept[0].number if self._kept else self.last + 1
            start = max(0, number + 1 - first)
            return [self._kept[i] for i in range(start, min(start + most, len(self._kept)))], first - 1

    def end(self) -> None:
        """Let the streams of the changes end."""
        with self._lock:
            self.has_ended = True
            wake = list(self._wake)
        for call in wake:
            call()

    async def wait(self, number: int, seconds: float) -> bool:
        """Wait until there is a change after this one, for so many seconds at most; return True if there is one,
        or if no more come."""
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(arrived.set)

        with self._lock:
            if self.last > number or self.has_ended:
                return True
            self._wake.add(wake)
        try:
            await asyncio.wait_for(arrived.wait(), seconds)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._wake.discard(wake)
        return True


def event(name: str, data: str, id: str | None = None) -> str:
    """Return the text of an event with data of one line."""
    return f"event: {name}\n{'' if id is None else f'id: {id}{chr(10)}'}data: {data}\n\n"
