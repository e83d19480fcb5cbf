"""The closure of a long chain, 450 million pairs that are three numbers for each node, and edges of it that go and
come, beside the recomputation of everything. Memory is what the chain adds to that of a process with a short one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy

import tidelog
from benchmarks.evaluate import CLOSURE, counting, evaluate, inserting
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure, peak
from tidelog.common.arrays import Words
from tidelog.database.database import Database

NODES = 30_000
SHORT = 50


def chain(nodes: int) -> Words:
    """Return the edges of a chain, whose nodes have names in no order, and in no order."""
    rng = numpy.random.default_rng(5)
    names = rng.permutation(2 * nodes)[:nodes].astype(numpy.int64)
    return rng.permutation(numpy.column_stack([names[:-1], names[1:]]))


def evaluation(nodes: int, runs: int | None) -> Measured:
    """Measure the closure from scratch."""

    def once(nodes: int = nodes) -> Run:
        before = peak()
        run = evaluate(CLOSURE, inserting({"e": chain(nodes)}), counting(["t"]))
        return replace(run, peak=peak() - before)

    once(SHORT)  # compiles the kernels
    return measure(once, runs)


def changes(nodes: int, place: int, runs: int | None) -> Measured:
    """Measure an edge that goes and comes back, `place` edges behind the first one: the slower of both."""
    _there_and_back(*_kept(SHORT, SHORT // 2))  # compiles the kernels
    before = peak()
    db, row = _kept(nodes, place)

    def once() -> Run:
        return replace(_there_and_back(db, row), peak=peak() - before)

    return measure(once, runs)


def _kept(nodes: int, place: int) -> tuple[Database, Words]:
    """Return a database with the closure of a chain, and the edge at this place."""
    edges = chain(nodes)
    follows = dict(edges.tolist())
    node = next(iter(follows.keys() - set(follows.values())))
    for _ in range(place):
        node = follows[node]
    db = tidelog.connect()
    db.options(threads=1)
    db.load(CLOSURE)
    db.insert("e", edges)
    db.commit()
    return db, numpy.array([[node, follows[node]]])


def _there_and_back(db: Database, row: Words) -> Run:
    seconds, sizes = [], {}
    for name, change in (("deleted", db.delete), ("inserted", db.insert)):
        change("e", row)
        with Stopwatch() as watch:
            made = db.commit()
        seconds.append((watch.wall, watch.cpu))
        sizes[name] = len(getattr(made["t"], name))
    return Run(sizes, max(wall for wall, _ in seconds), max(cpu for _, cpu in seconds))


def lines(options: Options) -> Iterator[Line]:
    """Yield the chain from scratch, then changes of its middle and of its last edge."""
    name = f"chain of {NODES:,}"
    scratch = in_child(evaluation, NODES, options.runs)
    memory = Target("bytes", 0.2e9)
    yield Line("chains", f"{name}, closure", scratch, {"t": NODES * (NODES - 1) // 2}, (memory,))
    for what, place in (("middle", NODES // 2), ("last", NODES - 2)):
        pairs = (place + 1) * (NODES - 1 - place)
        sizes = {"deleted": pairs, "inserted": pairs}
        measured = in_child(changes, NODES, place, options.runs)
        peers = {"recomputed": replace(scratch, sizes=sizes, details={})}
        yield Line("chains", f"{name}, {what} edge", measured, sizes, (Target("seconds", 0.05), memory), peers)
