"""Nodes that talk by way of a broker; the one here knows as much of MQTT 3.1.1 as they need."""

from __future__ import annotations

import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tests.network.cases import REACHABILITY
from tidelog.errors import UsageError
from tidelog.network import Node
from tidelog.network.mqtt import MQTTTransport

KEY = b"0123456789abcdef"
PATIENCE = 120.0


class Broker:
    """Passes what is published with quality 0 to who has subscribed to exactly that topic."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._lock = threading.Lock()
        self._subscribers: dict[bytes, list[socket.socket]] = {}
        self._clients: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)

    def publish(self, topic: bytes, payload: bytes) -> None:
        body = len(topic).to_bytes(2, "big") + topic + payload
        with self._lock:
            for client in self._subscribers.get(topic, ()):
                with suppress(OSError):
                    client.sendall(b"\x30" + _length(len(body)) + body)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self._clients.append(client)
                thread = threading.Thread(target=self._serve, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as stream, suppress(OSError, IndexError):
            while True:
                kind = stream.read(1)[0] >> 4
                body = stream.read(_read_length(stream.read))
                if kind == 1:
                    client.sendall(b"\x20\x02\x00\x00")
                elif kind == 3:
                    size = int.from_bytes(body[:2], "big")
                    self.publish(body[2 : 2 + size], body[2 + size :])
                elif kind == 8:
                    size = int.from_bytes(body[2:4], "big")
                    with self._lock:
                        self._subscribers.setdefault(body[4 : 4 + size], []).append(client)
                        client.sendall(b"\x90\x03" + body[:2] + b"\x00")
                elif kind == 12:
                    client.sendall(b"\xd0\x00")


def _length(number: int) -> bytes:
    found = bytearray()
    while True:
        number, low = divmod(number, 128)
        found.append(low | (128 if number else 0))
        if not number:
            return bytes(found)


def _read_length(read: Callable[[int], bytes]) -> int:
    number, shift = 0, 0
    while True:
        byte = read(1)[0]
        number |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            return number


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.close()


def test_nodes_find_the_answer_by_way_of_a_broker(broker: Broker) -> None:
    names = ["a", "b/#", "c"]  # the second one would mean something to a broker
    nodes = {name: Node(name, REACHABILITY, MQTTTransport(name, "127.0.0.1", broker.port, key=KEY)) for name in names}
    try:
        for x, y in zip(names, [*names[1:], names[0]], strict=True):
            nodes[x].insert("link", [(x, y)])
        end = time.monotonic() + PATIENCE
        while not all(node.quiet and len(node["reachable"]) == 3 for node in nodes.values()):
            assert time.monotonic() < end
            for node in nodes.values():
                node.run(0.01)
        nodes["c"].delete("link", [("c", "a")])
        while nodes["c"]["reachable"] or not all(node.quiet for node in nodes.values()):
            assert time.monotonic() < end
            for node in nodes.values():
                node.run(0.01)
        assert nodes["a"]["reachable"] == {("a", "b/#"), ("a", "c")}
    finally:
        for node in nodes.values():
            node.close()


def test_packets_without_the_key_are_dropped(broker: Broker) -> None:
    a = MQTTTransport("a", "127.0.0.1", broker.port, key=KEY)
    stranger = MQTTTransport("b", "127.0.0.1", broker.port, key=b"another key of 16")
    friend = MQTTTransport("c", "127.0.0.1", broker.port, key=KEY)
    try:
        received: list[bytes] = []
        end = time.monotonic() + PATIENCE
        while not (received and a.dropped >= 3) and time.monotonic() < end:
            stranger.send("a", b"x")
            friend.send("a", b"y")
            broker.publish(b"tidelog/a", b"short")
            received += [data for _, data in a.receive(0.05)]
        assert set(received) == {b"y"}
        assert a.dropped >= 3
    finally:
        for transport in (a, stranger, friend):
            transport.close()


def test_a_key_that_is_too_short_and_a_broker_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = int(server.getsockname()[1])
    for key, wrong in ((b"short", "fewer than 16 bytes"), (KEY, "cannot reach the broker")):
        with pytest.raises(UsageError) as caught:
            MQTTTransport("a", "127.0.0.1", port, key=key)
        assert caught.value.code == "E0624"
        assert wrong in str(caught.value)


@pytest.mark.filterwarnings("ignore:Exception ignored in. <ssl.SSLSocket")  # paho leaves it to the collector
def test_tls_begins_before_anything_is_said() -> None:
    """The other end sees the handshake of TLS, not MQTT, and hangs up."""
    heard: list[bytes] = []

    def listen(server: socket.socket) -> None:
        client, _ = server.accept()
        with client:
            heard.append(client.recv(2))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=listen, args=(server,))
        thread.start()
        with pytest.raises(UsageError) as caught:
            MQTTTransport("a", "127.0.0.1", int(server.getsockname()[1]), key=KEY, tls=True)
        thread.join(PATIENCE)
    assert caught.value.code == "E0624"
    assert heard == [b"\x16\x03"]
    del caught
    gc.collect()
