"""Errors of requests as problem documents (RFC 9457), with the codes, places and hints of tidelog; and the work of a
request in a thread, which ends when its client has left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive

from tidelog.errors import CODES, InternalError, LimitError, Problem, SetupError, TidelogError, UsageError
from tidelog.limits.interrupts import Cancellation, cancelled_by

_LOGGER = logging.getLogger("tidelog.serve")
_UNREADABLE = "E0692"
GONE = 499
"""The status of a request whose client does not wait for the response."""


class RequestError(UsageError):
    """A request that the server rejects, with the `status` and the `headers` of its response."""

    def __init__(self, status: int, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem)
        self.status = status
        self.headers = dict(headers or {})


def bad_request(message: str, hint: str) -> RequestError:
    """Return the error (E0692) about a request that the protocol does not allow, with status 400."""
    return RequestError(400, Problem(_UNREADABLE, message, hint=hint))


def document_of(error: TidelogError) -> dict[str, Any]:
    first, *others = (problem.to_dict() for problem in error.problems)
    document: dict[str, Any] = {
        "type": f"urn:tidelog:error:{error.code}",
        "title": CODES[error.code],
        "status": status_of(error),
        "detail": first.pop("message"),
        **{name: value for name, value in first.items() if value},
    }
    if others:
        document["others"] = others
    return document


def respond(request: Request, error: Exception) -> Response:
    """Return the response to an error of tidelog, or of Starlette."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=status_of(error))  # to nobody
    if isinstance(error, HTTPException):
        return _document(_of_routing(request, error))
    return _document(as_tidelog_error(error))


def as_tidelog_error(error: Exception) -> TidelogError:
    """Return an error of tidelog; another one goes to the log, and is internal."""
    if isinstance(error, TidelogError):
        return error
    _LOGGER.error("a request failed", exc_info=error)
    hint = "look into the log of the server, and report this fault of tidelog"
    return InternalError(Problem("E0901", f"{type(error).__name__} while answering", hint=hint))


def _of_routing(request: Request, error: HTTPException) -> RequestError:
    paths = ", ".join(dict.fromkeys(route.path for route in request.app.routes))
    message, hint = {
        404: ("there is nothing at this address", f"use one of {paths}"),
        405: ("this address does not take the method", "use a method of the header Allow"),
    }.get(error.status_code, (error.detail, "correct the request"))
    return RequestError(error.status_code, Problem(_UNREADABLE, message, hint=hint), error.headers)


_STATUSES = {"E0601": 404, "E0608": 404, "E0670": 404, "E0672": 409, "E0680": 503, "E0681": 507}
"""The statuses of errors whose code says more than their class."""


def status_of(error: Exception) -> int:
    """Return the status of the response to an error of tidelog, of Starlette, or to one that nobody expects."""
    if isinstance(error, ClientDisconnect):
        return GONE
    if isinstance(error, HTTPException):
        return error.status_code
    if isinstance(error, RequestError):
        return error.status
    if not isinstance(error, TidelogError):
        return 500
    if error.code in _STATUSES:
        return _STATUSES[error.code]
    if isinstance(error, LimitError):
        return 503
    return 500 if isinstance(error, (InternalError, SetupError)) else 400


def _document(error: TidelogError) -> Response:
    document = document_of(error)
    headers = error.headers if isinstance(error, RequestError) else {}
    return JSONResponse(document, document["status"], headers, "application/problem+json")


Answer = TypeVar("Answer")


async def answer_in_thread(request: Request, work: Callable[[], Answer], room: int | None = None) -> Answer:
    """Return what `work` returns in a thread, for a request whose body has been read. The process may grow by `room`
    bytes meanwhile. Raise what it raises, and ClientDisconnect once the client has left and the work has ended."""
    cancellation = Cancellation(room)

    def run() -> Answer:
        with cancelled_by(cancellation):
            return work()

    task, leaving = asyncio.ensure_future(run_in_threadpool(run)), asyncio.ensure_future(client_leaves(request.receive))
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        cancellation.cancel()
        with suppress(LimitError):
            await task
        raise ClientDisconnect
    finally:
        cancellation.cancel()  # This coroutine may have been cancelled: nobody waits for the thread then, either.
        leaving.cancel()


async def client_leaves(receive: Receive) -> None:
    """Return once the client of a request has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
