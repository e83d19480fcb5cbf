"""/update: updates by the protocol of SPARQL 1.1."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from tidelog.errors import Problem
from tidelog.rdf.sparql.words import words
from tidelog.rdf.store import Store
from tidelog.serve.answering import answered
from tidelog.serve.bodies import ServerLimits, base_of, graphs, operation
from tidelog.serve.problems import RequestError, bad_request

_GRAPHS = ("using-graph-uri", "using-named-graph-uri")


async def update(request: Request, store: Store, limits: ServerLimits) -> Response:
    """Run an update as one transaction, and return a response without a body.

    Raise what `Store.update` raises, and RequestError: E0692, E0693 (403) for LOAD, E0694 (415), E0695 (413).
    """
    text, parameters = await operation(request, limits, "update", "application/sparql-update")
    if text is None:
        raise bad_request("the request has no update", "send it as the parameter `update`; queries go to /sparql")
    chosen = graphs(parameters, _GRAPHS)
    found = [word for word in words(text) if not word.depth]
    if any(word.is_keyword("LOAD") for word in found):  # It would read the files of the server for anybody.
        hint = "send the triples to /store"
        raise RequestError(403, Problem("E0693", "the server does not run LOAD", hint=hint))
    if chosen and any(word.is_keyword("USING", "WITH") for word in found):
        hint = f"leave out {' and '.join(_GRAPHS)}, or USING and WITH"
        raise bad_request("both the request and its update name graphs", hint)
    await answered(request, lambda: store.update(text, base=base_of(request), timeout=limits.timeout, **chosen))
    return Response(status_code=204)
