"""`application`: the server as an application of ASGI."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from tidelog.errors import TidelogError
from tidelog.serve.access import AccessToken, check_access
from tidelog.serve.problems import GONE, as_tidelog_error, respond, status_of
from tidelog.version import INTERFACE
from tidelog.workbench import following
from tidelog.workbench.bodies import as_json
from tidelog.workbench.console.page import ASSETS, page_at
from tidelog.workbench.routes import PATHS, ServerPath, document
from tidelog.workbench.service import Service
from tidelog.workbench.status import Metrics, is_alive, is_ready, metrics

if TYPE_CHECKING:
    from tidelog.workbench.tools import McpPath

_FILES = "/console/"
_CONSOLE = {"Cache-Control": "no-cache", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}


def application(
    service: Service, tokens: tuple[AccessToken, ...] = (), *, mcp: Literal["read", "write"] | None = None
) -> Starlette:
    """Return an application for a service, which it closes at its end. With `tokens`, each request needs one of them;
    without, the application answers requests to this machine only. `mcp` offers the tools of /mcp that read, or all."""
    kept = Metrics(service)

    async def answer(path: ServerPath, request: Request) -> Response:
        started = time.perf_counter()
        status = GONE  # if the request is cancelled
        try:
            request.state.right = check_access(request, tokens, path.right)
            path.check_parameters(request)
            assert path.answer is not None
            response = await path.answer(request, service)
            status = response.status_code
            return response
        except (TidelogError, HTTPException, ClientDisconnect) as error:
            status = status_of(error)
            raise
        except Exception as error:
            status = 500
            raise as_tidelog_error(error) from None
        finally:
            kept.note(path.path, status, started)

    async def answer_metrics(request: Request) -> Response:
        check_access(request, tokens, "read")
        return await metrics(request, service, kept)

    async def answer_description(request: Request) -> Response:
        return as_json(document())

    async def console(_: Request) -> Response:
        # The page and its files have no data: everybody may have them, and enter a token there.
        text, policy = page_at(_FILES)
        return HTMLResponse(text, headers={**_CONSOLE, "Content-Security-Policy": policy})

    async def follow(socket: WebSocket) -> None:
        await following.follow(socket, service, partial(check_access, tokens=tokens, needed="read"))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if tools is not None:
                await stack.enter_async_context(tools.manager.run())
            yield
        service.close()

    routes: list[BaseRoute] = [
        Route(each.path, partial(answer, each), methods=[each.method]) for each in PATHS if each.answer is not None
    ]
    routes += [
        WebSocketRoute("/v1/changes", follow),
        Route("/v1/openapi.json", answer_description),
        Route("/metrics", answer_metrics),
        Route("/", console),
        Mount(_FILES.rstrip("/"), StaticFiles(directory=ASSETS)),
        Route("/healthz", is_alive),
        Route("/readyz", is_ready),
    ]
    tools: McpPath | None = None
    if mcp is not None:
        from tidelog.workbench.tools import McpPath

        most = service.limits.body or sys.maxsize
        check = partial(check_access, tokens=tokens, needed="read")
        tools = McpPath(lambda: made, check, most, writes=mcp == "write")
        routes.append(Route("/mcp", tools))
    handlers = dict.fromkeys((TidelogError, HTTPException, ClientDisconnect, Exception), respond)
    middleware = [Middleware(InterfaceHeader)]
    made = Starlette(routes=routes, exception_handlers=handlers, middleware=middleware, lifespan=lifespan)
    made.state.end_streams = service.feed.end
    return made


class InterfaceHeader:
    """Middleware that says in each response which interface this is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"tidelog-interface", INTERFACE.encode())]
            await send(message)

        await self._app(scope, receive, send_with_header)
