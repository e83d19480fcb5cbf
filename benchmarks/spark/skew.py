"""Measure the gain of spreading skewed keys: a graph with a hub over 16 partitions in this process.

Half of the edges lead to one node. The largest partition is what a cluster waits for and what has to fit a machine; its
rows are those of all relations and copies, its seconds those of its rounds, in one thread.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.spark.programs import evaluate, loaded
from benchmarks.spark.scaling import APART
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.rounds import Reply, Task
from tidelog.spark.cluster.processes.executors import LocalExecutors
from tidelog.spark.rows import driver_change

Words = NDArray[np.int64]
PARTITIONS = 16
EDGES = 400_000
HUB = 0
NEVER = 1 << 62
"""More rows than any word has."""
_DECLARED = ".decl e(x: number, y: number)\n.decl f(y: number, z: number)\n"
PROGRAMS: Mapping[str, str] = {
    "join": ".decl p(x: number, y: number)\np(x, y) :- e(x, y), f(y, _).",
    "count of all edges": ".decl n(c: number)\nn(c) :- c = count : { e(_, _) }.",
    "count by node": ".decl n(y: number, c: number)\nn(y, c) :- f(y, _), c = count : { e(_, y) }.",
    "recursion, exchanged": """
        .decl t(x: number, y: number)
        t(x, y) :- e(x, y).
        t(x, z) :- t(x, y), t(y, z), f(y, _).
    """,
}


@dataclass(frozen=True)
class Hub:
    """One program with or without spreading: rows and seconds of the largest partition, its rows in multiples of an
    even share, and the rows that partitions sent each other."""

    program: str
    spread: bool
    rows: int
    of_share: float
    seconds: float
    sent: int


class Watched(LocalExecutors):
    """An exchange that adds up the seconds of the rounds of each partition."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[int, float] = {}

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        answers = super().run(tasks)
        for reply in answers:
            if isinstance(reply, Reply):
                self.seconds[reply.partition] = self.seconds.get(reply.partition, 0.0) + reply.seconds
        return answers

    def rows_of(self) -> list[int]:
        """Return the rows of each partition."""
        kept = [keeper.partition for keeper in self.keepers.values() if keeper.partition is not None]
        return [sum(map(len, each.engine.views.values())) for each in kept]


def facts(edges: int) -> dict[str, Words]:
    """Return edges of which half lead to the hub, and half as many pairs, a few of them of the hub."""
    rng = np.random.default_rng(1)
    nodes, half = 10 * edges, edges // 2
    spokes = np.column_stack([np.arange(1, half + 1), np.full(half, HUB)])
    others = np.sort(rng.integers(1, nodes, (half, 2)), axis=1)
    pairs = np.column_stack([rng.permutation(others[:, 1]), rng.integers(1, nodes, half)])
    pairs[:5, 0] = HUB
    return {"e": np.concatenate([spokes, others]), "f": pairs}


def hub(program: str, given: Mapping[str, Words], limit: int) -> Hub:
    """Measure one program, where words with at least `limit` rows are skewed keys."""
    workspace = loaded(_DECLARED + PROGRAMS[program])
    executors, folder = Watched(), Folder(tempfile.mkdtemp(prefix="tidelog-skew-"))
    engine = PartitionedEngine(workspace.dictionary, executors, folder, PARTITIONS, replace(APART, skew=limit))
    try:
        evaluate(engine, workspace, {name: driver_change(rows, rows[:0]) for name, rows in given.items()})
        rows = executors.rows_of()
        of_share, seconds = max(rows) * PARTITIONS / sum(rows), max(executors.seconds.values())
        return Hub(program, limit < NEVER, max(rows), of_share, seconds, engine.explanation.rows)
    finally:
        engine.close()


def hubs(edges: int = EDGES) -> list[Hub]:
    """Measure all programs with and without spreading, after a small one that loads the kernels."""
    few, given = facts(1_000), facts(edges)
    found = []
    for program in PROGRAMS:
        hub(program, few, NEVER)
        found += [hub(program, given, limit) for limit in (NEVER, APART.skew)]
    return found


def table(found: Sequence[Hub]) -> str:
    """Return the figures as a table."""
    lines = [f"{'program':24}{'spread':>8}{'rows of the largest':>21}{'of a share':>12}{'seconds':>9}{'rows sent':>12}"]
    for each in found:
        spread = "yes" if each.spread else "no"
        figures = f"{each.rows:>21,}{each.of_share:>12.2f}{each.seconds:>9.2f}{each.sent:>12,}"
        lines.append(f"{each.program:24}{spread:>8}{figures}")
    return "\n".join(lines)
