"""One query on one graph, in a process of its own: from scratch, and under changes. Functions return JSON.

The options `timeout` and `max_rows` stop a query that hits a limit; `stopped` then names the limit, and there are no
figures.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy

import tidelog
from benchmarks.graphs import gmark, schema, translation, workload
from benchmarks.graphs.gmark import Graph, Query
from benchmarks.graphs.warming import warm_up
from benchmarks.harness import BenchmarkError, Stopwatch, peak
from tidelog.database.database import Database
from tidelog.errors import LimitError

SCHEMAS = {"test": "test.xml", "snb": "social-network.xml"}
QUERIES_OF_SNB = 10


@dataclass(frozen=True)
class Instance:
    """A graph with its workload: `name` is one of SCHEMAS, `nodes` None is the published graph of "test"."""

    folder: str
    name: str
    nodes: int | None
    seed: int

    def __str__(self) -> str:
        return f"{self.name}, {'the published graph' if self.nodes is None else f'{self.nodes:,} nodes'}"

    def as_json(self) -> dict[str, Any]:
        """Return the arguments of a process."""
        return asdict(self)

    @property
    def schema(self) -> schema.Schema:
        return schema.read_schema(Path(self.folder, SCHEMAS[self.name]))

    def graph(self) -> Graph:
        """Return the published graph, or one that is generated."""
        if self.nodes is None:
            return gmark.read_graph(Path(self.folder, "test-graph.txt.gz"), self.schema.symbols)
        return schema.generate(self.schema, self.nodes, self.seed)

    def queries(self) -> list[Query]:
        """Return the published workload of "test", a generated one otherwise."""
        if self.name == "test":
            return gmark.read_workload(Path(self.folder, "test-workload.xml"), self.schema.symbols)
        return workload.generate(self.schema, QUERIES_OF_SNB, self.seed)


@dataclass(frozen=True)
class Limits:
    """The limits that stop a query."""

    timeout: float
    max_rows: int


@dataclass(frozen=True)
class Case:
    """A query on a graph, and its limits."""

    query: Query
    text: str
    graph: Graph
    limits: Limits


@lru_cache(maxsize=1)
def _instance(arguments: tuple[tuple[str, Any], ...]) -> tuple[Graph, dict[int, Query], list[str]]:
    instance = Instance(**dict(arguments))
    return instance.graph(), {q.number: q for q in instance.queries()}, list(instance.schema.symbols.values())


def case(instance: Mapping[str, Any], number: int, limits: Mapping[str, Any]) -> Case:
    """Return the case that a process is to measure."""
    graph, queries, symbols = _instance(tuple(sorted(instance.items())))
    return Case(queries[number], translation.program(queries[number], symbols), graph, Limits(**limits))


def evaluation(instance: Mapping[str, Any], number: int, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a query from scratch: the size of its answer, medians of seconds, the peak of memory."""
    warm_up()
    one = case(instance, number, limits)
    found: list[dict[str, float]] = []
    while len(found) < (3 if not found or found[0]["cpu"] < 1 else 1):
        try:
            with Stopwatch() as watch:
                db, scratch = _fresh(one, needed(one))
        except LimitError as error:
            return {"stopped": error.problems[0].code, "wall": watch.wall, "cpu": watch.cpu, "peak": peak()}
        size, memory = len(db[translation.ANSWER]), db.stats()["memory"]
        found.append({"wall": watch.wall, "cpu": watch.cpu, "fixpoint": scratch["fixpoint"]})
        db.close()
    return {"size": size, "peak": peak(), "memory": sum(memory.values()), **_medians(found)}


def needed(one: Case) -> Graph:
    """Return the edges that a query reads; a star reads the nodes of all."""
    return {name: edges for name, edges in one.graph.items() if one.query.starred or name in one.query.symbols}


def updates(
    instance: Mapping[str, Any], number: int, limits: Mapping[str, Any], shares: list[float], edges: int
) -> dict[str, Any]:
    """Measure a query under changes: the edges of whole symbols, for each share of all symbols, and single edges.

    "batches" has for each share an insertion, the deletion that undoes it, and the insertion `again`, with the seconds
    of each transaction, and as `fvm` those of making the same state in a new database. "edges" has the medians of
    single edges of the symbols that the query reads; `whole` is their comparison. Raises BenchmarkError if an answer
    differs from the one from scratch.
    """
    warm_up()
    one = case(instance, number, limits)
    rng = random.Random(f"{instance['seed']} {number}")
    try:
        db, scratch = _fresh(one, one.graph)
        whole = _medians([scratch, *_again(one, one.graph, scratch)])
        want = rows(db)
        singles = _edges(one, db, edges, rng)
        db.close()
        batches = [_batch(one, share, whole, want, rng) for share in shares]
        return {"whole": whole, "size": len(want), "batches": batches, "edges": singles, "peak": peak()}
    except LimitError as error:
        return {"stopped": error.problems[0].code, "peak": peak()}


def sampled(share: float, symbols: int) -> int:
    """Return the number of symbols of a share: one at least."""
    return max(1, round(share * symbols))


def _batch(
    one: Case, share: float, whole: Mapping[str, float], complete: gmark.Edges, rng: random.Random
) -> dict[str, Any]:
    """Insert all edges of a share of the symbols, at least of one, into a database that lacks them, delete them, and
    insert them again."""
    names = sorted(one.graph)
    symbols = rng.sample(names, sampled(share, len(names)))
    less = {name: edges[:0] if name in symbols else edges for name, edges in one.graph.items()}
    changes = {name: one.graph[name] for name in symbols}
    db, scratch = _fresh(one, less)
    part = _medians([scratch, *_again(one, less, scratch)])
    before = rows(db)
    found = {}
    for what, kind, fvm, want in (
        ("insert", "insert", whole, complete),
        ("delete", "delete", part, before),
        ("again", "insert", whole, complete),
    ):
        found[what] = {"fvm": dict(fvm), **_change(db, kind, changes)}
        _compare(one, rows(db), want)
    db.close()
    kept, taken = (sum(len(edges) for edges in graph.values()) for graph in (less, changes))
    touched = bool(one.query.symbols & set(symbols))
    return {"share": share, "symbols": symbols, "touched": touched, "rho": taken / max(1, kept), **found}


def _edges(one: Case, db: Database, count: int, rng: random.Random) -> dict[str, Any]:
    """Measure single edges that the query reads, each deleted and inserted again."""
    names = [name for name in sorted(one.query.symbols) if len(one.graph[name])]
    before = rows(db)
    found: dict[str, list[dict[str, Any]]] = {"delete": [], "insert": []}
    for _ in range(count if names else 0):
        name = rng.choice(names)
        edge = one.graph[name][rng.randrange(len(one.graph[name]))][None]
        for kind, done in found.items():
            done.append(_change(db, kind, {name: edge}))
    _compare(one, rows(db), before)
    return {kind: _medians(done) | {"worst": max(d["cpu"] for d in done)} for kind, done in found.items() if done}


def _change(db: Database, kind: str, edges: Mapping[str, gmark.Edges]) -> dict[str, Any]:
    with Stopwatch() as watch, db.transaction() as transaction:
        for name, some in edges.items():
            (transaction.delete if kind == "delete" else transaction.insert)(name, some)
    assert transaction.change is not None
    report = transaction.change.report
    return {"wall": watch.wall, "cpu": watch.cpu, "impact": report.impact, "bootstraps": report.bootstraps}


def _fresh(one: Case, graph: Graph) -> tuple[Database, dict[str, float]]:
    """Return a new database with this graph and the views over it, seconds of the commit, and CPU seconds of the
    fix-point."""
    db = tidelog.connect()
    db.load(one.text)
    db.options(timeout=one.limits.timeout, max_rows=one.limits.max_rows)
    for name, edges in graph.items():
        db.insert(name, edges)
    with Stopwatch() as watch:
        change = db.commit()
    fixpoint = sum(node.seconds for node in change.report.nodes)
    return db, {"wall": watch.wall, "cpu": watch.cpu, "fixpoint": watch.cpu * fixpoint / watch.wall}


def _again(one: Case, graph: Graph, first: Mapping[str, float]) -> list[dict[str, float]]:
    """Measure the same seconds twice more, if they are few."""
    seconds: list[dict[str, float]] = []
    while len(seconds) < 2 and first["wall"] < 1:
        db, scratch = _fresh(one, graph)
        seconds.append(scratch)
        db.close()
    return seconds


def _medians(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: statistics.median(each[name] for each in found) for name in found[0]}


def rows(db: Database) -> gmark.Edges:
    """Return the answers in a fixed order."""
    words = db[translation.ANSWER].words()
    return words[numpy.lexsort(words.T[::-1])] if words.shape[1] else words


def _compare(one: Case, found: gmark.Edges, wanted: gmark.Edges) -> None:
    if not numpy.array_equal(found, wanted):
        raise BenchmarkError(f"query {one.query.number}: {len(found)} answers, from scratch {len(wanted)}")
