"""/views/NAME/changes: the rows of a view, and then each change of them, as server-sent events.

A client that comes back with `Last-Event-ID` gets the changes that it has missed, see `tidelog.serve.events`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tidelog.change import RelationChange
from tidelog.errors import UsageError
from tidelog.io.sorting import sorted_rows
from tidelog.rdf.store import Store
from tidelog.relation import Relation
from tidelog.serve.events import Feed
from tidelog.serve.media import MediaFormat, accepted
from tidelog.serve.problems import RequestError

_EVENTS = MediaFormat("text/event-stream", "events")
_KEPT = 600.0
"""Seconds that the changes of a view are kept for clients that have lost their connection."""


class ViewFeeds:
    """The feeds of the views that clients follow, or have followed lately. Use it in the event loop."""

    def __init__(self) -> None:
        self._feeds: dict[str, _ViewFeed] = {}

    async def changes(self, request: Request, store: Store) -> Response:
        """Return the events of a view: `rows` with its columns and rows, and a `change` for each commit that changes
        it.

        Raise RequestError: E0601 (404) for an unknown view, E0694 (406).
        """
        accepted(request, (_EVENTS,))
        name = request.path_params["name"]
        await run_in_threadpool(_found, store, name)
        headers = {"Cache-Control": "no-store"}
        if request.method == "HEAD":
            return Response(media_type=_EVENTS.media_type, headers=headers)
        events = self._events(store, name, request.headers.get("last-event-id"))
        return StreamingResponse(events, media_type=_EVENTS.media_type, headers=headers)

    async def _events(self, store: Store, name: str, last: str | None) -> AsyncIterator[str]:
        found = self._feeds.setdefault(name, _ViewFeed(store, name))
        found.clients += 1
        try:
            await run_in_threadpool(found.follow)
            async for event in found.feed.events(found.rows, last):
                yield event
        finally:
            found.clients -= 1
            asyncio.get_running_loop().call_later(_KEPT, self._forget, name, found)

    def _forget(self, name: str, found: _ViewFeed) -> None:
        if not found.clients and self._feeds.get(name) is found:
            del self._feeds[name]
            found.end()


class _ViewFeed:
    """The feed of a view, and the number of clients that follow it."""

    def __init__(self, store: Store, name: str) -> None:
        self.feed = Feed()
        self.clients = 0
        self._store = store
        self._name = name
        self._end: Callable[[], None] | None = None

    def follow(self) -> None:
        """Have all changes from now on in the feed."""
        with self._store.turns.changing:
            if self._end is None:
                self._end = self._store.subscribe(self._hear, view=self._name)

    def _hear(self, change: RelationChange) -> None:
        self.feed.add(len(change.inserted) + len(change.deleted), partial(change.to_dict, rows=True))

    def rows(self) -> tuple[dict[str, Any], int]:
        """Return the rows of the view, and the number of its last change."""
        with self._store.turns.changing:  # No commit comes between them.
            view = _found(self._store, self._name)
            return {"columns": [each.name for each in view.columns], "rows": sorted_rows(view)}, self.feed.number

    def end(self) -> None:
        """Hear of no more changes."""
        if self._end is not None:
            self._end()


def _found(store: Store, name: str) -> Relation:
    try:
        return store[name]
    except UsageError as error:
        raise RequestError(404, error.problems[0]) from None
