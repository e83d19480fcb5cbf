"""gMark's schemas, and graphs of any size from them.

A schema has types of nodes, each with a share of all nodes or a fixed number, and for each kind of edge how many leave
a node of its source type and how many enter one of its target type. As gMark does it, the ends are drawn on both sides,
shuffled, and joined until those of one side are used up; edges that come out twice are there once.

    zipfian    k edges with a probability proportional to (k + 1) ** -alpha, which fits the published test graph: of
               50,000 researchers 12,677 have written something, and 50,000 * (1 - 1 / zeta(2.5)) is 12,728
    gaussian   rounded, never negative
    uniform    from min to max, both included

Where a schema says nothing: types without a share get equal parts of what is left; without a distribution the other
side decides; if neither has one, "1" is one edge for each source, "?" at most one, "+" one and more, "*" none and more,
the last two zipfian with alpha 2.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy

from benchmarks.graphs.gmark import Edges, Graph

_ALPHA = 2.5
_LONGEST_TAIL = 1_000_000


@dataclass(frozen=True)
class Distribution:
    """The number of edges of a node; `least` is added to the drawn number."""

    kind: str
    parameters: Mapping[str, float]
    least: int = 0

    def draw(self, count: int, random: numpy.random.Generator) -> Edges:
        """Draw so many numbers of ends."""
        p = self.parameters
        match self.kind:
            case "zipfian":
                weights = numpy.arange(1.0, min(_LONGEST_TAIL, 10 * count) + 2) ** -p["alpha"]
                cumulated = numpy.cumsum(weights / weights.sum())
                drawn = numpy.searchsorted(cumulated, random.random(count)).clip(max=len(weights) - 1)
            case "gaussian":
                drawn = numpy.rint(random.normal(p["mu"], p["sigma"], count)).clip(0)
            case "uniform":
                drawn = random.integers(int(p["min"]), int(p["max"]) + 1, count)
            case _:
                raise ValueError(f"unknown distribution {self.kind}")
        return drawn.astype(numpy.int64) + self.least


_MULTIPLICITIES = {
    "1": Distribution("uniform", {"min": 1, "max": 1}),
    "?": Distribution("uniform", {"min": 0, "max": 1}),
    "*": Distribution("zipfian", {"alpha": _ALPHA}),
    "+": Distribution("zipfian", {"alpha": _ALPHA}, least=1),
}


@dataclass(frozen=True)
class NodeType:
    """A type: its share of all nodes or a fixed number of them, or neither."""

    proportion: float | None = None
    fixed: int | None = None


@dataclass(frozen=True)
class EdgeType:
    """Edges of one symbol between two types; a side is None if the schema leaves it to the other one."""

    source: int
    target: int
    symbol: int
    leaving: Distribution | None
    entering: Distribution | None


@dataclass(frozen=True)
class Schema:
    """Symbols by number, types by number, and the kinds of edges."""

    symbols: Mapping[int, str]
    types: Mapping[int, NodeType]
    edges: tuple[EdgeType, ...]


def read_schema(file: Path) -> Schema:
    """Return a schema of gMark's XML, without its workload and its sizes."""
    root = ElementTree.parse(file).getroot()
    symbols = {int(alias.attrib["symbol"]): str(alias.text) for alias in root.findall("predicates/alias")}
    shares = {int(e.attrib["type"]): float(str(e.text)) for e in root.findall("types/proportion")}
    fixed = {int(e.attrib["type"]): int(str(e.text)) for e in root.findall("types/fixed")}
    numbers = [int(alias.attrib["type"]) for alias in root.findall("types/alias")]
    types = {number: NodeType(shares.get(number), fixed.get(number)) for number in numbers}
    edges = [
        _edge_type(int(source.attrib["type"]), target)
        for source in root.findall("schema/source")
        for target in source.findall("target")
    ]
    return Schema(symbols, types, tuple(edges))


def _edge_type(source: int, element: Any) -> EdgeType:
    leaving, entering = (_distribution(element.find(name)) for name in ("outdistribution", "indistribution"))
    if leaving is None and entering is None:
        leaving = _MULTIPLICITIES[element.get("multiplicity", "*")]
    return EdgeType(source, int(element.get("type")), int(element.get("symbol")), leaving, entering)


def _distribution(element: Any) -> Distribution | None:
    if element is None:
        return None
    return Distribution(element.get("type"), {child.tag: float(child.text) for child in element})


def generate(schema: Schema, nodes: int, seed: int) -> Graph:
    """Return a graph of about so many nodes, the same one for the same seed. Nodes are numbered type by type, as by
    gMark."""
    random = numpy.random.default_rng(seed)
    ranges = _ranges(schema.types, nodes)
    drawn: dict[str, list[Edges]] = {name: [] for name in schema.symbols.values()}
    for edge in schema.edges:
        pairs = _edges(edge, ranges[edge.source], ranges[edge.target], random)
        drawn[schema.symbols[edge.symbol]].append(pairs)
    empty = numpy.zeros((0, 2), numpy.int64)
    return {name: numpy.unique(numpy.concatenate([empty, *some]), axis=0) for name, some in drawn.items()}


def _ranges(types: Mapping[int, NodeType], nodes: int) -> dict[int, range]:
    left = max(0.0, 1 - sum(t.proportion or 0 for t in types.values()))
    unsaid = sum(t.proportion is None and t.fixed is None for t in types.values())
    ranges, first = {}, 0
    for number, each in types.items():
        share = left / unsaid if each.proportion is None and unsaid else each.proportion or 0
        size = max(1, round(nodes * share)) if each.fixed is None else each.fixed
        ranges[number] = range(first, first + size)
        first += size
    return ranges


def _edges(edge: EdgeType, sources: range, targets: range, random: numpy.random.Generator) -> Edges:
    leaving = _ends(edge.leaving, sources, random)
    entering = _ends(edge.entering, targets, random)
    if leaving is None:
        assert entering is not None
        leaving = random.integers(sources.start, sources.stop, len(entering))
    if entering is None:
        entering = random.integers(targets.start, targets.stop, len(leaving))
    count = min(len(leaving), len(entering))
    return numpy.column_stack([leaving[:count], entering[:count]])


def _ends(side: Distribution | None, nodes: range, random: numpy.random.Generator) -> Edges | None:
    if side is None:
        return None
    ends = numpy.repeat(numpy.arange(nodes.start, nodes.stop), side.draw(len(nodes), random))
    random.shuffle(ends)
    return ends
