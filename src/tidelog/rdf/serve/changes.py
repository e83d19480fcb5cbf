"""/views/NAME/changes: the rows of a view, and then each change of them, as server-sent events.

A client that loses its connection, or cannot keep up, connects again and begins with the rows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tidelog.change import RelationChange
from tidelog.errors import UsageError
from tidelog.io.sorting import sorted_rows
from tidelog.rdf.store import Store
from tidelog.relation import Relation
from tidelog.serve.bodies import ServerLimits
from tidelog.serve.media import MediaFormat, accepted
from tidelog.serve.problems import RequestError

_EVENTS = MediaFormat("text/event-stream", "events")
_MOST = 1_000
"""Changes that wait for a slow client."""
_SILENCE = 15.0
"""Seconds until a comment shows whether the client is still there."""


class Follower:
    """The changes of a view on their way from the threads that commit to one client. Make it in the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[RelationChange | None] = asyncio.Queue()

    def hear(self, change: RelationChange) -> None:
        """Take a change, in any thread. Of a slow client, take no more once too many wait."""
        self._loop.call_soon_threadsafe(self._put, change)

    def _put(self, change: RelationChange) -> None:
        if self._waiting.qsize() <= _MOST:
            self._waiting.put_nowait(change if self._waiting.qsize() < _MOST else None)

    async def events(self) -> AsyncIterator[str]:
        """Yield the text of an event for each change, and of the event `lost` at the end if changes are missing."""
        while True:
            try:
                change = await asyncio.wait_for(self._waiting.get(), _SILENCE)
            except TimeoutError:
                yield ": no change\n\n"
                continue
            if change is None:
                yield _event("lost", {})
                return
            yield _event("change", await run_in_threadpool(change.to_dict, rows=True))


async def changes(request: Request, store: Store, _: ServerLimits) -> Response:
    """Return the events of a view: `rows` with its columns and rows, and a `change` for each commit that changes it.

    Raise RequestError: E0601 (404) for an unknown view, E0694 (406).
    """
    accepted(request, (_EVENTS,))
    name = request.path_params["name"]
    await run_in_threadpool(_found, store, name)
    headers = {"Cache-Control": "no-store"}
    if request.method == "HEAD":
        return Response(media_type=_EVENTS.media_type, headers=headers)
    return StreamingResponse(_events(store, name), media_type=_EVENTS.media_type, headers=headers)


async def _events(store: Store, name: str) -> AsyncIterator[str]:
    follower = Follower()
    rows, end = await run_in_threadpool(_begun, store, name, follower)
    try:
        yield _event("rows", rows)
        async for event in follower.events():
            yield event
    finally:
        end()


def _found(store: Store, name: str) -> Relation:
    try:
        return store[name]
    except UsageError as error:
        raise RequestError(404, error.problems[0]) from None


def _begun(store: Store, name: str, follower: Follower) -> tuple[dict[str, Any], Callable[[], None]]:
    """Return the rows of a view, and the function that ends the subscription to all later changes of it."""
    with store.turns.changing:  # No commit comes between the rows and the subscription.
        view = _found(store, name)
        rows = {"columns": [column.name for column in view.columns], "rows": sorted_rows(view)}
        return rows, store.subscribe(follower.hear, view=name)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
