"""HTTP as uvicorn reads it by httptools, with the limits that it lacks: clients cannot hold connections or memory by
heads of requests that do not end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

SECONDS = 15.0
"""A head of a request has to come in this time, and at most twice as many."""
LARGEST_HEAD = 65_536
"""Bytes of a head at most, or between two parts of a body, where a client could send extensions and trailers."""
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class LimitedProtocol(HttpToolsProtocol):
    """A connection to a client."""

    _timer: asyncio.TimerHandle | None = None
    _before: object = None
    _bytes = 0
    """Received since the last end of a head, or the last part of a body."""
    _is_head = True
    _requests: Sequence[RequestResponseCycle] = ()
    """The requests without an answer yet, and perhaps others. A client may send several before it gets an answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look after the connection."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        self._end()
        super().connection_lost(exc)
        self._stop_looking()

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to another protocol, which has limits of its own, if it waits for no answer."""
        if any(not each.response_complete for each in self._requests):
            self.send_400_response("A WebSocket cannot begin before the last answer has ended.")
            return
        self._stop_looking()
        super().handle_websocket_upgrade()

    def _stop_looking(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        """Close the connection if no request has begun since the last look, and none is under way."""
        is_waiting = all(each.response_complete for each in self._requests)
        if is_waiting and self._before is self.scope:
            self.transport.close()
            return
        self._before = self.scope
        self._timer = self.loop.call_later(SECONDS, self._look)

    # --- what the parser finds -------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        self._bytes += len(data)
        super().data_received(data)
        if self._bytes > LARGEST_HEAD and not self.transport.is_closing():
            self._end()
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, and close the connection."""
        self._end()
        super().send_400_response(msg)

    def _end(self) -> None:
        """Let the answers under way know that nobody waits for them: they would write to a closed connection."""
        for request in self._requests:
            if not request.response_complete:
                request.disconnected = True
                request.message_event.set()
        self.pipeline.clear()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._is_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; leave out those that follow a body, which nobody asks for."""
        if self._is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """End a head. Raise ValueError, for the parser, if it names no host or several: who may ask depends on it."""
        if sum(name == b"host" for name, _ in self.headers) != 1 and self.parser.get_http_version() != "1.0":
            raise ValueError("one header Host is needed")
        self._is_head, self._bytes = False, 0
        super().on_headers_complete()
        if self.cycle is not None:  # It is None where a WebSocket begins.
            self._requests = [*(each for each in self._requests if not each.response_complete), self.cycle]

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._bytes = 0
        super().on_body(body)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """A connection to a client that asks for a WebSocket."""

    def handle_parser_exception(self) -> None:
        """Close a connection with wrong frames. uvicorn expects none before the request is answered."""
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
        else:
            self.disconnected = True
            self.transport.close()
