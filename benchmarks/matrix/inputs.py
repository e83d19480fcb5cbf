"""The facts of each workload: graphs and programs made with fixed seeds, and the published ontology."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy
from numpy.random import Generator, default_rng
from pyarrow import csv

from benchmarks import data
from benchmarks.matrix.programs import WORKLOADS
from tidelog.common.arrays import Words

Tables = Mapping[str, Words]


def write(workload: str, folder: Path) -> bool:
    """Write the facts of a workload as files without headers, unless they are there. Return False if it needs
    published data that are missing."""
    columns = WORKLOADS[workload].inputs
    if all((folder / f"{name}.csv").exists() for name in columns):
        return True
    folder.mkdir(parents=True, exist_ok=True)
    if workload == "galen":
        published = data.folder()
        if published is None:
            return False
        for name, letters in columns.items():
            table = data.numbers(published / "galen" / f"{name}.txt.gz", ",", letters)
            csv.write_csv(table, folder / f"{name}.csv", csv.WriteOptions(include_header=False))
        return True
    for name, rows in _MAKERS[workload]().items():
        different = numpy.unique(rows, axis=0)
        default_rng(1).shuffle(different)
        numpy.savetxt(folder / f"{name}.csv", different, "%d", ",")
    return True


def _uniform() -> Tables:
    """A graph of 5,000 nodes, each with five edges on average."""
    return {"Arc": default_rng(11).integers(0, 5_000, (25_000, 2))}


def _skewed(nodes: int, edges: int, power: float, rng: Generator) -> Words:
    """Return edges, without loops, of which few nodes have most."""
    names = rng.permutation(nodes)
    ends: Words = names[(nodes * rng.random((edges, 2)) ** power).astype(numpy.int64)]
    kept: Words = ends[ends[:, 0] != ends[:, 1]]
    return kept


def _web(weighted: bool = False) -> Tables:
    """A million edges between 200,000 nodes, and the node that most of them leave."""
    rng = default_rng(12)
    edges = _skewed(200_000, 1_000_000, 2.5, rng)
    source = numpy.bincount(edges[:, 0]).argmax().reshape(1, 1)
    if weighted:
        return {"Road": numpy.column_stack([edges, rng.integers(1, 101, len(edges))]), "Source": source}
    return {"Edge": edges, "Source": source}


def _brackets() -> Tables:
    """Opening and closing edges of two kinds."""
    rng = default_rng(14)
    return {name: rng.integers(0, 12_000, (4_250, 2)) for name in ("Oa", "Ca", "Ob", "Cb")}


def _pointers() -> Tables:
    """Assignments, few of them through pointers, that copy some variables more often than others."""
    rng, variables = default_rng(15), 20_000
    order = rng.permutation(variables)

    def copies(share: float) -> Words:
        number = int(variables * share)
        copied = order[(variables * rng.random(number) ** 1.5).astype(numpy.int64)]
        return numpy.column_stack([rng.integers(0, variables, number), copied])

    addresses = rng.integers(0, variables, (variables // 4, 2))
    return {"AddressOf": addresses, "Assign": copies(0.8), "Load": copies(0.03), "Store": copies(0.03)}


def _flow() -> Tables:
    """Assignments and dereferences of 20,000 variables."""
    rng, variables = default_rng(16), 20_000
    return {
        "Assign": rng.integers(0, variables, (8_400, 2)),
        "Dereference": rng.integers(0, variables, (5_400, 2)),
    }


def _nulls() -> Tables:
    """The control flow of 250 functions, with jumps ahead, and 12,000 places where a null comes from."""
    rng, points = default_rng(17), 400_000
    starts = numpy.sort(rng.choice(points, 250, replace=False))
    function = numpy.searchsorted(starts, numpy.arange(points), "right")
    following = numpy.column_stack([numpy.arange(points - 1), numpy.arange(1, points)])
    origin = rng.integers(0, points, points // 2)
    jumps = numpy.column_stack([origin, numpy.minimum(origin + rng.integers(2, 60, points // 2), points - 1)])
    flow = numpy.vstack([following, jumps])
    places = rng.choice(points - 1, 12_000, replace=False)
    inside = flow[function[flow[:, 0]] == function[flow[:, 1]]]
    return {"Flow": inside, "NullEdge": numpy.column_stack([places, places])}


def _borrows() -> Tables:
    """Regions that live along parts of a control flow of 12,000 points, and 200 loans."""
    rng, points, regions, loans = default_rng(18), 12_000, 500, 200
    steps = numpy.column_stack([numpy.arange(points - 1), numpy.arange(1, points)])
    origin = rng.integers(0, points - 200, points // 10)
    jumps = numpy.column_stack([origin, origin + rng.integers(2, 200, len(origin))])
    starts, lengths = rng.integers(0, points, regions), rng.integers(50, 1_500, regions)
    spans = [numpy.arange(start, min(start + length, points)) for start, length in zip(starts, lengths, strict=True)]
    live = numpy.vstack([numpy.column_stack([numpy.full(len(s), i), s]) for i, s in enumerate(spans)])
    by_point = live[numpy.argsort(live[:, 1], kind="stable")]
    chosen = live[rng.integers(0, len(live), 1_200)]
    first, end = (numpy.searchsorted(by_point[:, 1], chosen[:, 1], side) for side in ("left", "right"))
    other = by_point[first + (rng.random(len(chosen)) * (end - first)).astype(numpy.int64), 0]
    borrowed = live[rng.integers(0, len(live), loans)]
    return {
        "cfg_edge": numpy.vstack([steps, jumps]),
        "region_live": live,
        "outlives": numpy.column_stack([chosen[:, 0], other, chosen[:, 1]]),
        "borrow_region": numpy.column_stack([borrowed[:, 0], numpy.arange(loans), borrowed[:, 1]]),
        "killed": numpy.column_stack([rng.integers(0, loans, 20_000), rng.integers(0, points, 20_000)]),
        "invalidates": numpy.column_stack([rng.integers(0, loans, 100_000), rng.integers(0, points, 100_000)]),
    }


def _ordered(name: str, nodes: int, edges: int, power: float, seed: int) -> Tables:
    """Undirected edges, each from the smaller node to the larger one."""
    return {name: numpy.sort(_skewed(nodes, edges, power, default_rng(seed)), axis=1)}


_MAKERS: Mapping[str, Callable[[], Tables]] = {
    "closure": _uniform,
    "same generation": _uniform,
    "reach": _web,
    "bipartite": _web,
    "components": lambda: {"Edge": _web()["Edge"]},
    "shortest paths": lambda: _web(weighted=True),
    "dyck": _brackets,
    "andersen": _pointers,
    "cspa": _flow,
    "csda": _nulls,
    "polonius": _borrows,
    "triangles": lambda: _ordered("E", 100_000, 1_500_000, 2.8, 19),
    "4-cliques": lambda: _ordered("F", 20_000, 350_000, 2.3, 20),
}
