"""Changes as server-sent events, for clients that follow them at their own pace.

A feed keeps the last changes, and each client has a place in it. So a slow client costs nothing. A client that comes
back with `Last-Event-ID` gets the changes that it has missed, and one that has missed too many hears so and begins
anew.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import cached_property
from secrets import token_hex
from typing import Any

from starlette.concurrency import run_in_threadpool

_MOST = 1_000
"""Changes that a feed keeps."""
_MOST_ROWS = 1_000_000
"""Rows of these changes."""
_SILENCE = 15.0
"""Seconds until a comment shows whether the client is still there."""


@dataclass
class FeedEntry:
    """A change with its number, its number of rows, and the function that makes the data of its event."""

    number: int
    rows: int
    make: Callable[[], dict[str, Any]]

    @cached_property
    def data(self) -> str:
        """The data of the event, made when the first client needs them."""
        return json.dumps(self.make())


class Feed:
    """The last changes of something. Make it in the event loop; `add` is for all threads."""

    def __init__(self) -> None:
        self._run = token_hex(4)  # Numbers of another feed mean nothing here.
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._entries: deque[FeedEntry] = deque()
        self._rows = 0
        self._dropped = 0
        self._changed = asyncio.Event()
        self.number = 0
        """The number of the last change, 0 before the first one."""

    def add(self, rows: int, make: Callable[[], dict[str, Any]]) -> None:
        """Add a change of so many rows; `make` makes the data of its event."""
        with self._lock:
            self.number += 1
            self._entries.append(FeedEntry(self.number, rows, make))
            self._rows += rows
            while len(self._entries) > _MOST or self._rows > _MOST_ROWS:
                dropped = self._entries.popleft()
                self._rows -= dropped.rows
                self._dropped = dropped.number
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        before, self._changed = self._changed, asyncio.Event()
        before.set()

    def since(self, number: int) -> list[FeedEntry] | None:
        """Return the changes behind the one with a number, None if some of them are not kept."""
        with self._lock:
            if not self._dropped <= number <= self.number:
                return None
            return [entry for entry in self._entries if entry.number > number]

    def named(self, number: int) -> str:
        """Return the id of the event of a change."""
        return f"{self._run}-{number}"

    def place(self, id: str) -> int | None:
        """Return the number of a change by the id of its event, None for an id of another feed."""
        run, _, number = id.partition("-")
        return int(number) if run == self._run and number.isascii() and number.isdigit() else None

    async def events(self, begin: Callable[[], tuple[dict[str, Any], int]], last: str | None) -> AsyncIterator[str]:
        """Yield the events for a client whose last event has the id `last`, None for a new one.

        `begin` returns the present state and the number of its last change, in a thread. It is the event `rows`, at the
        beginning and again behind the event `lost`, for a client that has missed changes that are not kept. Each change
        is an event `change`.
        """
        number = None if last is None else self.place(last)
        has_lost = last is not None
        while True:
            changed = self._changed
            found = None if number is None else self.since(number)
            if found is None:
                if has_lost:
                    yield event("lost", json.dumps({"hint": "changes are missing; the rows follow again"}))
                rows, begun = await run_in_threadpool(begin)
                yield event("rows", json.dumps(rows), self.named(begun))
                number, has_lost = begun, True
                continue
            for entry in found:
                number = entry.number
                yield event("change", await run_in_threadpool(getattr, entry, "data"), self.named(entry.number))
            if not found:
                try:
                    await asyncio.wait_for(changed.wait(), _SILENCE)
                except TimeoutError:
                    yield ": no change\n\n"


def event(name: str, data: str, id: str | None = None) -> str:
    """Return the text of an event with data of one line."""
    return f"event: {name}\n{'' if id is None else f'id: {id}{chr(10)}'}data: {data}\n\n"
