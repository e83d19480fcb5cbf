"""The server: queries and updates by the protocol of SPARQL 1.1, its errors, limits and tokens."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from xml.dom.minidom import Document

import pytest
import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from SPARQLWrapper import CSV, JSON, RDFXML, TURTLE, XML, SPARQLWrapper

from tests.rdf.serving import EXAMPLE, FORM, Server, serving
from tests.texts import cases_of, python
from tidelog import UsageError
from tidelog.rdf.terms import RDF
from tidelog.serve.access import AccessToken
from tidelog.serve.requests import ServerLimits
from tidelog.serve.running import open_listener

_JSON, _XML = "application/sparql-results+json", "application/sparql-results+xml"
ANIMALS = "SELECT ?x { ?x a :Animal }"
ALL = "CONSTRUCT { ?x a :Pet } WHERE { ?x a :Animal }"
ENDLESS = "ASK { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h FILTER(CONCAT(STR(?a), STR(?c), STR(?e), STR(?g)) = 'x') }"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that no test changes."""
    with serving() as found:
        yield found


@pytest.fixture
def changing() -> Iterator[Server]:
    """A server to change."""
    with serving() as found:
        yield found


def test_a_query_is_sent_in_three_ways(server: Server) -> None:
    by_get = server.ask(ANIMALS)
    by_form = server.send("POST", "/sparql", urlencode({"query": ANIMALS}), Content_Type=f"{FORM}; charset=UTF-8")
    direct = server.send("POST", "/sparql", ANIMALS, Content_Type="application/sparql-query")
    assert by_get.status == by_form.status == direct.status == 200
    assert by_get.media_type == "application/sparql-results+json"
    assert json.loads(by_get.body) == json.loads(by_form.body) == json.loads(direct.body)
    assert server.rows(ANIMALS) == [("rex",)]
    head = server.send("HEAD", f"/sparql?{urlencode({'query': ANIMALS})}")
    assert (head.status, head.body) == (200, b"")


@pytest.mark.parametrize(
    ("query", "accept", "media_type", "start"),
    [
        (ANIMALS, _XML, _XML, "<?xml"),
        (ANIMALS, f"text/csv, {_JSON};q=0.9", "text/csv", "x\r\nhttp://example.org/rex"),
        (ANIMALS, "text/*;q=0.3, text/tab-separated-values;q=0.5", "text/tab-separated-values", "?x\n<http://"),
        (ANIMALS, "application/json", "application/json", '{"head"'),
        (ANIMALS, f"*/*, {_JSON};q=0", _XML, "<?xml"),
        ("ASK { :rex a :Animal }", "text/turtle, */*;q=0.1", _JSON, '{"head":{},"boolean":true}'),
        ("ASK { :rex a :Plant }", _XML, _XML, "<?xml"),
        (ALL, "*/*", "text/turtle", "@prefix"),
        (ALL, "application/n-triples", "application/n-triples", "<http://example.org/rex> <http"),
        (ALL, "application/ld+json", "application/ld+json", "["),
        (ALL, f"{_XML}, application/rdf+xml", "application/rdf+xml", "<?xml"),
        ("DESCRIBE :rex", "text/turtle", "text/turtle", "@prefix"),
    ],
)  # fmt: skip
def test_the_answer_has_the_format_that_the_client_accepts(
    server: Server, query: str, accept: str, media_type: str, start: str
) -> None:
    answer = server.ask(query, accept)
    assert (answer.status, answer.media_type, answer.text[: len(start)]) == (200, media_type, start)


def test_what_nobody_can_write_is_not_acceptable(server: Server) -> None:
    for query, accept in ((ANIMALS, "text/turtle"), ("ASK {}", "text/csv"), (ALL, "text/csv")):
        answer = server.ask(query, accept)
        assert (answer.status, answer.problem["code"]) == (406, "E0694")
    digits = "CONSTRUCT { ?x <http://example.org/1> ?x } WHERE { ?x a :Animal }"
    assert server.ask(digits, "application/rdf+xml").problem["code"] == "E0694"
    wrong = server.ask(ANIMALS, "what is this")
    assert (wrong.status, wrong.problem["code"]) == (400, "E0692")


def test_a_request_names_the_graphs(server: Server) -> None:
    likes = "SELECT ?o { :tom :likes ?o }"
    assert server.rows(likes) == []
    assert server.rows(likes, default_graph_uri=f"{EXAMPLE}one") == [("rex",)]
    assert server.rows("SELECT ?o FROM :one { :tom :likes ?o }", default_graph_uri=f"{EXAMPLE}two") == [("tom",)]
    two = urlencode([("query", likes), *(("default-graph-uri", EXAMPLE + name) for name in ("one", "two", "none"))])
    answer = server.send("GET", f"/sparql?{two}", Accept="text/csv")
    assert sorted(answer.text.split()) == ["http://example.org/rex", "http://example.org/tom", "o"]
    graphs = "SELECT ?g { GRAPH ?g { ?s ?p ?o } }"
    assert server.rows(graphs, named_graph_uri=f"{EXAMPLE}two") == [("two",)]
    assert server.rows("SELECT ?s { ?s ?p ?o }", named_graph_uri=f"{EXAMPLE}two") == []
    direct = f"/sparql?{urlencode({'default-graph-uri': EXAMPLE + 'one'})}"
    answer = server.send("POST", direct, likes, Content_Type="application/sparql-query", Accept="text/csv")
    assert answer.text.split() == ["o", "http://example.org/rex"]
    wrong = server.ask(likes, default_graph_uri="nowhere")
    assert (wrong.status, wrong.problem["code"]) == (400, "E0465")


def test_a_syntax_error_has_its_place(server: Server) -> None:
    answer = server.ask("SELECT *\n{ ?x a }")
    problem = answer.problem
    assert (answer.status, problem["code"]) == (400, "E0664")
    assert (problem["type"], problem["line"]) == ("urn:tidelog:error:E0664", 2)
    assert problem["column"] > 1
    for text in ("triple(x, y, z)", "", "INSERT DATA { <x:a> <x:b> <x:c> }"):
        assert server.ask(text).problem["code"] == "E0664"
    assert server.ask("SELECT * { SERVICE <http://a/> { ?s ?p ?o } }").problem["code"] == "E0666"


@pytest.mark.parametrize(
    ("method", "path", "body", "content_type", "status", "code"),
    cases_of(__file__, "wrong requests", str, str, python, python, int),
)
def test_wrong_requests_change_nothing(
    server: Server, method: str, path: str, body: str | bytes | None, content_type: str | None, status: int, code: str
) -> None:
    headers = {} if content_type is None else {"Content_Type": content_type}
    answer = server.send(method, path, body, **headers)
    assert (answer.status, answer.problem["code"]) == (status, code)
    assert server.rows(ANIMALS) == [("rex",)]


def test_the_service_describes_itself(server: Server) -> None:
    answer = server.send("GET", "/sparql", Accept="text/turtle")
    graph = rdflib.Graph().parse(answer.body, format="turtle")
    sd = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
    endpoints = {str(each).rpartition("/")[2] for each in graph.objects(None, sd.endpoint)}
    assert endpoints == {"sparql", "update"}
    names = {str(each) for each in graph.objects(None, sd.name)}
    assert names == {f"{EXAMPLE}one", f"{EXAMPLE}two", "urn:tidelog:inferred"}
    assert server.send("GET", "/sparql", Accept="text/csv").status == 406


def test_updates_are_transactions(changing: Server) -> None:
    assert changing.update("INSERT DATA { :max a :Dog }").status == 204
    assert sorted(changing.rows(ANIMALS)) == [("max",), ("rex",)]
    form = urlencode({"update": "DELETE DATA { :rex a :Dog }"})
    assert changing.send("POST", "/update", form, Content_Type=FORM).status == 204
    assert changing.rows(ANIMALS) == [("max",)]
    follows = changing.update("INSERT DATA { :tom a :Dog } ; DELETE DATA { :max a :Animal }")
    assert (follows.status, follows.problem["code"]) == (400, "E0667")
    assert "subClassOf" in follows.problem["hint"]
    assert changing.update("DROP GRAPH :nowhere").problem["code"] == "E0669"
    assert changing.rows(ANIMALS) == [("max",)]


def test_an_update_names_the_graphs_of_its_patterns(changing: Server) -> None:
    text = "INSERT { :found :has ?o } WHERE { :tom :likes ?o }"
    path = f"/update?{urlencode({'using-graph-uri': EXAMPLE + 'two'})}"
    assert changing.send("POST", path, text, Content_Type="application/sparql-update").status == 204
    assert changing.rows("SELECT ?o { :found :has ?o }") == [("tom",)]
    both = changing.send("POST", path, f"WITH :one {text}", Content_Type="application/sparql-update")
    assert (both.status, both.problem["code"]) == (400, "E0692")
    of_graphs = "INSERT { :g :has ?o } WHERE { GRAPH ?g { ?s :likes ?o } }"
    form = urlencode({"update": of_graphs, "using-named-graph-uri": f"{EXAMPLE}one"})
    assert changing.send("POST", "/update", form, Content_Type=FORM).status == 204
    assert changing.rows("SELECT ?o { :g :has ?o }") == [("rex",)]


def test_relative_iris_are_based_on_the_address(changing: Server) -> None:
    assert changing.update("INSERT DATA { <a> :is <b> }").status == 204
    assert changing.rows("SELECT ?x { ?x :is ?y }") == [(f"{changing.address}/a",)]
    assert json.loads(changing.ask("ASK { <a> :is <b> }").body)["boolean"]


def test_texts_that_are_nested_too_deeply_end_no_server(changing: Server) -> None:
    depth = 10_000
    braces, term = f"{'{' * depth}{'}' * depth}", f"{'<<( <x:a> <x:b> ' * depth}1{' )>>' * depth}"
    for query in (
        f"ASK {braces}",
        f"SELECT * {braces}",
        f"ASK {{ FILTER(1{' + 1' * depth}) }}",
        f"ASK {{ ?a ?b {term} }}",
    ):
        answer = changing.send("POST", "/sparql", query, Content_Type="application/sparql-query")
        assert answer.status == 200 or answer.problem["code"] in ("E0503", "E0664")
    for update in (f"DELETE {{ ?a ?b ?c }} WHERE {braces}", f"INSERT DATA {{ :a :b {term} }}"):
        answer = changing.update(update)
        assert answer.problem["code"] in ("E0465", "E0503", "E0664")
    answer = changing.send("POST", "/store?default", f"<x:a> <x:b> {term} .", Content_Type="text/turtle")
    assert (answer.status, answer.problem["code"]) == (400, "E0460")
    rdf = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="x:" rdf:version="1.2">'
    elements = '<rdf:Description rdf:about="x:a"><x:b rdf:parseType="Triple">' * depth
    answer = changing.send("POST", "/store?default", rdf + elements, Content_Type="application/rdf+xml")
    assert (answer.status, answer.problem["code"]) == (400, "E0460")
    assert changing.rows(ANIMALS) == [("rex",)]


def test_load_reads_no_file_of_the_server(changing: Server, tmp_path: Path) -> None:
    (tmp_path / "secret.ttl").write_text("<x:a> <x:b> <x:secret> .")
    for text in ("LOAD <file://{}>", "load silent <file://{}> into graph <x:g>", "CLEAR GRAPH :one ; LOAD <file://{}>"):
        answer = changing.update(text.format(tmp_path / "secret.ttl"))
        assert (answer.status, answer.problem["code"]) == (403, "E0693")
    assert changing.rows("SELECT ?o { GRAPH :one { :tom :likes ?o } }") == [("rex",)]
    assert not changing.store.contains("x:a", "x:b", "x:secret")


def test_a_query_ends_with_its_time(changing: Server) -> None:
    more = " . ".join(f":n{i} :p :n{i + 1}" for i in range(300))
    with serving(f"@prefix : <{EXAMPLE}> . {more} .", limits=ServerLimits(timeout=0.2)) as server:
        answer = server.ask(ENDLESS)
        assert (answer.status, answer.problem["code"]) == (503, "E0501")
        update = server.update(ENDLESS.replace("ASK", "INSERT { :a :b :c } WHERE"))
        assert (update.status, update.problem["code"]) == (503, "E0501")
        assert server.rows("SELECT ?o { :n0 :p ?o }") == [("n1",)]


def test_a_large_body_is_rejected_before_it_is_read() -> None:
    with serving(limits=ServerLimits(body=1000)) as server:
        large = "ASK {}" + " " * 1000
        for headers in ({}, {"Transfer_Encoding": "chunked"}):
            content = large if not headers else f"{len(large):x}\r\n{large}\r\n0\r\n\r\n"
            answer = server.send("POST", "/sparql", content, Content_Type="application/sparql-query", **headers)
            assert (answer.status, answer.problem["code"]) == (413, "E0695")
        announced = {"Content_Type": "application/sparql-query", "Content_Length": "1000000000"}
        assert server.send("POST", "/sparql", None, **announced).problem["code"] == "E0695"
        packed = server.send("POST", "/sparql", "x", Content_Type="application/sparql-query", Content_Encoding="gzip")
        assert packed.status == 415
        assert server.send("POST", "/sparql", "ASK {}", Content_Type="application/sparql-query").status == 200


def test_tokens_read_and_write() -> None:
    with serving("", "read:reader", "write:w:riter") as server:
        for wrong in (None, "Bearer wrong", "Basic ???", "reader"):
            headers = {} if wrong is None else {"Authorization": wrong}
            answer = server.send("GET", "/sparql?query=ASK{}", **headers)
            assert (answer.status, answer.problem["code"]) == (401, "E0693")
            assert answer.headers["www-authenticate"].startswith("Bearer")
        reader, writer = {"Authorization": "Bearer reader"}, {"Authorization": "bearer w:riter"}
        basic = {"Authorization": f"Basic {base64.b64encode(b'anybody:w:riter').decode()}"}
        assert server.send("GET", "/sparql?query=ASK{}", **reader).status == 200
        refused = server.update("INSERT DATA { :a :b :c }", **reader)
        assert (refused.status, refused.problem["code"]) == (403, "E0693")
        assert server.send("PUT", "/store?default", "", Content_Type="text/turtle", **reader).status == 403
        assert len(server.store) == 0
        assert server.update("INSERT DATA { :a :b :c }", **writer).status == 204
        assert server.update("INSERT DATA { :a :b :d }", **basic).status == 204
        assert len(server.store) == 2


def test_other_pages_in_a_browser_do_not_reach_a_server_without_tokens(server: Server) -> None:
    asked = "/sparql?query=ASK{}"
    assert server.send("GET", asked, Origin="https://example.com").status == 403
    assert server.send("GET", asked, Origin="null").status == 403
    assert server.send("GET", asked, Host="example.com").problem["code"] == "E0693"
    host = urlsplit(server.address).netloc
    assert server.send("GET", asked, Origin=f"http://{host}").status == 200
    assert server.send("GET", asked, Host="localhost").status == 200


def test_without_tokens_only_this_machine_is_served() -> None:
    with pytest.raises(UsageError, match="E0696"):
        open_listener("0.0.0.0", 0, False)
    with open_listener("127.0.0.1", 0, False) as taken, pytest.raises(UsageError, match="E0696"):
        open_listener("127.0.0.1", taken.getsockname()[1], False)
    with pytest.raises(UsageError, match="E0603"):
        AccessToken.of("read:")


def test_rdflib_is_a_client(changing: Server) -> None:
    store = SPARQLUpdateStore(f"{changing.address}/sparql", f"{changing.address}/update")
    graph = rdflib.Graph(store, identifier=DATASET_DEFAULT_GRAPH_ID)
    example = rdflib.Namespace(EXAMPLE)
    graph.add((example.max, rdflib.RDF.type, example.Dog))
    assert set(graph.subjects(rdflib.RDF.type, example.Animal)) == {example.rex, example.max}
    graph.remove((example.rex, None, None))
    graph.update("INSERT DATA { <http://example.org/max> <http://example.org/age> 3 }")
    rows = graph.query("SELECT ?n { ?x <http://example.org/age> ?n }")
    assert [row.n.toPython() for row in rows] == [3]  # type: ignore[union-attr]
    one = rdflib.Graph(store, identifier=example.one)
    one.add((example.tom, example.likes, example.max))
    assert set(one.objects(example.tom, example.likes)) == {example.rex, example.max}
    reading = rdflib.Graph(SPARQLStore(f"{changing.address}/sparql", returnFormat="json", method="POST"))
    assert bool(reading.query("ASK { <http://example.org/max> a <http://example.org/Animal> }"))
    made = rdflib.Graph(SPARQLStore(f"{changing.address}/sparql")).query(
        "CONSTRUCT { ?x a <x:y> } WHERE { ?x a <http://example.org/Animal> }"
    )
    assert set(made) == {(example.max, rdflib.RDF.type, rdflib.URIRef("x:y"))}


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # SPARQLWrapper makes one.
def test_sparqlwrapper_is_a_client(changing: Server) -> None:
    client = SPARQLWrapper(f"{changing.address}/sparql", f"{changing.address}/update")
    client.setQuery(f"SELECT ?x {{ ?x a <{EXAMPLE}Animal> }}")
    for format in (JSON, XML, CSV):
        client.setReturnFormat(format)
        found = client.query().convert()
        assert f"{EXAMPLE}rex" in (found.toxml() if isinstance(found, Document) else str(found))
    client.setQuery("CONSTRUCT WHERE { ?s a ?o }")
    for format in (TURTLE, RDFXML):
        client.setReturnFormat(format)
        found = client.query().convert()
        graph = rdflib.Graph().parse(found, format="turtle") if isinstance(found, bytes) else found
        assert isinstance(graph, rdflib.Graph)
        assert rdflib.URIRef(f"{EXAMPLE}rex") in set(graph.subjects())
    client.setMethod("POST")
    client.setQuery("INSERT DATA { <x:a> <x:b> <x:c> }")
    client.query()
    assert changing.store.contains("x:a", "x:b", "x:c")


def test_readers_beside_a_writer_see_one_commit() -> None:
    """Each commit gives two subjects the same number; a mixed answer would have two."""
    with serving(f"@prefix : <{EXAMPLE}> . :a :n 0 . :b :n 0 .") as server:
        seen: list[set[tuple[str, ...]]] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                seen.append(set(server.rows("SELECT ?n { VALUES ?x { :a :b } ?x :n ?n }")))

        commits = 0
        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        try:
            end = time.monotonic() + 1
            while time.monotonic() < end:
                change = "DELETE { ?x :n ?n } INSERT { ?x :n ?next } WHERE { ?x :n ?n BIND(?n + 1 AS ?next) }"
                assert server.update(change).status == 204
                commits += 1
        finally:
            done.set()
            for reader in readers:
                reader.join(30)
        assert commits
        assert len(seen) >= 4
        assert {len(each) for each in seen} == {1}
        assert server.rows("SELECT ?x ?n { ?x :n ?n } ORDER BY ?x") == [("a", str(commits)), ("b", str(commits))]
