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
from urllib.parse import quote, urlencode, urlsplit

from tidelog.rdf import Store, connect
from tidelog.rdf.serve.application import application
from tidelog.serve.access import AccessToken
from tidelog.serve.bodies import ServerLimits
from tidelog.serve.running import address_of, listening, server_for

EXAMPLE = "http://example.org/"
TRIG = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal .  :rex a :Dog ; :age 4 .
:one { :tom :likes :rex . }  :two { :tom :likes :tom . }"""
FORM = "application/x-www-form-urlencoded"
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
    def problem(self) -> dict[str, Any]:
        """The body as a problem document."""
        assert self.media_type == "application/problem+json", self.text
        found: dict[str, Any] = json.loads(self.body)
        assert found["status"] == self.status
        assert found["hint"]
        return found


@dataclass(frozen=True)
class Server:
    """A running server with its store."""

    address: str
    store: Store

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

    def ask(self, query: str, accept: str | None = None, **parameters: str) -> Answered:
        """Send a query by GET."""
        headers = {} if accept is None else {"Accept": accept}
        given = {name.replace("_", "-"): value for name, value in parameters.items()}
        return self.send("GET", f"/sparql?{urlencode({'query': query, **given}, quote_via=quote)}", **headers)

    def update(self, text: str, **headers: str) -> Answered:
        """Send an update as a body."""
        return self.send("POST", "/update", text, Content_Type="application/sparql-update", **headers)

    def rows(self, query: str, **parameters: str) -> list[tuple[str, ...]]:
        """Return the answer to a query, without the namespace of the examples."""
        answer = self.ask(query, "application/sparql-results+json", **parameters)
        assert answer.status == 200, answer.text
        found = json.loads(answer.body)
        names = found["head"]["vars"]
        return [
            tuple(row[name]["value"].removeprefix(EXAMPLE) for name in names) for row in found["results"]["bindings"]
        ]


@contextmanager
def serving(text: str = TRIG, *tokens: str, limits: ServerLimits | None = None) -> Iterator[Server]:
    """Serve the triples of a text and what follows by RDFS."""
    store = connect(rules="rdfs")
    store.prefixes[""] = EXAMPLE
    store.insert(text, "trig")
    store.commit()
    served = server_for(application(store, tuple(map(AccessToken.of, tokens)), limits))
    with listening("127.0.0.1", 0, bool(tokens)) as listener:
        thread = threading.Thread(target=served.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            _wait(served)
            yield Server(address_of(listener), store)
        finally:
            served.should_exit = True
            thread.join(_DEADLINE)
            assert not thread.is_alive()


def _wait(served: Any) -> None:
    end = time.monotonic() + _DEADLINE
    while not served.started:
        assert time.monotonic() < end
        time.sleep(0.01)
