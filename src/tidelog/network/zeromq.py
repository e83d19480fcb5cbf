"""Packets over TCP between processes and machines, with ZeroMQ (the extra `network`).

Every node has a pair of keys (CURVE). Packets are encrypted, and a node accepts only connections of keys that it knows,
so the sender of each packet is proven. The transport drops a packet that it cannot send at once: nodes repeat
everything that is not acknowledged. A packet that is too large ends its connection before it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.errors import Problem, SetupError, UsageError, how_to_install
from tidelog.network.wire import LARGEST_PACKET, Transport

try:
    import zmq
    from zmq.auth.thread import ThreadAuthenticator
except ImportError:  # pragma: no cover  (the extra is installed wherever this is tested)
    raise SetupError(Problem("E0790", "ZeroMQ is not installed", hint=how_to_install("network"))) from None

QUEUE = 10_000
"""Packets that wait for one receiver before more are dropped."""

INBOX = 32
"""Packets of one sender that wait to be received; others wait at the sender. Each may have `LARGEST_PACKET` bytes."""

MOST_AT_ONCE = 500


@dataclass(frozen=True)
class Keys:
    """A pair of keys, each a text of 40 characters. The secret one never leaves its node."""

    public: str
    secret: str


def new_keys() -> Keys:
    """Return a new pair of keys."""
    public, secret = zmq.curve_keypair()
    return Keys(public.decode(), secret.decode())


@dataclass(frozen=True)
class Address:
    """The address where a node listens ("tcp://host:port"), and its public key."""

    address: str
    key: str


class ZeroMQTransport(Transport):
    """The end of the node `name`, which listens at its own address in `nodes` and sends to the others there. Raises
    UsageError (E0624) if an address or a key is wrong, or the address is taken."""

    def __init__(self, name: str, secret: str, nodes: Mapping[str, Address]) -> None:
        self._nodes = nodes
        self._names = {node.key.encode(): other for other, node in nodes.items()}
        self._secret = secret.encode()
        self._public = nodes[name].key.encode()
        self._context = zmq.Context()
        self._out: dict[str, zmq.Socket[bytes]] = {}
        self.dropped = 0
        self._guard = ThreadAuthenticator(self._context)
        self._guard.start()
        try:
            self._guard.configure_curve_callback(domain="*", credentials_provider=_Known(frozenset(self._names)))
            self._in = self._context.socket(zmq.PULL)
            self._in.setsockopt(zmq.LINGER, 0)
            self._in.setsockopt(zmq.RCVHWM, INBOX)
            self._in.setsockopt(zmq.MAXMSGSIZE, LARGEST_PACKET)
            self._in.curve_secretkey = self._secret
            self._in.curve_publickey = self._public
            self._in.curve_server = True
            self._in.bind(nodes[name].address)
        except (zmq.ZMQError, ValueError) as error:
            self.close()
            message = f"node {name} cannot listen at {nodes[name].address}: {error}"
            hint = "write an address like tcp://127.0.0.1:5501, and make keys with `tidelog node --new-keys`"
            raise UsageError(Problem("E0624", message, hint=hint)) from None

    def send(self, receiver: str, data: bytes) -> None:
        socket = self._out.get(receiver)
        if socket is None:
            if receiver not in self._nodes:
                self.dropped += 1
                return
            socket = self._out[receiver] = self._open_socket(self._nodes[receiver])
        try:
            socket.send(data, zmq.NOBLOCK)
        except zmq.Again:
            self.dropped += 1

    def receive(self, timeout: float = 0.0) -> list[tuple[str | None, bytes]]:
        received: list[tuple[str | None, bytes]] = []
        if not self._in.poll(round(timeout * 1000)):
            return received
        while len(received) < MOST_AT_ONCE:
            try:
                frame = self._in.recv(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                break
            received.append((self._names.get(str(frame.get("User-Id")).encode(), ""), frame.bytes))
        return received

    def close(self) -> None:
        self._guard.stop()
        self._context.destroy(linger=0)

    def _open_socket(self, node: Address) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.PUSH)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, QUEUE)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
        socket.curve_secretkey = self._secret
        socket.curve_publickey = self._public
        socket.curve_serverkey = node.key.encode()
        socket.connect(node.address)
        return socket


class _Known:
    """Authenticator that admits these keys."""

    def __init__(self, keys: frozenset[bytes]) -> None:
        self._keys = keys

    def callback(self, domain: str, key: bytes) -> bool:
        """Return ZeroMQ's answer to each connection."""
        return key in self._keys
