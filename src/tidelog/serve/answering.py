"""The work of a request in a thread, which ends when its client has left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from tidelog.errors import LimitError
from tidelog.limits.cancelling import Cancellation, cancelled_by

Answer = TypeVar("Answer")


async def answered(request: Request, work: Callable[[], Answer], room: int | None = None) -> Answer:
    """Return what `work` returns in a thread, for a request whose body has been read. The process may grow by `room`
    bytes meanwhile. Raise what it raises, and ClientDisconnect once the client has left and the work has ended."""
    cancellation = Cancellation(room)

    def run() -> Answer:
        with cancelled_by(cancellation):
            return work()

    task, leaving = asyncio.ensure_future(run_in_threadpool(run)), asyncio.ensure_future(_left(request))
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


async def _left(request: Request) -> None:
    """Return once the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
