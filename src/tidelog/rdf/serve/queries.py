"""/sparql: queries by the protocol of SPARQL 1.1."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tidelog.errors import Problem, ProgramError
from tidelog.rdf.serve.bodies import Parameters, ServerLimits, graphs, of_address, operation
from tidelog.rdf.serve.description import described
from tidelog.rdf.serve.media import ROWS, TRIPLES, TRUTH, accepted, written
from tidelog.rdf.serve.problems import bad_request
from tidelog.rdf.sparql.solutions import Solutions
from tidelog.rdf.sparql.words import is_query, is_update
from tidelog.rdf.store import Store

_FORMATS = {"SELECT": ROWS, "ASK": TRUTH, "CONSTRUCT": TRIPLES}
_GRAPHS = ("default-graph-uri", "named-graph-uri")


async def query(request: Request, store: Store, limits: ServerLimits) -> Response:
    """Return the answer to a query, or the description of the service for a GET without one.

    Raise ProgramError (E0664, with the place), UsageError, LimitError, and RequestError: E0692, E0694 (406, 415), E0695
    (413).
    """
    if request.method == "POST":
        text, parameters = await operation(request, limits, "query", "application/sparql-query")
    else:
        parameters = of_address(request)
        text = parameters.one("query")
        if text is None and not parameters.all("update"):
            return await run_in_threadpool(lambda: described(request, store.graphs()))
    if text is None:
        raise bad_request("the request has no query", "send it as the parameter `query`; updates go to /update by POST")
    return await run_in_threadpool(_answer, request, store, limits, text, parameters)


def _answer(request: Request, store: Store, limits: ServerLimits, text: str, parameters: Parameters) -> Response:
    if not is_query(text) and not is_update(text):  # `Store.query` would take it as the body of a rule.
        hint = "begin with SELECT, ASK, CONSTRUCT or DESCRIBE, behind declarations of prefixes"
        raise ProgramError(Problem("E0664", "the text is not a query in SPARQL", place="<query>", hint=hint))
    found = store.query(text, timeout=limits.timeout, **graphs(parameters, _GRAPHS))
    assert isinstance(found, Solutions)
    format = accepted(request, _FORMATS[found.form])
    return written(found.to_text, format)
