"""Four classic protocols on a random network whose links are cut and repaired: `python examples/network/protocols.py`

Each runs on simulated nodes that lose, repeat and reorder messages and stop and start, and is compared with one
database that has all links.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import tidelog
from tidelog.language import check, read

HERE = Path(__file__).parent
PROTOCOLS = sorted(path.stem for path in HERE.glob("*.dl"))
Link = tuple[str, str, int]


def topology(rng: random.Random, nodes: int, extra: int) -> list[Link]:
    """Return a random tree and some more links, each in both directions with a cost of 1 to 4."""
    names = [f"n{number}" for number in range(nodes)]
    pairs = {(names[rng.randrange(number)], names[number]) for number in range(1, nodes)}
    while len(pairs) < nodes - 1 + extra:
        a, b = sorted(rng.sample(names, 2), key=names.index)
        pairs.add((a, b))
    costs = {pair: rng.randrange(1, 5) for pair in sorted(pairs)}
    return [link for (a, b), cost in costs.items() for link in ((a, b, cost), (b, a, cost))]


def centralised(protocol: str, links: list[Link]) -> dict[str, set[tuple[object, ...]]]:
    """Return the outputs of one database."""
    database = tidelog.connect()
    database.load(HERE / f"{protocol}.dl")
    database.insert("link", links)
    database.commit()
    return {name: set(database[name]) for name in outputs(protocol)}


def outputs(protocol: str) -> list[str]:
    """Return the relations of a protocol."""
    return [directive.relation for directive in check(read(HERE / f"{protocol}.dl")).directives]


def life(protocol: str, seed: int, nodes: int = 8, extra: int = 3) -> Iterator[tuple[str, bool, int]]:
    """Run a network; yield each event, whether it then agrees with one database, and the packets sent."""
    rng = random.Random(seed)
    links = topology(rng, nodes, extra)
    network = tidelog.network.Simulation(HERE / f"{protocol}.dl", seed, loss=0.1, duplicates=0.1, restarts=True)
    network.insert("link", links)
    yield from _settled("start", protocol, links, network)
    for _ in range(3):
        a, b, cost = rng.choice(links)
        both = [(a, b, cost), (b, a, cost)]
        network.delete("link", both)
        yield from _settled(f"cut {a}-{b}", protocol, [link for link in links if link not in both], network)
        network.insert("link", both)
        yield from _settled(f"repair {a}-{b}", protocol, links, network)


def _settled(
    what: str, protocol: str, links: list[Link], network: tidelog.network.Simulation
) -> Iterator[tuple[str, bool, int]]:
    before = network.messages
    network.run()
    agrees = all(network[name] == rows for name, rows in centralised(protocol, links).items())
    yield what, network.quiet and agrees, network.messages - before


if __name__ == "__main__":
    for name in PROTOCOLS:
        print(name)
        for what, agrees, packets in life(name, seed=1):
            print(f"  {what:16} {packets:6} packets  {'agrees' if agrees else 'DIFFERS'}")
