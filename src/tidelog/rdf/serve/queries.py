"""/sparql: queries by the protocol of SPARQL 1.1, the processes that answer them, and their answers piece by piece.

Some queries are evaluated at a time, in the order in which they came, so that neither commits nor other queries starve.
A query gives its turn back when its answer begins. The memory of the server holds one piece of an answer, and the
process of the query waits while the client is slow. It ends with its time, with its client, and with the server.

Here are also the media types of RDF and of answers, and the description of the service (SPARQL 1.1 Service
Description), which GET /sparql without a query answers.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tidelog.errors import LimitError, Problem, ProgramError, TidelogError
from tidelog.rdf.formats import INFERRED, format_of, load
from tidelog.rdf.sparql.evaluation import NoFormat, named_for_xml
from tidelog.rdf.sparql.mirror import MirrorCopy
from tidelog.rdf.sparql.processes import QueryProcess, too_large, too_long
from tidelog.rdf.sparql.texts import is_query, query_errors
from tidelog.rdf.store import Store
from tidelog.serve.problems import RequestError, bad_request, client_leaves
from tidelog.serve.requests import MediaFormat, ServerLimits, base_of, choose_format, graphs, of_address, operation

# --- formats ---------------------------------------------------------------------------------------------------------


TURTLE = MediaFormat("text/turtle", "turtle")
N_TRIPLES = MediaFormat("application/n-triples", "ntriples")
RDF_XML = MediaFormat("application/rdf+xml", "rdfxml")
TRIPLES = (
    TURTLE,
    N_TRIPLES,
    MediaFormat("application/ld+json", "jsonld"),
    RDF_XML,
    MediaFormat("application/x-turtle", "turtle"),
    MediaFormat("text/plain", "ntriples"),
)
"""Formats of triples, the preferred one first."""
TRUTH = (
    MediaFormat("application/sparql-results+json", "json"),
    MediaFormat("application/sparql-results+xml", "xml"),
    MediaFormat("application/json", "json"),
    MediaFormat("application/xml", "xml"),
    MediaFormat("text/xml", "xml"),
)
"""Formats of the answer to ASK."""
ROWS = (*TRUTH, MediaFormat("text/csv", "csv"), MediaFormat("text/tab-separated-values", "tsv"))
"""Formats of the rows of SELECT."""
READ = (TURTLE, N_TRIPLES, RDF_XML)
"""Formats of triples in requests: those without graphs."""


def triples_response(to_text: Callable[[str], str], format: MediaFormat) -> Response:
    """Return what `to_text` writes in a format. Raise RequestError (E0694, 406) if RDF/XML cannot write a predicate."""
    if format.name == RDF_XML.name:
        oxigraph = load()
        found = (quad.triple for quad in oxigraph.parse(to_text("ntriples"), oxigraph.RdfFormat.N_TRIPLES))
        text: str | bytes = oxigraph.serialize(named_for_xml(found), format=oxigraph.RdfFormat.RDF_XML)
    else:
        text = to_text(format.name)
    return Response(text, headers=headers(format))


def headers(format: MediaFormat) -> dict[str, str]:
    return {"Content-Type": f"{format.media_type}; charset=utf-8", "Vary": "Accept"}


_PREFIXES = {
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "formats": "http://www.w3.org/ns/formats/",
}
_SERVICES = """
<sparql> a sd:Service ; sd:endpoint <sparql> ; sd:supportedLanguage sd:SPARQL10Query, sd:SPARQL11Query ;
    sd:resultFormat formats:SPARQL_Results_JSON, formats:SPARQL_Results_XML, formats:SPARQL_Results_CSV,
        formats:SPARQL_Results_TSV, formats:Turtle, formats:N-Triples, formats:JSON-LD, formats:RDF_XML ;
    sd:defaultDataset _:dataset .
<update> a sd:Service ; sd:endpoint <update> ; sd:supportedLanguage sd:SPARQL11Update ;
    sd:inputFormat formats:Turtle, formats:N-Triples, formats:RDF_XML ; sd:defaultDataset _:dataset .
_:dataset a sd:Dataset ; sd:defaultGraph [ a sd:Graph ] .
"""


def service_description(request: Request, graphs: Iterable[str]) -> Response:
    """Return the description: addresses, languages, formats and graphs. Raise RequestError: E0692 for a wrong header
    Host, E0694 (406)."""
    format = choose_format(request, TRIPLES)
    iris = [INFERRED, *(name for name in graphs if not name.startswith("_:"))]
    named = "".join(f"_:dataset sd:namedGraph [ a sd:NamedGraph ; sd:name <{iri}> ] .\n" for iri in iris)
    prefixes = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in _PREFIXES.items())
    oxigraph = load()
    try:
        text = f"{prefixes}{_SERVICES}{named}"
        quads = list(oxigraph.parse(text, oxigraph.RdfFormat.TURTLE, base_iri=str(request.base_url)))
    except (SyntaxError, ValueError):
        raise bad_request("the header Host is not part of an IRI", "send the name of the server") from None

    def to_text(name: str) -> str:
        form = getattr(oxigraph.RdfFormat, format_of(name))
        triples = (quad.triple for quad in quads)
        data: bytes = oxigraph.serialize(triples, format=form, prefixes=_PREFIXES)
        return data.decode()

    return triples_response(to_text, format)


# --- processes and answers -------------------------------------------------------------------------------------------


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
            try:
                async with asyncio.timeout(self.limits.timeout):
                    await turns.take()
            except TimeoutError:
                hint = "ask again later; nothing has changed"
                problem = Problem("E0501", "the server has too many queries before this one", hint=hint)
                raise LimitError(problem) from None
            yield turns
        except BaseException:
            turns.give()
            raise

    def take(self, copy: MirrorCopy) -> QueryProcess:
        """Return a process with a copy of the mirror that nobody else uses."""
        with self._lock:
            for process in [each for each in self._idle if not each.has(copy)]:
                self._end(process)
            if self._idle:
                return self._idle.pop()
        return QueryProcess(copy, self.limits.memory)

    def give(self, process: QueryProcess) -> None:
        """Take a process back that has answered."""
        with self._lock:
            self._idle.append(process)
            if len(self._idle) > self.limits.queries:
                self._end(process)
        asyncio.get_running_loop().call_later(_IDLE, self._drop, process)

    def _drop(self, process: QueryProcess) -> None:
        with self._lock:
            if process in self._idle:
                self._end(process)

    def _end(self, process: QueryProcess) -> None:
        self._idle.remove(process)
        process.close()

    def close(self) -> None:
        """Kill the processes without a query."""
        with self._lock:
            for process in list(self._idle):
                self._end(process)


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
            with query_errors(self.text, "<query>", **self.options):
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

    async def begin(self) -> None:
        """Read the form and the first pieces, up to `_WHOLE` bytes."""
        while not self.is_complete and sum(map(len, self.pieces)) < _WHOLE:
            await self.read_parts()

    async def read_parts(self) -> None:
        """Read what the process has written. Raise LimitError when it has worked for too long, and its error."""
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._left):
                await _readable(self._process.pipe.fileno())
        except TimeoutError:
            raise too_long(self._evaluators.limits.timeout or 0.0) from None
        if self._left is not None:
            self._left = max(0.0, self._left - (time.monotonic() - begun))
        for part in self._process.receive_parts():
            if isinstance(part, BaseException):
                raise self._asked.error(part, self.form)
            if isinstance(part, str):
                self.form = part
            elif part is None:
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
            await self._answer.read_parts()


async def _readable(pipe: int) -> None:
    """Wait until a pipe has something to read, or its other end is closed."""
    loop = asyncio.get_running_loop()
    found = asyncio.Event()
    loop.add_reader(pipe, found.set)
    try:
        await found.wait()
    finally:
        loop.remove_reader(pipe)
        os.set_blocking(pipe, True)  # uvloop has changed that, and parts of answers are read as a whole.


async def _unless_gone(receive: Receive, work: Coroutine[None, None, None]) -> None:
    """Do some work while the client is there. Raise ClientDisconnect when it has gone, and cancel the work."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(client_leaves(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        await working
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


_FORMATS = {"SELECT": ROWS, "ASK": TRUTH, "CONSTRUCT": TRIPLES}
_GRAPHS = ("default-graph-uri", "named-graph-uri")


async def query(request: Request, store: Store, limits: ServerLimits, evaluators: Evaluators) -> Response:
    """Return the answer to a query, or the description of the service for a GET without one.

    Raise ProgramError (E0664, with the place), UsageError, LimitError, and RequestError: E0692, E0694 (406, 415), E0695
    (413).
    """
    if request.method == "POST":
        text, parameters = await operation(request, limits, "query", "application/sparql-query")
    else:
        parameters = of_address(request)
        text = parameters.one("query")
        if text is None and not parameters.all("update"):
            return await run_in_threadpool(lambda: service_description(request, store.graphs()))
    if text is None:
        raise bad_request("the request has no query", "send it as the parameter `query`; updates go to /update by POST")
    if not is_query(text):
        hint = "begin with SELECT, ASK, CONSTRUCT or DESCRIBE, behind declarations of prefixes"
        raise ProgramError(Problem("E0664", "the text is not a query in SPARQL", place="<query>", hint=hint))
    formats, refused = _formats(request)
    names = {form: formats[form].name if form in formats else None for form in _FORMATS}
    base = base_of(request)
    chosen = {"rows": limits.rows, "base": base, **graphs(parameters, _GRAPHS)}
    options = {"base_iri": base, "prefixes": {name: iri for name, iri in store.prefixes.items() if iri}}
    asked = AskedQuery(
        text, options, lambda taking: store.answer_in_process(text, names, taking, **chosen), formats, refused
    )
    return await answer(request, evaluators, asked)


def _formats(request: Request) -> tuple[dict[str, MediaFormat], dict[str, RequestError]]:
    """Return the formats that the client accepts by the form of the answer, and the errors about forms without one.
    Raise RequestError (E0692) for a header that cannot be read."""
    found, refused = {}, {}
    for form, formats in _FORMATS.items():
        try:
            found[form] = choose_format(request, formats)
        except RequestError as error:
            if error.status != 406:
                raise
            refused[form] = error
    return found, refused
