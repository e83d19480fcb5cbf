"""Clients that leave, or ask for too much: their work ends, and others go on."""

from __future__ import annotations

import gc
import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.workbench.serving import Server, serving, until
from tidelog.errors import LimitError
from tidelog.limits.interrupts import Cancellation, Interrupts, cancellation_here, cancelled_by
from tidelog.limits.watch import Watch
from tidelog.serve.requests import ServerLimits

ENDLESS = ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x).\n"


@contextmanager
def asking(
    server: Server, method: str, path: str, body: object = None, **headers: str
) -> Iterator[http.client.HTTPConnection]:
    """Send a request, and leave at the end of the block without an answer."""
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=60)
    content = None if body is None else json.dumps(body)
    connection.request(method, path, content, {"Content-Type": "application/json"} | headers)
    try:
        yield connection
    finally:
        connection.close()


def is_free(server: Server) -> bool:
    """Return True if no thread has the writers' lock."""
    lock = server.db.turns.changing
    if not lock.acquire(timeout=0.01):
        return False
    lock.release()
    return True


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_endless_recursion_ends_when_its_client_leaves(dry_run: bool) -> None:
    with serving() as server:
        path = f"/v1/transactions?dry_run={str(dry_run).lower()}"
        with asking(server, "POST", path, {"rules": {"add": [ENDLESS]}}):
            assert until(lambda: not is_free(server))
        assert until(lambda: is_free(server))
        assert server.change(insert={"edge": [[7, 8]]})["epoch"] == 2
        assert server.read("/v1/relations/edge", **{"filter[x]": 7})["rows"] == [[7, 8]]
        assert "n" not in server.db.relations


def test_a_query_ends_when_its_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query waits at a look until its client has left, so that it cannot be over before."""
    looks = list[Cancellation]()
    look = Watch.look

    def waiting(watch: Watch, rows: int = 0) -> None:
        found = cancellation_here()
        if found is not None:
            looks.append(found)
            assert until(lambda: found.is_cancelled)
        look(watch, rows)

    monkeypatch.setattr(Watch, "look", waiting)
    with serving() as server:
        with asking(server, "POST", "/v1/query", {"query": "path(x, y), path(y, z), path(z, w)"}):
            assert until(lambda: bool(looks))
        assert until(lambda: looks[0].is_cancelled)
        monkeypatch.undo()
        assert len(server.read("/v1/relations/edge")["rows"]) > 0


def test_a_check_ends_quietly_when_its_client_leaves(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks = list[Cancellation]()
    look = Interrupts.look

    def waiting(interrupts: Interrupts) -> None:
        found = cancellation_here()
        if found is not None:
            looks.append(found)
            assert until(lambda: found.is_cancelled)
        look(interrupts)

    with serving() as server:
        monkeypatch.setattr(Interrupts, "look", waiting)
        with asking(server, "POST", "/v1/check", Accept="application/x-ndjson"):
            assert until(lambda: bool(looks))
        assert until(lambda: looks[0].is_cancelled)
        monkeypatch.undo()
        assert server.read("/v1/check")["last"] is None
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_a_client_that_waits_for_its_turn_can_leave() -> None:
    with serving() as server:
        with server.db.turns.changing, asking(server, "POST", "/v1/transactions", {"insert": {"edge": [[7, 8]]}}):
            pass
        assert until(lambda: is_free(server))
        assert server.change(insert={"edge": [[8, 9]]})["epoch"] in (2, 3)


def test_a_dry_run_has_a_bound_of_memory() -> None:
    with serving(limits=ServerLimits(memory=1)) as server:
        answer = server.post("/v1/transactions?dry_run", {"rules": {"add": [ENDLESS]}})
        assert (answer.status, json.loads(answer.body)["code"]) == (503, "E0503")
        assert server.change(insert={"edge": [[7, 8]]})["epoch"] == 2


def test_looks_of_a_thread_see_its_cancellation() -> None:
    cancellation = Cancellation()
    with cancelled_by(cancellation):
        interrupts, watch = Interrupts(), Watch()
    interrupts.look()
    watch.look()
    cancellation.cancel()
    for look in (interrupts.look, watch.look):
        with pytest.raises(LimitError, match="E0509"):
            look()
    with interrupts.putting_off():  # as where changes are taken back
        interrupts.look()
    Interrupts().look()
    assert cancellation_here() is None


def test_a_wait_for_a_lock_sees_its_cancellation() -> None:
    import threading

    lock, cancellation, raised = threading.Lock(), Cancellation(), threading.Event()

    def wait() -> None:
        with cancelled_by(cancellation), pytest.raises(LimitError, match="E0509"):
            Interrupts().take(lock)
        raised.set()

    with lock:
        thread = threading.Thread(target=wait)
        thread.start()
        cancellation.cancel()
        assert raised.wait(20)
    thread.join()
