"""The rules of each workload in tidelog's language, and the same program for Soufflé, FlowLog and datatoad."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path


@dataclass(frozen=True)
class Workload:
    """A program of numbers: the columns of its inputs and of its views, a letter each, its rules, and the views that
    keep the least tuple by their last column (`least`). The sizes of `shown` are compared."""

    inputs: Mapping[str, str]
    views: Mapping[str, str]
    rules: str
    shown: tuple[str, ...] = ()
    least: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[str, ...]:
        """The relations whose sizes have to agree."""
        return self.shown or tuple(self.views)


WORKLOADS: Mapping[str, Workload] = {
    "galen": Workload(
        {"p": "xz", "q": "xrz", "c": "ywz", "r": "yue", "u": "wrz", "s": "rq"},
        {},
        """
p(x, z) :- p(x, y), p(y, z).
q(x, r, z) :- p(x, y), q(y, r, z).
p(x, z) :- p(y, w), u(w, r, z), q(x, r, y).
p(x, z) :- c(y, w, z), p(x, w), p(x, y).
q(x, k, z) :- q(x, r, z), s(r, k).
q(x, e, o) :- q(x, y, z), r(y, u, e), q(z, u, o).
""",
        ("p", "q"),
    ),
    "closure": Workload(
        {"Arc": "xy"},
        {"Tc": "xy"},
        """
Tc(x, y) :- Arc(x, y).
Tc(x, y) :- Tc(x, z), Arc(z, y).
""",
    ),
    "same generation": Workload(
        {"Arc": "xy"},
        {"Sg": "xy"},
        """
Sg(x, y) :- Arc(a, x), Arc(a, y).
Sg(x, y) :- Arc(a, x), Sg(a, b), Arc(b, y).
""",
    ),
    "reach": Workload(
        {"Edge": "xy", "Source": "x"},
        {"Reach": "x"},
        """
Reach(y) :- Source(y).
Reach(y) :- Reach(x), Edge(x, y).
""",
    ),
    "bipartite": Workload(
        {"Edge": "xy", "Source": "x"},
        {"Zero": "x", "One": "x", "Both": "x"},
        """
Zero(x) :- Source(x).
One(y) :- Edge(x, y), Zero(x).
One(x) :- Edge(x, y), Zero(y).
Zero(y) :- Edge(x, y), One(x).
Zero(x) :- Edge(x, y), One(y).
Both(x) :- Zero(x), One(x).
""",
    ),
    "components": Workload(
        {"Edge": "xy"},
        {"Cc": "xc", "Roots": "c"},
        """
Cc(x, x) :- Edge(x, _).
Cc(y, y) :- Edge(_, y).
Cc(y, c) :- Cc(x, c), Edge(x, y).
Cc(x, c) :- Cc(y, c), Edge(x, y).
Roots(c) :- Cc(_, c).
""",
        least=("Cc",),
    ),
    "shortest paths": Workload(
        {"Road": "xyw", "Source": "x"},
        {"Dist": "xd"},
        """
Dist(x, 0) :- Source(x).
Dist(y, d + w) :- Dist(x, d), Road(x, y, w).
""",
        least=("Dist",),
    ),
    "dyck": Workload(
        {"Oa": "xy", "Ca": "xy", "Ob": "xy", "Cb": "xy"},
        {"D": "xy"},
        """
D(x, y) :- Oa(x, z), Ca(z, y).
D(x, y) :- Ob(x, z), Cb(z, y).
D(x, y) :- Oa(x, z), D(z, w), Ca(w, y).
D(x, y) :- Ob(x, z), D(z, w), Cb(w, y).
D(x, y) :- D(x, z), D(z, y).
""",
    ),
    "andersen": Workload(
        {"AddressOf": "yx", "Assign": "yx", "Load": "yx", "Store": "yx"},
        {"PointsTo": "yx"},
        """
PointsTo(y, x) :- AddressOf(y, x).
PointsTo(y, x) :- Assign(y, z), PointsTo(z, x).
PointsTo(y, w) :- Load(y, x), PointsTo(x, z), PointsTo(z, w).
PointsTo(z, w) :- Store(y, x), PointsTo(y, z), PointsTo(x, w).
""",
    ),
    "cspa": Workload(
        {"Assign": "xy", "Dereference": "xy"},
        {"ValueFlow": "xy", "MemoryAlias": "xy", "ValueAlias": "xy"},
        """
ValueFlow(y, x) :- Assign(y, x).
ValueFlow(x, y) :- Assign(x, z), MemoryAlias(z, y).
ValueFlow(x, y) :- ValueFlow(x, z), ValueFlow(z, y).
MemoryAlias(x, w) :- Dereference(y, x), ValueAlias(y, z), Dereference(z, w).
ValueAlias(x, y) :- ValueFlow(z, x), ValueFlow(z, y).
ValueAlias(x, y) :- ValueFlow(z, x), MemoryAlias(z, w), ValueFlow(w, y).
ValueFlow(x, x) :- Assign(x, _).
ValueFlow(x, x) :- Assign(_, x).
MemoryAlias(x, x) :- Assign(_, x).
MemoryAlias(x, x) :- Assign(x, _).
""",
    ),
    "csda": Workload(
        {"NullEdge": "xy", "Flow": "xy"},
        {"NullNode": "xy"},
        """
NullNode(x, y) :- NullEdge(x, y).
NullNode(x, y) :- NullNode(x, w), Flow(w, y).
""",
    ),
    "polonius": Workload(
        {
            "outlives": "abp",
            "cfg_edge": "pq",
            "region_live": "rp",
            "borrow_region": "rbp",
            "killed": "bp",
            "invalidates": "bp",
        },
        {"subset": "abp", "requires": "rbp", "borrow_live": "bp", "errors": "bp"},
        """
subset(a, b, p) :- outlives(a, b, p), a != b.
subset(a, c, p) :- subset(a, b, p), subset(b, c, p), a != c.
subset(a, b, q) :- subset(a, b, p), cfg_edge(p, q), region_live(a, q), region_live(b, q), a != b.
requires(r, b, p) :- borrow_region(r, b, p).
requires(c, b, p) :- requires(a, b, p), subset(a, c, p).
requires(r, b, q) :- requires(r, b, p), !killed(b, p), cfg_edge(p, q), region_live(r, q).
borrow_live(b, p) :- requires(r, b, p), region_live(r, p).
errors(b, p) :- invalidates(b, p), borrow_live(b, p).
""",
    ),
    "triangles": Workload({"E": "xy"}, {"Tri": "abc"}, "\nTri(a, b, c) :- E(a, b), E(b, c), E(a, c).\n"),
    "4-cliques": Workload(
        {"F": "xy"}, {"K": "abcd"}, "\nK(a, b, c, d) :- F(a, b), F(a, c), F(b, c), F(a, d), F(b, d), F(c, d).\n"
    ),
}


def tidelog(work: Workload) -> str:
    """Return the program for tidelog."""
    kept = {name: f" min({work.views[name][-1]})" for name in work.least}
    return "\n".join(f"{line}{kept.get(name, '')}" for name, line in _declarations(work, "number")) + work.rules


def souffle(work: Workload) -> str:
    """Return the program for Soufflé: a tuple that is not the least gives way by subsumption."""
    lines = [f"{line}{' btree_delete' if name in work.least else ''}" for name, line in _declarations(work, "number")]
    lines += [f'.input {name}(IO="file", filename="{name}.csv", delimiter=",")' for name in work.inputs]
    lines += [f".printsize {name}" for name in work.sizes]
    return "\n".join(lines) + work.rules + "".join(f"{name}(x, c) <= {name}(x, d) :- d <= c.\n" for name in work.least)


def flowlog(work: Workload, *, changing: bool = False) -> str:
    """Return the program for FlowLog: the least value is an aggregate in the head. Facts of a `changing` one come by
    commands."""
    lines = [line for _, line in _declarations(work, "int32")]
    for name in work.inputs:
        source = 'IO="command"' if changing else f'IO="file", filename="{name}.csv"'
        lines.append(f'.input {name}({source}, delimiter=",")')
    lines += [f".printsize {name}" for name in work.sizes]
    rules = work.rules
    for name in work.least:
        rules = re.sub(rf"({name}\([^()]*), (\w+(?: \+ \w+)?)\) :-", r"\1, min(\2)) :-", rules)
    return "\n".join(lines) + rules


def datatoad(work: Workload, folder: Path) -> str | None:
    """Return the program for datatoad over the files of a folder; None for one that keeps least tuples."""
    if work.least:
        return None
    numbers = count()
    rules = re.sub(r"\b_\b", lambda _: f"any{next(numbers)}", work.rules.strip())
    rules = re.sub(r"(\w+) != (\w+)", r":noteq(\1,\2)", rules)
    files = "\n".join(f".flow {name} {folder / name}.csv" for name in work.inputs)
    return f"{files}\n{rules}\n.list\n.quit\n"


def _declarations(work: Workload, type_: str) -> Iterator[tuple[str, str]]:
    """Yield each relation with its declaration."""
    for name, letters in {**work.inputs, **work.views}.items():
        yield name, f".decl {name}({', '.join(f'{letter}: {type_}' for letter in letters)})"
