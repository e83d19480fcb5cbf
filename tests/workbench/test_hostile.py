"""Clients that mean no good, or are broken: what they send is refused with a problem document, and holds nobody up."""

from __future__ import annotations

import io
import json
import logging
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlsplit

import pyarrow as pa
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from tests.fuzz.server import RequestMaker
from tests.serving import Answered
from tests.workbench.serving import Server, serving, until
from tidelog.workbench import following
from tidelog.workbench.feed import EpochChanges, EpochFeed

FORM = {"Content_Type": "multipart/form-data; boundary=cut"}


def part(data: bytes) -> bytes:
    head = b'--cut\r\nContent-Disposition: form-data; name="insert.edge"; filename="x"\r\n\r\n'
    return head + data + b"\r\n--cut--\r\n"


def stream() -> bytearray:
    table, sink = pa.table({"x": [10, 11], "y": [11, 12]}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytearray(sink.getvalue())


def test_requests_at_random_are_answered_or_refused() -> None:
    maker = RequestMaker(1)
    with serving() as server:
        for _ in range(300):
            method, path, body, headers = maker.request()
            answer = server.send(method, path, body, **headers)
            assert answer.status < 500, (path, body, headers, answer.text)
            assert answer.status < 400 or answer.code


def test_texts_that_no_parser_takes_are_refused() -> None:
    deep = "[" * 3_000 + "]" * 3_000
    with serving() as server:
        for origin in ("http://[x", "null", "http://localhost.example.org"):
            answer = server.send("GET", "/v1/relations", Origin=origin)
            assert (answer.status, answer.problem["code"]) == (403, "E0693")
        for path in (f"/v1/explain?relation=path&tuple={deep}", "/v1/relations/edge?filter[x]=%ff", "/v1/stats/%00"):
            assert server.send("GET", path).status in (400, 404)
        for body in ({"query": "edge(x, y)", "limit": -1}, {"query": "edge(x, y)", "parameters": {"\0": 1}}):
            assert server.post("/v1/query", body).problem["code"][:2] == "E0"
        assert server.send("GET", "/v1/relations/" + quote("../../etc/passwd", safe="")).status == 404
        answer = server.send("POST", "/v1/query", "[" * 200_000, Content_Type="application/json")
        assert answer.problem["code"] == "E0692"


def test_arrow_streams_with_wrong_bytes_are_refused() -> None:
    with serving() as server:
        for i in range(0, len(stream()), 7):
            data = stream()
            data[i] ^= 0xFF
            answer = server.send("POST", "/v1/transactions?dry_run", part(bytes(data)), **FORM)
            assert answer.status in (200, 400), (i, answer.text)


def test_forms_that_are_cut_write_nothing_to_the_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The handlers of pytest would take the messages that a server of its own writes to the standard error.
    monkeypatch.setattr(logging.getLogger("python_multipart"), "propagate", False)
    with serving() as server:
        for body in (b"no boundary", b"--cut\r\nX\r\n\r\n", b"--cux\r\n"):
            answer = server.send("POST", "/v1/transactions", body, **FORM)
            assert (answer.status, answer.problem["code"]) == (400, "E0692")
    assert capsys.readouterr().err == ""


def test_what_each_token_may_not_do() -> None:
    facts, rule = {"insert": {"edge": [[8, 9]]}}, {"rules": {"add": ["r: path(y, x) :- edge(x, y)."]}}
    with serving(None, "read:one", "write:two", "rules:three") as server:

        def status(token: str, body: object, query: str = "") -> int:
            return server.post(f"/v1/transactions{query}", body, Authorization=f"Bearer {token}").status

        for query in ("", "?dry_run"):
            assert [status(token, facts, query) for token in ("none", "one")] == [401, 403]
            for kind in ("add", "replace", "remove"):
                changed = {"rules": {kind: rule["rules"]["add"]}}
                assert [status(token, changed, query) for token in ("one", "two")] == [403, 403]
        hidden = b'--cut\r\nContent-Disposition: form-data; name="transaction"\r\n\r\n%s\r\n--cut--\r\n'
        answer = server.send(
            "POST", "/v1/transactions", hidden % json.dumps(rule).encode(), Authorization="Bearer two", **FORM
        )
        assert answer.problem["code"] == "E0693"
        assert status("two", facts) == status("three", rule) == 200


def test_a_key_that_comes_eight_times_at_once_makes_one_epoch() -> None:
    with serving() as server, ThreadPoolExecutor(8) as pool:

        def send(i: int) -> Answered:
            return server.post("/v1/transactions", {"insert": {"edge": [[50, i]]}}, Idempotency_Key=f"k{i}")

        for i in range(5):
            answers = list(pool.map(send, [i] * 8))
            assert {answer.status for answer in answers} == {200}
            found = [json.loads(answer.body) for answer in answers]
            assert {each["epoch"] for each in found} == {i + 2}
            assert sum("repeated" not in each for each in found) == 1


def open_socket(server: Server) -> socket.socket:
    address = urlsplit(server.address)
    return socket.create_connection((address.hostname or "", address.port or 0), timeout=20)


def test_a_client_that_sends_no_whole_head_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.serve.running.SECONDS", 0.2)
    with serving() as server, open_socket(server) as slow, server.events() as events:
        slow.sendall(b"GET /v1/relations HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        assert slow.recv(100) == b""
        next(events)
        server.change(insert={"edge": [[7, 8]]})
        assert next(events)[0] == "change"  # An answer under way stays.


_HEAD = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_GET = b"GET /v1/relations/edge HTTP/1.1\r\nHost: localhost\r\n\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (b"GET /", b"x" * 1_000),
        (b"GET / HTTP/1.1\r\nX: ", b"x" * 1_000),
        (b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 200),
        (_CHUNKED + b"1;x=", b"x" * 1_000),
        (_CHUNKED + b"1\r\n1\r\n0\r\n", b"X: y\r\n" * 200),
    ],
)
def test_a_head_without_end_is_refused(begin: bytes, part: bytes) -> None:
    with serving() as server, open_socket(server) as client:
        client.sendall(begin)
        with suppress(ConnectionError):
            for _ in range(300):
                client.sendall(part)
        with suppress(ConnectionResetError):  # The refusal can be lost where the client goes on.
            assert client.recv(100).startswith(b"HTTP/1.1 431 ")
        assert server.read("/v1/relations")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /v1/relations HTTP/1.1\r\n\r\n",
        b"GET /v1/relations HTTP/1.1\r\nHost: localhost\r\nHost: example.org\r\n\r\n",
        b"GET /v1/relations HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
        b"GET /v1/relations HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET /v1/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"BREW /v1/relations HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/relations HTTP/9.1\r\nHost: localhost\r\n\r\n",
        _HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        _HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        _HEAD + b"Content-Length: -1\r\n\r\n",
        _HEAD + b"Transfer-Encoding: gzip\r\n\r\n{}",
    ],
)
def test_what_is_no_http_is_refused(head: bytes) -> None:
    with serving() as server, open_socket(server) as client:
        client.sendall(head)
        assert received(client).startswith(b"HTTP/1.1 400 ")


def test_headers_behind_a_body_are_no_headers() -> None:
    with serving(None, "read:one") as server, open_socket(server) as client:
        data = b'{"query": "edge(x, y)"}'
        chunk = f"{len(data):x}\r\n".encode() + data + b"\r\n0\r\n"
        client.sendall(_CHUNKED + chunk + b"Authorization: Bearer one\r\nConnection: close\r\n\r\n")
        assert client.recv(10_000).startswith(b"HTTP/1.1 401 ")


def test_requests_that_come_together_are_answered_in_their_order() -> None:
    with serving() as server, open_socket(server) as client:
        one, other = (f"GET /v1/relations/{name}?limit=1 HTTP/1.1\r\nHost: localhost\r\n" for name in ("edge", "path"))
        client.sendall(f"{one}\r\n{other}Connection: close\r\n\r\n".encode())
        answers = received(client)
        assert 0 < answers.index(b'"relation": "edge"') < answers.index(b'"relation": "path"')
        assert answers.count(b"HTTP/1.1 200 OK") == 2


_QUERY = _HEAD + b'Content-Length: 23\r\n\r\n{"query": "edge(x, y)"}'
_UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n"


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize(
    "last",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000,
        b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n" + _UPGRADE,
        _CHUNKED + b"x",
        _QUERY[:-1],
        _GET,
    ],
)
def test_no_answer_is_written_to_a_closed_connection(
    last: bytes, waits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with serving() as server:
        for before in (_GET, _GET * 3, _QUERY, _QUERY + _GET):
            with open_socket(server) as client:
                client.sendall(before + last)
                if waits:
                    client.shutdown(socket.SHUT_WR)
                    with suppress(ConnectionResetError):
                        received(client)
        assert server.read("/v1/relations")
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_wrong_frames_before_the_answer_to_their_request_close_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asks, may_answer, asked = threading.Event(), threading.Event(), following._subscription_of

    def asked_late(*arguments: Any) -> Any:
        asks.set()
        assert may_answer.wait(20)
        return asked(*arguments)

    monkeypatch.setattr(following, "_subscription_of", asked_late)
    with serving() as server:
        with open_socket(server) as client:
            upgrade = _UPGRADE.replace(b"eA==", b"dGhlIHNhbXBsZSBub25jZQ==")
            client.sendall(b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n" + upgrade)
            assert asks.wait(20)
            client.sendall(b"\xff" * 10)
            assert received(client) == b""
            may_answer.set()
        assert until(lambda: f"{NAME}0" in server.send("GET", "/metrics").text)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def received(client: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    return b"".join(iter(lambda: client.recv(10_000), b""))


def test_a_body_that_does_not_come_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.serve.requests._SECONDS_TO_SEND", 0.2)
    head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    with serving() as server, open_socket(server) as slow:
        slow.sendall(head.encode())
        answer = slow.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"application/problem+json" in answer


def test_subscribers_that_leave_are_forgotten() -> None:
    with serving() as server:
        address = server.address.replace("http", "ws") + "/v1/changes"

        def followers() -> int:
            line = next(row for row in server.send("GET", "/metrics").text.splitlines() if row.startswith(NAME))
            return int(float(line.split()[1]))

        with connect(address) as one, connect(address) as other, server.events() as events:
            next(events)
            assert until(lambda: followers() == 3)
            one.recv(timeout=20)
            other.recv(timeout=20)
            other.send("x" * 100_000)
            with pytest.raises(ConnectionClosedError, match="1009"):
                other.recv(timeout=20)
        assert until(lambda: followers() == 0)


NAME = "tidelog_followers "


def test_a_subscriber_takes_few_changes_at_once() -> None:
    feed = EpochFeed(0)
    for epoch in range(1, 8):
        feed._keep(EpochChanges(epoch, {}))
    feed._kept.popleft()
    assert [[each.number for each in feed.after(after, 3)[0]] for after in (0, 3, 5, 7)] == [
        [2, 3, 4], [4, 5, 6], [6, 7], [],
    ]  # fmt: skip
    assert feed.after(0, 3)[1] == 1


def test_refused_requests_are_counted_by_their_status() -> None:
    with serving() as server:
        server.read("/v1/relations")
        assert server.send("GET", "/v1/relations/nope").status == 404
        assert server.send("POST", "/v1/transactions", b"--cux\r\n", **FORM).status == 400
        text = server.send("GET", "/metrics").text
        assert 'tidelog_requests_total{path="/v1/relations/{name}",status="404"} 1.0' in text
        assert 'tidelog_requests_total{path="/v1/transactions",status="400"} 1.0' in text
        assert 'status="500"' not in text


def test_the_document_has_each_path_and_method() -> None:
    with serving() as server:
        paths = server.read("/v1/openapi.json")["paths"]
        for path, operations in paths.items():
            for method, operation in operations.items() if path != "/v1/changes" else ():
                answer = server.send(method.upper(), path.replace("{name}", "nope"), **FORM)
                assert answer.status != 405
                assert {"200", "default"} == set(operation["responses"])
        assert set(paths["/v1/check"]) == {"get", "post"}
        assert paths["/healthz"]["get"]["security"] == []
        for name in ("/v1/relations", "/v1/rules", "/v1/graph", "/v1/stats", "/v1/check"):
            schema = paths[name]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            assert set(schema["required"]) <= set(server.read(name))
