"""Closures as an operator of their own: that of a collaboration network, and the rule sets of ZodiacEdge with it and
without."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import tidelog
from benchmarks import data
from benchmarks.graphs.warming import warm_up
from benchmarks.harness import BenchmarkError, Stopwatch, peak
from benchmarks.rules import wind_farm
from tidelog.database.database import Database

CLOSURE = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e+(x, y).
"""
READERS = """
.decl seed(x: number)
.decl a(x: number)
.decl b(x: number)
.decl node(x: number)
.decl hit(y: number)
.decl back(x: number)
.decl pair(x: number, y: number)
.decl unreached(x: number)
node(x) :- e(x, _).
hit(y) :- seed(x), t(x, y).
back(x) :- seed(y), t(x, y).
pair(x, y) :- a(x), b(y), t(x, y).
unreached(x) :- node(x), seed(y), !t(y, x).
"""
"""Every way to probe a closure: forward, backward, for a pair, for its absence."""
SAMPLES = {"seed": 10, "a": 100, "b": 150}


def from_scratch(path: str, read_out: bool, read: bool = False) -> dict[str, Any]:
    """Measure the closure of a file of edges: after the commit, or also with all pairs as an Arrow table; with rules
    that `read` it."""
    warm_up()
    db = _database(path, read)
    with Stopwatch() as watch:
        db.commit()
        pairs = db["t"].to_arrow().num_rows if read_out else len(db["t"])
    _look(db)
    return {"pairs": pairs, "wall": watch.wall, "cpu": watch.cpu, "peak": peak()}


def edges(path: str, count: int, read: bool = False) -> dict[str, Any]:
    """Measure edges from all over the file, each deleted and inserted again: medians and worst of wall and CPU
    seconds."""
    warm_up()
    table = data.numbers(Path(path), "\t", "xy")
    db = _database(path, read)
    db.commit()
    before = len(db["t"])
    seconds: dict[str, list[Stopwatch]] = {"delete": [], "insert": []}
    for i in range(0, table.num_rows, max(1, table.num_rows // count)):
        for kind, done in seconds.items():
            (db.delete if kind == "delete" else db.insert)("e", table.slice(i, 1))
            with Stopwatch() as watch:
                db.commit()
            done.append(watch)
    if len(db["t"]) != before:
        raise BenchmarkError(f"{len(db['t'])} pairs after edges have gone and come back, {before} before")
    _look(db)
    found: dict[str, Any] = {"pairs": before, "peak": peak()}
    for kind, done in seconds.items():
        found |= {
            kind: statistics.median(watch.wall for watch in done),
            f"{kind}_cpu": statistics.median(watch.cpu for watch in done),
            f"{kind}_worst": max(watch.wall for watch in done),
        }
    return found


def rule_set(name: str, size: int, recognised: bool) -> dict[str, Any]:
    """Measure a rule set of ZodiacEdge from scratch on `size` turbines, or chains of so many: medians of five."""
    warm_up()
    state = wind_farm.turbines(size) if name == "RS1" else wind_farm.chains(name, size)
    done = []
    for _ in range(5):
        db = tidelog.connect()
        if not recognised:
            db.options(closures=False)
        db.load("\n".join([state.declarations, *state.texts.values()]))
        for relation, rows in state.facts.items():
            db.insert(relation, rows)
        with Stopwatch() as watch:
            db.commit()
        done.append(watch)
        pairs = sum(len(db[relation]) for relation in db.relations)
        db.close()
    return {
        "pairs": pairs,
        "wall": statistics.median(watch.wall for watch in done),
        "cpu": statistics.median(watch.cpu for watch in done),
        "peak": peak(),
    }


def _database(path: str, read: bool) -> Database:
    table = data.numbers(Path(path), "\t", "xy")
    db = tidelog.connect()
    db.load(CLOSURE + READERS if read else CLOSURE)
    db.insert("e", table)
    for name, count in SAMPLES.items() if read else ():
        db.insert(name, table.select(["x"])[:: max(1, table.num_rows // count)])
    return db


def _look(db: Database) -> None:
    if db.stats()["forms"]["t"] != "compressed":
        raise BenchmarkError("the pairs of the closure have been written")
