"""/sparql: queries by the protocol of SPARQL 1.1."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tidelog.errors import Problem, ProgramError
from tidelog.rdf.serve.description import described
from tidelog.rdf.serve.evaluators import AskedQuery, Evaluators, answer
from tidelog.rdf.serve.formats import ROWS, TRIPLES, TRUTH
from tidelog.rdf.sparql.words import is_query
from tidelog.rdf.store import Store
from tidelog.serve.bodies import ServerLimits, base_of, graphs, of_address, operation
from tidelog.serve.media import MediaFormat, accepted
from tidelog.serve.problems import RequestError, bad_request

_FORMATS = {"SELECT": ROWS, "ASK": TRUTH, "CONSTRUCT": TRIPLES}
_GRAPHS = ("default-graph-uri", "named-graph-uri")


async def query(request: Request, store: Store, limits: ServerLimits, evaluators: Evaluators) -> Response:
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
    if not is_query(text):
        hint = "begin with SELECT, ASK, CONSTRUCT or DESCRIBE, behind declarations of prefixes"
        raise ProgramError(Problem("E0664", "the text is not a query in SPARQL", place="<query>", hint=hint))
    formats, refused = _formats(request)
    names = {form: formats[form].name if form in formats else None for form in _FORMATS}
    base = base_of(request)
    chosen = {"rows": limits.rows, "base": base, **graphs(parameters, _GRAPHS)}
    options = {"base_iri": base, "prefixes": {name: iri for name, iri in store.prefixes.items() if iri}}
    asked = AskedQuery(text, options, lambda taking: store.answering(text, names, taking, **chosen), formats, refused)
    return await answer(request, evaluators, asked)


def _formats(request: Request) -> tuple[dict[str, MediaFormat], dict[str, RequestError]]:
    """Return the formats that the client accepts by the form of the answer, and the errors about forms without one.
    Raise RequestError (E0692) for a header that cannot be read."""
    found, refused = {}, {}
    for form, formats in _FORMATS.items():
        try:
            found[form] = accepted(request, formats)
        except RequestError as error:
            if error.status != 406:
                raise
            refused[form] = error
    return found, refused
