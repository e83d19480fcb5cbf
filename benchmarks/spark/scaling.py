"""The traffic between partitions, and a prediction for many machines.

Programs run over 1 to 64 partitions in this process, so rounds, rows and bytes between partitions are exact and times
are those of one thread. `predicted` has the prediction for other machines, with its assumptions.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.equivalence import graph
from benchmarks.spark.programs import evaluate, loaded
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.manifest import MANIFEST
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import LocalExecutors
from tidelog.spark.rows import driver_change

Words = NDArray[np.int64]
PARTITIONS = (1, 2, 4, 8, 16, 64)
APART = PlacementLimits(replicate=0, closures=0, gather=0)
"""Nothing is everywhere or gathered unless rules need it: the most that can be said."""

PROGRAMS: Mapping[str, str] = {
    "linear, edges everywhere": """
        .decl e(x: number, y: number)
        .decl t(x: number, y: number)
        t(x, y) :- e(x, y).
        t(x, z) :- t(x, y), e(y, z).
    """,
    "non-linear, exchanged": """
        .decl e(x: number, y: number)
        .decl t(x: number, y: number)
        t(x, y) :- e(x, y).
        t(x, z) :- t(x, y), t(y, z).
    """,
    "two joins, then counted": """
        .decl e(x: number, y: number)
        .decl p(x: number, y: number)
        .decl t(x: number, y: number)
        .decl n(y: number, c: number)
        p(x, z) :- e(x, y), e(y, z).
        t(x, w) :- p(x, y), p(y, w).
        n(y, c) :- t(_, y), c = count : { t(_, y) }.
    """,
}


COMPONENTS = "components, everywhere"
COMPONENTS_PROGRAM = """
    .decl e(x: number, y: number)
    .decl con(x: number, y: number)
    .decl t(x: number, least: number)
    con(x, y) :- e(x, y).
    con(x, y) :- con(y, x).
    con(x, z) :- con(x, y), con(y, z).
    t(x, c) :- con(x, _), c = min y : { con(x, y) }.
"""
SPREAD = PlacementLimits(replicate=0)
"""Facts are spread, as if there were more than a million, and the closure is everywhere."""


@dataclass(frozen=True)
class Point:
    """One program over a number of partitions: rows of its view t, the traffic between partitions, the bytes of rows
    and indexes in all of them, and of the committed state that the driver holds."""

    program: str
    partitions: int
    tuples: int
    rounds: int
    rows: int
    bytes: int
    seconds: float
    messages: int = 0
    memory: int = 0
    driver: int = 0

    @property
    def bytes_per_tuple(self) -> float:
        return self.bytes / max(1, self.tuples)


def edges(nodes: int, seed: int = 1) -> Words:
    """Return a random forest with a few more edges: deep enough for many rounds, and its closure stays small."""
    rng = random.Random(seed)
    found = {(rng.randrange(max(0, i - 40), i), i) for i in range(1, nodes)}
    found |= {(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(nodes // 50)}
    return np.array(sorted(found), np.int64)


def point(program: str, partitions: int, facts: Words) -> Point:
    """Measure one program over a number of partitions."""
    alike = program == COMPONENTS
    workspace = loaded(COMPONENTS_PROGRAM if alike else PROGRAMS[program])
    folder = Folder(tempfile.mkdtemp(prefix="tidelog-scaling-"))
    executors = LocalExecutors()
    engine = PartitionedEngine(workspace.dictionary, executors, folder, partitions, SPREAD if alike else APART)
    try:
        started = time.perf_counter()
        evaluate(engine, workspace, {"e": driver_change(facts, facts[:0])})
        seconds = time.perf_counter() - started
        last = engine.explanation
        traffic = last.rounds, last.rows, last.bytes, seconds, last.messages
        return Point(program, partitions, engine.size("t"), *traffic, memory(executors), held(engine))
    finally:
        engine.close()


def component_seconds(edges: float, nodes: float, given: Assumptions) -> dict[str, float]:
    """Return the predicted seconds of components: the work of one partition, by constants that were measured on one
    core, that for reading all edges, and two rounds."""
    compute, transfer = 0.3e-6 * edges + 0.7e-6 * nodes, 16 * edges / given.network
    rounds = 2 * given.per_round
    return {"compute": compute, "transfer": transfer, "rounds": rounds, "total": compute + transfer + rounds}


def memory(executors: LocalExecutors) -> int:
    """Return the bytes of rows and indexes in all partitions."""
    there = [keeper.partition for keeper in executors.keepers.values() if keeper.partition is not None]
    stats = [partition.engine.stats()["memory"] for partition in there]
    return sum(each["rows"] + each["indexes"] for each in stats)


def held(engine: PartitionedEngine) -> int:
    """Return the bytes of what the driver keeps between epochs, as its files have it: the manifest, and of each round
    of the last epoch the places of messages."""
    names = (MANIFEST, *engine.committed.since)
    return sum(len(engine.folder.read(name)) for name in names)


def points(nodes: int = 1_500, partitions: Sequence[int] = PARTITIONS) -> list[Point]:
    """Measure all programs over all numbers of partitions."""
    facts = edges(nodes)
    return [point(program, number, facts) for program in PROGRAMS for number in partitions]


@dataclass(frozen=True)
class Assumptions:
    """Assumptions about a cluster: executors, result tuples, tuples per second and executor in the kernels, bytes per
    second and executor over the network and to storage, seconds per round, and how much larger the largest partition
    is."""

    executors: int = 100
    tuples: float = 1e10
    kernels: float = 2e6
    network: float = 3e8
    per_round: float = 1.0
    skew: float = 1.5


def predicted(last: Point, given: Assumptions) -> dict[str, float]:
    """Return the predicted seconds of a program over many partitions. Bytes per tuple and rounds are those over the
    most partitions measured; work and messages are spread over the executors but for the skew."""
    compute = given.skew * given.tuples / given.executors / given.kernels
    transfer = given.skew * 2 * last.bytes_per_tuple * given.tuples / given.executors / given.network
    rounds = last.rounds * given.per_round
    return {"compute": compute, "transfer": transfer, "rounds": rounds, "total": compute + transfer + rounds}


def component_points(partitions: Sequence[int] = PARTITIONS) -> list[Point]:
    """Measure components of random graphs with two and with eight edges for a node."""
    graphs = (graph(100_000, 200_000), graph(25_000, 200_000))
    return [point(COMPONENTS, number, np.unique(facts, axis=0)) for facts in graphs for number in partitions]


def table(found: Sequence[Point], given: Assumptions) -> str:
    """Return the figures, and the prediction for each program."""
    lines = [
        f"{'program':28}{'partitions':>11}{'rounds':>8}{'tuples':>11}{'rows sent':>12}{'bytes/tuple':>13}"
        f"{'messages':>10}{'memory':>13}{'driver':>10}"
    ]
    lines += [
        f"{each.program:28}{each.partitions:>11}{each.rounds:>8}{each.tuples:>11,}{each.rows:>12,}"
        f"{each.bytes_per_tuple:>13.1f}{each.messages:>10,}{each.memory:>13,}{each.driver:>10,}"
        for each in found
    ]
    lines.append(f"\npredicted for {given.executors} executors and {given.tuples:.0e} tuples, by {given}:")
    for program in dict.fromkeys(each.program for each in found if each.program in PROGRAMS):
        last = max((each for each in found if each.program == program), key=lambda each: each.partitions)
        parts = ", ".join(f"{name} {seconds:,.0f} s" for name, seconds in predicted(last, given).items())
        lines.append(f"{program:28}{parts}")
    return "\n".join(lines)


def plot(found: Sequence[Point], path: Path) -> None:
    """Plot bytes per tuple against partitions, as SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for program in PROGRAMS:
        own = [each for each in found if each.program == program]
        axes.plot([each.partitions for each in own], [each.bytes_per_tuple for each in own], marker="o", label=program)
    axes.set(xscale="log", xlabel="partitions", ylabel="bytes between partitions per tuple")
    axes.legend()
    figure.savefig(path, format="svg", metadata={"Date": None})


def as_json(found: Sequence[Point], given: Assumptions) -> dict[str, Any]:
    """Return the points for the JSON document."""
    return {"points": [asdict(each) for each in found], "assumptions": asdict(given)}
