"""The changes of views, as the server sends them."""

from __future__ import annotations

import http.client
import json
import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
def following(server: Server, last: str | None = None) -> Iterator[Iterator[tuple[str, Any, str]]]:
    """The events of the view, as they come: name, data and id."""
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=30)
    headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
    connection.request("GET", "/views/pets/changes", headers=headers)
    response = connection.getresponse()
    assert (response.status, response.getheader("content-type")) == (200, "text/event-stream; charset=utf-8")
    try:
        yield _events(response)
    finally:
        response.close()
        connection.close()


def _events(response: http.client.HTTPResponse) -> Iterator[tuple[str, Any, str]]:
    while True:
        lines = iter(lambda: response.readline().decode().rstrip("\n"), "")
        parts = dict(line.split(": ", 1) for line in lines)
        yield parts["event"], json.loads(parts["data"]), parts.get("id", "")


def changed(inserted: list[str], deleted: list[str]) -> dict[str, list[list[str]]]:
    """The data of a change of pets."""
    return {"inserted": [[EXAMPLE + name] for name in inserted], "deleted": [[EXAMPLE + name] for name in deleted]}


def rows(*names: str) -> dict[str, Any]:
    """The data of the rows of pets."""
    return {"columns": ["x"], "rows": [[EXAMPLE + name] for name in names]}


def test_a_client_gets_the_rows_and_then_each_change(server: Server) -> None:
    with following(server) as events, following(server) as others:
        assert next(events)[:2] == ("rows", rows("rex"))
        assert next(others)[0] == "rows"
        assert server.update("INSERT DATA { :max a :Dog }").status == 204
        assert next(events)[:2] == ("change", changed(["max"], []))
        assert server.update("INSERT DATA { :max :age 3 }").status == 204  # changes nothing of the view
        assert server.update("DELETE DATA { :rex a :Dog }").status == 204
        assert next(events)[:2] == ("change", changed([], ["rex"]))
        assert [next(others)[1] for _ in range(2)] == [changed(["max"], []), changed([], ["rex"])]
    with following(server) as events:
        assert next(events)[:2] == ("rows", rows("max"))


def test_a_client_that_comes_back_gets_what_it_has_missed(server: Server) -> None:
    with following(server) as events:
        *_, last = next(events)
    for update in ("INSERT DATA { :max a :Dog }", "DELETE DATA { :rex a :Dog }", "INSERT DATA { :rex a :Dog }"):
        assert server.update(update).status == 204
    with following(server, last) as events:
        assert next(events)[:2] == ("change", changed(["max"], []))
        *_, last = next(events)
    with following(server, last) as events:
        assert next(events)[:2] == ("change", changed(["rex"], []))
        assert server.update("DELETE DATA { :max a :Dog }").status == 204
        assert next(events)[:2] == ("change", changed([], ["max"]))


@pytest.mark.parametrize("last", ["", "1", "of-another", "00000000-1", "\u00b2-\u00b2"])
def test_a_client_that_comes_back_from_elsewhere_begins_anew(server: Server, last: str) -> None:
    with following(server, last) as events:
        assert [next(events)[0], next(events)[:2]] == ["lost", ("rows", rows("rex"))]


def test_a_client_that_has_missed_too_much_begins_anew(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_MOST", 1)
    with following(server) as events:
        *_, first = next(events)
        for update in ("INSERT DATA { :max a :Dog }", "INSERT DATA { :tom a :Dog }"):
            assert server.update(update).status == 204
    with following(server, first) as events:
        assert next(events)[0] == "lost"
        assert next(events)[:2] == ("rows", rows("max", "rex", "tom"))
        assert server.update("DELETE DATA { :rex a :Dog }").status == 204
        assert next(events)[:2] == ("change", changed([], ["rex"]))


def test_large_changes_are_not_kept_for_long(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_MOST_ROWS", 2)
    with following(server) as events:
        *_, first = next(events)
        for update in ("INSERT DATA { :max a :Dog }", "INSERT DATA { :tom a :Dog . :tim a :Dog }"):
            assert server.update(update).status == 204
        *_, second = next(events)
    with following(server, first) as events:
        assert [next(events)[0], next(events)[:2]] == ["lost", ("rows", rows("max", "rex", "tim", "tom"))]
    with following(server, second) as events:
        assert next(events)[:2] == ("change", changed(["tim", "tom"], []))


def test_streams_end_with_the_server(caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as connections:
        with serving() as server:
            server.store.view("pets", PETS)
            server.store.commit()
            events = connections.enter_context(following(server))
            assert next(events)[0] == "rows"
            assert server.update("INSERT DATA { :max a :Dog }").status == 204
        assert next(events)[:2] == ("change", changed(["max"], []))
        with pytest.raises(KeyError):  # The stream is whole, and has no other event.
            next(events)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


def test_a_client_that_reads_slowly_holds_up_nobody(server: Server) -> None:
    names = [f"{i:04}{'x' * 10_000}" for i in range(60)]
    with following(server) as slow:
        assert next(slow)[0] == "rows"
        for sign in ("INSERT", "DELETE") * 10:
            data = " ".join(f":{name} a :Dog ." for name in names)
            assert server.update(f"{sign} DATA {{ {data} }}").status == 204
        with following(server) as others:
            assert next(others)[:2] == ("rows", rows("rex"))
        found = [next(slow)[1] for _ in range(20)]
        assert [len(each["inserted"]) for each in found] == [60, 0] * 10


def test_the_changes_of_a_view_without_clients_are_kept_for_a_while(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_KEPT", 0.0)
    with following(server) as events:
        *_, last = next(events)
        assert len(server.store._subscribers._entries) == 1
    end = time.monotonic() + 30
    while server.store._subscribers._entries:
        assert time.monotonic() < end
        time.sleep(0.01)
    with following(server, last) as events:
        assert next(events)[0] == "lost"


def test_wrong_requests_for_changes(server: Server) -> None:
    unknown = server.send("GET", "/views/nothing/changes")
    assert (unknown.status, unknown.problem["code"]) == (404, "E0601")
    assert server.send("GET", "/views/pets/changes", Accept="text/csv").problem["code"] == "E0694"
    assert server.send("POST", "/views/pets/changes", "").status == 405
    assert server.send("HEAD", "/views/pets/changes").status == 200
