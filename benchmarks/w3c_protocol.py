"""W3C's tests of the protocols of SPARQL 1.1, against a server for a store: requests with the responses to expect.

The manifests describe most of them as triples, and those of `http-rdf-update` as text; both become `ProtocolRequest`.
The tests of service descriptions have names only, so that their requests stand here.

Each test has a store of its own, but for those of `http-rdf-update`, which go on from each other. W3C has given these
up: their Turtle lacks dots, which are added, and they delete a graph that none of them makes, which is there before.
`WRONG` has the two that contradict the protocol, or the tests before them.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

import pyoxigraph
import rdflib
from pyoxigraph import Dataset, Quad, RdfFormat
from rdflib import RDF, RDFS, Namespace, Node

import tidelog.rdf
from benchmarks.harness import BenchmarkError
from tidelog.rdf import Store
from tidelog.rdf.serve.application import application
from tidelog.serve.running import address_of, open_listener, server_for

_HT, _CNT = Namespace("http://www.w3.org/2011/http#"), Namespace("http://www.w3.org/2011/content#")
_MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
_UT = Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
_SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
_STATUS = {"OK": "200", "Created": "201", "NoContent": "204", "NotFound": "404"}
_HOST = "www.example"
_DEADLINE = 30.0
_TURTLE = "text/turtle"
_SERVICE_TESTS = ("has-endpoint-triple", "returns-rdf", "conforms-to-schema")
SUITES = ("protocol", "graph-store-protocol", "http-rdf-update", "service-description")
"""The folders of tests."""
WRONG = {
    "put__default_graph": "the default graph is always there, so that the answer is not 201",
    "get_of_post__existing_graph": "the answer lacks what the tests before it have put there",
}
"""Tests of `http-rdf-update` that a server must not pass, and the reasons."""


@dataclass(frozen=True)
class ProtocolRequest:
    """A request, and the response to expect: the beginnings of its status, its content and its truth value."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    statuses: tuple[str, ...]
    format: str = ""
    """The kind of answer: boolean, tabular or RDF."""
    truth: bool | None = None
    content: str = ""
    location: str = ""
    """The name for the header Location in later requests."""


@dataclass(frozen=True)
class ProtocolCase:
    """A test: its requests, in their order, and the files of graphs that are there before them."""

    suite: str
    name: str
    requests: tuple[ProtocolRequest, ...]
    graphs: tuple[tuple[Path, str], ...] = ()


@dataclass(frozen=True)
class ProtocolServer:
    """A server for a store, and the names that requests have seen in headers Location."""

    address: str
    store: Store
    seen: dict[str, str] = field(default_factory=dict)

    def fails(self, case: ProtocolCase) -> str | None:
        """Return why the server fails a test, None if it passes."""
        for path, graph in case.graphs:
            self.store.insert(path, graph=graph)
        self.store.commit()
        reasons = (self._fails(each, case.name) for each in case.requests)
        return next((reason for reason in reasons if reason is not None), None)

    def _fails(self, asked: ProtocolRequest, name: str) -> str | None:
        body = self._named(asked.body.decode("latin-1")).encode("latin-1")
        status, headers, found = self.send(asked.method, self._path(asked, name), dict(asked.headers), body)
        if not any(str(status).startswith(each) for each in asked.statuses):
            return f"{asked.method} {asked.path} answers {status}, not {'/'.join(asked.statuses)}: {found[:200]!r}"
        if asked.location:
            self.seen[asked.location] = headers.get("location", "")
        kind = headers.get("content-type", "").partition(";")[0]
        if asked.truth is not None and json.loads(found)["boolean"] != asked.truth:
            return f"the answer is {found!r}"
        if asked.format == "RDF" and RdfFormat.from_media_type(kind) is None:
            return f"the answer is of the type {kind}"
        if asked.format in ("tabular", "boolean") and pyoxigraph.QueryResultsFormat.from_media_type(kind) is None:
            return f"the answer is of the type {kind}"
        if asked.content:
            base = urljoin(self.address, self._named(asked.path))
            one = _graph(found, RdfFormat.from_media_type(kind), base)
            other = _graph(self._named(asked.content).encode(), RdfFormat.TURTLE, base)
            return None if one == other else f"other triples: {found.decode()[:200]!r}"
        return None

    def send(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of a response."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=_DEADLINE)
        try:
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            return response.status, {key.lower(): each for key, each in response.getheaders()}, response.read()
        finally:
            connection.close()

    def _named(self, text: str) -> str:
        """Return a text with the addresses of this server."""
        for name, value in self.seen.items():
            text = text.replace(name, value)
        for old, new in ((f"http://{_HOST}/gsp", f"{self.address}/store"), (_HOST, urlsplit(self.address).netloc)):
            text = text.replace(quote(old, safe=""), quote(new, safe="")).replace(old, new)
        return text

    def _path(self, asked: ProtocolRequest, name: str) -> str:
        """Return the path at this server: queries and updates have addresses of their own."""
        path = self._named(asked.path)
        if path.startswith(self.address):
            return path.removeprefix(self.address)
        if path.startswith("/gsp"):
            return f"/store{path.removeprefix('/gsp')}"
        sent = asked.body + asked.path.encode()
        updates = b"update=" in sent or b"INSERT" in sent or b"CLEAR" in sent or "bad_update" in name
        return path.replace("/sparql/", "/update" if updates else "/sparql", 1)


@contextmanager
def serving() -> Iterator[ProtocolServer]:
    """Serve an empty store."""
    store = tidelog.rdf.connect()
    served = server_for(application(store))
    with open_listener("127.0.0.1", 0, has_tokens=False) as listener:
        thread = threading.Thread(target=served.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            end = time.monotonic() + _DEADLINE
            while not served.started:
                if time.monotonic() > end:
                    raise TimeoutError("the server does not start")
                time.sleep(0.01)
            yield ProtocolServer(address_of(listener), store)
        finally:
            served.should_exit = True
            thread.join(_DEADLINE)


def _graph(data: bytes, format: RdfFormat | None, base: str) -> set[Quad]:
    """Return triples with the same blank nodes for all graphs that are the same otherwise."""
    found = Dataset(pyoxigraph.parse(data, format, base_iri=base))
    found.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return set(found)


# --- manifests -------------------------------------------------------------------------------------------------------


def cases(folder: Path) -> Iterator[ProtocolCase]:
    """Yield the tests of a folder `sparql11`."""
    for suite in SUITES:
        for path in sorted((folder / suite).glob("manifest*.ttl")):
            manifest = rdflib.Graph().parse(path, publicID=path.as_uri())
            for entries in manifest.objects(None, _MF.entries):
                for test in manifest.items(entries):
                    yield _case(manifest, suite, test)


def _case(manifest: rdflib.Graph, suite: str, test: Node) -> ProtocolCase:
    name = str(test).rpartition("#")[2]
    if suite == "http-rdf-update":
        text = next(str(each) for each in manifest.objects(test, RDFS.comment) if "#### Request" in str(each))
        return ProtocolCase(suite, name, (_of_text(text),))
    action = manifest.value(test, _MF.action)
    requests = manifest.value(action, _HT.requests)
    graphs = tuple(
        (Path(str(manifest.value(each, _UT.graph)).removeprefix("file://")), str(manifest.value(each, RDFS.label)))
        for each in manifest.objects(test, _UT.graphData)
    )
    found = tuple(_request(manifest, each) for each in manifest.items(requests)) if requests is not None else ()
    return ProtocolCase(suite, name, found, graphs)


def _request(manifest: rdflib.Graph, node: Node) -> ProtocolRequest:
    response = manifest.value(node, _HT.resp)
    truth = manifest.value(response, _MF.expectedBoolean)
    statuses = (str(each).rpartition("#")[2] for each in manifest.objects(response, _MF.expectedStatus))
    body = manifest.value(node, _HT.body)
    encoding = str(manifest.value(body, _CNT.characterEncoding) or "UTF-8")
    return ProtocolRequest(
        method=str(manifest.value(node, _HT.methodName)),
        path=str(manifest.value(node, _HT.absolutePath)),
        headers=tuple(_headers(manifest, node)),
        body=str(manifest.value(body, _CNT.chars) or "").encode(encoding),
        statuses=tuple(_STATUS.get(each) or each.removeprefix("StatusCode")[:1] for each in statuses if each),
        format=str(manifest.value(response, _MF.expectedFormat) or ""),
        truth=None if truth is None else str(truth) == "true",
        content=str(manifest.value(manifest.value(response, _HT.body), _CNT.chars) or ""),
        location=str(manifest.value(response, _MF.expectedLocation) or ""),
    )


def _headers(manifest: rdflib.Graph, node: Node) -> Iterator[tuple[str, str]]:
    given = manifest.value(node, _HT.headers)
    for each in manifest.items(given) if given is not None else ():
        yield str(manifest.value(each, _HT.fieldName)), str(manifest.value(each, _HT.fieldValue))


def _of_text(text: str) -> ProtocolRequest:
    """Return the request that a text describes as HTTP has it."""
    asked, answered = text.split("#### Response")
    (method, path, _), headers, body = _message(asked.partition("#### Request")[2])
    (status, *_), described, content = _message(answered)
    return ProtocolRequest(
        method=method,
        path=path.replace("$GRAPHSTORE$", "/gsp", 1).replace("$HOST$", _HOST).replace("$GRAPHSTORE$", "gsp"),
        headers=tuple((name, value) for name, value in headers if name.lower() != "host"),
        body=_with_dots(body).replace("$HOST$/$GRAPHSTORE$", f"{_HOST}/gsp").encode(),
        statuses=("200", "204") if status in ("200", "204") and method != "GET" else (status,),
        content=content.replace("$HOST$/$GRAPHSTORE$", f"{_HOST}/gsp"),
        location=next((value for name, value in described if name == "Location"), ""),
    )


def _with_dots(body: str) -> str:
    """Return a text in Turtle, or parts of one, in which each last triple has its dot."""
    return re.sub(r'"[ \t]*(?=\n*(?:\n--|\Z))', '" .', body)


def _message(text: str) -> tuple[list[str], list[tuple[str, str]], str]:
    """Return the words of the first line, the headers and the body of an indented message."""
    head, _, body = re.sub("^    ", "", text.strip("\n"), flags=re.MULTILINE).strip().partition("\n\n")
    first, *lines = head.splitlines()
    pairs = [line.partition(": ") for line in lines]
    return first.split(), [(name, value) for name, _, value in pairs], body


# --- the run ---------------------------------------------------------------------------------------------------------


def failures(folder: Path, only: str | None = None) -> Iterator[tuple[ProtocolCase, str | None]]:
    """Yield each test of a folder `sparql11` with the reason why a server fails it, None if it passes; with `only`,
    those of the suites with this in their path."""
    for suite in SUITES:
        if only and only not in f"{folder}/{suite}":
            continue
        found = [case for case in cases(folder) if case.suite == suite]
        if suite == "http-rdf-update":
            with serving() as server:
                server.store.insert("<x:a> <x:b> <x:c> .", "turtle", graph=f"{server.address}/store/person/2.ttl")
                yield from ((case, server.fails(case)) for case in found)
            continue
        for case in found:
            with serving() as server:
                yield case, _description(server, case.name) if suite == "service-description" else server.fails(case)


def _description(server: ProtocolServer, name: str) -> str | None:
    """Return why a service description fails a test."""
    if name not in _SERVICE_TESTS:
        raise BenchmarkError(f"unknown test of service descriptions: {name}")
    _, headers, data = server.send("GET", "/sparql", {"Accept": _TURTLE}, b"")
    if not headers["content-type"].startswith(_TURTLE):
        return "no RDF"
    graph = rdflib.Graph().parse(data, format="turtle")
    services = set(graph.subjects(RDF.type, _SD.Service))
    here = rdflib.URIRef(f"{server.address}/sparql")
    if name == "has-endpoint-triple" and here not in set(graph.objects(None, _SD.endpoint)):
        return "no endpoint"
    if name == "conforms-to-schema":  # Each service has an endpoint, and each dataset and graph belongs to one.
        if not services or any(graph.value(each, _SD.endpoint) is None for each in services):
            return "a service without an endpoint"
        for predicate, kind in ((_SD.defaultDataset, _SD.Dataset), (_SD.defaultGraph, _SD.Graph)):
            if any((each, RDF.type, kind) not in graph for each in graph.objects(None, predicate)):
                return f"something is no {kind}"
        if any(graph.value(each, _SD.name) is None for each in graph.objects(None, _SD.namedGraph)):
            return "a named graph without a name"
    return None
