"""A server for tests, on a free port, and a small client."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette

from tidelog.serve.access import ServerCertificate
from tidelog.serve.running import address_of, open_listener, server_for

_DEADLINE = 30.0


@dataclass(frozen=True)
class Answered:
    """The response of a server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body."""
        return self.body.decode()

    @property
    def media_type(self) -> str:
        """The media type without parameters."""
        return self.headers.get("content-type", "").partition(";")[0]

    @property
    def code(self) -> str:
        """The code of a problem document, which may be about a program and have no hint."""
        assert self.media_type == "application/problem+json", self.text
        return str(json.loads(self.body)["code"])

    @property
    def problem(self) -> dict[str, Any]:
        """The body as a problem document."""
        assert self.media_type == "application/problem+json", self.text
        found: dict[str, Any] = json.loads(self.body)
        assert found["status"] == self.status
        assert found["hint"]
        return found


@dataclass(frozen=True)
class Address:
    """The address of a running server."""

    address: str

    def send(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Answered:
        """Send a request; `_` in names of headers stands for `-`."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=_DEADLINE)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body.encode() if isinstance(body, str) else body, given)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answered(response.status, found, response.read())
        finally:
            connection.close()


@contextmanager
def running(
    application: Starlette,
    *,
    port: int = 0,
    has_tokens: bool = False,
    certificate: ServerCertificate | None = None,
) -> Iterator[str]:
    """Run a server in a thread, on a free port by default; provide its address."""
    served = server_for(application, certificate)
    with open_listener("127.0.0.1", port, has_tokens) as listener:
        thread = threading.Thread(target=served.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            _wait(served)
            yield address_of(listener, certificate)
        finally:
            served.should_exit = True
            thread.join(_DEADLINE)
            assert not thread.is_alive()


def _wait(served: Any) -> None:
    end = time.monotonic() + _DEADLINE
    while not served.started:
        assert time.monotonic() < end
        time.sleep(0.01)
