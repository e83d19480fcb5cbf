"""Subscribers of a server: each hears of every epoch once, in a thread that connects again where it has to."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx

from tidelog.client.exchange import Exchange, events_of
from tidelog.client.relations import RemoteChange, RemoteRelationChange
from tidelog.errors import TidelogError

_LOGGER = logging.getLogger("tidelog")
_SECONDS_BETWEEN = (0.1, 0.3, 1.0, 3.0)
"""Seconds until the client tries to connect again; the last ones over and over."""


class RemoteFollower:
    """Calls a function with the changes of a relation after the epoch `last`, until `end`.

    The function gets a `RemoteRelationChange`. Where the server does not keep what is missing, `missed` is called with
    the first and the last epoch, and the function then hears of the epochs behind these.
    """

    def __init__(
        self,
        exchange: Exchange,
        relation: str,
        last: int,
        callback: Callable[[RemoteRelationChange], object],
        missed: Callable[[int, int], object],
        change_of: Callable[..., RemoteChange],
    ) -> None:
        self._exchange = exchange
        self._relation = relation
        self.last = last
        """The last epoch that the function has heard of."""
        self._callback = callback
        self._missed = missed
        self._change_of = change_of
        self._ended = threading.Event()
        self._answer: httpx.Response | None = None
        self._thread = threading.Thread(target=self._run, name=f"changes of {relation}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Hear of no more changes."""
        self._ended.set()
        answer = self._answer
        if answer is not None:
            # The thread waits for bytes. It would not notice that another one closes the socket.
            connection = answer.extensions["network_stream"].get_extra_info("socket")
            with suppress(OSError):  # It has ended by itself.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _run(self) -> None:
        tries = 0
        while not self._ended.is_set():
            try:
                for name, data in self._events():
                    if self._ended.is_set():
                        return
                    tries = 0
                    self._hear(name, data)
            except TidelogError as error:
                if error.code != "E0699":
                    if not self._ended.is_set():
                        _LOGGER.error("the changes of %s end: %s", self._relation, error)
                    return
            except (httpx.HTTPError, httpx.StreamError):
                _LOGGER.info("the connection for changes of %s has ended", self._relation)
            self._ended.wait(_SECONDS_BETWEEN[min(tries, len(_SECONDS_BETWEEN) - 1)])
            tries += 1

    def _events(self) -> Iterator[tuple[str, Any]]:
        parameters = {"since": str(self.last), "relation": self._relation}
        with self._exchange.stream("/v1/changes", parameters) as answer:
            self._answer = answer
            try:
                if not self._ended.is_set():
                    yield from events_of(answer.iter_lines())
            finally:
                self._answer = None

    def _hear(self, name: str, data: Any) -> None:
        if name == "missed":
            self._call(self._missed, data["from"], data["to"])
        elif name == "change":
            change = self._change_of(data, rules=data.get("rules", False))
            if self._relation in change:
                self._call(self._callback, change[self._relation])
        self.last = data["epoch"]

    def _call(self, function: Callable[..., object], *values: Any) -> None:
        try:
            function(*values)
        except Exception as error:
            _LOGGER.error("a subscriber of %s has failed", self._relation, exc_info=error)
