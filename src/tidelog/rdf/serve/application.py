"""`application`: the routes of a server for a store, as an application of ASGI.

Here are also the handlers of /update, of /inconsistencies, and of the page at /: a form for queries and updates, made
of three files without a library. The page needs no token, because it has no data. Its requests have the token that a
person types.

Of these, /store follows the Graph Store protocol of SPARQL 1.1, over the asserted triples of one graph at a time.
`?default` and `?graph=IRI` name the graph, or the address below /store is its IRI. `urn:tidelog:inferred` has what
follows, to read only. A graph exists while it has triples.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from secrets import token_hex
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tidelog.errors import Problem, TidelogError, UsageError
from tidelog.rdf.formats import INFERRED
from tidelog.rdf.justifications import justified
from tidelog.rdf.quads import DEFAULT
from tidelog.rdf.reader import check_graph
from tidelog.rdf.serve.changes import ViewFeeds
from tidelog.rdf.serve.queries import READ, TRIPLES, Evaluators, query, triples_response
from tidelog.rdf.sparql.texts import words
from tidelog.rdf.store import Store
from tidelog.serve.access import AccessToken, Right, check_access
from tidelog.serve.problems import RequestError, answer_in_thread, bad_request, respond
from tidelog.serve.requests import (
    MULTIPART,
    MediaFormat,
    ServerLimits,
    base_of,
    body,
    choose_format,
    content_type,
    graphs,
    of_address,
    operation,
    parts,
    unsupported_media_type,
)

# --- /store ----------------------------------------------------------------------------------------------------------


PATH = "/store"


async def graph_store(request: Request, store: Store, limits: ServerLimits) -> Response:
    """Read a graph (GET), replace it (PUT), add to it (POST) or delete it (DELETE), in one transaction.

    Raise DataError with the place in the body, and RequestError: E0669 (404), E0692, E0694 (406, 415), E0695 (413).
    """
    graph = _graph(request)
    if request.method in ("GET", "HEAD"):
        return await answer_in_thread(request, lambda: _graph_response(request, store, graph))
    if graph == INFERRED:
        hint = "change the triples from which these follow"
        raise UsageError(Problem("E0669", f"the graph {INFERRED} has what follows, and only that", hint=hint))
    if request.method == "DELETE":
        return await answer_in_thread(request, lambda: _delete(store, graph))
    is_form = request.method == "POST" and content_type(request) == MULTIPART
    names = {each.media_type: each.name for each in READ}
    if not is_form and content_type(request) not in names:
        raise unsupported_media_type(content_type(request), [*names, MULTIPART])
    data = await body(request, limits)
    texts = parts(request, data) if is_form else [(content_type(request), data)]
    wrong = next((kind for kind, _ in texts if kind not in names), None)
    if wrong is not None:
        raise unsupported_media_type(wrong, list(names))
    given = [(text, names[kind]) for kind, text in texts]
    created = await answer_in_thread(request, lambda: _write(store, graph, given, request.method == "PUT"))
    headers = {"Location": graph} if created else {}
    return Response(status_code=201 if created else 204, headers=headers)


def _graph(request: Request) -> str:
    """Return the name of the graph that a request is about: a new one for a POST that names none."""
    if request.url.path != PATH:
        return _graph_iri(str(request.url.replace(query="")))
    parameters = of_address(request)
    given, defaults = parameters.one("graph"), parameters.all("default")
    if given is not None and not defaults:
        return _graph_iri(given)
    if defaults and given is None:
        return DEFAULT
    if request.method == "POST" and given is None:
        return _graph_iri(f"{request.url.replace(query='')}/{token_hex(8)}")
    raise bad_request("the request names no graph, or two", "send `?default`, or `?graph=` with an IRI")


def _graph_iri(name: str) -> str:
    if name.startswith("_:"):
        raise bad_request(f"a request cannot name the graph {name}", "use an IRI")
    check_graph(name)
    return name


def _exists(store: Store, graph: str) -> bool:
    return graph in (DEFAULT, INFERRED) or graph in store.graphs()


def _unknown(graph: str) -> RequestError:
    hint = "check the name; graphs without triples are not kept"
    return RequestError(404, Problem("E0669", f"there is no graph {graph}", hint=hint))


def _graph_response(request: Request, store: Store, graph: str) -> Response:
    if not _exists(store, graph):
        raise _unknown(graph)
    return triples_response(partial(store.to_text, graph=graph), choose_format(request, TRIPLES))


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


# --- /, /update, /inconsistencies, and all of it ---------------------------------------------------------------------


FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
"""The files by their paths, and their media types."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page(request: Request) -> Response:
    file, kind = FILES[request.url.path]
    text = (files("tidelog.rdf.serve") / "page" / file).read_text("utf-8")
    return Response(text, media_type=kind, headers=_HEADERS)


_JSON = MediaFormat("application/json", "json")


async def inconsistencies(request: Request, store: Store, _: ServerLimits) -> Response:
    """Return a list of objects in JSON: the rule, the terms that clash, and the asserted triples from which that
    follows.

    Raise LimitError beyond the time limit of the store, and RequestError: E0694 (406).
    """
    choose_format(request, (_JSON,))
    found = await answer_in_thread(request, lambda: [each.to_dict() for each in justified(store.justifications())])
    headers = {"Cache-Control": "no-store"}
    return Response(json.dumps(found, ensure_ascii=False), media_type=_JSON.media_type, headers=headers)


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
    await answer_in_thread(request, lambda: store.update(text, base=base_of(request), timeout=limits.timeout, **chosen))
    return Response(status_code=204)


Answering: TypeAlias = Callable[[Request, Store, ServerLimits], Awaitable[Response]]
_OF_GRAPHS = ("GET", "PUT", "POST", "DELETE")
_READING = frozenset({"GET", "HEAD"})


def application(store: Store, tokens: tuple[AccessToken, ...] = (), limits: ServerLimits | None = None) -> Starlette:
    """Return an application that serves a store: /sparql, /update, /store, /inconsistencies, /views, and a page
    at /.

    With `tokens`, each request needs one of them; without, the application answers requests to this machine only.
    """
    used = limits or ServerLimits()
    evaluators, feeds = Evaluators(used), ViewFeeds()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        evaluators.close()

    resources: Mapping[str, tuple[Answering, Right | None, tuple[str, ...]]] = {
        "/sparql": (partial(query, evaluators=evaluators), "read", ("GET", "POST")),
        "/update": (update, "write", ("POST",)),
        PATH: (graph_store, None, _OF_GRAPHS),
        f"{PATH}/{{path:path}}": (graph_store, None, _OF_GRAPHS),
        "/inconsistencies": (inconsistencies, "read", ("GET",)),
        "/views/{name}/changes": (feeds.changes, "read", ("GET",)),
    }
    routes = [
        Route(path, partial(_answer, answer, store, tokens, used, right), methods=methods)
        for path, (answer, right, methods) in resources.items()
    ]
    routes += [Route(path, page) for path in FILES]  # for everybody: they have no data
    handlers = dict.fromkeys((TidelogError, HTTPException, ClientDisconnect, Exception), respond)
    server = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    server.state.end_streams = feeds.end
    return server


async def _answer(
    answer: Answering,
    store: Store,
    tokens: tuple[AccessToken, ...],
    limits: ServerLimits,
    right: Right | None,
    request: Request,
) -> Response:
    """Return the answer to a request that may read or write; without `right`, its method says which."""
    needed: Right = right or ("read" if request.method in _READING else "write")
    check_access(request, tokens, needed)
    return await answer(request, store, limits)
