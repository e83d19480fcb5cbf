"""Large answers of the server: piece by piece, within limits, and only as long as somebody reads them."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest

from tests.rdf.serving import EXAMPLE, Server, serving
from tidelog.errors import LimitError
from tidelog.rdf.serve import queries
from tidelog.serve.requests import ServerLimits

_NODES = 300
_TEXT = f"@prefix : <{EXAMPLE}> . " + " ".join(f":n{i} :p :n{i + 1} ." for i in range(_NODES))
_PAIRS = "SELECT ?a ?c { ?a :p ?b . ?c :p ?d }"
MANY = "SELECT ?a ?c { ?a :p ?b . ?c :p ?d . ?e :p ?f }"
ENDLESS = f"ASK {{ {' '.join(f'?a{i} :p ?b{i} .' for i in range(6))} FILTER(CONCAT(STR(?a0), STR(?a5)) = 'x') }}"
_DEADLINE = 30.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of short patience with queries. An answer is in pieces from 10,000 bytes on."""
    with pytest.MonkeyPatch.context() as patch, serving(_TEXT, limits=ServerLimits(timeout=2.0, queries=2)) as found:
        patch.setattr(queries, "_WHOLE", 10_000)
        yield found


def asked(server: Server, query: str) -> socket.socket:
    """A connection with a query on its way."""
    address = urlsplit(server.address)
    found = socket.create_connection((address.hostname, address.port), timeout=_DEADLINE)
    found.sendall(f"GET /sparql?query={quote(query)} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
    return found


def test_a_large_answer_comes_in_pieces(server: Server) -> None:
    found = server.ask(_PAIRS, "application/sparql-results+json")
    assert (found.headers["transfer-encoding"], found.media_type) == ("chunked", "application/sparql-results+json")
    rows = json.loads(found.body)["results"]["bindings"]
    assert len({(row["a"]["value"], row["c"]["value"]) for row in rows}) == len(rows) == _NODES**2
    triples = server.ask("CONSTRUCT { ?a :to ?c } WHERE { ?a :p ?b . ?c :p ?d }", "application/n-triples")
    assert len(set(triples.text.splitlines())) == triples.text.count("\n") == _NODES**2
    short = server.ask("SELECT ?x { :n1 :p ?x }", "text/csv")
    assert (short.text, "content-length" in short.headers) == (f"x\r\n{EXAMPLE}n2\r\n", True)


def test_columns_are_in_the_order_of_the_query(server: Server) -> None:
    found = server.ask("SELECT * { :n1 :p ?z . ?z :p ?a }", "text/csv")
    assert found.text == f"z,a\r\n{EXAMPLE}n2,{EXAMPLE}n3\r\n"


def test_a_construct_has_each_triple_once(server: Server) -> None:
    found = server.ask("CONSTRUCT { :a :b :c } WHERE { ?s :p ?o }", "application/n-triples")
    assert found.text == f"<{EXAMPLE}a> <{EXAMPLE}b> <{EXAMPLE}c> .\n"


def test_a_query_ends_with_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_OPEN", 1)
    with serving(_TEXT, limits=ServerLimits(timeout=4 * _DEADLINE, queries=1)) as server:
        for query, start in ((ENDLESS, b""), (MANY, b"HTTP/1.1 200")):
            with asked(server, query) as connection:
                assert connection.recv(len(start)) == start
            assert server.ask("ASK {}").status == 200  # It waits for the only turn.


def test_slow_clients_do_not_hold_up_others(server: Server) -> None:
    slow = [asked(server, _PAIRS) for _ in range(5)]
    try:
        for connection in slow:
            assert connection.recv(12) == b"HTTP/1.1 200"
        assert server.rows("SELECT ?x { :n1 :p ?x }") == [("n2",)]
        assert server.update("INSERT DATA { :slow :q :client }").status == 204
        rest = b""
        while not rest.endswith(b"0\r\n\r\n"):
            rest += slow[0].recv(1 << 16)
        assert b"n299" in rest
    finally:
        for connection in slow:
            connection.close()


def test_an_answer_that_breaks_off_has_no_end(server: Server) -> None:
    endless = ENDLESS.removeprefix("ASK")
    with pytest.raises(http.client.IncompleteRead) as caught:
        server.ask(f"SELECT ?a ?c {{ {{ ?a :p ?b . ?c :p ?d }} UNION {endless} }}", "text/csv")
    assert caught.value.partial.startswith(b"a,c\r\n")
    assert server.rows("SELECT ?x { :n1 :p ?x }") == [("n2",)]


def test_answers_have_at_most_so_many_rows() -> None:
    with serving(_TEXT, limits=ServerLimits(rows=_NODES)) as server:
        assert len(server.rows("SELECT ?x { ?x :p ?y }")) == _NODES
        for query in (_PAIRS, "CONSTRUCT { ?a :q ?c } WHERE { ?a :p ?b . ?c :p ?d }"):
            found = server.ask(query)
            assert (found.status, found.problem["code"]) == (503, "E0502")
        assert server.ask("ASK { ?a :p ?b . ?c :p ?d }").status == 200


def test_a_query_needs_at_most_so_much_memory() -> None:
    with serving(_TEXT, limits=ServerLimits(memory=64 * 1024**2)) as server:
        found = server.ask("SELECT ?a { ?a :p ?b . ?c :p ?d . ?e :p ?f } ORDER BY ?a ?c ?e")
        assert (found.status, found.problem["code"]) == (503, "E0503")
        assert server.rows("SELECT ?x { :n1 :p ?x }") == [("n2",)]


def test_a_query_without_a_turn_in_time_is_an_error() -> None:
    with serving(_TEXT, limits=ServerLimits(timeout=0.5, queries=1)) as server, asked(server, ENDLESS):
        found = [server.ask("ASK {}") for _ in range(2)]
        assert {each.problem["code"] for each in found if each.status == 503} <= {"E0501"}
        assert found[1].status == 200  # The first one has ended by then.


def test_a_query_that_gets_no_turn_leaves_none_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_OPEN", 2)

    async def ask() -> None:
        evaluators = queries.Evaluators(ServerLimits(timeout=0.05, queries=1))
        async with evaluators.turn() as first:
            with pytest.raises(LimitError, match="too many queries"):
                async with evaluators.turn():
                    pass
            first.give(all=False)  # Its answer is being read.
            async with evaluators.turn():
                pass

    asyncio.run(ask())
