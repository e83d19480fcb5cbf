"""Transitive closures of real graphs, beside DuckDB's recursive query and Nemo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import data, peers
from benchmarks.evaluate import CLOSURE, NON_LINEAR, counting, evaluate, inserting, warm_up
from benchmarks.harness import Line, Measured, Options, Target, in_child, measure

PAIRS = {"OL.cedge": 146_120, "TG.cedge": 481_121, "CA-HepTh": 74_619_885}


def evaluation(path: str, linear: bool, runs: int | None) -> Measured:
    """Measure the closure of a file of edges."""
    warm_up()
    edges = {"e": data.numbers(Path(path), "\t", "xy")}
    return measure(lambda: evaluate(CLOSURE if linear else NON_LINEAR, inserting(edges), counting(["t"])), runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield each graph; the peers are slow on the large one and get it only with --full."""
    yield from _graph(options, "OL.cedge", (Target("seconds", 0.05),), (Target("seconds", 0.1),))
    yield from _graph(options, "TG.cedge", (), ())
    path, size = _of(options, "CA-HepTh")
    others = {"duckdb": in_child(peers.duckdb_closure, path, 1)} if options.full else {}
    measured = in_child(evaluation, path, True, options.runs)
    yield Line("closure", "CA-HepTh", measured, size, (Target("seconds", 30), Target("bytes", 2.3e9)), others)


def _graph(options: Options, graph: str, linear: tuple[Target, ...], non_linear: tuple[Target, ...]) -> Iterator[Line]:
    path, size = _of(options, graph)
    others = {
        "duckdb": in_child(peers.duckdb_closure, path, options.runs),
        "nemo": in_child(peers.nemo_closure, path, options.runs),
    }
    yield Line("closure", f"{graph}, linear", in_child(evaluation, path, True, options.runs), size, linear, others)
    measured = in_child(evaluation, path, False, options.runs)
    yield Line("closure", f"{graph}, non-linear", measured, size, non_linear)


def _of(options: Options, graph: str) -> tuple[str, dict[str, int]]:
    return f"{options.data}/graphs/{graph}.txt.gz", {"t": PAIRS[graph]}
