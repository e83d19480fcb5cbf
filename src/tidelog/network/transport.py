"""Transports carry packets from node to node. A transport promises nothing: packets may be lost, repeated, reordered
and late.

`Transport` is the base class of all. `SimulatedTransport`, here, carries packets within one process with every kind of
misfortune, in an order that a seed decides. Others have modules of their own, because they need packages.
"""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable

from tidelog.errors import wrong_argument
from tidelog.network.limits import checked_name, checked_names


class Transport(ABC):
    """One node's end of a network."""

    @abstractmethod
    def send(self, receiver: str, data: bytes) -> None:
        """Send a packet on its way; never wait, and never fail because of the other side."""

    @abstractmethod
    def receive(self, timeout: float = 0.0) -> list[tuple[str | None, bytes]]:
        """Return the packets that have come, after waiting at most `timeout` seconds for the first; each with the name
        of the sender if the transport can prove it, else None."""

    @abstractmethod
    def close(self) -> None:
        """Release everything. Nothing can be sent or received any more."""


SCHEDULES = ("random", "lifo", "burst", "starve", "fifo")

TRIES = 20
"""How often a packet of a slow node is passed over for another one."""


class SimulatedNetwork:
    """Packets on their way between the transports that `transport` hands out. Their fate depends on `seed` alone.

    `loss` and `duplicates` are probabilities. `schedule` says which packet comes next: any ("random"), mostly the
    newest ("lifo"), mostly one of the newest ("burst"), any but mostly not those of one slow node ("starve"), or the
    oldest ("fifo").
    """

    def __init__(self, seed: int, *, loss: float = 0.0, duplicates: float = 0.0, schedule: str = "random") -> None:
        """Raise UsageError (E0635) for a wrong argument."""
        given: object = schedule
        if not isinstance(given, str) or given not in SCHEDULES:
            raise wrong_argument("`schedule`", f"one of {', '.join(SCHEDULES)}", schedule)
        for name, value in {"loss": loss, "duplicates": duplicates}.items():
            if not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise wrong_argument(f"`{name}`", "a probability from 0 to 1", value)
        if not isinstance(seed, int) or seed.bit_length() > 64:
            raise wrong_argument("`seed`", "an integer of at most 64 bits", seed)
        self.random = random.Random(seed)
        self.loss, self.duplicates, self.schedule = loss, duplicates, schedule
        self.packets = 0
        self.bytes = 0
        self.trace = hashlib.sha256()
        """Of everything delivered, in order: two runs are the same run when these are the same."""
        self._flight: list[tuple[str, str, bytes]] = []
        self._inboxes: dict[str, list[tuple[str | None, bytes]]] = {}
        self._parts: tuple[frozenset[str], ...] = ()
        self._slow: str | None = None

    def transport(self, name: str) -> SimulatedTransport:
        """Return the end of a node. Raise UsageError (E0624) if it cannot have this name."""
        self._inboxes.setdefault(checked_name(name), [])
        return SimulatedTransport(self, name)

    @property
    def empty(self) -> bool:
        """Return True if nothing is on its way."""
        return not self._flight

    @property
    def on_the_way(self) -> int:
        """Return the number of packets on their way."""
        return len(self._flight)

    def cut(self, *parts: Iterable[str]) -> None:
        """Cut the network: no packet gets from one part to another, nor to nodes in no part, until `heal`. Raise
        UsageError (E0624, E0635) for parts that are no lists of names."""
        self._parts = tuple(frozenset(checked_names(part, "a part of the network")) for part in parts)

    def heal(self) -> None:
        """End a cut."""
        self._parts = ()

    def post(self, sender: str, receiver: str, data: bytes) -> None:
        """Put a packet on its way."""
        self.packets += 1
        self.bytes += len(data)
        if not self._apart(sender, receiver):
            self._flight.append((sender, receiver, data))

    def deliver(self) -> str | None:
        """Let one packet arrive, or be lost; return the node that gets it, if one does."""
        if not self._flight:
            return None
        index = self._next()
        sender, receiver, data = self._flight[index]
        if self.schedule == "fifo":
            del self._flight[index]
        else:
            self._flight[index] = self._flight[-1]
            self._flight.pop()
        if self.random.random() < self.loss or self._apart(sender, receiver):
            return None
        if self.random.random() < self.duplicates:
            self._flight.append((sender, receiver, data))
        self.trace.update(data)
        self._inboxes.setdefault(receiver, []).append((sender, data))
        return receiver

    def take(self, name: str) -> list[tuple[str | None, bytes]]:
        """Empty the inbox of a node."""
        found, self._inboxes[name] = self._inboxes[name], []
        return found

    def _apart(self, sender: str, receiver: str) -> bool:
        if not self._parts:
            return False
        return not any(sender in part and receiver in part for part in self._parts)

    def _next(self) -> int:
        last, chance = len(self._flight) - 1, self.random.random()
        match self.schedule:
            case "fifo":
                return 0
            case "lifo" if chance < 0.9:
                return last
            case "burst" if chance < 0.95:
                return max(0, last - int(self.random.expovariate(0.3)))
            case "starve":
                if self._slow is None:
                    self._slow = self.random.choice(sorted(self._inboxes))
                for _ in range(TRIES):
                    index = self.random.randrange(last + 1)
                    if self._slow not in self._flight[index][:2]:
                        return index
        return self.random.randrange(last + 1)


class SimulatedTransport(Transport):
    """A node's end of a `SimulatedNetwork`."""

    def __init__(self, network: SimulatedNetwork, name: str) -> None:
        self._network = network
        self._name = name

    def send(self, receiver: str, data: bytes) -> None:
        self._network.post(self._name, receiver, data)

    def receive(self, timeout: float = 0.0) -> list[tuple[str | None, bytes]]:
        """Return the delivered packets; never wait."""
        return self._network.take(self._name)

    def close(self) -> None:
        self._network.take(self._name)
