"""Clients that follow `tidelog serve`, in a process of their own: what they compare takes no time from others that are
timed."""

from __future__ import annotations

import http.client
import threading
import time
from contextlib import suppress
from typing import Any

from benchmarks.harness import BenchmarkError
from benchmarks.server.clients import DEADLINE, Asking
from tidelog.client.exchange import events_of

SUBSCRIBERS = 5
_SILENCE = 3.0
_BETWEEN = 10.0
"""Seconds between two comparisons of a subscriber, at least: each reads the whole view, which no other client does."""


def follow(port: int, last: Any, ended: Any, answers: Any) -> None:
    """Replay the changes of a view with all subscribers until the `last` epoch has come and the run has `ended`. Then
    put the number of comparisons into `answers`, or the text of an error."""
    subscribers = Subscribers(port, last, ended)
    work = [threading.Thread(target=subscribers.follow, args=(i,), daemon=True) for i in range(SUBSCRIBERS)]
    stalled = threading.Thread(target=subscribers.stall, daemon=True)
    for each in (*work, stalled):
        each.start()
    for each in work:
        each.join()
    answers.put(subscribers.errors[0] if subscribers.errors else subscribers.compared)


class Subscribers:
    """The subscribers of a server."""

    def __init__(self, port: int, last: Any, ended: Any) -> None:
        self._asking = Asking(port)
        self._last, self._ended = last, ended
        self.compared = 0
        self.errors: list[str] = []

    def follow(self, number: int) -> None:
        """Replay the changes of a view from its beginning. Now and then, and at the end, compare their result with the
        view of the same epoch."""
        try:
            self._follow(number)
        except BaseException as error:
            self.errors.append(f"subscriber {number}: {error}")
            self._ended.set()

    def _follow(self, number: int) -> None:
        at, state = self._asking.rows("counter")
        checked = heard = time.monotonic()
        view: tuple[int, set[Any]] | None = None
        while not self._is_over(at):
            if time.monotonic() > heard + DEADLINE:
                raise BenchmarkError(f"it hears of nothing behind epoch {at}")
            try:
                # It ends where nothing happens for some time, and asks again.
                connection = http.client.HTTPConnection("127.0.0.1", self._asking.port, timeout=_SILENCE)
                connection.request("GET", "/v1/changes?relation=counter", headers={"Last-Event-ID": str(at)})
                for name, data in events_of(line.decode().rstrip() for line in connection.getresponse()):
                    if name == "missed" or (name == "change" and data["epoch"] != at + 1):
                        raise BenchmarkError(f"at epoch {at} came {name} of {data['epoch']}")
                    if name != "change":
                        continue
                    at, heard = data["epoch"], time.monotonic()
                    _apply(state, data["changes"].get("counter", {"inserted": [], "deleted": []}))
                    if view is None and time.monotonic() > checked + _BETWEEN + number:
                        view, checked = self._asking.rows("counter"), time.monotonic()
                    if view is not None and at == view[0]:
                        self._compare(state, *view)
                        view = None
                    if self._is_over(at):
                        break
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)
        epoch, rows = self._asking.rows("counter")
        if (epoch, rows) != (at, state):
            raise BenchmarkError(f"its state at the end, epoch {at}, is not the view at epoch {epoch}")

    def _is_over(self, at: int) -> bool:
        return bool(self._ended.is_set() and at >= self._last.value)

    def _compare(self, state: set[Any], epoch: int, rows: set[Any]) -> None:
        if rows != state:
            raise BenchmarkError(f"the view at epoch {epoch} is not what its changes make")
        self.compared += 1

    def stall(self) -> None:
        """Follow, and read nothing."""
        connection = self._asking.connection()
        with suppress(OSError):  # of a server that is killed at this moment
            connection.request("GET", "/v1/changes?since=0")
        self._ended.wait()
        connection.close()


def _apply(state: set[Any], change: Any) -> None:
    inserted, deleted = (set(map(tuple, change[key])) for key in ("inserted", "deleted"))
    if inserted & state or not deleted <= state:
        raise BenchmarkError("a change came twice")
    state -= deleted
    state |= inserted
