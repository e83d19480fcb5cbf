"""/views/NAME/changes: the rows of a view, and then each change of them, as server-sent events.

A client that comes back with `Last-Event-ID` gets the changes that it has missed, and one that has missed too
many hears so and begins anew. See `tidelog.serve.events`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import cached_property
from secrets import token_hex
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tidelog.errors import UsageError
from tidelog.io.relation import Relation, sorted_rows
from tidelog.rdf.store import Store
from tidelog.serve.events import NOTHING, SILENCE, Feed, event
from tidelog.serve.problems import RequestError
from tidelog.serve.requests import MediaFormat, ServerLimits, choose_format
from tidelog.workspace.change import RelationChange

_EVENTS = MediaFormat("text/event-stream", "events")
_MOST = 1_000
"""Changes of a view that are kept."""
_MOST_ROWS = 1_000_000
"""Rows of these changes."""
_AT_ONCE = 100
"""Changes that a client gets before the feed is looked at again."""
_KEPT = 600.0
"""Seconds that the changes of a view are kept for clients that have lost their connection."""


class ViewFeeds:
    """The feeds of the views that clients follow, or have followed lately. Use it in the event loop."""

    def __init__(self) -> None:
        self._feeds: dict[str, _ViewFeed] = {}

    async def changes(self, request: Request, store: Store, _: ServerLimits) -> Response:
        """Return the events of a view: `rows` with its columns and rows, and a `change` for each commit that changes
        it.

        Raise RequestError: E0601 (404) for an unknown view, E0694 (406).
        """
        choose_format(request, (_EVENTS,))
        name = request.path_params["name"]
        await run_in_threadpool(_view, store, name)
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
            async for text in found.events(last):
                yield text
        finally:
            found.clients -= 1
            asyncio.get_running_loop().call_later(_KEPT, self._forget, name, found)

    def end(self) -> None:
        for each in self._feeds.values():
            each.end()

    def _forget(self, name: str, found: _ViewFeed) -> None:
        if not found.clients and self._feeds.get(name) is found:
            del self._feeds[name]
            found.end()


class _ViewChange:
    """A change of a view with its number. The data of its event are made when the first client needs them."""

    def __init__(self, number: int, change: RelationChange) -> None:
        self.number = number
        self.size = len(change.inserted) + len(change.deleted)
        self._change = change

    @cached_property
    def data(self) -> str:
        return json.dumps(self._change.to_dict(rows=True))


class _ViewFeed:
    """The feed of a view, and the number of clients that follow it."""

    def __init__(self, store: Store, name: str) -> None:
        self.clients = 0
        self._feed: Feed[_ViewChange] = Feed(0, _MOST, _MOST_ROWS)
        self._run = token_hex(4)  # Numbers of another feed mean nothing here.
        self._store = store
        self._name = name
        self._end: Callable[[], None] | None = None

    def follow(self) -> None:
        """Have all changes from now on in the feed."""
        with self._store.turns.changing:
            if self._end is None:
                self._end = self._store.subscribe(self._hear, view=self._name)

    def _hear(self, change: RelationChange) -> None:
        self._feed.add(_ViewChange(self._feed.last + 1, change))

    async def events(self, last: str | None) -> AsyncIterator[str]:
        """Yield the events for a client whose last event has the id `last`, None for a new one: the event `rows` at the
        beginning, and again behind the event `lost`, for a client that has missed changes that are not kept; and a
        `change` for each change."""
        number = None if last is None else self._place(last)
        has_lost = last is not None
        while True:
            found, start = self._feed.after(-1 if number is None else number, _AT_ONCE)
            if number is None or not start <= number <= self._feed.last:
                if has_lost:
                    yield event("lost", json.dumps({"hint": "changes are missing; the rows follow again"}))
                rows, begun = await run_in_threadpool(self._rows)
                yield event("rows", json.dumps(rows), self._id(begun))
                number = begun
                has_lost = True
                continue
            for each in found:
                number = each.number
                yield event("change", await run_in_threadpool(getattr, each, "data"), self._id(each.number))
            if not found and self._feed.has_ended:
                return
            if not found and not await self._feed.wait(number, SILENCE):
                yield NOTHING

    def _id(self, number: int) -> str:
        return f"{self._run}-{number}"

    def _place(self, id: str) -> int | None:
        """Return the number of a change by the id of its event, None for an id of another feed."""
        run, _, number = id.partition("-")
        return int(number) if run == self._run and number.isascii() and number.isdigit() else None

    def _rows(self) -> tuple[dict[str, Any], int]:
        """Return the rows of the view, and the number of its last change."""
        with self._store.turns.changing:  # No commit comes between them.
            view = _view(self._store, self._name)
            return {"columns": [each.name for each in view.columns], "rows": sorted_rows(view)}, self._feed.last

    def end(self) -> None:
        """End the subscription, and let the streams of clients end."""
        self._feed.end()
        if self._end is not None:
            self._end()


def _view(store: Store, name: str) -> Relation:
    try:
        return store[name]
    except UsageError as error:
        raise RequestError(404, error.problems[0]) from None
