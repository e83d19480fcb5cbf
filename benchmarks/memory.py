"""Bytes per tuple of a relation that has one index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from benchmarks.evaluate import warm_up
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, in_child, measure, peak

_NAMES = ("x", "y", "z")


def evaluation(arity: int, rows: int) -> Measured:
    """Fill a relation with random rows, some eight per key, and have a rule index it by its first column."""
    warm_up()
    return measure(lambda: _once(arity, rows), 1)


def _once(arity: int, rows: int) -> Run:
    import tidelog

    columns = ", ".join(f"{name}: number" for name in _NAMES[:arity])
    names = ", ".join(_NAMES[:arity])
    db = tidelog.connect()
    db.load(f"""
        .decl e({columns})
        .decl k(x: number)
        .decl found({columns})
        found({names}) :- k(x), e({names}).
    """)
    random = numpy.random.default_rng(2)
    words = random.integers(0, 1 << 30, (rows, arity))
    words[:, 0] %= max(1, rows // 8)
    words = numpy.unique(words, axis=0)
    random.shuffle(words)
    before = peak()
    db.insert("e", words)
    db.insert("k", [(0,)])
    with Stopwatch() as watch:
        db.commit()
    memory = db.stats()["memory"]
    details = {
        "rows_bytes": memory["rows"] / len(words),
        "index_bytes": memory["indexes"] / len(words),
        "bytes_per_tuple": (memory["rows"] + memory["indexes"]) / len(words),
        "added_to_peak_mb": (peak() - before) / 1e6,
    }
    return Run({"e": len(db["e"]) - len(words)}, watch.wall, watch.cpu, details)


def lines(options: Options) -> Iterator[Line]:
    """Yield arity 2 and 3, one and four million rows."""
    for arity in (2, 3):
        for millions in (1, 4):
            measured = in_child(evaluation, arity, millions * 1_000_000)
            yield Line("memory", f"arity {arity}, {millions} M rows, one index", measured, {"e": 0})
