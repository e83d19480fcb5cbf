"""Queries by a key: ten thousand of them, each with another key, over 100,000 edges and the pairs of two steps.

The peer is SQLite from Python's library: in memory, with the same tables indexed by the key, and statements that it
prepares once. Both sides bring each answer to Python as tuples.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator

from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure

QUERIES = 10_000
_SECONDS = 1.0
"""A tenth of a millisecond for each query."""
_PROGRAM = """
.decl e(x: number, y: number)
.decl two(x: number, y: number)
two(x, z) :- e(x, y), e(y, z).
"""
SHAPES = {
    "a key in the text": "two({key}, Y)",
    "a key as parameter": "two(k, y)",
    "a join from a key": "e(k, y), e(y, z), z > k",
    "a negation from a key": "e(k, y), !two(k, y)",
}
_SQL = {
    "a key in the text": "SELECT x, y FROM two WHERE x = ?1",
    "a key as parameter": "SELECT y FROM two WHERE x = ?1",
    "a join from a key": "SELECT a.y, b.y FROM e a JOIN e b ON b.x = a.y WHERE a.x = ?1 AND b.y > ?1",
    "a negation from a key": "SELECT y FROM e WHERE x = ?1 EXCEPT SELECT y FROM two WHERE x = ?1",
}


def edges(rows: int) -> list[tuple[int, int]]:
    """Return random edges over a fifth as many nodes."""
    rng = random.Random(7)
    return [(rng.randrange(rows // 5 + 1), rng.randrange(rows // 5 + 1)) for _ in range(rows)]


def tidelog_queries(shape: str, rows: int, queries: int, runs: int | None) -> Measured:
    """Ask a database; the first queries, which make plans and indexes, are not measured."""
    import tidelog

    db = tidelog.connect()
    db.load(_PROGRAM)
    db.insert("e", edges(rows))
    db.commit()
    text = SHAPES[shape]

    def ask(key: int) -> Iterable[object]:
        return db.query(text.format(key=key)) if "{key}" in text else db.query(text, k=key)

    return _measured(ask, rows, queries, runs)


def sqlite_queries(shape: str, rows: int, queries: int, runs: int | None) -> Measured:
    """Ask the same of SQLite."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE e (x INTEGER, y INTEGER, PRIMARY KEY (x, y)) WITHOUT ROWID")
    connection.executemany("INSERT OR IGNORE INTO e VALUES (?, ?)", edges(rows))
    connection.execute("CREATE TABLE two (x INTEGER, y INTEGER, PRIMARY KEY (x, y)) WITHOUT ROWID")
    connection.execute("INSERT OR IGNORE INTO two SELECT a.x, b.y FROM e a JOIN e b ON b.x = a.y")
    return _measured(lambda key: connection.execute(_SQL[shape], (key,)), rows, queries, runs)


def _measured(ask: Callable[[int], Iterable[object]], rows: int, queries: int, runs: int | None) -> Measured:
    for key in range(20):
        list(ask(key))

    def once() -> Run:
        found = 0
        with Stopwatch() as asking:
            for key in range(queries):
                found += len(list(ask(key % (rows // 5 + 1))))
        return Run({"tuples": found}, asking.wall, asking.cpu)

    return measure(once, runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield a line for each shape of query."""
    for shape in SHAPES:
        measured = in_child(tidelog_queries, shape, 100_000, QUERIES, options.runs)
        peer = in_child(sqlite_queries, shape, 100_000, QUERIES, options.runs)
        targets = (Target("seconds", _SECONDS),)
        yield Line("queries", f"{QUERIES:,} times {shape}", measured, peer.sizes, targets, {"SQLite": peer})
