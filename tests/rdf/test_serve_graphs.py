"""The Graph Store protocol of the server."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pyoxigraph
import pytest

from tests.rdf.serving import EXAMPLE, Server, serving
from tests.serving import Answered

DOG = f"<{EXAMPLE}max> a <{EXAMPLE}Dog> ."


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def path_of(name: str) -> str:
    return f"/store?graph={quote(EXAMPLE + name, safe='')}"


def put(server: Server, path: str, text: str, method: str = "PUT", content_type: str = "text/turtle") -> Answered:
    return server.send(method, path, text, Content_Type=content_type)


def triples(server: Server, path: str) -> set[str]:
    answer = server.send("GET", path, Accept="application/n-triples")
    assert answer.status == 200, answer.text
    return set(answer.text.replace(EXAMPLE, "").splitlines())


def test_a_graph_is_read_in_the_format_that_the_client_accepts(server: Server) -> None:
    assert triples(server, path_of("one")) == {"<tom> <likes> <rex> ."}
    assert len(triples(server, "/store?default")) == 3  # without what follows
    assert len(triples(server, "/store?graph=urn:tidelog:inferred")) == 1
    for accept in ("text/turtle", "application/rdf+xml", "application/ld+json"):
        answer = server.send("GET", path_of("one"), Accept=accept)
        assert answer.media_type == accept
        assert len(list(pyoxigraph.parse(answer.body, pyoxigraph.RdfFormat.from_media_type(accept)))) == 1
    assert server.send("GET", path_of("one"), Accept="text/csv").status == 406
    head = server.send("HEAD", path_of("one"))
    assert (head.status, head.body, head.media_type) == (200, b"", "text/turtle")


def test_put_replaces_and_post_adds(server: Server) -> None:
    assert put(server, path_of("one"), DOG).status == 204
    assert len(triples(server, path_of("one"))) == 1
    assert sorted(server.rows("SELECT ?x { ?x a :Animal }")) == [("max",), ("rex",)]
    assert put(server, path_of("one"), f"<{EXAMPLE}tom> <{EXAMPLE}age> 01 .", "POST").status == 204
    assert len(triples(server, path_of("one"))) == 2
    assert '<tom> <age> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .' in triples(server, path_of("one"))
    created = put(server, path_of("three"), DOG, "POST")
    assert (created.status, created.headers["location"]) == (201, f"{EXAMPLE}three")
    assert put(server, path_of("four"), "[] a <x:y> .").status == 201
    node = triples(server, path_of("four"))
    assert put(server, path_of("four"), "[] a <x:y> .").status == 204
    assert triples(server, path_of("four")) == node  # the blank node is the same
    assert put(server, "/store?default", DOG).status == 204
    assert len(triples(server, "/store?default")) == 1
    assert server.rows("SELECT ?x { ?x a :Animal }") == []


def test_delete_removes_a_graph(server: Server) -> None:
    assert server.send("DELETE", path_of("one")).status == 204
    gone = server.send("DELETE", path_of("one"))
    assert (gone.status, gone.problem["code"]) == (404, "E0669")
    assert server.send("GET", path_of("one")).status == 404
    assert server.send("HEAD", path_of("one")).status == 404
    assert server.store.graphs() == (f"{EXAMPLE}two",)
    assert server.send("DELETE", "/store?default").status == 204
    assert triples(server, "/store?default") == set()


def test_the_address_below_the_store_is_a_graph(server: Server) -> None:
    assert put(server, "/store/pets/1", "<> <x:p> <2> .").status == 201
    assert triples(server, "/store/pets/1") == {
        f"<{server.address}/store/pets/1> <x:p> <{server.address}/store/pets/2> ."
    }
    assert f"{server.address}/store/pets/1" in server.store.graphs()
    assert put(server, "/store/pets/1", "<> <x:p> <3> .", "POST").status == 204
    assert server.store.contains(f"{server.address}/store/pets/1", "x:p", f"{server.address}/store/pets/3")
    made = put(server, "/store", DOG, "POST")
    assert made.status == 201
    assert made.headers["location"].startswith(f"{server.address}/store/")
    assert len(triples(server, made.headers["location"].removeprefix(server.address))) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "content_type", "status", "code"),
    [
        ("GET", "/store", None, None, 400, "E0692"),
        ("GET", "/store?default&graph=http://a/", None, None, 400, "E0692"),
        ("GET", "/store?graph=_:a", None, None, 400, "E0692"),
        ("GET", "/store?graph=relative", None, None, 400, "E0465"),
        ("GET", "/store?graph=http://a/nowhere", None, None, 404, "E0669"),
        ("PATCH", "/store?default", "", "text/turtle", 405, "E0692"),
        ("PUT", "/store?default", "{}", "application/json", 415, "E0694"),
        ("PUT", "/store?default", DOG, None, 415, "E0694"),
        ("PUT", "/store?default", f"{DOG}\n<x:a> <x:b>", "text/turtle", 400, "E0460"),
        ("PUT", "/store?graph=urn:tidelog:inferred", DOG, "text/turtle", 400, "E0669"),
        ("DELETE", "/store?graph=urn:tidelog:inferred", None, None, 400, "E0669"),
    ],
)
def test_wrong_requests_leave_the_graphs(
    server: Server, method: str, path: str, body: str | None, content_type: str | None, status: int, code: str
) -> None:
    headers = {} if content_type is None else {"Content_Type": content_type}
    answer = server.send(method, path, body, **headers)
    assert (answer.status, answer.problem["code"]) == (status, code)
    assert len(triples(server, "/store?default")) == 3
    assert server.store.graphs() == (f"{EXAMPLE}one", f"{EXAMPLE}two")


def test_a_form_adds_several_texts_at_once(server: Server) -> None:
    def form(*texts: tuple[str, str]) -> str:
        parts = (f"--x\r\nContent-Type: {kind}\r\n\r\n{text}\r\n" for kind, text in texts)
        return f"{''.join(parts)}--x--\r\n"

    path, kind = f"/store?{urlencode({'graph': EXAMPLE + 'form'})}", "multipart/form-data; boundary=x"
    texts = ("text/turtle", "<a> <x:b> 'z\u00e9ro' ."), ("application/n-triples", "<x:c> <x:d> <x:e> .")
    assert server.send("POST", path, form(*texts), Content_Type=kind).status == 201
    found = server.rows(f"SELECT ?s ?o {{ GRAPH <{EXAMPLE}form> {{ ?s ?p ?o }} }} ORDER BY DESC(?s)")
    assert found == [("x:c", "x:e"), ("a", "z\u00e9ro")]
    for wrong in (
        form(("text/csv", "a")),
        form(("text/turtle", "<x:f> <x:g> 1 ."), ("text/turtle", "<x:f>")),
        "",
        "--x",
    ):
        answer = server.send("POST", path, wrong, Content_Type=kind)
        assert answer.status in (400, 415)
        assert answer.problem["code"] in ("E0460", "E0692", "E0694")
    assert server.send("PUT", path, form(*texts), Content_Type=kind).status == 415
    assert len(server.rows(f"SELECT ?s {{ GRAPH <{EXAMPLE}form> {{ ?s ?p ?o }} }}")) == 2
