"""The farm's nodes: `Processes` on this machine that talk over ZeroMQ, or `Simulated` ones in this process.

Both take the same changes, and let time pass with `rest`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidelog.errors import LimitError, Problem
from tidelog.network.config import NetworkConfig
from tidelog.network.simulation import Simulation

if TYPE_CHECKING:
    from tidelog.network.local import LocalNetwork

PROGRAM = Path(__file__).with_name("farm.dl")
PATIENCE = 60.0
"""Seconds for the farm to come to rest; it takes one or two."""

AT_ONCE = 40
"""Packets of a simulated farm between two looks at it."""

Views: TypeAlias = dict[str, set[tuple[Any, ...]]]


@dataclass(frozen=True)
class Traffic:
    """Numbers of messages: tuples, changes of rules, receipts for both, and the bytes of all packets together."""

    tuples: int
    rules: int
    receipts: int
    bytes: int

    @staticmethod
    def of(counts: Mapping[str, int], size: int) -> Traffic:
        """Return the traffic from numbers of messages by kind. Questions whether all are done do not count."""
        receipts = sum(counts.get(kind, 0) for kind in ("Ack", "Noted", "Floor", "Heard"))
        return Traffic(counts.get("Offer", 0), counts.get("RuleChange", 0), receipts, size)

    @property
    def messages(self) -> int:
        return self.tuples + self.rules + self.receipts

    def __sub__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.tuples - other.tuples,
            self.rules - other.rules,
            self.receipts - other.receipts,
            self.bytes - other.bytes,
        )


TrafficLook: TypeAlias = Callable[[Traffic], None]
"""Called while the farm comes to rest, with what was sent so far."""


class Network(ABC):
    """The nodes of a farm. `changes` takes facts and rules, `rest` lets them take effect."""

    changes: LocalNetwork | Simulation

    @abstractmethod
    def rest(self, look: TrafficLook) -> Traffic:
        """Wait until the whole farm is quiet, calling `look` now and then, and return the traffic until then."""

    @abstractmethod
    def traffic(self) -> Traffic:
        """Return the traffic so far."""

    @abstractmethod
    def views(self, relations: Sequence[str]) -> Views:
        """Return the tuples of relations at all nodes together."""

    @abstractmethod
    def close(self) -> None:
        """End all nodes."""

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Processes(Network):
    """A process for each node, which ends with this one. Changes of rules start at the first node. Raises SetupError
    (E0790) without ZeroMQ."""

    changes: LocalNetwork

    def __init__(self, names: Sequence[str]) -> None:
        from tidelog.network.local import LocalNetwork

        self.changes = LocalNetwork(NetworkConfig(PROGRAM, tuple(names)))

    def rest(self, look: TrafficLook) -> Traffic:
        """Wait as `Network.rest`. Raise LimitError (E0501) if that takes longer than `PATIENCE`."""
        end = time.monotonic() + PATIENCE
        before: Traffic | None = None
        while time.monotonic() < end:
            settled = self.changes.is_quiet()
            traffic = self.traffic()
            look(traffic)
            sent = traffic if settled else None
            # The proof sends questions, whose bytes would count: it waits until nothing was sent for a moment.
            if sent is not None and sent == before:
                if self.changes.settle(1.0) and self.traffic().messages == sent.messages:
                    return sent
                sent = None
            before = sent
        problem = Problem(
            "E0501", f"the nodes of the farm did not settle within {PATIENCE:g} s", hint="run it with `--simulated`"
        )
        raise LimitError(problem)

    def traffic(self) -> Traffic:
        counts = self.changes.counts()
        return Traffic.of(counts, counts["bytes"])

    def views(self, relations: Sequence[str]) -> Views:
        return self.changes.views(relations)

    def close(self) -> None:
        self.changes.close()


class Simulated(Network):
    """All nodes in this process; a seed decides the order of packets."""

    changes: Simulation

    def __init__(self, seed: int = 1) -> None:
        self.changes = Simulation(PROGRAM, seed)

    def rest(self, look: TrafficLook) -> Traffic:
        while not self.changes.quiet:
            self.changes.run(AT_ONCE)
            look(self.traffic())
        return self.traffic()

    def traffic(self) -> Traffic:
        kinds: dict[str, int] = {}
        for node in self.changes.nodes.values():
            for kind, number in node.messages.items():
                kinds[kind] = kinds.get(kind, 0) + number
        return Traffic.of(kinds, self.changes.bytes)

    def views(self, relations: Sequence[str]) -> Views:
        return {relation: self.changes[relation] for relation in relations}

    def close(self) -> None:
        for node in self.changes.nodes.values():
            node.close()
