"""Packets through an MQTT broker (the extra `network`), for devices that reach a broker and nothing else.

Each node listens at the topic PREFIX/NAME. The nodes do not trust the broker: every packet carries a digest made with a
shared key (HMAC-SHA256); the transport drops and counts packets without one. That proves that a packet is from some
node of the network, not from which one. For that, and against curious brokers, use TLS and the broker's accounts.
Packets use quality of service 0, because nodes repeat everything that is not acknowledged.
"""

from __future__ import annotations

import hashlib
import hmac
import queue
import threading
from contextlib import suppress
from urllib.parse import quote

from tidelog.errors import Problem, SetupError, UsageError, how_to_install
from tidelog.network.wire import LARGEST_PACKET, Transport

try:
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion
except ImportError:  # pragma: no cover  (the extra is installed wherever this is tested)
    raise SetupError(Problem("E0790", "MQTT is not installed", hint=how_to_install("network"))) from None

_DIGEST = hashlib.sha256().digest_size
QUEUE = 10_000
"""Packets that wait to be received, or to be sent, before more are dropped."""

INBOX = 64 * 2**20
"""Bytes that wait to be received before more are dropped."""


class MQTTTransport(Transport):
    """The end of the node `name` at a broker.

    All nodes share `key`, at least 16 bytes; `tls` uses the machine's certificates. The transport connects, and
    reconnects, in the background. Raises UsageError (E0624) if the key is too short, or the broker cannot be reached at
    all.
    """

    def __init__(
        self,
        name: str,
        host: str,
        port: int = 1883,
        *,
        key: bytes,
        prefix: str = "tidelog",
        username: str | None = None,
        password: str | None = None,
        tls: bool = False,
    ) -> None:
        if len(key) < 16:
            raise UsageError(
                Problem("E0624", "the key has fewer than 16 bytes", hint="make one: secrets.token_bytes(32)")
            )
        self._key = key
        self._prefix = prefix
        self._inbox: queue.Queue[bytes] = queue.Queue(QUEUE)
        self._waiting = 0
        self._lock = threading.Lock()
        self._topic = self._topic_of(name)
        self.dropped = 0
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self._client.max_queued_messages_set(QUEUE)
        self._client.on_connect = self._subscribe
        self._client.on_message = self._receive_packet
        if username is not None:
            self._client.username_pw_set(username, password)
        if tls:
            self._client.tls_set()
        try:
            self._client.connect(host, port)
        except (OSError, ValueError) as error:
            message = f"node {name} cannot reach the broker {host}:{port}: {error}"
            raise UsageError(Problem("E0624", message, hint="check the address, and that the broker runs")) from None
        self._client.loop_start()

    def send(self, receiver: str, data: bytes) -> None:
        self._client.publish(self._topic_of(receiver), self._digest(data) + data, qos=0)

    def receive(self, timeout: float = 0.0) -> list[tuple[str | None, bytes]]:
        found: list[tuple[str | None, bytes]] = []
        with suppress(queue.Empty):
            found.append((None, self._inbox.get(timeout > 0, timeout)))
            while True:
                found.append((None, self._inbox.get_nowait()))
        with self._lock:
            self._waiting -= sum(len(data) for _, data in found)
        return found

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _topic_of(self, name: str) -> str:
        """Return the topic of a node, without the characters that mean something to a broker."""
        return f"{self._prefix}/{quote(name, safe='')}"

    def _digest(self, data: bytes) -> bytes:
        return hmac.digest(self._key, data, "sha256")

    def _subscribe(self, client: mqtt.Client, *_: object) -> None:
        client.subscribe(self._topic, qos=0)

    def _receive_packet(self, _client: mqtt.Client, _data: object, message: mqtt.MQTTMessage) -> None:
        digest, data = bytes(message.payload[:_DIGEST]), bytes(message.payload[_DIGEST:])
        if len(data) > LARGEST_PACKET or not hmac.compare_digest(digest, self._digest(data)):
            self.dropped += 1
            return
        with self._lock:
            if self._inbox.full() or self._waiting + len(data) > INBOX:
                self.dropped += 1
                return
            self._waiting += len(data)
        self._inbox.put_nowait(data)  # only this thread puts, so that there is still room
