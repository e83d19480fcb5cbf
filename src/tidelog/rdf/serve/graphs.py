"""/store: the Graph Store protocol of SPARQL 1.1, over the asserted triples of one graph at a time.

`?default` and `?graph=IRI` name the graph, or the address below /store is its IRI. `urn:tidelog:inferred` has what
follows, to read only. A graph exists while it has triples.
"""

from __future__ import annotations

from functools import partial
from secrets import token_hex

from starlette.requests import Request
from starlette.responses import Response

from tidelog.errors import Problem, UsageError
from tidelog.rdf.formats import INFERRED
from tidelog.rdf.quads import DEFAULT
from tidelog.rdf.reader import check_graph
from tidelog.rdf.serve.formats import READ, TRIPLES, written
from tidelog.rdf.store import Store
from tidelog.serve.answering import answered
from tidelog.serve.bodies import MULTIPART, ServerLimits, body, of_address, parts
from tidelog.serve.media import accepted, content_type, unsupported
from tidelog.serve.problems import RequestError, bad_request

PATH = "/store"


async def graph_store(request: Request, store: Store, limits: ServerLimits) -> Response:
    """Read a graph (GET), replace it (PUT), add to it (POST) or delete it (DELETE), in one transaction.

    Raise DataError with the place in the body, and RequestError: E0669 (404), E0692, E0694 (406, 415), E0695 (413).
    """
    graph = _graph(request)
    if request.method in ("GET", "HEAD"):
        return await answered(request, lambda: _read(request, store, graph))
    if graph == INFERRED:
        hint = "change the triples from which these follow"
        raise UsageError(Problem("E0669", f"the graph {INFERRED} has what follows, and only that", hint=hint))
    if request.method == "DELETE":
        return await answered(request, lambda: _delete(store, graph))
    is_form = request.method == "POST" and content_type(request) == MULTIPART
    names = {each.media_type: each.name for each in READ}
    if not is_form and content_type(request) not in names:
        raise unsupported(content_type(request), [*names, MULTIPART])
    data = await body(request, limits)
    texts = parts(request, data) if is_form else [(content_type(request), data)]
    wrong = next((kind for kind, _ in texts if kind not in names), None)
    if wrong is not None:
        raise unsupported(wrong, list(names))
    given = [(text, names[kind]) for kind, text in texts]
    created = await answered(request, lambda: _write(store, graph, given, request.method == "PUT"))
    headers = {"Location": graph} if created else {}
    return Response(status_code=201 if created else 204, headers=headers)


def _graph(request: Request) -> str:
    """Return the name of the graph that a request is about: a new one for a POST that names none."""
    if request.url.path != PATH:
        return _checked(str(request.url.replace(query="")))
    parameters = of_address(request)
    given, defaults = parameters.one("graph"), parameters.all("default")
    if given is not None and not defaults:
        return _checked(given)
    if defaults and given is None:
        return DEFAULT
    if request.method == "POST" and given is None:
        return _checked(f"{request.url.replace(query='')}/{token_hex(8)}")
    raise bad_request("the request names no graph, or two", "send `?default`, or `?graph=` with an IRI")


def _checked(name: str) -> str:
    if name.startswith("_:"):
        raise bad_request(f"a request cannot name the graph {name}", "use an IRI")
    check_graph(name)
    return name


def _exists(store: Store, graph: str) -> bool:
    return graph in (DEFAULT, INFERRED) or graph in store.graphs()


def _unknown(graph: str) -> RequestError:
    hint = "check the name; graphs without triples are not kept"
    return RequestError(404, Problem("E0669", f"there is no graph {graph}", hint=hint))


def _read(request: Request, store: Store, graph: str) -> Response:
    if not _exists(store, graph):
        raise _unknown(graph)
    return written(partial(store.to_text, graph=graph), accepted(request, TRIPLES))


def _delete(store: Store, graph: str) -> Response:
    with store.transaction() as block:
        if not _exists(store, graph):
            raise _unknown(graph)
        block.delete([row[:3] for row in store.quads(graph=graph)], graph=graph)
    return Response(status_code=204)


def _write(store: Store, graph: str, texts: list[tuple[bytes, str]], replace: bool) -> bool:
    """Insert the triples of texts with their formats, in the place of those that are there or beside them. Return True
    for a new graph."""
    with store.transaction() as block:
        is_new = not _exists(store, graph)
        if replace and graph != DEFAULT:
            ((data, format),) = texts
            block.replace(data, graph, format, base=graph)
            return is_new
        if replace:
            block.delete([row[:3] for row in store.quads(graph=graph)], graph=graph)
        for data, format in texts:
            block.insert(data, format, base=graph or None, graph=graph)
    return is_new
