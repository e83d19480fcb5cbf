"""A server of a store of RDF for tests, on a free port, and a small client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from tests.rdf.stores import stored
from tests.serving import Address, Answered, running
from tidelog.rdf import Store
from tidelog.rdf.serve.application import application
from tidelog.serve.access import AccessToken
from tidelog.serve.requests import ServerLimits

EXAMPLE = "http://example.org/"
TRIG = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal .  :rex a :Dog ; :age 4 .
:one { :tom :likes :rex . }  :two { :tom :likes :tom . }"""
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Server(Address):
    """A running server with its store."""

    store: Store

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
    store = stored(text, "trig", prefix=EXAMPLE, rules="rdfs")
    with running(application(store, tuple(map(AccessToken.of, tokens)), limits), has_tokens=bool(tokens)) as address:
        yield Server(address, store)
