"""Nodes that talk over sockets: who gets in, who does not, and what is too large."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest
import zmq

from tests.network.cases import REACHABILITY
from tidelog.errors import UsageError
from tidelog.network import Node
from tidelog.network.messages import Offer
from tidelog.network.rulebook import Rulebook
from tidelog.network.wire import LARGEST_PACKET, Packet, encode
from tidelog.network.zeromq import Address, Keys, ZeroMQTransport, new_keys

PATIENCE = 120.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def addresses(names: str) -> tuple[dict[str, Keys], dict[str, Address]]:
    keys = {name: new_keys() for name in names}
    return keys, {name: Address(f"tcp://127.0.0.1:{free_port()}", keys[name].public) for name in names}


def take_turns(until: Callable[[], bool], *nodes: Node) -> None:
    """Until something is so; TimeoutError when it never is."""
    end = time.monotonic() + PATIENCE
    while not until():
        if time.monotonic() > end:
            raise TimeoutError
        for node in nodes:
            node.run(0.01)


def test_nodes_on_sockets_find_the_answer() -> None:
    keys, nodes = addresses("abc")
    made = {
        name: Node(name, REACHABILITY, ZeroMQTransport(name, keys[name].secret, nodes), peers=nodes, known_only=True)
        for name in nodes
    }
    try:
        for x, y in ("ab", "bc", "ca"):
            made[x].insert("link", [(x, y)])
        take_turns(lambda: all(len(node["reachable"]) == 3 and node.quiet for node in made.values()), *made.values())
        made["c"].delete("link", [("c", "a")])
        take_turns(lambda: not made["c"]["reachable"] and all(node.quiet for node in made.values()), *made.values())
        assert made["a"]["reachable"] == {("a", "b"), ("a", "c")}
        assert sum((node.rejected for node in made.values()), start=made["a"].rejected.copy()).keys() <= {
            "heard before"
        }
    finally:
        for node in made.values():
            node.close()


def test_nobody_gets_in_without_a_known_key() -> None:
    """One without a key, one with a key that nobody knows, one that knows a key but sends in another name."""
    keys, nodes = addresses("ab")
    a = Node("a", REACHABILITY, ZeroMQTransport("a", keys["a"].secret, nodes), peers=nodes, known_only=True)
    lie = Packet("a", "a", Rulebook(REACHABILITY).fingerprint, (Offer(1, 1, ("reachable", ("a", "x")), 1),))
    context = zmq.Context()
    strangers = []
    try:
        for pair in (None, new_keys(), keys["b"]):
            stranger = context.socket(zmq.PUSH)
            strangers.append(stranger)
            stranger.setsockopt(zmq.LINGER, 0)
            if pair is not None:
                stranger.curve_publickey, stranger.curve_secretkey = pair.public.encode(), pair.secret.encode()
                stranger.curve_serverkey = keys["a"].public.encode()
            stranger.connect(nodes["a"].address)
            stranger.send(encode(lie))
        take_turns(lambda: bool(a.rejected), a)
        a.run(0.2)
        assert dict(a.rejected) == {
            "forged sender": 1
        }  # from the one with the known key; the others are not even heard
        assert a["reachable"] == set()
    finally:
        context.destroy(linger=0)
        a.close()


def test_what_is_too_large_is_not_received() -> None:
    keys, nodes = addresses("ab")
    a, b = (ZeroMQTransport(name, keys[name].secret, nodes) for name in "ab")
    try:
        b.send("a", bytes(LARGEST_PACKET + 1))
        b.send("a", b"small")
        received: list[bytes] = []
        end = time.monotonic() + PATIENCE
        while not received and time.monotonic() < end:
            received += [data for _, data in a.receive(0.05)]
            b.send("a", b"small")
        assert set(received) == {b"small"}
    finally:
        a.close()
        b.close()


def test_packets_for_nobody_are_dropped() -> None:
    keys, nodes = addresses("a")
    a = ZeroMQTransport("a", keys["a"].secret, nodes)
    a.send("z", b"x")
    assert a.dropped == 1
    a.close()


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1"])
def test_a_wrong_address(address: str) -> None:
    keys = new_keys()
    with pytest.raises(UsageError, match="E0624"):
        ZeroMQTransport("a", keys.secret, {"a": Address(address, keys.public)})


def test_a_wrong_key() -> None:
    with pytest.raises(UsageError, match="E0624"):
        ZeroMQTransport("a", "secret", {"a": Address("tcp://127.0.0.1:0", "public")})
