"""The processes that answer the queries of a server, and their answers piece by piece.

Some queries are evaluated at a time, in the order in which they came, so that neither commits nor other queries starve.
A query gives its turn back when its answer begins. The memory of the server holds one piece of an answer, and the
process of the query waits while the client is slow. It ends with its time, with its client, and with the server.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tidelog.errors import LimitError, Problem, TidelogError
from tidelog.rdf.serve.formats import headers
from tidelog.rdf.sparql.evaluation import NoFormat
from tidelog.rdf.sparql.mirror import MirrorCopy
from tidelog.rdf.sparql.problems import failed
from tidelog.rdf.sparql.processes import (
    AnswerEnd,
    AnswerFailure,
    AnswerForm,
    AnswerPart,
    AnswerParts,
    QueryProcess,
    too_large,
    too_long,
)
from tidelog.serve.bodies import ServerLimits
from tidelog.serve.media import MediaFormat
from tidelog.serve.problems import RequestError

_PIECE = 1 << 18
_WHOLE = 1 << 20
"""Answers of up to so many bytes are complete before their response begins, so that an error gets its status."""
_OPEN = 64
"""Answers that clients read at a time."""
_PATIENCE = 60.0
"""Seconds that a client may take for a piece."""
_IDLE = 10.0
"""Seconds that a process without a query stays: it keeps the memory of an epoch that may be over."""


class Evaluators:
    """The processes of a server. Make it in any thread; await its methods in the event loop."""

    def __init__(self, limits: ServerLimits) -> None:
        self.limits = limits
        self._turns = asyncio.Semaphore(limits.queries)
        self._open = asyncio.Semaphore(_OPEN)
        self._idle: list[QueryProcess] = []
        self._lock = threading.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[QueryTurns]:
        """Wait for a turn. Raise LimitError (E0501) if none comes within the time of a query."""
        turns = QueryTurns(self._open, self._turns)
        try:
            async with asyncio.timeout(self.limits.timeout):
                await turns.take()
        except TimeoutError:
            hint = "ask again later; nothing has changed"
            raise LimitError(Problem("E0501", "the server has too many queries before this one", hint=hint)) from None
        try:
            yield turns
        except BaseException:
            turns.give()
            raise

    def take(self, copy: MirrorCopy) -> QueryProcess:
        """Return a process with a copy of the mirror that nobody else uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        found = next((process for process in idle if process.has(copy)), None)
        for process in idle:
            if process is not found and process.has(copy):
                self._keep(process)
            elif process is not found:
                process.close()
        return found or QueryProcess(copy, self.limits.memory)

    def _keep(self, process: QueryProcess) -> None:
        with self._lock:
            is_full = len(self._idle) >= self.limits.queries
            if not is_full:
                self._idle.append(process)
        if is_full:
            process.close()

    def give(self, process: QueryProcess) -> None:
        """Take a process back that has answered."""
        self._keep(process)
        asyncio.get_running_loop().call_later(_IDLE, self._drop, process)

    def _drop(self, process: QueryProcess) -> None:
        with self._lock:
            if process not in self._idle:
                return
            self._idle.remove(process)
        process.close()

    def close(self) -> None:
        """Kill the processes without a query."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.close()


class QueryTurns:
    """The turns of a query: one while its process works out how the answer begins, one until the answer ends."""

    def __init__(self, open_: asyncio.Semaphore, evaluated: asyncio.Semaphore) -> None:
        self._free = (evaluated, open_)
        self._taken: list[asyncio.Semaphore] = []

    async def take(self) -> None:
        """Wait for both."""
        for semaphore in reversed(self._free):
            await semaphore.acquire()
            self._taken.append(semaphore)

    def give(self, *, all: bool = True) -> None:
        """Give the turns back, or only the first one."""
        while self._taken and (all or self._taken[-1] is self._free[0]):
            self._taken.pop().release()


@dataclass(frozen=True)
class AskedQuery:
    """A query as the server evaluates it: `options` are those of pyoxigraph for its text; `start` asks a process, in a
    thread; `formats` are those of its forms, and `refused` are the errors about forms without one."""

    text: str
    options: Mapping[str, Any]
    start: Callable[[Callable[[MirrorCopy], QueryProcess]], QueryProcess]
    formats: Mapping[str, MediaFormat]
    refused: Mapping[str, RequestError]

    def error(self, found: BaseException, form: str) -> BaseException:
        """Return the error of a process as the server answers it."""
        if isinstance(found, NoFormat):
            return self.refused.get(form) or RequestError(406, found.problems[0])
        if isinstance(found, MemoryError):
            return too_large()
        try:
            with failed(self.text, "<query>", **self.options):
                raise found
        except TidelogError as error:
            return error


async def answer(request: Request, evaluators: Evaluators, asked: AskedQuery) -> Response:
    """Return the answer to a query, whole if it is short. Raise what the query raises, RequestError (E0694, 406),
    LimitError: E0501, E0502, E0503, and ClientDisconnect if the client has gone."""
    async with evaluators.turn() as turns:
        process = await run_in_threadpool(asked.start, evaluators.take)
        try:
            found = _Answer(asked, process, evaluators, turns)
            await _unless_gone(request.receive, found.begin())
        except BaseException:
            process.close()
            raise
    format = asked.formats[found.form]
    if found.is_complete:
        found.end()
        return Response(b"".join(found.pieces), headers=headers(format))
    turns.give(all=False)
    return _Streamed(found, format)


class _Answer:
    """The answer of a process: its form, and the `pieces` that are not sent yet."""

    def __init__(self, asked: AskedQuery, process: QueryProcess, evaluators: Evaluators, turns: QueryTurns) -> None:
        self.form = ""
        self.pieces: list[bytes] = []
        self.is_complete = False
        self._asked = asked
        self._process = process
        self._evaluators = evaluators
        self._turns = turns
        self._left = evaluators.limits.timeout
        self._parts = AnswerParts()

    async def begin(self) -> None:
        """Read the form and the first pieces, up to `_WHOLE` bytes."""
        while not self.is_complete and sum(map(len, self.pieces)) < _WHOLE:
            await self.read()

    async def read(self) -> None:
        """Read what the process has written. Raise LimitError when it has worked for too long, and its error."""
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._left):
                await _readable(self._process.pipe)
        except TimeoutError:
            raise too_long(self._evaluators.limits.timeout or 0.0) from None
        if self._left is not None:
            self._left = max(0.0, self._left - (time.monotonic() - begun))
        data = os.read(self._process.pipe, _PIECE)
        if not data:
            raise too_large()
        for part in self._parts.take(data):
            self._take(part)

    def _take(self, part: AnswerPart) -> None:
        if isinstance(part, AnswerFailure):
            raise self._asked.error(part.error, self.form)
        if isinstance(part, AnswerForm):
            self.form = part.name
        elif isinstance(part, AnswerEnd):
            self.is_complete = True
        else:
            self.pieces.append(part)

    def end(self) -> None:
        """Give the process back, or end it in the middle of the answer."""
        if self.is_complete:
            self._evaluators.give(self._process)
        else:
            self._process.close()
        self._turns.give()


class _Streamed(Response):
    """A response in pieces. One that breaks off has no end, so that the client knows; its query ends, too."""

    def __init__(self, answer: _Answer, format: MediaFormat) -> None:
        super().__init__(headers=headers(format))
        del self.headers["content-length"]
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _unless_gone(receive, self._send(send))
        except (TidelogError, TimeoutError, ClientDisconnect, OSError):
            return  # The server of ASGI closes the connection of a response without an end.
        finally:
            self._answer.end()

    async def _send(self, send: Send) -> None:
        while True:
            pieces, self._answer.pieces = self._answer.pieces, []
            is_complete = self._answer.is_complete
            async with asyncio.timeout(_PATIENCE):
                await send({"type": "http.response.body", "body": b"".join(pieces), "more_body": not is_complete})
            if is_complete:
                return
            await self._answer.read()


async def _readable(pipe: int) -> None:
    """Wait until a pipe has something to read, or its other end is closed."""
    loop = asyncio.get_running_loop()
    found = asyncio.Event()
    loop.add_reader(pipe, found.set)
    try:
        await found.wait()
    finally:
        loop.remove_reader(pipe)


async def _unless_gone(receive: Receive, work: Coroutine[None, None, None]) -> None:
    """Do some work while the client is there. Raise ClientDisconnect when it has gone, and cancel the work."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        await working
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
