"""The changes of views, as the server sends them."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.rdf.serving import EXAMPLE, Server, serving
from tidelog.rdf.serve import changes

PETS = "SELECT ?x { ?x a :Animal }"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        found.store.view("pets", PETS)
        found.store.commit()
        yield found


@contextmanager
def following(server: Server) -> Iterator[Iterator[tuple[str, Any]]]:
    """The events of the view, as they come."""
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=30)
    connection.request("GET", "/views/pets/changes", headers={"Accept": "text/event-stream"})
    response = connection.getresponse()
    assert (response.status, response.getheader("content-type")) == (200, "text/event-stream; charset=utf-8")
    try:
        yield _events(response)
    finally:
        response.close()
        connection.close()


def _events(response: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    while line := response.readline().decode().rstrip("\n"):
        data = response.readline().decode()
        assert data.startswith("data: ")
        assert response.readline() == b"\n"
        yield line.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_a_client_gets_the_rows_and_then_each_change(server: Server) -> None:
    with following(server) as events, following(server) as others:
        assert next(events) == ("rows", {"columns": ["x"], "rows": [[f"{EXAMPLE}rex"]]})
        assert next(others)[0] == "rows"
        assert server.update("INSERT DATA { :max a :Dog }").status == 204
        assert next(events) == ("change", {"inserted": [[f"{EXAMPLE}max"]], "deleted": []})
        assert server.update("INSERT DATA { :max :age 3 }").status == 204  # changes nothing of the view
        assert server.update("DELETE DATA { :rex a :Dog }").status == 204
        assert next(events) == ("change", {"inserted": [], "deleted": [[f"{EXAMPLE}rex"]]})
        assert [next(others)[1]["inserted"] for _ in range(2)] == [[[f"{EXAMPLE}max"]], []]
    with following(server) as events:
        assert next(events) == ("rows", {"columns": ["x"], "rows": [[f"{EXAMPLE}max"]]})


def test_a_client_that_leaves_is_forgotten(server: Server) -> None:
    with following(server) as events:
        assert next(events)[0] == "rows"
        assert len(server.store._subscribers._entries) == 1
    end = time.monotonic() + 30
    while server.store._subscribers._entries:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_slow_client_hears_that_it_has_lost_changes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_MOST", 0)
    with following(server) as events:
        assert next(events)[0] == "rows"
        assert server.update("INSERT DATA { :max a :Dog }").status == 204
        assert list(events) == [("lost", {})]


def test_wrong_requests_for_changes(server: Server) -> None:
    unknown = server.send("GET", "/views/nothing/changes")
    assert (unknown.status, unknown.problem["code"]) == (404, "E0601")
    assert server.send("GET", "/views/pets/changes", Accept="text/csv").problem["code"] == "E0694"
    assert server.send("POST", "/views/pets/changes", "").status == 405
    assert server.send("HEAD", "/views/pets/changes").status == 200
