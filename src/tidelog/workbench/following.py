"""/v1/changes: the change of each epoch from a given one on, as server-sent events or over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from tidelog.errors import TidelogError
from tidelog.serve.events import NOTHING, SILENCE, event
from tidelog.serve.problems import bad_request
from tidelog.serve.requests import MediaFormat, choose_format, of_address
from tidelog.workbench.service import Service

_EVENTS = MediaFormat("text/event-stream", "events")
_AT_ONCE = 100
"""Epochs of one message of a server that catches up."""
_POLICY_VIOLATION = 1008


async def changes(request: Request, service: Service) -> Response:
    """Return the events of the epochs after `since`, or after the Last-Event-ID, or from now on.

    `begin` has the number of the epoch with which the client has to begin; `change` has an epoch's changes of each
    `relation` that was asked for, by default of all, and says by `rules` if the epoch changed rules or declarations;
    `missed` says which epochs are not kept any more, or have never happened in this store, so that the client has to
    read the relations again. Raise RequestError: E0601 (404), E0692, E0694 (406).
    """
    choose_format(request, (_EVENTS,))
    since, wanted = await run_in_threadpool(_subscription_of, request, service)
    return StreamingResponse(
        _events(service, since, wanted), media_type=_EVENTS.media_type, headers={"Cache-Control": "no-store"}
    )


async def follow(socket: WebSocket, service: Service, check: Callable[[WebSocket], object]) -> None:
    """Send the same events over a WebSocket, each as an object in JSON with its name under `event`. `check` raises for
    clients without access."""
    try:
        check(socket)
        since, wanted = await run_in_threadpool(_subscription_of, socket, service)
    except TidelogError as error:
        await socket.accept()
        await socket.close(_POLICY_VIOLATION, f"{error.code}: {error.problems[0].message}"[:120])
        return
    await socket.accept()
    # Nothing is sent where nothing happens, so that only reading shows that the client has left.
    both = asyncio.ensure_future(_send(socket, service, since, wanted)), asyncio.ensure_future(_end_of(socket))
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    for each in both:
        each.cancel()
    for found in await asyncio.gather(*both, return_exceptions=True):
        if isinstance(found, Exception) and not isinstance(found, WebSocketDisconnect):
            raise found


async def _send(socket: WebSocket, service: Service, since: int | None, wanted: frozenset[str]) -> None:
    async with aclosing(_messages(service, since, wanted)) as messages:
        async for name, _, data in messages:
            if name:
                await socket.send_text(f'{{"event":"{name}",{data[1:]}')


async def _end_of(socket: WebSocket) -> None:
    """Wait until the client leaves. It sends nothing that counts."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _subscription_of(request: HTTPConnection, service: Service) -> tuple[int | None, frozenset[str]]:
    """Return the epoch after which the client wants changes, and the relations."""
    parameters = of_address(request)
    for name, _ in parameters.pairs:
        if name not in ("since", "relation"):
            raise bad_request(f"there is no parameter {name!r}", "use since and relation")
    wanted = frozenset(service.db.workspace.relation(name).name for name in parameters.all("relation"))
    text = request.headers.get("last-event-id") or parameters.one("since")
    if text is None:
        return None, wanted
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise bad_request(f"{text!r} is no number of an epoch", "pass since=EPOCH, such as since=41")
    return int(text), wanted


async def _events(service: Service, since: int | None, wanted: frozenset[str]) -> AsyncIterator[str]:
    async for name, epoch, data in _messages(service, since, wanted):
        yield event(name, data, str(epoch)) if name else NOTHING


async def _messages(
    service: Service, since: int | None, wanted: frozenset[str]
) -> AsyncGenerator[tuple[str, int, str]]:
    """Yield the name, the epoch and the data of each event; no name where nothing has happened for some time."""
    feed = service.feed
    feed.followers += 1
    try:
        at = feed.last if since is None else min(since, feed.newest)
        if since is None:
            yield "begin", at, f'{{"epoch":{at}}}'
        elif since > at:  # The client knows epochs of another store, or of this one before it came back from a copy.
            yield "missed", at, f'{{"epoch":{at},"from":{at + 1},"to":{since}}}'
        while True:
            found, start = feed.after(at, _AT_ONCE)
            if at < start:
                yield "missed", start, f'{{"epoch":{start},"from":{at + 1},"to":{start}}}'
                at = start
            for each in found:
                yield "change", each.number, each.text(wanted)
                at = each.number
            if not found and feed.has_ended:
                return
            if not found and not await feed.wait(at, SILENCE):
                yield "", at, ""
    finally:
        feed.followers -= 1
