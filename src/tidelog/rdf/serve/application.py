"""`application`: the routes of a server for a store, as an application of ASGI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tidelog.errors import TidelogError
from tidelog.rdf.serve.changes import ViewFeeds
from tidelog.rdf.serve.evaluators import Evaluators
from tidelog.rdf.serve.graphs import PATH, graph_store
from tidelog.rdf.serve.inconsistencies import inconsistencies
from tidelog.rdf.serve.pages import FILES, page
from tidelog.rdf.serve.queries import query
from tidelog.rdf.serve.updates import update
from tidelog.rdf.store import Store
from tidelog.serve.access import AccessToken, Right, check_access
from tidelog.serve.bodies import ServerLimits
from tidelog.serve.problems import respond

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

    async def asked(request: Request, store: Store, limits: ServerLimits) -> Response:
        return await query(request, store, limits, evaluators)

    async def followed(request: Request, store: Store, _: ServerLimits) -> Response:
        return await feeds.changes(request, store)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        evaluators.close()

    ways: Mapping[str, tuple[Answering, Right | None, tuple[str, ...]]] = {
        "/sparql": (asked, "read", ("GET", "POST")),
        "/update": (update, "write", ("POST",)),
        PATH: (graph_store, None, _OF_GRAPHS),
        f"{PATH}/{{path:path}}": (graph_store, None, _OF_GRAPHS),
        "/inconsistencies": (inconsistencies, "read", ("GET",)),
        "/views/{name}/changes": (followed, "read", ("GET",)),
    }
    routes = [
        Route(path, partial(_answer, answer, store, tokens, used, right), methods=methods)
        for path, (answer, right, methods) in ways.items()
    ]
    routes += [Route(path, page) for path in FILES]  # for everybody: they have no data
    handlers = dict.fromkeys((TidelogError, HTTPException, ClientDisconnect, Exception), respond)
    made = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    made.state.end_streams = feeds.end
    return made


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
