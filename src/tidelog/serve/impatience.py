"""Connections whose client does not send the head of a request: they are closed, so that they take no place."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 15.0


class ImpatientProtocol(H11Protocol):
    """HTTP of uvicorn, which by itself waits without end for the head of a request. A head has `SECONDS`, and at most
    twice as many."""

    _timer: asyncio.TimerHandle | None = None
    _before: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look after the connection."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        """Close the connection if no request has begun since the last look, and none is under way."""
        is_waiting = self.conn.their_state is h11.IDLE
        if is_waiting and self._before is self.scope:
            self.transport.close()
            return
        self._before = self.scope
        self._timer = self.loop.call_later(SECONDS, self._look)
