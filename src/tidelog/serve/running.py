"""A server for an application on a port, until it is interrupted."""

from __future__ import annotations

import ctypes
import gc
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from starlette.applications import Starlette

from tidelog.errors import Problem, UsageError
from tidelog.serve.access import LOOPBACK
from tidelog.serve.protocol import LimitedProtocol, WebSocketProtocol
from tidelog.serve.tls import ServerCertificate

_SECONDS_TO_END = 5
_LAST_PORT = 65_535
_SWITCH = 0.0005
"""Seconds after which a thread lets another one run. A request needs three turns: with Python's own 0.005, a point read
beside a commit could wait three times as long as it runs."""
_HEAPS = -8
"""The parameter M_ARENA_MAX of `mallopt`."""
_LARGEST_MESSAGE = 65_536
"""Bytes that a client may send over a WebSocket at once; no path expects any."""


def listening(host: str, port: int, has_tokens: bool) -> socket.socket:
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
        """End the server."""
        end: Callable[[], None] | None = getattr(self.config.app.state, "end_streams", None)  # type: ignore[union-attr]
        if end is not None:
            end()
        await super().shutdown(sockets)
