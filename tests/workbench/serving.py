"""A server of a database for tests, on a free port, and a small client."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from tests.serving import Address, Answered, running
from tidelog import Database
from tidelog.client.exchange import events_of
from tidelog.serve.access import AccessToken, ServerCertificate
from tidelog.serve.requests import ServerLimits
from tidelog.store import StoredDatabase
from tidelog.workbench.application import application
from tidelog.workbench.service import Service

PROGRAM = """
.type Point = [x: number, y: number]
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl mixed(s: symbol, f: float, u: unsigned, p: Point)
base: path(x, y) :- edge(x, y).
step: path(x, z) :- path(x, y), edge(y, z).
"""
EDGES = [[1, 2], [2, 3], [3, 4]]
_DEADLINE = 30.0


@dataclass(frozen=True)
class Server(Address):
    """A running server with its database."""

    db: Database

    def read(self, path: str, **parameters: Any) -> Any:
        """Return the answer to a GET; lists of parameters are JSON."""
        given = {name: json.dumps(each) if isinstance(each, list) else each for name, each in parameters.items()}
        answer = self.send("GET", f"{path}?{urlencode(given, quote_via=quote)}")
        assert answer.status == 200, answer.text
        return json.loads(answer.body)

    def post(self, path: str, body: Any, **headers: str) -> Answered:
        """Send a body as JSON."""
        return self.send("POST", path, json.dumps(body), Content_Type="application/json", **headers)

    def change(self, **changes: Any) -> Any:
        """Make a transaction; return the answer, with the rows that changed."""
        answer = self.post("/v1/transactions?change=rows", changes)
        assert answer.status == 200, answer.text
        return json.loads(answer.body)

    @contextmanager
    def events(self, query: str = "", **headers: str) -> Iterator[Iterator[tuple[str, Any]]]:
        """Follow the changes; provide the name and the data of each event."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=_DEADLINE)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("GET", f"/v1/changes{query}", headers=given)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            yield events_of(line.decode().rstrip() for line in response)
        finally:
            connection.close()


def until(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, or for some time; return True if it holds."""
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@contextmanager
def serving(
    folder: Path | None = None,
    *tokens: str,
    limits: ServerLimits | None = None,
    read_only: bool = False,
    mcp: Literal["read", "write"] | None = None,
    certificate: ServerCertificate | None = None,
) -> Iterator[Server]:
    """Serve the paths of a small graph, in memory or in the folder of a store."""
    with Database() if folder is None else StoredDatabase(folder, read_only=read_only) as db:
        if not db.relations:
            db.load(PROGRAM)
            db.insert("edge", EDGES)
            db.commit()
        service = Service(db, limits, read_only=read_only)
        made = application(service, tuple(map(AccessToken.of, tokens)), mcp=mcp)
        with running(made, has_tokens=bool(tokens), certificate=certificate) as address:
            yield Server(address, db)
