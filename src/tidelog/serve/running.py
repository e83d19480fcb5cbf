"""A server for an application on a port, until it is interrupted.

uvicorn reads HTTP by httptools, here with the limits that it lacks: clients cannot hold connections or memory by heads
of requests that do not end.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from tidelog.errors import Problem, UsageError
from tidelog.serve.access import LOOPBACK, ServerCertificate

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


_SECONDS_TO_END = 5
_LAST_PORT = 65_535
_SWITCH = 0.0005
"""Seconds after which a thread lets another one run. A request needs three turns: with Python's own 0.005, a point read
beside a commit could wait three times as long as it runs."""
_HEAPS = -8
"""The parameter M_ARENA_MAX of `mallopt`."""
_LARGEST_MESSAGE = 65_536
"""Bytes that a client may send over a WebSocket at once; no path expects any."""


def open_listener(host: str, port: int, has_tokens: bool) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one. Raise UsageError (E0696) for an address that cannot be
    used, or that others can reach although there are no tokens."""
    if not has_tokens and host not in LOOPBACK:
        hint = "add --token, or listen to 127.0.0.1"
        raise UsageError(Problem("E0696", f"everybody who reaches {host} could change the store", hint=hint))
    if not 0 <= port <= _LAST_PORT:  # The C library would take the lower 16 bits.
        hint = "use another --port, or --port 0 for a free one"
        raise UsageError(Problem("E0696", f"ports have numbers up to {_LAST_PORT}, found {port}", hint=hint))
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        reason = reason.partition(" (while attempting")[0]  # `create_server` adds the address, which is in the message.
        message = f"cannot listen to port {port} of {host}: {reason}"
        raise UsageError(Problem("E0696", message, hint="use another --port, or --port 0 for a free one")) from None
    # Connections take this on. asyncio would not set it for this socket, and each answer would wait 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address_of(listener: socket.socket, certificate: ServerCertificate | None = None) -> str:
    """Return the address of a socket, as clients write it."""
    host, port = listener.getsockname()[:2]
    scheme = "http" if certificate is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def run(application: Starlette, listener: socket.socket, certificate: ServerCertificate | None = None) -> None:
    """Serve until the process is interrupted, by TLS with a certificate. Requests under way may end within five
    seconds. An interrupt is how a server ends, and no error."""
    gc.freeze()  # Programs are hundreds of thousands of objects: each look at them all would hold up all requests.
    sys.setswitchinterval(_SWITCH)
    _share_heap()
    with suppress(KeyboardInterrupt):  # uvicorn raises it again after the end.
        server_for(application, certificate).run(sockets=[listener])


def _share_heap() -> None:
    """Let threads that begin from now on allocate from one heap, where the C library is that of GNU. By itself it gives
    heaps of their own to eight threads per core, each of which keeps the memory of the largest answer that its thread
    has made: the server would grow for hours. Python's lock lets hardly two threads allocate at once."""
    tune = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if tune is not None:
        tune(_HEAPS, 1)


def server_for(application: Starlette, certificate: ServerCertificate | None = None) -> uvicorn.Server:
    """Return a server of uvicorn: it writes its log as `uvicorn.error`, and none for each request."""
    config = uvicorn.Config(
        application,
        loop="uvloop",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        http=LimitedProtocol,
        ws=WebSocketProtocol,
        ws_max_size=_LARGEST_MESSAGE,
        ssl_certfile=None if certificate is None else certificate.chain,
        ssl_keyfile=None if certificate is None else certificate.key,
        ssl_keyfile_password=None if certificate is None else certificate.password,
    )
    return _EndingServer(config)


class _EndingServer(uvicorn.Server):
    """A server that ends streams without end before it waits for what is under way: the application of ASGI has a
    function for it, `state.end_streams`, if it has such streams."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        end: Callable[[], None] | None = getattr(self.config.app.state, "end_streams", None)  # type: ignore[union-attr]
        if end is not None:
            end()
        await super().shutdown(sockets)
