"""Functors in Python: CPU seconds for each call, beside the same rule with an operator, and beside NumPy.

`python -m benchmarks.functors [ROWS]` prints a table. Each way runs in turn, several times, and the least time counts.
The results of all but the last are remembered.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import tidelog

RULE = ".functor f(x: number): number .decl e(x: number) .decl r(x: number, y: number) r(x, {}) :- e(x)."
ROUNDS = 5


def scalar(x: int) -> int:
    return x * 3 + 1


def vector(x: Any) -> Any:
    return x * 3 + 1


WAYS: dict[str, tuple[str, Callable[..., Any] | None, dict[str, Any]]] = {
    "operators": ("x * 3 + 1", None, {}),
    "compiled": ("@f(x)", scalar, {}),
    "rows": ("@f(x)", scalar, {"compiled": False}),
    "vectorized": ("@f(x)", vector, {"vectorized": True}),
    "again": ("@f(x)", vector, {"vectorized": True, "remember": False}),
}


def seconds(way: str, rows: numpy.ndarray[Any, Any]) -> float:
    """Return the CPU seconds of a commit that derives a tuple for each row."""
    call, function, options = WAYS[way]
    with tidelog.connect() as db:
        db.load(RULE.format(call))
        if function is not None:
            db.functor("f", function, **options)
        db.insert("e", [(-1,)])
        db.commit()  # what is compiled is compiled now
        db.options(strategy="bootstrap")
        db.insert_words("e", rows)
        begin = time.process_time()
        db.commit()
        return time.process_time() - begin


def main(count: int) -> None:
    """Print nanoseconds for each row, and what a call costs beyond the operators."""
    rows = numpy.arange(count, dtype=numpy.int64).reshape(-1, 1)
    found: dict[str, float] = {}
    for _ in range(ROUNDS):
        for way in WAYS:
            found[way] = min(found.get(way, 1e9), seconds(way, rows))
        begin = time.process_time()
        vector(rows[:, 0])
        found["numpy"] = min(found.get("numpy", 1e9), time.process_time() - begin)
    print(f"{count:,} calls, CPU nanoseconds for each row, and beyond the operators")
    for way, total in found.items():
        print(f"{way:12} {1e9 * total / count:8.1f} {1e9 * (total - found['operators']) / count:8.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
