"""The derivations that algorithms visit for the same changes of small instances: the references, which count them.

From scratch is the elastic paper's Bootstrap (Algorithm 2), Update its Algorithm 3; DRed over-deletes and re-derives.
ZodiacEdge evaluates everything that a change reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.elastic.proportion import PROGRAM, edges
from papers.dred import DRed
from papers.elastic import Elastic
from papers.zodiacedge import ZodiacEdge
from tidelog.language import check, read
from tidelog.rules import compile_program

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
Rows = set[tuple[int, ...]]


def cases() -> dict[str, tuple[str, dict[str, Rows], Rows]]:
    """Return program, facts and the edges to delete, by the name of the case."""
    found: dict[str, tuple[str, dict[str, Rows], Rows]] = {}
    for shape, nodes in (("chain", 60), ("grid", 64), ("tree", 63)):
        rows = _pairs(shape, nodes)
        last, first = max(rows), min(rows)
        for place, edge in (("last", last), ("first", first)):
            found[f"reached, {shape} of {nodes}, {place} edge"] = (PROGRAM, {"edge": rows, "root": {(0,)}}, {edge})
    rows = _pairs("grid", 36)
    for place, edge in (("last", max(rows)), ("first", min(rows))):
        found[f"path, grid of 36, {place} edge"] = (CLOSURE, {"edge": rows}, {edge})
    return found


def _pairs(shape: str, nodes: int) -> Rows:
    return {(int(x), int(y)) for x, y in edges(shape, nodes)}


def experiment() -> list[dict[str, Any]]:
    """Return per case the derivations visited from scratch, and by each algorithm for the deletion and the
    insertion."""
    found = []
    for name, (text, facts, gone) in cases().items():
        core = compile_program(check(read(text)))
        change: Mapping[str, Rows] = {"edge": gone}
        row: dict[str, Any] = {"case": name}
        for label, reference in (("Update", Elastic), ("DRed", DRed), ("ZodiacEdge", ZodiacEdge)):
            engine = reference(core, facts)
            scratch = engine.visited
            engine.epoch({}, change)
            deleted = engine.visited
            engine.epoch(change, {})
            row[label] = [deleted - scratch, engine.visited - deleted]
            if label == "Update":
                row["scratch"] = scratch
        found.append(row)
    return found
