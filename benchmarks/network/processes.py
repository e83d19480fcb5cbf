"""The time until a network of processes comes to rest after a link was cut, and after it was repaired."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from statistics import median

from benchmarks.network.topology import PATH_VECTOR, both_ways, topology
from tidelog.network.config import NetworkConfig
from tidelog.network.local import LocalNetwork


@dataclass(frozen=True)
class Settling:
    """Seconds: to start all processes with their links, and the median and the largest of several cuts and repairs."""

    nodes: int
    start: float
    median: float
    largest: float
    right: bool


def settling(nodes: int, cuts: int = 5) -> Settling:
    """Run path vector with paths of up to four hops on a random topology."""
    rng = random.Random(f"{nodes} processes")
    edges = topology(rng, nodes)
    names = tuple(f"n{number}" for number in range(nodes))
    begin = time.monotonic()
    facts = {"link": [list(pair) for pair in both_ways(edges)]}
    with LocalNetwork(NetworkConfig(PATH_VECTOR, names, facts=facts)) as network:
        network.settle(300)
        start = time.monotonic() - begin
        whole = network["best"]
        seconds = []
        for edge in rng.sample(edges, cuts):
            for change in (network.delete, network.insert):
                begin = time.monotonic()
                change("link", both_ways([edge]))
                network.settle(60)
                seconds.append(time.monotonic() - begin)
        right = network["best"] == whole
    return Settling(nodes, start, median(seconds), max(seconds), right)
